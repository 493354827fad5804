// Writer: one operation after another writer's statements, in their transaction.
#include <utility>

#include "store/postgres/answers.h"
#include "store/postgres/limits.h"
#include "store/postgres/wants.h"
#include "store/postgres/writer.h"

namespace pawl::store::postgres {

namespace {

const Statement save_open{"save_open", "SAVEPOINT pawl_bundle"};
const Statement return_to_open{"return_to_open", "ROLLBACK TO SAVEPOINT pawl_bundle"};

}  // namespace

Result<Outcome> Writer::commit_open(const Operation& operation) {
  const std::span<const Operation> group(&operation, 1);
  Stopped last;
  bool trusts = is_plain(operation);
  for (int tries = 0; tries < limits::stale_tries; ++tries) {
    desk_.trusts = std::exchange(trusts, false);
    outcomes_.assign(1, Outcome{});
    desk_.forget();
    pending_ = Script();
    numbers_.clear();
    pending_.add(tries == 0 ? save_open : return_to_open);
    is_open_ = true;
    last = apply_together(group);
    // The operation was done before, together with the statements of that time. The statements of this transaction are
    // rolled back.
    if (!last && outcomes_.front().kind != OutcomeKind::committed) {
      undo();
      return std::move(outcomes_.front());
    }
    if (!last) last = finish(group);
    if (!last) {
      parts_.own.learn(group, outcomes_);
      parts_.numbers.learn(numbers_);
      return std::move(outcomes_.front());
    }
    desk_.failure.reset();
    if (!last->stale || connection_.is_lost()) break;
  }
  undo();
  if (last->poison) return rejected(last->error.detail);
  return last->error;
}

}  // namespace pawl::store::postgres
