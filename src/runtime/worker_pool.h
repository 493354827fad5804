// WorkerPool: the threads that run local workers. Bounded by the engine's slots: it is never given more
// than it has room for.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/job_state.h"
#include "pawl/worker.h"
#include "runtime/engine.h"

namespace pawl::runtime {

class WorkerPool {
 public:
  struct Task {
    core::WorkItem item;
    std::shared_ptr<const Worker> worker;
  };
  // `answer` is called on the pool's threads.
  WorkerPool(std::size_t threads, std::function<void(WorkAnswer)> answer);
  ~WorkerPool();  // finishes what runs; what only waits is not begun

  void give(std::vector<Task> tasks);

 private:
  void serve();
  void run(Task& task);

  const std::function<void(WorkAnswer)> answer_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Task> tasks_;      // guarded by mutex_
  std::size_t sleeping_ = 0;    // guarded by mutex_
  bool closing_ = false;        // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace pawl::runtime
