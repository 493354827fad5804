// What worker threads tell the engine's thread.
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

// The newest heartbeat of one run. A worker that says it in a loop overwrites it: one at the most waits in the
// engine's queue. Any thread may call it.
class Heartbeat {
 public:
  explicit Heartbeat(const WorkRun& run) : run_(run) {}

  const WorkRun& run() const { return run_; }
  // True: nothing waited, so the engine must be told that something does now.
  bool say(Payload progress) {
    const std::lock_guard lock(mutex_);
    if (!progress.empty()) progress_ = std::move(progress);  // a bare beat unsays nothing
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

// The worker left the answer to whoever has the token.
struct Detached {
  WorkRun run;
  Duration within;
};
struct WorkerProblem {
  std::string text;
  std::string about{};  // what many of them have in common (EngineEvents::problem_of_many); empty: nothing
};
// A thread takes it: said only of runs whose times are watched (RunClocks).
struct Begun {
  WorkRun run;
};
// No worker was called, or it was told that the process stops and left.
struct GivenBack {
  core::WorkItem item;
  core::Began began = core::Began::no;
};
// The worker was told to stop and has not returned: its thread is written off.
struct Hung {
  WorkRun run;
};

// The store went away under its transaction, or gave another one precedence.
struct Undone {
  WorkRun run;
};
// Its worker stands ready, and waits for a transaction of a store that has one writer.
struct TransactionWanted {
  WorkRun run;
  std::shared_ptr<std::promise<Result<std::shared_ptr<store::OpenTransaction>>>> opened;
};

using WorkerWord = std::variant<WorkAnswer, std::shared_ptr<Heartbeat>, Detached, ProbeAnswer, WorkerProblem, Begun,
                                GivenBack, Hung, Undone, TransactionWanted>;

}  // namespace pawl::runtime
