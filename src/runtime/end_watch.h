// EndWatch: calls back when jobs end. Its thread is created with the first callback and does nothing else, so that a
// callback may wait, start jobs and take long. Any thread may call it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "pawl/ids.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "pawl/view.h"

namespace pawl::runtime {

class EndWatch {
 public:
  using Done = std::function<void(Result<JobView>)>;
  // The job as it ended; none: it has not ended yet.
  using Look = std::function<Result<std::optional<JobView>>(RunId)>;
  // Whether tell() will be called when this job ends. If not, the store must be read.
  using IsTold = std::function<bool(RunId)>;
  // Receives what a callback threw; other callbacks are not affected.
  using Complain = std::function<void(const std::string&)>;
  EndWatch(Look look, IsTold is_told, Complain complain, std::size_t callbacks_max = limits::ends_watched_max)
      : look_(std::move(look)),
        is_told_(std::move(is_told)),
        complain_(std::move(complain)),
        callbacks_max_(callbacks_max) {}
  ~EndWatch();

  // Its number for unwatch(); 0: it was refused, and `done` was called with the reason.
  std::uint64_t watch(RunId run, Done done);
  void unwatch(RunId run, std::uint64_t number);  // it is not called any more, unless it is being called now
  // It has ended, or is parked. Costs nothing while no callback is registered.
  void tell(RunId run);
  // tell() may not be called any more for some: read all of them.
  void look_again();
  // Calls the remaining callbacks, and all later ones, with this error.
  void close(const Error& why);

 private:
  using Time = std::chrono::steady_clock::time_point;
  void run();
  void look_at(RunId run);
  std::set<RunId> due_for_a_look();  // now; REQUIRES: mutex_ is held
  void forget(RunId run);            // REQUIRES: mutex_ is held, and no callback of it is left
  void call(const Done& done, const Result<JobView>& end) const;
  // REQUIRES: mutex_ is held
  Time next_look_at_all() const;
  Time next_look_at_untold() const;

  const Look look_;
  const IsTold is_told_;
  const Complain complain_;
  const std::size_t callbacks_max_;
  std::atomic<bool> any_{false};  // a callback is registered
  std::mutex mutex_;
  std::condition_variable changed_;
  struct Callback {
    std::uint64_t number;
    Done done;
  };
  std::unordered_map<RunId, std::vector<Callback>> watched_;  // guarded by mutex_, like the rest
  std::uint64_t last_number_ = 0;
  std::size_t callbacks_ = 0;  // in watched_
  std::set<RunId> to_look_at_;
  std::set<RunId> untold_;  // of the watched ones
  Time looked_at_all_;
  Time looked_at_untold_;
  std::optional<Error> closed_;
  bool look_at_all_ = false;
  std::thread thread_;
};

}  // namespace pawl::runtime
