#include "store/sqlite/writer.h"

#include "base/invariant.h"
#include "store/check_limits.h"

namespace pawl::store::sqlite {

Result<std::unique_ptr<Writer>> Writer::open(std::unique_ptr<Connection> connection, const Clock& clock,
                                             Ownership& ownership) {
  std::unique_ptr<Writer> writer(new Writer(std::move(connection), clock, ownership));
  const auto prepared = writer->prepare();
  if (!prepared) return prepared.error();
  return writer;
}

Status Writer::prepare() {
  auto prepared = transaction_.prepare();
  const auto prepare_also = [&](auto&... parts) {
    ((prepared = prepared ? parts.prepare(connection()) : prepared), ...);
  };
  prepare_also(lanes_, inbox_, jobs_, inputs_, list_, work_, activities_, mailboxes_, signal_ids_, outbox_, labels_,
               packs_, removal_, apps_, engines_, duplex_);
  return prepared;
}

template <class Answer, class Any, class Apply>
Result<std::vector<Answer>> Writer::commit_group(std::span<const Any> group, const Apply& apply) {
  return transaction_.commit<Answer>(
      group, [this] { forget(); }, apply, [this] { return finish(); });
}

void Writer::forget() {
  lanes_.forget();
  inbox_.forget();
  jobs_.forget();
  list_.forget();
}

int Writer::finish() {
  int code = inbox_.store_late();
  if (code == SQLITE_OK) code = lanes_.store_next_numbers();
  return code == SQLITE_OK ? list_.advance() : code;
}

Result<std::vector<Outcome>> Writer::commit(std::span<const Operation> group) {
  first_steps_ = {};
  return commit_group<Outcome>(group, [this](const Operation& operation) { return apply(operation); });
}

Result<std::vector<DuplexOutcome>> Writer::commit(std::span<const DuplexOperation> group) {
  return commit_group<DuplexOutcome>(group, [this](const DuplexOperation& operation) {
    // A dequeue concerns a stream, not a job.
    return run_of(operation) || std::holds_alternative<StartDuplex>(operation)
               ? duplex_.apply(operation)
               : for_whole_group(duplex_.apply(operation));
  });
}

Status Writer::open() {
  forget();
  return transaction_.open();
}

Result<Outcome> Writer::commit_open(const Operation& operation) {
  return transaction_.commit_open<Outcome>(
      operation, [this](const Operation& one) { return apply(one); }, [this] { return finish(); });
}

Applied Writer::apply(const Operation& operation) {
  const auto refusal = first_steps_.refusal_of(operation);
  if (refusal) return refused(OutcomeKind::conflict, *refusal);
  Applied applied = apply_any(operation);
  if (applied.code == SQLITE_OK) first_steps_.applied(operation, applied.outcome);
  return applied;
}

Applied Writer::apply_any(const Operation& operation) {
  const auto fits = check_limits(operation);
  if (!fits) return refused(OutcomeKind::rejected, fits.error().detail);
  return std::visit(Overloaded{
                        [this](const core::Bundle& one) { return bundles_.apply(one); },
                        [this](const Submit& one) { return jobs_.apply(one); },
                        [this](const Deliver& one) { return outbox_.apply(one); },
                        [this](const DropOutbox& one) { return outbox_.apply(one); },
                        [this](const DeliverReply& one) { return work_.apply(one); },
                        [this](const ClaimWork& one) { return work_.apply(one); },
                        [this](const ClaimItem& one) { return work_.apply(one); },
                        [this](const ExtendWork& one) { return work_.apply(one); },
                        [this](const ReleaseWork& one) { return work_.apply(one); },
                        [this](const PauseTopic& one) { return work_.apply(one); },
                        [this](const OpenPool& one) { return for_whole_group(lanes_.apply(one)); },
                        [this](const AcquireLane& one) { return acquire(one); },
                        [this](const RenewLane& one) { return for_whole_group(lanes_.apply(one)); },
                        [this](const ReleaseLane& one) { return for_whole_group(lanes_.apply(one)); },
                        [this](const BeatEngine& one) { return for_whole_group(engines_.apply(one)); },
                        [this](const LeaveEngine& one) { return for_whole_group(engines_.apply(one)); },
                        [this](const RemoveJob& one) { return removal_.apply(one); },
                        [this](const DropKeys& one) { return removal_.apply(one); },
                        [this](const PutApp& one) { return apps_.apply(one); },
                        [this](const ActivateApp& one) { return apps_.apply(one); },
                    },
                    operation);
}

// The new owner of the lane looks for work in the list alone.
Applied Writer::acquire(const AcquireLane& acquire) {
  Applied acquired = for_whole_group(lanes_.apply(acquire));
  if (!is_done(acquired)) return acquired;
  const Applied listed = list_.list_all();
  return is_done(listed) ? acquired : listed;
}

int Writer::mark_home(bool on) {
  return sqlite3_exec(
      connection().handle(),
      on ? "UPDATE store_state SET writer = -abs(writer)" : "UPDATE store_state SET writer = abs(writer)", nullptr,
      nullptr, nullptr);
}

}  // namespace pawl::store::sqlite
