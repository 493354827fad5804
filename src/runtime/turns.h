// Turns: which job is decided next.
//
// 1. First come, first served, one decision at a time.
// 2. A suspect has a message that made earlier engines crash. It has its turn while no other suspect is being served,
// so
//    that the one that crashes engines is found.
// 3. A job that continues by itself takes many steps in one commit while it is alone. Beside other jobs it takes a few,
//    and rests after each commit: then the others find the store free most of the time.
//
// Not thread-safe.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "runtime/hot_jobs.h"

namespace pawl::runtime {

class Turns {
 public:
  explicit Turns(HotJobs& jobs) : jobs_(jobs) {}

  // It has something to decide: from now on it is busy and in the queue, once.
  void stand(HotJob& job, Duration now);
  // Removes and returns the first in the queue. None: none is ready now.
  HotJob* next(Duration now);
  // The suspect was served, or forgotten: the next one has its turn.
  void leave(RunId run, Duration now);
  bool is_suspect_out(RunId run) const { return suspect_out_ == run; }
  // How many steps it may take by itself in the next decision.
  std::size_t steps_for(const HotJob& job, Duration now);
  void committed_in(Duration took);  // what a commit costs the others, and so how long a job rests
  void never_rest() { rests_ = false; }

  std::size_t waiting() const { return ready_.size() + resting_.size(); }
  bool has_ready() const { return !ready_.empty(); }
  std::optional<Duration> next_wake() const;  // when a job has rested enough

 private:
  struct Served {
    RunId run{0};
    Duration at{0};
  };
  bool beside_others(RunId run, Duration now) const;

  HotJobs& jobs_;
  std::deque<RunId> ready_;
  std::set<std::pair<Duration, RunId>> resting_;  // by the end of the rest
  std::deque<RunId> suspects_;
  std::optional<RunId> suspect_out_;
  std::array<std::optional<Served>, 2> served_;  // the last two jobs that do not continue by themselves
  Duration rest_{0};
  bool rests_ = true;
};

}  // namespace pawl::runtime
