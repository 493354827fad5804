#include "serve/timers.h"

#include <pthread.h>

namespace pawl::serve {

Timers::Timers() : thread_([this] { run(); }) {}

Timers::Number Timers::after(Duration time, std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  const Number number = next_++;
  const auto at = Clock::now() + time;
  times_.emplace(number, at);
  const auto place = calls_.emplace(std::pair(at, number), std::move(call)).first;
  if (place == calls_.begin()) changed_.notify_one();
  return number;
}

void Timers::cancel(Number number) {
  std::function<void()> dropped;  // goes after the lock: it may own what calls back here
  const std::lock_guard lock(mutex_);
  const auto time = times_.find(number);
  if (time == times_.end()) return;
  const auto call = calls_.find({time->second, number});
  dropped = std::move(call->second);
  calls_.erase(call);
  times_.erase(time);
}

void Timers::close() {
  decltype(calls_) dropped;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(calls_);
    times_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Timers::run() {
  pthread_setname_np(pthread_self(), "pawl-timers");
  std::unique_lock lock(mutex_);
  while (!closed_) {
    if (calls_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = calls_.begin();
    if (first->first.first > Clock::now()) {
      changed_.wait_until(lock, first->first.first);
      continue;
    }
    std::function<void()> call = std::move(first->second);
    times_.erase(first->first.second);
    calls_.erase(first);
    lock.unlock();
    call();
    call = {};
    lock.lock();
  }
}

}  // namespace pawl::serve
