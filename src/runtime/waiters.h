// Waiters: threads that wait for a job to end. Each job that is waited for has a bell of its own: a thread is woken
// when its job has ended, and by nothing else. Any thread may call it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "core/job_state.h"
#include "pawl/ids.h"
#include "pawl/time.h"
#include "pawl/view.h"

namespace pawl::runtime {

class Waiters {
  struct Entry;

 public:
  // Registers before the caller looks at the store, so that an end between the look and the wait is heard. What
  // was told before that is not: a parked job may have gone on since.
  class Place {
   public:
    Place(Waiters& waiters, RunId run);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    // None: the time is over, or it is better to look at the store again.
    std::optional<JobView> wait(Duration at_most);

   private:
    Waiters& waiters_;
    const RunId run_;
    std::shared_ptr<Entry> entry_;
    std::uint64_t told_before_;
    std::uint64_t looks_before_;
  };

  void tell(const core::JobRow& job);
  // Nobody here will tell any more: whoever waits looks for itself.
  void look_again();

 private:
  struct Entry {  // of one job
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t told = 0;      // guarded by mutex
    std::uint64_t looks = 0;     // guarded by mutex
    std::optional<JobView> end;  // guarded by mutex
    int waiting = 0;             // guarded by the mutex of all
  };
  std::mutex mutex_;  // may be held when an entry's mutex is taken, not the other way round
  std::unordered_map<RunId, std::shared_ptr<Entry>> entries_;  // guarded by mutex_
};

}  // namespace pawl::runtime
