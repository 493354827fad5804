#include "store/fault/transactions.h"

#include <utility>

namespace pawl::store::fault {

namespace {

class Broken final : public OpenTransaction {
 public:
  Broken(Store& faults, std::shared_ptr<OpenTransaction> inner) : faults_(faults), inner_(std::move(inner)) {}

  using pawl::Transaction::execute;
  Result<SqlRows> execute(std::string_view sql, std::span<const SqlValue> params) override {
    return inner_->execute(sql, params);
  }
  Kind kind() const override { return inner_->kind(); }
  void* handle() override { return inner_->handle(); }
  Status sound() override { return inner_->sound(); }
  void roll_back() override { inner_->roll_back(); }
  void expire() override { inner_->expire(); }
  bool is_over() const override { return inner_->is_over(); }

  Result<Outcome> commit(const core::Bundle& bundle) override {
    const Operation operation = bundle;
    const Fault fault = faults_.fault_for({&operation, 1});
    const Error lost{ErrorCode::outcome_unknown, "injected: the reply was lost"};
    switch (fault.kind) {
      case fault::Kind::none:
      case fault::Kind::delay:
      case fault::Kind::duplicate:
        return inner_->commit(bundle);  // a transaction ends once
      case fault::Kind::error_before:
        return inner_->roll_back(), Error{ErrorCode::retry_later, "injected: the store refused the call"};
      case fault::Kind::fence:
        return inner_->roll_back(), Outcome{OutcomeKind::fenced, "injected: the lane has another owner", {}};
      case fault::Kind::drop_midway:
        if (fault.applied == 0) return inner_->roll_back(), lost;
        [[fallthrough]];
      case fault::Kind::error_after: {
        auto done = inner_->commit(bundle);
        if (!done) return done;
        return lost;
      }
    }
    return lost;
  }

 private:
  Store& faults_;
  const std::shared_ptr<OpenTransaction> inner_;
};

}  // namespace

Result<std::shared_ptr<OpenTransaction>> Transactions::begin() {
  auto begun = inner_->begin();
  if (!begun) return begun;
  return std::shared_ptr<OpenTransaction>(std::make_shared<Broken>(faults_, std::move(*begun)));
}

}  // namespace pawl::store::fault
