// EndWaiters: threads that wait for a job to end. Each such job has a separate condition variable: a thread is woken
// only when its job has ended. Any thread may call it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/job_state.h"
#include "pawl/ids.h"
#include "pawl/time.h"
#include "pawl/view.h"

namespace pawl::runtime {

class EndWaiters {
  struct Entry;

 public:
  // Registers before the caller reads the store, so that an end between the read and the wait is noticed. Earlier
  // reports do not count.
  class Place {
   public:
    Place(EndWaiters& waiters, RunId run);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    // None: the time is over, or the store should be read again.
    std::optional<JobView> wait(Duration at_most);
    // The job was begun here a short time ago, and its end was not told since: nothing is gained by a read.
    bool has_just_begun() const { return has_just_begun_; }

   private:
    EndWaiters& waiters_;
    const RunId run_;
    std::shared_ptr<Entry> entry_;
    std::uint64_t told_before_;
    std::uint64_t looks_before_;
    bool has_just_begun_;
  };

  // The job is accepted, and this process will tell of its end, unless it loses the lane.
  void begun(RunId run);

  // The job is closed or parked. The report of a parking may come late, when a person has acted on it and waits again:
  // so who waits is not given it, but reads the store.
  void tell(const core::JobRow& job);
  // No notifications come from now on: the waiting threads read the store themselves.
  void look_again();

 private:
  struct Entry {  // for one job
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t told = 0;      // guarded by mutex
    std::uint64_t looks = 0;     // guarded by mutex
    std::optional<JobView> end;  // guarded by mutex
    int waiting = 0;             // guarded by the mutex of all
  };
  std::mutex mutex_;  // may be held when an entry's mutex is taken, not the other way round
  std::unordered_map<RunId, std::shared_ptr<Entry>> entries_;  // guarded by mutex_
  std::unordered_set<RunId> begun_;                            // the last ones that have not ended; guarded by mutex_
  std::deque<RunId> begun_in_order_;                           // also those that have ended; guarded by mutex_
};

}  // namespace pawl::runtime
