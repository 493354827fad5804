// TransactionStore: hands out transactions in which a worker's own SQL comes before the bundle that takes its reply. An
// interface beside Store, for stores that have SQL; why: docs/decisions/039-transactions.md.
//
// Invariants of every TransactionStore:
// 1. What a transaction wrote is durable if and only if the bundle it was committed with is durable: the guards and
//    marks are the last writes of the same transaction. A refused bundle undoes all of it.
// 2. Whatever the worker does, it cannot commit by itself, and it blocks others no longer than its time.
#pragma once

#include <memory>

#include "core/bundle.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "pawl/transaction.h"
#include "store/operation.h"

namespace pawl::store {

// One open transaction. It is rolled back when it is destroyed without a commit; the destructor does not block.
// Threads: one at a time; expire() and is_over() may be called from any thread at any time.
class OpenTransaction : public pawl::Transaction {
 public:
  virtual ~OpenTransaction() = default;

  // Whether it can be committed; the error names what the worker's SQL did to it.
  virtual Status sound() = 0;
  // Applies the bundle and commits all of it. When the outcome is not done(), all of it was undone. Errors: `invalid`,
  // what the worker's SQL left cannot be committed; retry_later, nothing was applied; outcome_unknown.
  virtual Result<Outcome> commit(const core::Bundle& bundle) = 0;
  virtual void roll_back() = 0;  // may block on the store

  // Its time is over: it is rolled back now, even while a worker uses it, and every later call is refused.
  virtual void expire() = 0;
  virtual bool is_over() const = 0;  // committed, rolled back or expired: it blocks no one
};

class TransactionStore {
 public:
  virtual ~TransactionStore() = default;

  // retry_later: not now. If the store has one writer (Store::connections() == 0), only the committing thread calls
  // this, and commits nothing else until the transaction is over. A transaction may outlive its store, because a worker
  // may; then its calls are refused.
  virtual Result<std::shared_ptr<OpenTransaction>> begin() = 0;
  // How long one may be open; after that it refuses calls by itself or by expire().
  virtual Duration time() const = 0;
};

}  // namespace pawl::store
