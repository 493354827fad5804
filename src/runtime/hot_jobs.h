// HotJobs: the jobs in memory, the idle ones in order of their last use. Busy jobs stay; idle ones beyond the limits of
// number and bytes are dropped, the longest unused first. A job that only waits is not kept at all (Jobs::rest), unless
// its wait is short or it is large. Not thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/decide.h"
#include "core/graph.h"
#include "core/job_state.h"

namespace pawl::runtime {

using core::Graph;

struct HotJob {
  core::JobState state;
  std::shared_ptr<const Graph> graph;
  std::vector<core::Delivery> queue;
  core::Decision decision;  // of the bundle in flight; its bundle was moved into the group
  bool in_flight = false;
  core::BundleId bundle{0};    // the one in flight; 0: none, but something of the job is being read
  std::uint64_t launches = 0;  // bundles so far: what was read before the last one may be outdated
  // messages that are looked up before they join the queue; the job stays in memory until then
  std::uint32_t lookups = 0;
  bool look_again = false;       // other processes may have written to its inbox
  bool ready = false;            // in the queue to be decided (Turns)
  bool goes_on = false;          // its last decision left more for it to do without a new message
  std::uint32_t last_turns = 0;  // since the engine is stopping
  std::string damaged;           // the part of it that cannot be read; nothing is decided for it any more
  bool has_children = false;     // started jobs that will report to it
  Instant wakes_at;              // its soonest timer that this engine knows of; may have passed
  // Its timers that are due soon, as they are stored: only a bundle of this job changes them (Jobs::launch).
  std::vector<core::InboxMessage> timers;
  std::size_t timers_bytes = 0;
  bool suspect = false;          // has a message that made earlier engines crash
  std::optional<std::list<RunId>::iterator> idle;
  // As last measured:
  std::size_t bytes = 0;        // all of it
  std::size_t busy_bytes = 0;   // what it counts for while it is being served (HotJobs::weigh)
  std::size_t queue_bytes = 0;  // of the first `queue_weighed` of the queue
  std::size_t queue_weighed = 0;

  bool is_held() const { return in_flight && bundle == core::BundleId(0); }
  // It has no work with a worker, no message and no child: only a timer or a message from outside continues it.
  bool only_waits() const;
  // It has a timer of its own.
  void wakes(Instant at);
  void keep_timer(core::InboxMessage timer);
  std::optional<core::InboxMessage> take_timer(const core::Guid& guid);  // none: it must be read
  bool has_timer(const core::Guid& guid) const;
  void forget_timers();
  // Removes what the decision finished from the queue and notes which entries it committed.
  void drop_done();
};

class HotJobs {
 public:
  HotJobs(std::size_t idle_max, std::size_t idle_bytes_max) : idle_max_(idle_max), idle_bytes_max_(idle_bytes_max) {}

  HotJob* find(RunId run);
  const HotJob* find(RunId run) const;
  HotJob& add(core::JobState state, std::shared_ptr<const Graph> graph);
  void erase(RunId run);
  void use(HotJob& job);   // marks it as busy
  void idle(HotJob& job);  // it may be dropped when another job becomes idle
  // Its state or its queue changed. A busy job counts with its queue and with at most one payload's size of its state:
  // many busy jobs fill the memory, but a single large one must not block itself.
  void weigh(HotJob& job);
  std::size_t size() const { return jobs_.size(); }
  std::size_t idle_bytes() const { return idle_bytes_; }
  std::size_t busy_bytes() const { return busy_bytes_; }
  std::vector<RunId> of_lane(core::LaneId lane) const;

 private:
  std::size_t idle_max_;
  std::size_t idle_bytes_max_;
  std::size_t busy_bytes_ = 0;  // of busy ones
  std::size_t idle_bytes_ = 0;  // of idle ones
  std::unordered_map<RunId, std::unique_ptr<HotJob>> jobs_;
  std::list<RunId> idle_order_;
};

}  // namespace pawl::runtime
