// WorkerPool: the threads that run local workers and probes, the largest priority first, then the oldest.
// Bounded by the engine's slots: it is never given more than it has room for. Any thread may call it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "core/job_state.h"
#include "pawl/worker.h"
#include "runtime/worker_word.h"

namespace pawl::runtime {

class WorkerPool {
 public:
  struct Task {
    core::WorkItem item;
    std::variant<std::shared_ptr<const Worker>, std::shared_ptr<const Probe>> code;
    bool is_probe() const { return code.index() == 1; }
  };
  // `tell` is called on the pool's threads, and on that of whoever cancels. Tokens are bound to
  // `store`.
  WorkerPool(std::size_t threads, const core::Guid& store, std::function<void(WorkerWord)> tell);
  ~WorkerPool();  // finishes what runs; what only waits is not begun

  void give(std::vector<Task> tasks);
  // Nobody waits for these runs any more: what has not begun is not begun, what runs can see it.
  void cancel(const std::vector<WorkRun>& runs);
  // What was given and not begun: it will not be begun here.
  std::vector<Task> take_back();

 private:
  struct Seat {  // of one thread
    std::optional<WorkRun> run;  // of the worker that it calls; guarded by the pool's mutex_
    std::atomic<bool> cancelled{false};
    std::thread thread;
  };
  void serve(Seat& seat);
  void run(Task& task, Seat& seat);
  std::optional<Task> next_task();  // REQUIRES: mutex_ is held

  const core::Guid store_;
  const std::function<void(WorkerWord)> tell_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::map<std::int32_t, std::deque<Task>, std::greater<>> tasks_;  // by priority, none empty; guarded by mutex_
  std::size_t sleeping_ = 0;                                        // guarded by mutex_
  bool closing_ = false;                                            // guarded by mutex_
  std::deque<Seat> seats_;                                          // constant after construction
};

}  // namespace pawl::runtime
