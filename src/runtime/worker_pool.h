// WorkerPool: the threads that run local workers and probes, the largest priority first, then the oldest.
// Bounded by the engine's slots: it is never given more than it has room for. Any thread may call it.
//
// A worker is code that nobody can end from outside. One that was told to stop and does not return within the grace
// time is reported, and another thread takes its place. So is one that nobody told to stop, but that has given no sign
// of life for a long time: its answer still counts. There are at most limits::hung_threads_max such threads. When the
// pool goes, one that runs on is left behind: all that it touches belongs to `Shared`, which lives as long as the last
// thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "core/job_state.h"
#include "pawl/finding.h"
#include "pawl/result.h"
#include "pawl/transaction.h"
#include "pawl/worker.h"
#include "runtime/worker_word.h"
#include "store/transaction.h"

namespace pawl::runtime {

class WorkerPool {
 public:
  struct Task {
    core::WorkItem item;
    using Code = std::variant<std::shared_ptr<const Worker>, std::shared_ptr<const Probe>,
                              std::shared_ptr<const TransactionWorker>>;
    Code code;
    bool is_probe() const { return code.index() == 1; }
  };
  struct Options {
    std::size_t threads = 1;
    core::Guid store;   // makes idempotency keys differ between stores
    Duration grace{0};  // between being told to stop and being called hung
    // Called on the pool's threads, and on that of whoever calls the pool. It must not refer to anything that may go
    // before the last worker returns, which may be never.
    std::function<void(WorkerWord)> tell;
    std::shared_ptr<store::TransactionStore> transactions{};  // of a store far away (CallSite)
    Duration silence{0};  // without a sign of life: then another thread takes the worker's place; 0: never
  };
  // An error: not all of the threads could be made, and none is left.
  static Result<std::unique_ptr<WorkerPool>> start(Options options);
  ~WorkerPool() { close(Duration{0}); }

  void give(std::vector<Task> tasks);
  // Nobody waits for these runs any more: what has not begun is not begun, what runs can see it.
  void cancel(const std::vector<WorkRun>& runs);
  // What of these has not begun is given back.
  void withdraw(const std::vector<WorkRun>& runs);
  // What was given and not begun: it will not be begun here.
  std::vector<Task> take_back();
  // The process stops: all that runs is told so.
  void cancel_all();
  std::vector<std::string> running() const;  // who, for people
  // Writes off who was told to stop and did not return. When to look again (monotonic); none: nobody is to return.
  std::optional<Duration> look();
  // Finds workers that have given no sign of life for `silence`. When to look again; none: not before more is given.
  std::optional<Duration> look_for_silent();
  // How many of those still run and have been replaced: so many more can begin something.
  std::size_t silent() const { return shared_->silent.load(std::memory_order_relaxed); }
  // Waits that long for what runs; what only waits is not begun, what runs on is left behind.
  void close(Duration wait);

 private:
  struct Seat {  // of one thread
    // Guarded by the pool's mutex:
    const Task* task = nullptr;       // that it runs now
    std::optional<Duration> hung_at;  // it is to return by then
    bool reported = false;            // that it did not
    bool silence_said = false;        // that it gives no sign of life
    bool replaced = false;            // another thread has its place: it ends when its worker returns
    bool written_off = false;         // replaced, and nobody waits for it
    bool ended = false;
    std::thread thread;
    // Read by the worker:
    std::atomic<bool> cancelled{false};
    std::atomic<bool> stopping{false};
    std::atomic<std::int64_t> heard_at{0};  // its last sign of life, monotonic, in microseconds
  };
  struct Shared {
    explicit Shared(Options o) : options(std::move(o)) {}
    std::optional<Task> next_task();  // REQUIRES: mutex is held

    const Options options;
    const SystemClock clock;
    std::mutex mutex;
    std::condition_variable ready;
    std::condition_variable ended;
    std::map<std::int32_t, std::deque<Task>, std::greater<>> tasks;  // by priority, none empty; guarded by mutex
    std::size_t sleeping = 0;                                        // guarded by mutex
    bool closing = false;                                            // guarded by mutex
    std::size_t replaced = 0;                                        // threads that run on; guarded by mutex
    std::atomic<std::size_t> silent{0};                              // of these, not written off; set under mutex
    std::atomic<bool> awaited{false};                                // somebody is to return; set under mutex
  };
  explicit WorkerPool(Options options) : shared_(std::make_shared<Shared>(std::move(options))) {}

  Status add_seat();
  std::vector<Task> take_if(const std::function<bool(const Task&)>& unwanted);
  void write_off(const std::shared_ptr<Seat>& seat);
  static void serve(const std::shared_ptr<Shared>& shared, const std::shared_ptr<Seat>& seat);
  static void run(const Shared& shared, const Task& task, Seat& seat);
  // REQUIRES: both mutexes are held. True: another thread is to take its place. Adds to the text what becomes of it.
  bool replace(Seat& seat, std::string& text);
  void add_replacement();

  const std::shared_ptr<Shared> shared_;
  mutable std::mutex seats_mutex_;          // taken before that of `shared_`
  std::list<std::shared_ptr<Seat>> seats_;  // guarded by seats_mutex_
};

}  // namespace pawl::runtime
