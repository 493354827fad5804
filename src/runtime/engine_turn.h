// EngineTurn: which thread does the engine's work now. Usually the engine's own. While that one sleeps, any other that
// has something for it does it: a worker's thread with a reply, or, over a remote store, a thread of the store with the
// end of a commit or a command of a caller. The steps of a single job then stay on its worker's thread
// (docs/decisions/098-borrowed-turns.md, 109-postgres-round-trips.md). Any thread may call it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace pawl::runtime {

class EngineTurn {
 public:
  // The thread that would do the engine's work.
  enum class Borrower : std::uint8_t {
    none,         // it has other work
    worker,       // it waits for its next task
    idle_worker,  // another one waits too: it has time for a call to a remote store
    store         // it is there for such calls
  };
  // A call to a remote store, which the borrower makes after it has given the turn back. It puts its end into the queue
  // and owes it. None: nothing is left to do.
  using Call = std::function<void()>;
  using Work = std::function<Call(Borrower)>;

  // `wake` wakes the engine's thread. It is called for as long as there are workers.
  explicit EngineTurn(std::function<void()> wake) : wake_(std::move(wake)) {}

  // The engine's thread has the turn, except while it sleeps.
  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }
  // What a borrower does; none: it only wakes the engine's thread. REQUIRES: the caller has the turn.
  void lend(Work work) { work_ = std::move(work); }

  // A reply is in the queue, and the engine's thread was not woken for it. The caller calls settle() soon.
  void owe() { owed_.store(true); }
  bool is_owed() const { return owed_.load(); }
  // Does the engine's work if the caller has nothing else to do, or wakes the engine's thread. `who` is asked before
  // each turn: between two of them is a call to the store.
  template <class Who>
  void settle(const Who& who) {
    while (owed_.exchange(false)) {  // else somebody took the reply, or is about to
      Call call;
      const Borrower borrower = who();
      if (borrower == Borrower::none || !try_work(borrower, call)) return wake_();
      if (!call) return;
      call();
    }
  }

 private:
  bool try_work(Borrower borrower, Call& call) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !work_) return false;
    call = work_(borrower);
    return true;
  }

  const std::function<void()> wake_;
  std::atomic<bool> owed_{false};
  std::mutex mutex_;
  Work work_;  // guarded by mutex_
};

}  // namespace pawl::runtime
