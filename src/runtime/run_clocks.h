// RunClocks: the clocks of what was handed to local workers. The queue time runs until a thread begins; from then on
// the attempt's time and the time between two heartbeats run. A local claim ends with its process, so these clocks are
// not stored: they are in memory, on the monotonic clock. Only items that have such a time are known here. Not
// thread-safe: the engine owns it.
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
  using Why = core::NoReply::Why;

  // Whether the start of this item's attempt must be reported.
  static bool watches(const core::WorkLife& life) {
    return life.attempt_timeout.count() != 0 || life.heartbeat_timeout.count() != 0 || life.queue_timeout.count() != 0;
  }

  // `wall` is the clock of queue_by; all other times are monotonic.
  void handed_out(const core::WorkItem& item, Duration now, Instant wall);
  void begin(const WorkRun& run, Duration now);
  void beat(const WorkRun& run, Duration now);
  void end(const WorkRun& run);

  struct Over {
    WorkRun run;
    Why why = Why::attempt;
  };
  // The attempts whose time has ended since the last call. Called after all messages that workers sent before `now`
  // were handled: a worker whose heartbeat is already here does not count as silent.
  std::vector<Over> take_over(Duration now);
  // Whether the time of an attempt that began is over: attempt or heartbeat.
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
  Order order_;  // by the earliest end
};

}  // namespace pawl::runtime
