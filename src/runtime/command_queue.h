// CommandQueue: the one way into a thread. Producers push, the owner takes everything at once and sleeps
// when there is nothing. Any thread may push; one thread at a time takes.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "pawl/time.h"

namespace pawl::runtime {

template <class T>
class CommandQueue {
 public:
  // Called by who pushes while the owner is in lend(), once for all values that wait: another thread does the owner's
  // work, and the owner sleeps on. False: none can, and the owner is woken. REQUIRES: set before the first lend().
  void set_stand_in(std::function<bool()> call) { stand_in_ = std::move(call); }

  void push(T value) {
    Rouse rouses = Rouse::nobody;
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      values_.push_back(std::move(value));
      something_.store(true, std::memory_order_relaxed);
      rouses = whom();
    }
    rouse(rouses);
  }
  // The same, but leaves an owner in lend() asleep. True: it sleeps, and the caller does its work or calls wake().
  bool push_quietly(T value) {
    Rouse rouses = Rouse::nobody;
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return false;
      values_.push_back(std::move(value));
      something_.store(true, std::memory_order_relaxed);
      if (lending_) return true;
      rouses = whom();
    }
    rouse(rouses);
    return false;
  }
  // Ends a lend(), also one that only begins: the owner may be on its way there. An owner that sleeps in take_all() has
  // taken everything, and goes on sleeping: the next push must find it so.
  void wake() {
    bool wake = false;
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
      wake = lending_ && end_sleep();
    }
    if (wake) ready_.notify_one();
  }

  enum class Taken : std::uint8_t { yes, full, closed };
  // Full when `size_max` values wait already: the caller gets an error and may call again.
  Taken try_push(T value, std::size_t size_max) {
    Rouse rouses = Rouse::nobody;
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return Taken::closed;
      if (values_.size() >= size_max) return Taken::full;
      values_.push_back(std::move(value));
      something_.store(true, std::memory_order_relaxed);
      rouses = whom();
    }
    rouse(rouses);
    return Taken::yes;
  }

  // The same, but waits for room.
  Taken push_when_room(T value, std::size_t size_max) {
    Rouse rouses = Rouse::nobody;
    {
      std::unique_lock lock(mutex_);
      if (values_.size() >= size_max && !closed_) {
        ++waiting_for_room_;
        room_.wait(lock, [&] { return closed_ || values_.size() < size_max; });
        --waiting_for_room_;
      }
      if (closed_) return Taken::closed;
      values_.push_back(std::move(value));
      something_.store(true, std::memory_order_relaxed);
      rouses = whom();
    }
    rouse(rouses);
    return Taken::yes;
  }

  // From now on nothing is taken: returns the values that were not taken; later values are dropped.
  std::vector<T> close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    room_.notify_all();
    return std::exchange(values_, {});
  }

  // Sleeps for at most `wait`, until push() or wake(), and takes nothing: meanwhile others may do the owner's work.
  void lend(std::optional<Duration> wait) {
    std::unique_lock lock(mutex_);
    if (std::exchange(woken_, false) || !values_.empty()) return;
    sleeping_ = lending_ = true;
    stand_in_called_ = false;
    const auto awake = [&] { return !lending_; };
    if (wait)
      ready_.wait_for(lock, *wait, awake);
    else
      ready_.wait(lock, awake);
    sleeping_ = lending_ = woken_ = false;
  }

  // Moves all values to `into` (which must be empty). Sleeps for at most `wait` when there are none; no limit: until
  // the next push. 0: takes what is there, for a caller that has other work.
  void take_all(std::vector<T>& into, std::optional<Duration> wait) {
    if (wait && wait->count() <= 0) {
      if (!something_.load(std::memory_order_relaxed)) return;
      const std::lock_guard lock(mutex_);
      hand_over(into);
      return;
    }
    if (wait == Duration{0} && !something_.load(std::memory_order_relaxed)) return;
    // A fast worker's reply arrives before a sleeper could be woken: spin for some 20 microseconds first.
    for (int i = 0; i < looks_before_sleep && !something_.load(std::memory_order_relaxed); ++i) pause();
    std::unique_lock lock(mutex_);
    if (values_.empty()) {
      sleeping_ = true;
      const auto something = [&] { return !values_.empty(); };
      if (wait)
        ready_.wait_for(lock, *wait, something);
      else
        ready_.wait(lock, something);
      sleeping_ = false;
    }
    hand_over(into);
  }

 private:
  // REQUIRES: mutex_ is held.
  void hand_over(std::vector<T>& into) {
    into.swap(values_);
    stand_in_called_ = false;
    something_.store(false, std::memory_order_relaxed);
    if (waiting_for_room_ > 0) room_.notify_all();
  }
  enum class Rouse : std::uint8_t { nobody, owner, stand_in };
  // Who must learn of a value. REQUIRES: mutex_ is held.
  Rouse whom() {
    if (lending_ && stand_in_) return std::exchange(stand_in_called_, true) ? Rouse::nobody : Rouse::stand_in;
    return end_sleep() ? Rouse::owner : Rouse::nobody;
  }
  // Only a sleeper needs the system call: under load the owner is awake.
  void rouse(Rouse rouses) {
    if (rouses == Rouse::owner)
      ready_.notify_one();
    else if (rouses == Rouse::stand_in && !stand_in_())
      wake();
  }
  // REQUIRES: mutex_ is held. True: the owner must be notified.
  bool end_sleep() {
    lending_ = false;
    return std::exchange(sleeping_, false);
  }
  static constexpr int looks_before_sleep = 500;
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::atomic<bool> something_{false};  // a hint: values_ is not empty
  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable room_;
  std::vector<T> values_;             // guarded by mutex_
  std::size_t waiting_for_room_ = 0;  // guarded by mutex_
  std::function<bool()> stand_in_;
  bool sleeping_ = false;             // guarded by mutex_
  bool lending_ = false;              // asleep in lend(); guarded by mutex_
  bool stand_in_called_ = false;      // for what waits; guarded by mutex_
  bool woken_ = false;                // wake() was called since the last lend(); guarded by mutex_
  bool closed_ = false;               // guarded by mutex_
};

}  // namespace pawl::runtime
