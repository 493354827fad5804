#include "store/sqlite/outbox_writer.h"

#include <string>

#include "base/format.h"
#include "core/codec.h"
#include "store/rules.h"
#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

Status OutboxWriter::prepare(Connection& connection) {
  return prepare_each(
      connection,
      {
          {&read_taken_, "SELECT last_seq FROM outbox_taken WHERE target = ?1 AND source = ?2"},
          {&put_taken_,
           "INSERT INTO outbox_taken (target, source, last_seq) VALUES (?1, ?2, ?3)"
           " ON CONFLICT DO UPDATE SET last_seq = excluded.last_seq"},
          {&read_route_, "SELECT last_seq FROM outbox_routes WHERE source = ?1 AND target = ?2"},
          {&count_row_,
           "INSERT INTO outbox_routes (source, target, last_seq, dropped) VALUES (?1, ?2, 1, 0)"
           " ON CONFLICT DO UPDATE SET last_seq = last_seq + 1"},
          {&put_row_,
           "INSERT INTO outbox (source, target, seq, envelope) VALUES (?1, ?2,"
           " (SELECT last_seq FROM outbox_routes WHERE source = ?1 AND target = ?2), ?3)"},
          {&find_row_, "SELECT 1 FROM outbox WHERE source = ?1 AND target = ?2 AND envelope = ?3"},
          {&drop_rows_, "DELETE FROM outbox WHERE source = ?1 AND target = ?2 AND seq <= ?3"},
          {&note_dropped_, "UPDATE outbox_routes SET dropped = max(dropped, ?3) WHERE source = ?1 AND target = ?2"},
      });
}

OutboxWriter::LastRow OutboxWriter::last_taken(core::LaneId target, core::LaneId source) {
  LastRow last;
  Rows rows = read_taken_.query(target, source);
  if (rows.next()) last.seq = rows.word(0);
  if (rows.failed()) last.failed = failed(rows);
  return last;
}

OutboxWriter::LastRow OutboxWriter::last_put(core::LaneId source, core::LaneId target) {
  LastRow last;
  Rows rows = read_route_.query(source, target);
  if (rows.next()) last.seq = rows.word(0);
  if (rows.failed()) last.failed = failed(rows);
  return last;
}

std::optional<Applied> OutboxWriter::refuse_unless_there(core::LaneId lane) {
  const Checked there = lanes_.exists(lane);
  if (there.failed) return there.failed;
  if (!there.yes) return no_lane(lane);
  return std::nullopt;
}

std::optional<Applied> OutboxWriter::refuse_unless_next(const Deliver::Source& source, core::LaneId target) {
  if (auto missing = refuse_unless_there(source.lane)) return missing;
  const LastRow last = last_taken(target, source.lane);
  if (last.failed) return last.failed;
  if (source.seq <= last.seq) return refused(OutcomeKind::already_done, "");
  if (source.seq == last.seq + 1) return std::nullopt;
  Applied early = refused(OutcomeKind::conflict, format("row {} came before row {}", source.seq, last.seq + 1));
  early.outcome.answer = answer::Taken{last.seq};
  return early;
}

Applied OutboxWriter::apply(const Deliver& deliver) {
  const core::LaneId lane = core::lane_of(deliver.envelope.to, deliver.lane);
  if (deliver.source || is_by_key(deliver.envelope))
    if (const auto missing = refuse_unless_there(lane)) return *missing;
  if (deliver.source)
    if (const auto refusal = refuse_unless_next(*deliver.source, lane)) return *refusal;
  Applied applied = is_remembered(deliver) ? send_once(deliver.envelope, lane) : send(deliver.envelope, lane);
  if (deliver.source) pass_over(applied.outcome);
  if (!is_done(applied) || !deliver.source) return applied;
  if (put_taken_.run(lane, deliver.source->lane, deliver.source->seq) == Statement::failed) return failed(put_taken_);
  return applied;
}

Applied OutboxWriter::apply(const DropOutbox& drop) {
  Applied guarded = lanes_.guard(drop.lane, drop.epoch);
  if (!is_done(guarded)) return guarded;
  const LastRow last = last_put(drop.lane, drop.target);
  if (last.failed) return *last.failed;
  if (drop.up_to > last.seq) return refused(OutcomeKind::rejected, no_row(drop));
  for (Statement* statement : {&drop_rows_, &note_dropped_})
    if (statement->run(drop.lane, drop.target, drop.up_to) == Statement::failed) return failed(*statement);
  return Applied{SQLITE_OK, true, {}};
}

Applied OutboxWriter::apply(const core::Bundle& bundle, const core::Send& write) {
  if (is_by_key(write.envelope))
    if (const auto missing = refuse_unless_there(write.lane)) return *missing;
  if (!sends_directly_)
    return put_row(core::lane_of(bundle.entity), write.envelope, core::lane_of(write.envelope.to, write.lane));
  Applied sent = send(write.envelope, write.lane);
  pass_over(sent.outcome);
  return sent;
}

// A run of a lane that does not exist has no receiver.
Applied OutboxWriter::put_row(core::LaneId from, const core::Envelope& envelope, core::LaneId to) {
  const Checked there = lanes_.exists(to);
  if (there.failed) return *there.failed;
  if (!there.yes) return {};
  if (count_row_.run(from, to) == Statement::failed) return failed(count_row_);
  const std::string bytes = core::encode(envelope);
  if (put_row_.run(from, to, Blob{bytes}) == Statement::failed) return failed(put_row_);
  return Applied{SQLITE_OK, true, {}};
}

// A run that is gone or closed takes nothing; the first message creates a mailbox, the start message creates a child.
Applied OutboxWriter::send(const core::Envelope& envelope, core::LaneId lane) {
  if (const auto* key = std::get_if<core::MailboxKey>(&envelope.to))
    return mailboxes_.deliver(*key, envelope.message, lane);
  if (const auto* key = std::get_if<core::JobKey>(&envelope.to)) {
    const auto* start = std::get_if<core::StartChild>(&envelope.message.body);
    return start != nullptr ? start_child(*key, *start, lane) : jobs_.deliver(*key, envelope.message);
  }
  return jobs_.deliver(std::get<RunId>(envelope.to), envelope.message);
}

Applied OutboxWriter::send_once(const core::Envelope& signal, core::LaneId lane) {
  const Checked known = signal_ids_.has(lane, signal.message.guid);
  if (known.failed) return *known.failed;
  if (known.yes) return mailboxes_.told_before(std::get<core::MailboxKey>(signal.to));
  Applied sent = send(signal, lane);
  if (!is_done(sent) || sent.outcome.kind != OutcomeKind::committed) return sent;
  const Applied kept = signal_ids_.add(lane, signal.message.guid);
  return is_done(kept) ? sent : kept;
}

Applied OutboxWriter::start_child(const core::JobKey& key, const core::StartChild& start, core::LaneId lane) {
  Applied begun = jobs_.begin(submit_of(start, key, lane, clock_.now()), start.parent);
  if (begun.code != SQLITE_OK || begun.outcome.kind != OutcomeKind::exists) return begun;
  const Checked made = jobs_.made_by(begun.outcome.run(), start);
  if (made.failed) return *made.failed;
  if (made.yes) {
    begun.outcome.kind = OutcomeKind::already_done;
    return begun;
  }
  Applied told = refuse_child(core::refused_child(start, key.id), lane);
  told.outcome.answer = answer::Run{start.parent.run};
  return told;
}

// As if a job of this lane had sent it. A refusal that already waits is not sent again.
Applied OutboxWriter::refuse_child(const core::Envelope& refusal, core::LaneId lane) {
  if (sends_directly_) return jobs_.deliver(std::get<RunId>(refusal.to), refusal.message);
  const core::LaneId to = core::lane_of(refusal.to, lane);
  const std::string bytes = core::encode(refusal);
  {
    Rows rows = find_row_.query(lane, to, Blob{bytes});
    if (rows.next()) return refused(OutcomeKind::already_done, "");
    if (rows.failed()) return failed(rows);
  }
  return put_row(lane, refusal, to);
}

}  // namespace pawl::store::sqlite
