#include "store/sqlite/bundle_writer.h"

#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "store/rules.h"
#include "store/snapshot.h"

namespace pawl::store::sqlite {

namespace {

Applied after_write(Applied applied) {
  applied.wrote = true;
  return applied;
}

enum class Of : std::uint8_t { job, mailbox, both };
Of owner_of(const core::Write& write) {
  return std::visit(
      Overloaded{
          each_of<core::PutEntry, core::DropEntry, core::OfferEntry>([] { return Of::mailbox; }),
          each_of<core::PutMessage, core::CountRedelivery, core::Consume, core::Send>([] { return Of::both; }),
          each_of<core::PutActivity, core::PutRecord, core::PutWork, core::DropWork, core::ChangeWork, core::Sweep,
                  core::HoldWork, core::PutLabel, core::DropLabel, core::AddMeasure, core::Announce>(
              [] { return Of::job; }),
      },
      write);
}

// Neither refused nor done before.
bool is_new(const Applied& applied) {
  return applied.code == SQLITE_OK && applied.outcome.kind == OutcomeKind::committed;
}

// A write that concerns all items before it and none after it.
bool is_for_all(const core::Write& write) {
  return std::holds_alternative<core::Sweep>(write) || std::holds_alternative<core::HoldWork>(write);
}

}  // namespace

Applied BundleWriter::apply(const core::Bundle& bundle) {
  Applied guarded = parts_.lanes.guard(core::lane_of(bundle.entity), bundle.epoch);
  if (!is_done(guarded)) return guarded;
  AtHand at{bundle};
  if (const auto* job = std::get_if<core::JobHead>(&bundle.head)) return step_semaphore_and_snapshot(at, *job);
  Applied head = step(bundle, std::get<core::MailboxHead>(bundle.head));
  return is_new(head) ? apply_writes(at, std::move(head)) : head;
}

// setStatusAndCollateGuid (store/snapshot.h): two statements, because one can change only one table, together with the
// rest of the bundle. The first adds the delta and returns the hit. The second writes the ledger of the message that
// closed the job, with hit * weight added to the bundle's value (ActivityWriter); it is the statement that stores that
// message's marks in any case. `at.hit` is the primitive's answer.
Applied BundleWriter::step_semaphore_and_snapshot(AtHand& at, const core::JobHead& head) {
  Applied stepped = parts_.jobs.step_semaphore(at.bundle, head, at.hit);
  if (stepped.code != SQLITE_OK) return stepped;
  if (!stepped.wrote) return refused_step(at.bundle, head);
  const bool expected = head.semaphore && head.semaphore->hit;
  const auto snapshot = snapshot_of(at.bundle);
  if (at.hit != expected || !snapshot) {
    Applied stale = parts_.work.check_tokens(at.bundle);  // a race is not a mistake
    if (!is_done(stale)) return after_write(std::move(stale));
    return after_write(contradicts(snapshot ? other_hit(*head.semaphore, at.hit) : snapshot.error().detail));
  }
  at.snapshot = *snapshot;
  Applied applied = apply_writes(at, std::move(stepped));
  const bool ends = core::is_closed(head.status) && head.completions > head.completions_before;
  if (!ends || !is_done(applied)) return applied;
  Applied packed = parts_.packs.pack(at.run());
  return is_done(packed) ? applied : after_write(std::move(packed));
}

Applied BundleWriter::refused_step(const core::Bundle& bundle, const core::JobHead& head) {
  const EntityRow row = parts_.jobs.read_row(bundle.entity);
  if (row.failed) return *row.failed;
  if (!row.there) return missing_entity(bundle);
  Applied moved = check_rev(row, bundle);
  if (!is_new(moved)) return moved;
  Applied stale = parts_.work.check_tokens(bundle);
  if (!is_done(stale)) return stale;
  return parts_.jobs.contradiction(bundle, head);
}

Applied BundleWriter::step(const core::Bundle& bundle, const core::MailboxHead& head) {
  const EntityRow row = parts_.mailboxes.read_row(bundle.entity);
  if (row.failed) return *row.failed;
  if (!row.there) return missing_entity(bundle);
  Applied moved = check_rev(row, bundle);
  return is_new(moved) ? parts_.mailboxes.step(bundle, head, row) : moved;
}

// There is no row for the bundle's head.
Applied BundleWriter::missing_entity(const core::Bundle& bundle) {
  const bool mailbox = is_mailbox(bundle);
  const EntityRow other = mailbox ? parts_.jobs.read_row(bundle.entity) : parts_.mailboxes.read_row(bundle.entity);
  if (other.failed) return *other.failed;
  if (!other.there && mailbox) return refused(OutcomeKind::conflict, no_mailbox(bundle.entity));
  if (!other.there) return contradicts(format("there is no job or mailbox {}", bundle.entity.raw()));
  if (other.rev != bundle.rev_before)
    return refused(OutcomeKind::conflict, format("rev is {}, expected {}", other.rev.raw(), bundle.rev_before.raw()));
  return contradicts(mailbox ? "a mailbox bundle for a job" : "a job's bundle for a mailbox");
}

// Everything after the entity's own row. `head` is what was done to that row.
Applied BundleWriter::apply_writes(AtHand& at, Applied head) {
  const core::Bundle& bundle = at.bundle;
  const Of foreign = is_mailbox(bundle) ? Of::job : Of::mailbox;
  for (const core::Write& write : bundle.writes)
    if (owner_of(write) == foreign)
      return after_write(
          contradicts(foreign == Of::job ? "a job's write in a mailbox bundle" : "a mailbox write in a job's bundle"));
  // Tokens guard the state before the bundle: a sweep must not take a guarded item first, and a race is reported before
  // corruption. Usually the guards of the statements are enough; only a group in doubt pays for a read.
  const auto moves = [](const core::Write& write) {
    return is_for_all(write) || std::holds_alternative<core::ChangeWork>(write);
  };
  at.tokens_checked = parts_.transaction.in_doubt() || std::any_of(bundle.writes.begin(), bundle.writes.end(), moves);
  if (at.tokens_checked) {
    Applied stale = parts_.work.check_tokens(bundle);
    if (!is_done(stale)) return after_write(std::move(stale));
  }
  Applied written = apply_in_order(at, head.outcome);
  return is_done(written) ? head : after_write(std::move(written));
}

// First the rows of activities, each combined from all its writes in the bundle; then the rest, in order, up to the
// next write that concerns all items so far.
Applied BundleWriter::apply_in_order(const AtHand& at, Outcome& outcome) {
  const std::vector<core::Write>& writes = at.bundle.writes;
  answer::Reached reached;
  for (std::size_t first = 0; first < writes.size();) {
    std::size_t end = first;
    while (end < writes.size() && !is_for_all(writes[end])) ++end;
    Applied rows = parts_.activities.apply(at, first, end);
    if (!is_done(rows)) return rows;
    for (; first < writes.size() && first <= end; ++first) {
      if (row_of(writes[first])) continue;
      Applied applied = apply_write(at, writes[first]);
      if (!is_done(applied)) return applied;
      if (applied.outcome.run() != RunId(0)) reached.runs.push_back(applied.outcome.run());
      if (!applied.outcome.reason.empty()) outcome.reason = std::move(applied.outcome.reason);
    }
  }
  if (!reached.runs.empty()) outcome.answer = std::move(reached);
  return is_mailbox(at.bundle) ? parts_.mailboxes.drop_if_empty(at.run()) : Applied{};
}

// All writes except the rows of activities.
Applied BundleWriter::apply_write(const AtHand& at, const core::Write& write) {
  return std::visit(
      Overloaded{
          each_of<core::PutActivity, core::PutRecord, core::PutWork, core::DropWork, core::ChangeWork>([]() -> Applied {
            invariant(false, "the row of an activity is written as a whole");
            return {};
          }),
          [&](const core::PutMessage& one) { return parts_.inbox.apply(at.run(), one); },
          [&](const core::CountRedelivery& one) { return parts_.inbox.apply(at.run(), one); },
          [&](const core::Consume& one) { return parts_.inbox.apply(at.run(), one); },
          [&](const core::Sweep& one) {
            Applied swept = parts_.inbox.sweep(at.run(), one.keep);
            return is_done(swept) ? parts_.work.sweep(at.run()) : swept;
          },
          [&](const core::HoldWork& one) { return parts_.work.apply(at, one); },
          [&](const core::Send& one) { return parts_.outbox.apply(at.bundle, one); },
          [&](const core::PutEntry& one) { return parts_.mailboxes.apply(at.run(), one); },
          [&](const core::DropEntry& one) { return parts_.mailboxes.apply(at.run(), one); },
          [&](const core::OfferEntry& one) { return parts_.mailboxes.apply(at.run(), one); },
          [&](const core::PutLabel& one) { return parts_.labels.apply(at.run(), one); },
          [&](const core::DropLabel& one) { return parts_.labels.apply(at.run(), one); },
          [&](const core::AddMeasure& one) { return parts_.labels.apply(at.run(), one); },
          [&](const core::Announce& one) { return parts_.labels.apply(at.run(), one); },
      },
      write);
}

}  // namespace pawl::store::sqlite
