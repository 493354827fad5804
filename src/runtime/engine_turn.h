// EngineTurn: which thread does the engine's work now. Usually the engine's own. While that one sleeps, a worker's
// thread that has a reply does it: a step of a single job then passes from thread to thread not once
// (docs/decisions/098-borrowed-turns.md). Any thread may call it.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

namespace pawl::runtime {

class EngineTurn {
 public:
  // `wake` wakes the engine's thread. It is called for as long as there are workers.
  explicit EngineTurn(std::function<void()> wake) : wake_(std::move(wake)) {}

  // The engine's thread has the turn, except while it sleeps.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  // What a borrower does; none: it only wakes the engine's thread. REQUIRES: the caller has the turn.
  void lend(std::function<void()> work) { work_ = std::move(work); }

  // A reply is in the queue, and the engine's thread was not woken for it. The caller calls settle() soon.
  void owe() { owed_.store(true); }
  bool is_owed() const { return owed_.load(); }
  // Does the engine's work if the caller has nothing else to do, or wakes the engine's thread.
  void settle(bool idle) {
    if (!owed_.exchange(false)) return;  // somebody took the reply, or is about to
    if (!idle || !try_work()) wake_();
  }

 private:
  bool try_work() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !work_) return false;
    work_();
    return true;
  }

  const std::function<void()> wake_;
  std::atomic<bool> owed_{false};
  std::mutex mutex_;
  std::function<void()> work_;  // guarded by mutex_
};

}  // namespace pawl::runtime
