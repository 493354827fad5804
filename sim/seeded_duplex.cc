#include "sim/seeded_duplex.h"

#include <algorithm>

#include "base/seeded_bug.h"
#include "duplex/letters.h"

namespace pawl::duplex {

std::vector<Operation> spawn_rightly(const Hand& cause, const Payload& data, const std::vector<core::Child>& children,
                                     Instant at);

namespace {

using Purpose = core::Guid::Purpose;

// The store's last answers, for the operations that follow.
std::map<core::Guid, ledger::DuplexState> entered;  // by the mark of the entry
std::map<core::Guid, Place> closing;                // by the message that closes it

core::Guid entry_of(const core::Guid& guid, store::ClaimId claim) {
  return guid.derive(Purpose::duplex_entry, claim.raw());
}

void swap_presets_and_messages(std::vector<Operation>& operations) {
  std::stable_partition(operations.begin(), operations.end(),
                        [](const Operation& one) { return !std::holds_alternative<store::SetCell>(one); });
}

}  // namespace

std::vector<Operation> spawn(const Hand& cause, const Payload& data, const std::vector<core::Child>& children,
                             Instant at) {
  std::vector<core::Child> made = children;
  const auto state = entered.find(entry_of(cause.guid, cause.claim));
  if (seeded(SeededBug::duplex_plane_by_arrival) && state != entered.end())
    for (core::Child& child : made)
      child.at = child.at.prefix(child.at.depth() - 1).in_plane(state->second.entries() - 1).child();
  std::vector<Operation> operations = spawn_rightly(cause, data, made, at);
  if (seeded(SeededBug::duplex_preset_after_enqueue)) swap_presets_and_messages(operations);
  const auto closes = closing.find(cause.guid);
  if (seeded(SeededBug::duplex_remove_before_add) && closes != closing.end())
    operations.insert(operations.begin(), close_address(cause.run, closes->second));
  return operations;
}

}  // namespace pawl::duplex

namespace pawl::sim {

using duplex::Purpose;
using duplex::Step;
using ledger::DuplexState;
using store::DuplexOutcome;
using store::OutcomeKind;

Result<std::vector<DuplexOutcome>> SeededDuplexStore::commit(std::span<const store::DuplexOperation> operations) {
  std::vector<DuplexOutcome> outcomes;
  for (const store::DuplexOperation& operation : operations) {
    auto outcome = run_one(operation);
    if (!outcome) return outcome.error();
    outcomes.push_back(std::move(*outcome));
  }
  return outcomes;
}

Result<DuplexOutcome> SeededDuplexStore::run_one(store::DuplexOperation operation) {
  auto outcome = inner_.commit_one(operation);
  if (!outcome || !(outcome->done() || outcome->kind == OutcomeKind::exists)) return outcome;
  if (const auto* add = std::get_if<store::AddToCell>(&operation))
    if (const auto state = DuplexState::decode(outcome->value())) duplex::entered.insert_or_assign(add->mark, *state);
  if (const auto* name = std::get_if<store::NameCloser>(&operation)) mistake_closer(*name, *outcome);
  if (seeded(SeededBug::duplex_counter_not_set)) count(operation, *outcome);
  return outcome;
}

store::DuplexOperation mistaken(store::DuplexOperation operation, store::DuplexStore& store) {
  auto* add = std::get_if<store::AddToCell>(&operation);
  if (add == nullptr) return operation;
  const bool undoes = add->delta == DuplexState::delta(Step::undo_leg2_entry);
  if (seeded(SeededBug::duplex_undo_forgotten) && undoes) add->delta = 0;
  if (!seeded(SeededBug::duplex_every_closer_closes)) return operation;
  const auto job = store.read(add->run);
  if (!job || !*job) return operation;
  for (const store::ClaimedMessage& one : (*job)->stream)  // named after the delivery, not after the message
    if (one.message.guid.derive(Purpose::duplex_closing, 0) == add->mark)
      add->mark = one.message.guid.derive(Purpose::duplex_closing, one.claim.raw());
  return operation;
}

void SeededDuplexStore::mistake_closer(const store::NameCloser& name, DuplexOutcome& outcome) {
  duplex::closing.erase(name.closer);
  if (name.place.at != ledger::Dimensions::trigger()) duplex::closing.emplace(name.closer, name.place);
  if (seeded(SeededBug::duplex_every_closer_closes)) outcome.kind = OutcomeKind::already_done;
  const auto state = duplex::entered.find(duplex::entry_of(name.closer, claim_of(name.run, name.closer)));
  const bool comes_back = state != duplex::entered.end() && !state->second.open();
  if (seeded(SeededBug::duplex_cleanup_lost) && comes_back) outcome.kind = OutcomeKind::exists;
}

store::ClaimId SeededDuplexStore::claim_of(RunId run, const core::Guid& guid) {
  const auto job = inner_.read(run);
  if (job && *job)
    for (const store::ClaimedMessage& one : (*job)->stream)
      if (one.message.guid == guid) return one.claim;
  return store::ClaimId(0);
}

void SeededDuplexStore::count(const store::DuplexOperation& operation, DuplexOutcome& outcome) {
  if (!outcome.done()) return;
  if (const auto* open = std::get_if<store::OpenAddress>(&operation)) {
    const std::int64_t left = ++obligations_[open->run];
    outcome.answer = store::Obligations{left == 0};
  } else if (const auto* close = std::get_if<store::CloseAddress>(&operation)) {
    std::int64_t& left = obligations_[close->run];
    if (left > 0) --left;
    outcome.answer = store::Obligations{left == 0};
  }
}

}  // namespace pawl::sim
