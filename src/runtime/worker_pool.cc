#include "runtime/worker_pool.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "runtime/worker_call.h"

namespace pawl::runtime {

WorkerPool::WorkerPool(std::size_t threads, const core::Guid& store, std::function<void(WorkerWord)> tell)
    : store_(store), tell_(std::move(tell)), seats_(threads) {
  for (Seat& seat : seats_) seat.thread = std::thread([this, &seat] { serve(seat); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    tasks_.clear();
  }
  ready_.notify_all();
  for (Seat& seat : seats_) seat.thread.join();
}

void WorkerPool::give(std::vector<Task> tasks) {
  if (tasks.empty()) return;
  std::size_t wake = 0;
  {
    const std::lock_guard lock(mutex_);
    wake = std::min(sleeping_, tasks.size());
    for (Task& task : tasks) {
      auto& queue = tasks_[task.item.priority];
      queue.push_back(std::move(task));
    }
  }
  for (std::size_t i = 0; i < wake; ++i) ready_.notify_one();
}

void WorkerPool::cancel(const std::vector<WorkRun>& runs) {
  if (runs.empty()) return;
  const std::unordered_set<WorkRun, WorkRunHash> unwanted(runs.begin(), runs.end());
  std::vector<core::WorkItem> dropped;
  {
    const std::lock_guard lock(mutex_);
    for (Seat& seat : seats_)
      if (seat.run && unwanted.contains(*seat.run)) seat.cancelled.store(true, std::memory_order_relaxed);
    // A probe asks about a run that is over: it goes on.
    const auto wanted = [&](const Task& task) { return task.is_probe() || !unwanted.contains(run_of(task.item)); };
    for (auto it = tasks_.begin(); it != tasks_.end();) {
      std::deque<Task>& queue = it->second;
      const auto gone = std::stable_partition(queue.begin(), queue.end(), wanted);
      for (auto task = gone; task != queue.end(); ++task) dropped.push_back(std::move(task->item));
      queue.erase(gone, queue.end());
      it = queue.empty() ? tasks_.erase(it) : std::next(it);
    }
  }
  for (const core::WorkItem& item : dropped) tell_(not_begun(item));
}

std::vector<WorkerPool::Task> WorkerPool::take_back() {
  const std::lock_guard lock(mutex_);
  std::vector<Task> tasks;
  while (auto task = next_task()) tasks.push_back(std::move(*task));
  return tasks;
}

std::optional<WorkerPool::Task> WorkerPool::next_task() {
  if (tasks_.empty()) return std::nullopt;
  const auto first = tasks_.begin();
  Task task = std::move(first->second.front());
  first->second.pop_front();
  if (first->second.empty()) tasks_.erase(first);
  return task;
}

void WorkerPool::serve(Seat& seat) {
  pthread_setname_np(pthread_self(), "pawl-worker");
  std::unique_lock lock(mutex_);
  for (;;) {
    while (tasks_.empty() && !closing_) {
      ++sleeping_;
      ready_.wait(lock);
      --sleeping_;
    }
    std::optional<Task> task = next_task();
    if (!task) return;
    seat.cancelled.store(false, std::memory_order_relaxed);
    if (!task->is_probe()) seat.run = run_of(task->item);
    lock.unlock();
    run(*task, seat);
    task.reset();  // what it holds goes before others wait for the lock
    lock.lock();
    seat.run.reset();
  }
}

void WorkerPool::run(Task& task, Seat& seat) {
  const CallSite site{store_, seat.cancelled, tell_};
  if (const auto* worker = std::get_if<0>(&task.code)) call_worker(task.item, **worker, site);
  else call_probe(task.item, **std::get_if<1>(&task.code), site);
}

}  // namespace pawl::runtime
