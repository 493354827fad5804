// TransactionStore: hands out transactions in which a worker's own SQL stands before the bundle that takes its answer.
// An interface beside Store, for stores that have SQL; why so: docs/decisions/039-transactions.md.
//
// Invariants that every one keeps:
// 1. What a transaction wrote is durable if and only if the bundle it was committed with is: the guards and marks are
// the
//    last writes of the same transaction. A refused bundle undoes all of it.
// 2. Whatever the worker does, it cannot commit by itself, and it holds up others for no longer than its time.
#pragma once

#include <memory>

#include "core/bundle.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "pawl/transaction.h"
#include "store/operation.h"

namespace pawl::store {

// One transaction, open. Rolled back when it goes without a commit; that waits for nobody.
// Threads: one after the other; expire() and is_over() are for any thread, at any time.
class OpenTransaction : public pawl::Transaction {
 public:
  virtual ~OpenTransaction() = default;

  // Whether it could be committed; the error says what the worker's SQL did to it.
  virtual Status sound() = 0;
  // Applies the bundle and commits all of it. An outcome that is not done() has undone all of it. An error: `invalid`,
  // what the worker's SQL left cannot be committed; retry_later, nothing was applied; outcome_unknown.
  virtual Result<Outcome> commit(const core::Bundle& bundle) = 0;
  virtual void roll_back() = 0;  // may wait for the store

  // Its time is over: rolled back now, whoever has it, and every call is refused from now on.
  virtual void expire() = 0;
  virtual bool is_over() const = 0;  // committed, rolled back or expired: it holds up nobody
};

class TransactionStore {
 public:
  virtual ~TransactionStore() = default;

  // retry_later: not now. Where nobody else can write meanwhile (Store::connections() == 0), only the thread that
  // commits calls it, and commits nothing else until the transaction is over. May outlive its store, as a worker may:
  // then refused.
  virtual Result<std::shared_ptr<OpenTransaction>> begin() = 0;
  // How long one may be open; then it is refused by itself, or by expire().
  virtual Duration time() const = 0;
};

}  // namespace pawl::store
