// The messages of worker threads to the engine's thread.
#pragma once

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include "pawl/payload.h"
#include "pawl/time.h"
#include "runtime/engine.h"

namespace pawl::runtime {

// The newest heartbeat of one attempt. A worker that sends them in a loop overwrites it: at most one waits in the
// engine's queue. Any thread may call it.
class Heartbeat {
 public:
  explicit Heartbeat(const WorkRun& run) : run_(run) {}

  const WorkRun& run() const { return run_; }
  // True: nothing waited before, so the engine must be notified.
  bool say(Payload progress) {
    const std::lock_guard lock(mutex_);
    if (!progress.empty()) progress_ = std::move(progress);  // a heartbeat without progress keeps the last progress
    return !std::exchange(waits_, true);
  }
  Payload take() {
    const std::lock_guard lock(mutex_);
    waits_ = false;
    return std::exchange(progress_, {});
  }

 private:
  const WorkRun run_;
  std::mutex mutex_;
  Payload progress_;    // guarded by mutex_
  bool waits_ = false;  // guarded by mutex_
};

// The worker left the reply to the holder of the token.
struct Detached {
  WorkRun run;
  Duration within;
};
struct WorkerProblem {
  std::string text;
  std::string about{};  // what many of them have in common (EngineEvents::problem_of_many); empty: nothing
};
// A thread begins it: sent only for attempts whose times are watched (RunClocks).
struct Begun {
  WorkRun run;
};
// No worker was called, or the worker left because the process stops.
struct GivenBack {
  core::WorkItem item;
  core::Began began = core::Began::no;
};
// The worker was told to stop and has not returned: its thread is written off.
struct Hung {
  WorkRun run;
};

// The store became unreachable during its transaction, or preferred another one.
struct Undone {
  WorkRun run;
};
// Its worker is ready, and waits for a transaction of a store with one writer.
struct TransactionWanted {
  WorkRun run;
  std::shared_ptr<std::promise<Result<std::shared_ptr<store::OpenTransaction>>>> opened;
};

using WorkerMessage = std::variant<WorkReply, std::shared_ptr<Heartbeat>, Detached, ProbeAnswer, WorkerProblem, Begun,
                                   GivenBack, Hung, Undone, TransactionWanted>;

}  // namespace pawl::runtime
