// TransactionDesk: for a store with one writer, which worker has its transaction. One at a time, between two groups:
// until it is over nothing else is committed, so one that takes too long is rolled back. For the engine's thread.
#pragma once

#include <deque>
#include <future>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "runtime/engine.h"
#include "runtime/worker_message.h"
#include "store/transaction.h"

namespace pawl::runtime {

class TransactionDesk {
 public:
  // `store`: null if the store is of another kind; then nothing is asked.
  TransactionDesk(store::TransactionStore* store, const Clock& clock, Engine& engine)
      : store_(store), clock_(clock), engine_(engine) {}

  void want(TransactionWanted wanted) { waiting_.push_back(std::move(wanted)); }
  void refuse_all(const Error& why);  // those that wait

  // REQUIRES: nothing is being committed. True: one has begun.
  bool begin_next();
  bool is_open();  // when it is closed, the engine is told
  void look();     // checks whether it is over; rolls it back when its time is over
  void close();    // rolls it back in any case
  std::optional<Duration> until() const { return open_ ? std::optional(open_->until) : std::nullopt; }

 private:
  struct Open {
    RunId run{0};
    std::weak_ptr<store::OpenTransaction> transaction;
    Duration until{0};
  };
  store::TransactionStore* const store_;
  const Clock& clock_;
  Engine& engine_;
  std::deque<TransactionWanted> waiting_;
  std::optional<Open> open_;
};

}  // namespace pawl::runtime
