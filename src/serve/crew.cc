#include "serve/crew.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace pawl::serve {

Crew::Crew(std::size_t threads, std::size_t waiting_max)
    : waiting_max_(waiting_max), slow_max_(std::max<std::size_t>(1, threads / 2)) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

bool Crew::take(Task task, Length length) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || tasks_.size() + slow_.size() >= waiting_max_) return false;
    (length == Length::slow ? slow_ : tasks_).push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

void Crew::finish(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void Crew::close() {
  std::deque<Task> dropped, dropped_slow;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(tasks_);
    dropped_slow.swap(slow_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void Crew::run() {
  pthread_setname_np(pthread_self(), "pawl-serve");
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || !tasks_.empty() || may_begin_slow(); });
    if (closed_) return;
    const bool slow = tasks_.empty();
    std::deque<Task>& from = slow ? slow_ : tasks_;
    Task task = std::move(from.front());
    from.pop_front();
    if (slow) ++slow_running_;
    lock.unlock();
    task();
    task = {};
    lock.lock();
    // A slow one that had to wait may begin now: this thread looks for it itself.
    if (slow) --slow_running_;
  }
}

}  // namespace pawl::serve
