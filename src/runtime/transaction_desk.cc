#include "runtime/transaction_desk.h"

#include <algorithm>
#include <utility>

namespace pawl::runtime {

void TransactionDesk::refuse_all(const Error& why) {
  for (TransactionWanted& wanted : std::exchange(waiting_, {})) wanted.opened->set_value(why);
}

// The first one in the queue whose job has nothing on its way.
bool TransactionDesk::begin_next() {
  const auto next = std::find_if(waiting_.begin(), waiting_.end(), [this](const TransactionWanted& wanted) {
    return engine_.hold_for_transaction(wanted.run.ref.run);
  });
  if (next == waiting_.end()) return false;
  const TransactionWanted wanted = std::move(*next);
  waiting_.erase(next);
  auto begun = store_->begin();
  if (begun)
    open_ = Open{wanted.run.ref.run, *begun, clock_.monotonic() + store_->time()};
  else
    engine_.transaction_is_over(wanted.run.ref.run);
  const bool opened = begun.ok();
  wanted.opened->set_value(std::move(begun));
  return opened;
}

bool TransactionDesk::is_open() {
  if (!open_) return false;
  const auto transaction = open_->transaction.lock();
  if (transaction != nullptr && !transaction->is_over()) return true;
  engine_.transaction_is_over(std::exchange(open_, std::nullopt)->run);
  return false;
}

void TransactionDesk::look() {
  if (is_open() && clock_.monotonic() >= open_->until) close();
}

void TransactionDesk::close() {
  if (!open_) return;
  if (const auto transaction = open_->transaction.lock()) transaction->expire();
  is_open();
}

}  // namespace pawl::runtime
