// WorkerPool: the threads that run local workers and probes, the largest priority first, then the oldest.
// Bounded by the engine's slots: it is never given more than it has room for. Any thread may call it.
//
// A worker's code cannot be ended from outside. One that was told to stop and does not return within the grace time is
// reported, and another thread takes its place. The same happens to one that was not told to stop but has sent nothing
// for a long time: its reply still counts. There are at most limits::hung_threads_max such threads. When the pool is
// destroyed, a worker that has not returned is left running: everything it uses belongs to `Shared`, which exists until
// the last thread ends.
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
#include "runtime/engine_turn.h"
#include "runtime/worker_message.h"
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
    Duration grace{0};  // between being told to stop and counting as hung
    // Called on the pool's threads, and on the threads that call the pool. It must not refer to anything that may be
    // destroyed before the last worker returns, which may be never.
    std::function<void(WorkerMessage)> tell;
    std::shared_ptr<store::TransactionStore> transactions{};  // of a remote store (CallSite)
    // after this time without a reply or heartbeat another thread takes the worker's place; 0: never
    Duration silence{0};
    std::shared_ptr<EngineTurn> turn{};  // a thread that has replied may do the engine's work; none: it never does
  };
  // An error: not all of the threads could be created, and none is left.
  static Result<std::unique_ptr<WorkerPool>> start(Options options);
  ~WorkerPool() { close(Duration{0}); }

  // Who begins them: threads that sleep are woken, one less if the calling thread is of this pool and about to be free.
  enum class Takers : std::uint8_t { woken, caller_is_first };
  void give(std::vector<Task> tasks, Takers takers = Takers::woken);
  // The results of these attempts are not needed any more: waiting ones do not begin, running ones can see it.
  void cancel(const std::vector<WorkRun>& runs);
  // Gives back those that have not begun.
  void withdraw(const std::vector<WorkRun>& runs);
  // The tasks that have not begun: they will not begin here.
  std::vector<Task> take_back();
  // The process stops: tells all running workers.
  void cancel_all();
  std::vector<std::string> running() const;  // names, for people
  // Writes off workers that were told to stop and did not return. Returns when to call it again (monotonic); none: no
  // worker is expected to return.
  std::optional<Duration> look();
  // Finds workers that have sent nothing for `silence`. Returns when to call it again; none: not before more work is
  // given.
  std::optional<Duration> look_for_silent();
  // How many of those still run and have been replaced: this many more can begin something.
  std::size_t silent() const { return shared_->silent.load(std::memory_order_relaxed); }
  // Waits this long for running workers; waiting tasks do not begin, and workers that have not returned are left
  // running.
  void close(Duration wait);

 private:
  struct ThreadSlot {  // of one thread
    // Guarded by the pool's mutex:
    const Task* task = nullptr;       // the current one
    std::optional<Duration> hung_at;  // when it must have returned
    bool reported = false;            // as not returned
    bool silence_said = false;        // reported as silent
    bool replaced = false;            // another thread has its place: it ends when its worker returns
    bool written_off = false;         // replaced, and its reply is not expected
    bool ended = false;
    std::thread thread;
    // Read by the worker:
    std::atomic<bool> cancelled{false};
    std::atomic<bool> stopping{false};
    std::atomic<std::int64_t> last_sign_at{0};  // the last heartbeat or reply, monotonic, in microseconds
  };
  struct Shared {
    explicit Shared(Options o) : options(std::move(o)) {}
    std::optional<Task> next_task();  // REQUIRES: mutex is held
    EngineTurn::Borrower borrower();  // of a thread that has replied; takes the mutex

    const Options options;
    const SystemClock clock;
    std::mutex mutex;
    std::condition_variable ready;
    std::condition_variable ended;
    std::map<std::int32_t, std::deque<Task>, std::greater<>> tasks;  // by priority, none empty; guarded by mutex
    std::size_t sleeping = 0;                                        // guarded by mutex
    bool closing = false;                                            // guarded by mutex
    // replaced threads that still run; guarded by mutex
    std::size_t replaced = 0;
    std::atomic<std::size_t> silent{0};  // of these, not written off; set under mutex
    std::atomic<bool> awaited{false};    // a worker is expected to return; set under mutex
  };
  explicit WorkerPool(Options options) : shared_(std::make_shared<Shared>(std::move(options))) {}

  Status add_slot();
  std::vector<Task> take_if(const std::function<bool(const Task&)>& unwanted);
  void write_off(const std::shared_ptr<ThreadSlot>& slot);
  static void serve(const std::shared_ptr<Shared>& shared, const std::shared_ptr<ThreadSlot>& slot);
  static void run(const Shared& shared, const Task& task, ThreadSlot& slot);
  // REQUIRES: both mutexes are held. True: another thread is to take its place. Adds the consequence to the text.
  bool replace(ThreadSlot& slot, std::string& text);
  void add_replacement();

  const std::shared_ptr<Shared> shared_;
  mutable std::mutex slots_mutex_;                // taken before that of `shared_`
  std::list<std::shared_ptr<ThreadSlot>> slots_;  // guarded by slots_mutex_
};

}  // namespace pawl::runtime
