// One state of the explorer, and its possible events. Internal to the explorer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/decide.h"
#include "sim/clock.h"
#include "sim/explorer.h"
#include "sim/scenario.h"
#include "store/memory/store.h"

namespace pawl::sim {

// An attempt that a local worker is busy with, and the index of its next reply.
struct WorkerRun {
  core::WorkItem item;
  std::uint32_t reply = 0;
};

struct Hand {
  std::uint64_t epoch = 0;  // 0: it believes that it holds nothing
  std::optional<core::JobState> job;
  std::vector<core::Delivery> queue;
  std::optional<core::Bundle> flight;
  core::Decision decision;
  std::vector<WorkerRun> running;
};

struct Action {
  enum class Kind : std::uint8_t {
    acquire,
    load,
    decide,
    commit,
    commit_reply_lost,
    crash,
    crash_in_flight,
    expire,
    answer,
    answer_again,
    claim,
    ghost_arrives,
  };
  Kind kind = Kind::acquire;
  std::uint8_t engine = 0;
  std::uint8_t index = 0;
};
std::string describe(const Action& action);

struct ExplorerWorld {  // the same for all states of an exploration
  ExplorerOptions options;
  const Scenario* scenario = nullptr;
  std::shared_ptr<const Graph> graph;
  VirtualClock clock;
  RunId run{0};
};

class ExplorerState {
 public:
  explicit ExplorerState(ExplorerWorld& world);

  std::vector<Action> enabled() const;
  void take(const Action& action);
  std::string key() const;  // equal keys: equal futures
  bool ended() const;
  store::memory::DumpedJob job() const;

 private:
  const core::JobRow& row() const { return dump_.job; }
  void refresh();
  store::Outcome commit(store::Operation operation);
  void absorb(Hand& hand);
  void lose_lane(Hand& hand);
  void drop_job(Hand& hand);
  bool lane_held() const;
  bool may_claim(const Hand& hand, const core::WorkItem& item) const;

  ExplorerWorld* world_;
  store::memory::Store store_;
  std::vector<Hand> hands_;
  std::vector<core::Bundle> ghosts_;  // sent by engines that have died since
  store::memory::DumpedJob dump_;     // of the job, as stored
  std::uint64_t epoch_ = 0;           // of the lane, as stored
  std::int64_t time_ = 0;             // only changed to end a lease
  std::uint32_t crashes_;
  std::uint32_t expiries_;
  std::uint32_t lost_replies_;
  std::uint32_t repeated_answers_;
};

// What a step must not do to the stored job, and what must hold in every state. Empty: no violation.
std::string contradiction(const store::memory::DumpedJob& before, const store::memory::DumpedJob& after);

}  // namespace pawl::sim
