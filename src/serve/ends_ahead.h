// EndsAhead: ends of jobs that were started together. Whoever starts many jobs waits for one after the other; asked for
// one by one, the waits would cost a server as much as the jobs. So a wait for one of them also asks for the next ones,
// and the results of those that have completed are kept until they are waited for. Only completed jobs: nothing
// changes them any more. Any thread may call it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "pawl/ids.h"
#include "pawl/view.h"

namespace pawl::serve {

class EndsAhead {
 public:
  // Several, in the order in which they will probably be waited for.
  void started(const std::vector<RunId>& runs);
  // The end of this one, if it is known; from now on it is not asked for with others.
  std::optional<JobView> take(RunId run);
  // Those that a wait for this one asks for, too. Nobody else asks for them until came() is called.
  std::vector<RunId> next(RunId run);
  // What became of these: the ends that are known now.
  void came(const std::vector<RunId>& asked, std::vector<JobView> ends);
  void forget(RunId run);  // it is removed

 private:
  using Clock = std::chrono::steady_clock;
  struct End {
    JobView job;
    Clock::time_point until;
  };
  void drop(RunId run);  // REQUIRES: mutex_ is held

  std::mutex mutex_;
  std::map<std::uint64_t, RunId> order_;  // whose ends are not known; guarded by mutex_, like the rest
  std::unordered_map<RunId, std::uint64_t> places_;  // of all that were started and not waited for yet
  std::unordered_map<RunId, End> ends_;
  std::size_t bytes_ = 0;  // of ends_
  std::uint64_t next_place_ = 0;
  std::size_t window_ = 64;  // how many are asked for
};

}  // namespace pawl::serve
