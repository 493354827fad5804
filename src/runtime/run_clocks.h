// RunClocks: the times of what was handed to local workers. The wait for a thread goes on until one begins; from then
// on the attempt's time and that of the silence between two heartbeats run. A local claim dies with its process, so
// these clocks need no row: they are in memory, on the monotonic clock. Only items that have such a time are known
// here. Not thread-safe: the engine owns it.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/job_state.h"
#include "core/message.h"
#include "runtime/work_desk.h"

namespace pawl::runtime {

class RunClocks {
 public:
  using Why = core::NoAnswer::Why;

  // Whether whoever begins this item's run must say so.
  static bool watches(const core::WorkLife& life) {
    return life.attempt_timeout.count() != 0 || life.heartbeat_timeout.count() != 0 || life.queue_timeout.count() != 0;
  }

  // `wall` is the time that queue_by was set by; all others are monotonic.
  void handed_out(const core::WorkItem& item, Duration now, Instant wall);
  void begin(const WorkRun& run, Duration now);
  void beat(const WorkRun& run, Duration now);
  void end(const WorkRun& run);

  struct Over {
    WorkRun run;
    Why why = Why::attempt;
  };
  // Whose time has come to its end since the last call. Called when everything was heard that workers said before
  // `now`: nobody is called silent whose word is already here.
  std::vector<Over> take_over(Duration now);
  // Whether the time of a run that began is over: attempt or heartbeat.
  std::optional<Why> over(const WorkRun& run) const;
  // What is left of the attempt's time; none: it has no limit.
  std::optional<Duration> attempt_left(const WorkRun& run, Duration now) const;
  std::optional<Duration> next() const;
  std::size_t size() const { return runs_.size(); }

 private:
  struct Clock {
    Duration attempt_timeout{0};
    Duration heartbeat_timeout{0};
    bool begun = false;
    std::optional<Duration> queue_until, attempt_until, heartbeat_until;
    std::optional<Why> over;
    std::optional<std::pair<Duration, Why>> next() const;
  };
  using Order = std::set<std::pair<Duration, WorkRun>>;
  void place(const WorkRun& run, const Clock& clock);
  void unplace(const WorkRun& run, const Clock& clock);

  std::unordered_map<WorkRun, Clock, WorkRunHash> runs_;
  Order order_;  // by what ends first
};

}  // namespace pawl::runtime
