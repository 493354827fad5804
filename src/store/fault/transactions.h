// Makes the commits of workers' transactions fail, by the plan of a fault store and with its numbers.
#pragma once

#include <memory>

#include "store/fault/store.h"
#include "store/transaction.h"

namespace pawl::store::fault {

class Transactions final : public TransactionStore {
 public:
  // `faults` must outlive the transactions.
  Transactions(Store& faults, std::shared_ptr<TransactionStore> inner) : faults_(faults), inner_(std::move(inner)) {}

  Result<std::shared_ptr<OpenTransaction>> begin() override;
  Duration time() const override { return inner_->time(); }

 private:
  Store& faults_;
  const std::shared_ptr<TransactionStore> inner_;
};

}  // namespace pawl::store::fault
