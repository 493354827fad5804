// decide: what one job commits next. Pure: no I/O, no clock, no thread; the same arguments give the same
// bundle, so a crash can be replayed and every commit of a job can be numbered.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "core/bundle.h"
#include "core/graph.h"
#include "core/job_state.h"
#include "core/message.h"

namespace pawl::core {

// How a message came to the engine.
enum class Origin : std::uint8_t {
  unstored,  // straight from a local worker: not stored yet
  memory,    // handed over by the commit that stored it
  loaded,    // read from the inbox: perhaps it made an earlier engine crash
};

// What the engine read for an Expand: jobs in the order of their run ids.
struct Page {
  std::vector<std::pair<RunId, JobId>> jobs;
  bool last = true;
};

struct Delivery {
  Message message;
  Origin origin = Origin::memory;
  std::uint32_t redeliveries = 0;  // as stored
  bool entered = false;            // this engine committed its entry already
  std::optional<Page> page{};      // of an Expand
};

// On: all steps go into one bundle, unless something outside the store separates them. Off: one bundle per step.
enum class Fusion : std::uint8_t { on, off };

struct DecideOptions {
  Instant now;
  Fusion fusion = Fusion::on;
  Epoch epoch{0};
  BundleId id{0};
  std::uint32_t reentries_max = limits::reentries_max;
  std::size_t steps_max = limits::steps_per_bundle_max;  // how many messages of the job to itself one bundle follows
};

struct Decision {
  std::optional<Bundle> bundle;      // none: nothing to commit
  std::vector<std::size_t> done;     // deliveries that are finished once the bundle is committed
  std::vector<std::size_t> entered;  // deliveries whose entry it commits
  // Unstored replies that the bundle takes, keeps or refuses: nothing of them is lost once it is committed. A stale one
  // is done, too, but it is not among these.
  std::vector<std::size_t> counted;
  bool goes_on = false;              // it ended at steps_max: the job has sent itself more messages
};

// Takes as many of `deliveries` as one bundle holds, one by one, so that no threshold is skipped.
// Calling it again after the commit, with what is not done, makes progress until nothing is left.
Decision decide(const JobState& state, const Graph& graph, std::span<const Delivery> deliveries,
                const DecideOptions& options);

// The bundle that stops a job and gives the reason; its messages and work stay until the job is resumed.
Bundle park(const JobState& state, std::string reason, const DecideOptions& options);

// How suspect a loaded message is: the number of engine entries it survived without being finished.
std::uint32_t entries_before(const JobState& state, const Delivery& delivery);

}  // namespace pawl::core
