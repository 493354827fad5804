#include "store/postgres/activity_rows.h"

#include "store/postgres/expected.h"

namespace pawl::store::postgres {

namespace {

using Mark = ledger::ActivityLedger::Mark;

const Statement read_activities{
    "read_activity_guards",
    "SELECT a.run, a.seq, a.ledger, a.closing_guid, a.closing_ledger FROM (SELECT unnest($1::bigint[]) AS run,"
    " unnest($2::bigint[]) AS seq) AS u"
    " JOIN activities a ON a.run = ANY(ARRAY[u.run]) AND a.seq = u.seq"};
const Statement read_records{
    "read_ledgers",
    "SELECT m.run, m.guid, m.ledger FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bytea[]) AS guid) AS u"
    " JOIN message_ledgers m ON m.run = ANY(ARRAY[u.run]) AND m.guid = u.guid"};
const Statement new_activities{
    "new_activities",
    "INSERT INTO activities (run, seq, node, place, parent, ledger, status, code, opened_at, closed_at, output, state,"
    " closing_guid, closing_ledger) SELECT run, seq, node, place, parent, ledger, coalesce(status, 0),"
    " coalesce(code, 0), opened_at, coalesce(closed_at, 0), output, state, closing_guid, closing_ledger"
    " FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bigint[]) AS seq, unnest($3::bigint[]) AS node,"
    " unnest($4::text[]) AS place, unnest($5::bigint[]) AS parent, unnest($6::bigint[]) AS ledger,"
    " unnest($7::bigint[]) AS status, unnest($8::bigint[]) AS code, unnest($9::bigint[]) AS opened_at,"
    " unnest($10::bigint[]) AS closed_at, unnest($11::bytea[]) AS output, unnest($12::bytea[]) AS state,"
    " unnest($13::bytea[]) AS closing_guid, unnest($14::bigint[]) AS closing_ledger) AS u"};
// The node, the place, the parent and the start time of an activity never change, so they are not updated.
const Statement put_activities{
    "put_activities",
    "WITH put AS (UPDATE activities a SET ledger = u.ledger, status = coalesce(u.status, 0), code = coalesce(u.code, "
    "0),"
    " closed_at = coalesce(u.closed_at, 0), output = u.output, state = u.state,"
    " closing_guid = u.closing_guid, closing_ledger = CASE WHEN u.is_snapshot THEN a.closing_ledger ELSE "
    "u.closing_ledger END"
    " FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bigint[]) AS seq, unnest($3::bigint[]) AS ledger,"
    " unnest($4::bigint[]) AS status, unnest($5::bigint[]) AS code, unnest($6::bigint[]) AS closed_at,"
    " unnest($7::bytea[]) AS output, unnest($8::bytea[]) AS state, unnest($9::bytea[]) AS closing_guid,"
    " unnest($10::bigint[]) AS closing_ledger, unnest($11::bigint[]) AS ledger_before,"
    " unnest($12::bytea[]) AS closing_before, unnest($13::boolean[]) AS is_snapshot) AS u"
    " WHERE a.run = ANY(ARRAY[u.run]) AND a.seq = u.seq AND a.ledger = u.ledger_before"
    " AND a.closing_guid IS NOT DISTINCT FROM u.closing_before AND (u.closing_guid IS NOT DISTINCT FROM "
    "u.closing_before"
    " OR NOT EXISTS (SELECT 1 FROM message_ledgers m WHERE m.run = ANY(ARRAY[u.run]) AND m.guid = u.closing_guid)) "
    "RETURNING 1)"
    " SELECT " PAWL_EXPECT("count(*) = $14::bigint") " FROM put"};
const Statement put_closing{
    "put_closing",
    "UPDATE activities a SET closing_guid = u.closing_guid, closing_ledger = u.closing_ledger"
    " FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bigint[]) AS seq, unnest($3::bytea[]) AS closing_guid,"
    " unnest($4::bigint[]) AS closing_ledger) AS u"
    " WHERE a.run = ANY(ARRAY[u.run]) AND a.seq = u.seq"};
const Statement new_records{
    "new_ledgers",
    "INSERT INTO message_ledgers (run, guid, activity, ledger, output)"
    " SELECT unnest($1::bigint[]), unnest($2::bytea[]), unnest($3::bigint[]), unnest($4::bigint[]),"
    " unnest($5::bytea[])"};
const Statement put_records{
    "put_ledgers",
    "UPDATE message_ledgers m SET activity = u.activity, ledger = u.ledger, output = u.output"
    " FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bytea[]) AS guid, unnest($3::bigint[]) AS activity,"
    " unnest($4::bigint[]) AS ledger, unnest($5::bytea[]) AS output) AS u"
    " WHERE m.run = ANY(ARRAY[u.run]) AND m.guid = u.guid"};

}  // namespace

void ActivityRows::ask(Script& script) {
  at_.reset();
  records_at_.reset();
  Batch activities;
  for (const auto& [run, seq] : wanted_) activities.row(run, seq);
  if (!activities.empty()) at_ = script.add(read_activities, Params::of_rows(activities));
  Batch records;
  for (const auto& [run, guid] : wanted_records_) records.row(run, guid);
  if (!records.empty()) records_at_ = script.add(read_records, Params::of_rows(records));
}

Status ActivityRows::take(Done& answers) {
  if (at_) {
    Rows& rows = answers[*at_];
    while (rows.next()) {
      Slot& slot = slots_[{RunId(rows.word(0)), core::ActivitySeq(rows.small(1))}];
      slot.stored = true;
      slot.ledger = slot.ledger_before = rows.number(2);
      if (rows.is_null(3)) continue;
      slot.closing = slot.closing_before = rows.guid(3);
      slot.closing_ledger = rows.number(4);
    }
    if (rows.malformed()) return Error{ErrorCode::corrupt, "the row of an activity is malformed"};
  }
  if (!records_at_) return {};
  Rows& rows = answers[*records_at_];
  while (rows.next()) records_[{RunId(rows.word(0)), rows.guid(1)}] = Record{true, rows.number(2), nullptr};
  return rows.malformed() ? Status{Error{ErrorCode::corrupt, "the row of a message ledger is malformed"}} : Status{};
}

std::optional<std::int64_t> ActivityRows::ledger_of(RunId run, core::ActivitySeq seq) const {
  const auto found = slots_.find({run, seq});
  return found == slots_.end() ? std::nullopt : std::optional(found->second.ledger);
}

std::optional<std::int64_t> ActivityRows::record_of(RunId run, const core::MessageRecord& record) const {
  if (const auto own = records_.find({run, record.guid}); own != records_.end()) return own->second.ledger;
  const auto activity = slots_.find({run, record.activity});
  if (activity == slots_.end() || activity->second.closing != record.guid) return std::nullopt;
  return activity->second.closing_ledger;
}

void ActivityRows::assume(RunId run, const core::PutActivity& write) {
  if (!write.before) return;
  Slot& slot = slots_[{run, write.after.seq}];
  slot.stored = true;
  slot.ledger = slot.ledger_before = static_cast<std::int64_t>(write.before->encode());
}

void ActivityRows::put(RunId run, const core::PutActivity& write) {
  Slot& slot = slots_[{run, write.after.seq}];
  slot.ledger = static_cast<std::int64_t>(write.after.ledger.encode());
  slot.after = &write.after;
  slot.changed = true;
}

// True if this message concluded the activity, so it is the last one that entered. A message that enters an activity
// that is already concluded (an interrupt, through the trigger) does not replace the closing message. A message with an
// output needs its own row, because the activity's row has no column for it.
bool ActivityRows::takes_closing(const Slot& slot, const core::PutRecord& write, const core::PutActivity* of) const {
  if (of == nullptr || slot.closing || !write.after.output.empty()) return false;
  if (!of->after.ledger.has(Mark::work_done) || write.after.ledger.ordinal() != of->after.ledger.entries())
    return false;
  return !(of->before && of->before->has(Mark::work_done));
}

ActivityRows::Place ActivityRows::put(RunId run, const core::PutRecord& write, const core::PutActivity* of,
                                      std::int64_t digits, Is is) {
  const core::MessageRecord& to = write.after;
  const auto own = records_.find({run, to.guid});
  if (own == records_.end()) {
    const auto found = slots_.find({run, to.activity});
    Slot* slot = found == slots_.end() ? nullptr : &found->second;
    const bool is_there = slot != nullptr && slot->closing == to.guid;
    if (is_there && !to.output.empty()) {  // it moves to its own row
      slot->closing.reset();
      slot->closing_ledger = 0;
      slot->changed = true;
    } else if (slot != nullptr && (is_there || takes_closing(*slot, write, of))) {
      slot->closing = to.guid;
      slot->closing_ledger = digits;
      slot->is_snapshot = is == Is::snapshot;
      slot->changed = true;
      return {to.activity, slot->stored};
    }
  }
  Record& record = records_[{run, to.guid}];
  record.ledger = digits;
  record.after = &to;
  return {};
}

void ActivityRows::write(Script& script) const {
  Batch added;
  Batch put;
  Batch closing;
  for (const auto& [key, slot] : slots_) {
    if (!slot.changed) continue;
    std::optional<std::int64_t> digits;
    if (slot.closing) digits = slot.closing_ledger;
    if (slot.after == nullptr) {
      closing.row(key.first, key.second, slot.closing, digits);
      continue;
    }
    const core::Activity& to = *slot.after;
    if (slot.stored)
      put.row(key.first, to.seq, to.ledger.encode(), unless_none(to.status), unless_none(to.code),
              unless_none(to.closed_at), to.output, to.state, slot.closing, digits, slot.ledger_before,
              slot.closing_before, unless_none(slot.is_snapshot));
    else
      added.row(key.first, to.seq, to.node, to.at.text(), to.parent, to.ledger.encode(), unless_none(to.status),
                unless_none(to.code), to.opened_at, unless_none(to.closed_at), to.output, to.state, slot.closing,
                digits);
  }
  if (!added.empty()) script.add(new_activities, Params::of_rows(added));
  if (!put.empty()) script.add(put_activities, Params::of_rows(put, put.rows()));
  if (!closing.empty()) script.add(put_closing, Params::of_rows(closing));
  Batch new_rows;
  Batch put_rows;
  for (const auto& [key, record] : records_)
    if (record.after != nullptr)
      (record.stored ? put_rows : new_rows)
          .row(key.first, key.second, record.after->activity, record.ledger, record.after->output);
  if (!new_rows.empty()) script.add(new_records, Params::of_rows(new_rows));
  if (!put_rows.empty()) script.add(put_records, Params::of_rows(put_rows));
}

}  // namespace pawl::store::postgres
