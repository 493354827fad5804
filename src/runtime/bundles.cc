#include "runtime/bundles.h"

#include <utility>
#include <variant>

#include "base/format.h"
#include "base/seeded_bug.h"
#include "runtime/parts.h"

namespace pawl::runtime {

using store::OutcomeKind;

Decider& Bundles::decider_of(const core::Bundle& bundle) {
  if (std::holds_alternative<core::MailboxHead>(bundle.head)) return parts_.mailboxes;
  return parts_.jobs;
}

void Bundles::launch(core::Bundle bundle, std::shared_ptr<store::OpenTransaction> transaction) {
  parts_.post.address(bundle);
  if (transaction != nullptr)
    parts_.outgoing.push(std::move(bundle), std::move(transaction));
  else
    parts_.outgoing.push(std::move(bundle));
}

void Bundles::settle(core::Bundle& bundle, const store::Outcome& outcome) {
  Decider& decider = decider_of(bundle);
  const bool waited_for = decider.came_back(bundle);  // else the current owner delivers what was committed
  const bool taken_as_done = (outcome.kind == OutcomeKind::fenced && seeded(SeededBug::fenced_ignored)) ||
                             (outcome.kind == OutcomeKind::outcome_unknown && seeded(SeededBug::unknown_is_committed));
  if (waited_for && (outcome.done() || taken_as_done)) return decider.absorb(bundle);
  if (outcome.done()) parts_.workshop.put_for_others(bundle);
  decider.withdraw(bundle);
  if (!waited_for) return;
  switch (outcome.kind) {
    case OutcomeKind::committed:
    case OutcomeKind::already_done:
      return;
    case OutcomeKind::exists:
    case OutcomeKind::conflict:
    case OutcomeKind::outcome_unknown:
      parts_.post.sent(bundle, OutcomeKind::outcome_unknown);
      return decider.read_again(std::move(bundle));
    case OutcomeKind::fenced:
      parts_.events.problem(format("lane {} has another owner", core::lane_of(bundle.entity).raw()));
      return parts_.lane_taken(core::lane_of(bundle.entity));
    case OutcomeKind::over_limit:
    case OutcomeKind::rejected:
      return decider.refused(bundle, outcome.reason);
  }
}

}  // namespace pawl::runtime
