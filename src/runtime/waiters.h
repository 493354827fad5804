// Waiters: threads that wait for a job to end. Any thread may call it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "pawl/ids.h"
#include "pawl/job.h"
#include "pawl/time.h"

namespace pawl::runtime {

class Waiters {
 public:
  // Registers before the caller looks at the store, so that an end between the look and the wait is heard. What
  // was told before that is not: a parked job may have gone on since.
  class Place {
   public:
    Place(Waiters& waiters, RunId run);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    // None when the time is over first.
    std::optional<JobView> wait(Duration at_most);

   private:
    Waiters& waiters_;
    RunId run_;
    std::uint64_t told_before_;
  };

  void tell(const JobView& job);

 private:
  struct Entry {
    int waiting = 0;
    std::uint64_t told = 0;
    std::optional<JobView> end;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RunId, Entry> entries_;  // guarded by mutex_
};

}  // namespace pawl::runtime
