#include "store/sqlite/activity_writer.h"

#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "store/snapshot.h"
#include "store/sqlite/prepared.h"
#include "store/sqlite/work_rows.h"

namespace pawl::store::sqlite {

namespace {

// The ledger from the bundle, to which SQL adds the snapshot or not.
#define PAWL_SNAPSHOT(hit) " + " hit " * 100000000000"
static_assert(snapshot_weight == 100'000'000'000);

// What ends an activity, and what it must have been before.
#define PAWL_END_ACTIVITY                                                                          \
  "UPDATE activities SET node = ?4, place = ?5, parent = ?6, ledger = ?7, status = ?8, code = ?9," \
  " opened_at = ?10, closed_at = ?11, output = ?12, state = ?16,"                                  \
  " closing_guid = coalesce(?14, closing_guid),"                                                   \
  " closing_ledger = coalesce(?15" PAWL_SNAPSHOT("?17") ", closing_ledger), " PAWL_NO_WORK
#define PAWL_AS_IT_WAS \
  " AND ledger = ?3 AND (?14 IS NULL OR closing_ledger IS ?13) AND (?18 IS NULL OR token = ?18)"

using Mark = ledger::ActivityLedger::Mark;

bool is_answered(const core::PutActivity& write) { return write.after.ledger.has(Mark::work_done); }

}  // namespace

std::optional<std::uint32_t> row_of(const core::Write& write) {
  using Row = std::optional<std::uint32_t>;
  return std::visit(Overloaded{
                        [](const core::PutActivity& one) { return Row(one.after.seq.raw()); },
                        [](const core::PutRecord& one) { return Row(one.after.activity.raw()); },
                        [](const core::PutWork& one) { return Row(one.item.activity.raw()); },
                        [](const core::DropWork& one) { return Row(one.activity.raw()); },
                        [](const core::ChangeWork& one) { return Row(one.activity.raw()); },
                        each_of<core::PutMessage, core::CountRedelivery, core::Consume, core::Sweep, core::Send,
                                core::PutEntry, core::DropEntry, core::OfferEntry, core::HoldWork, core::PutLabel,
                                core::DropLabel, core::AddMeasure, core::Announce>([] { return Row(); }),
                    },
                    write);
}

Status ActivityWriter::prepare(Connection& connection) {
  return prepare_each(
      connection,
      {
          // put_activity keeps the work item, end_activity deletes it; both keep a closing message that is not their
          // own.
          {&put_activity_,
           "UPDATE activities SET node = ?4, place = ?5, parent = ?6, ledger = ?7, status = ?8, code = ?9,"
           " opened_at = ?10, closed_at = ?11, output = ?12, state = ?16,"
           " closing_guid = coalesce(?14, closing_guid), closing_ledger ="
           " coalesce(?15" PAWL_SNAPSHOT(
               "?17") ", closing_ledger)"
                      " WHERE run = ?1 AND seq = ?2 AND ledger = ?3 AND (?14 IS NULL OR closing_ledger IS ?13)"},
          {&end_activity_, PAWL_END_ACTIVITY
           " WHERE run = ?1 AND seq = ?2" PAWL_AS_IT_WAS
           // Nothing of its work item is in another table, or ?19: no more.
           " AND (?19 OR (input_at IS NOT -1 AND (unlisted = 1 OR request IS NULL)))"},
          {&end_row_, PAWL_END_ACTIVITY
           " WHERE id = ?19 AND run = ?1 AND seq = ?2" PAWL_AS_IT_WAS " AND input_at IS NOT -1 AND unlisted = 1"},
          {&new_activity_,
           "INSERT INTO activities (run, seq, node, place, parent, ledger, status, code, opened_at,"
           " closed_at, output, state, closing_guid, closing_ledger, position, topic, request, token, worker, epoch,"
           " lease_until, runs, input, priority, visible_at, held, once, wake_at, life, plain_key, input_at, unlisted)"
           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14" PAWL_SNAPSHOT(
               "?31") ", ?15,"
                      " ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?32, ?33)"
                      " ON CONFLICT DO NOTHING"},
          {&read_activity_ledger_, "SELECT ledger FROM activities WHERE run = ?1 AND seq = ?2"},
          {&put_record_, "UPDATE message_ledgers SET activity = ?4, ledger = ?5" PAWL_SNAPSHOT(
                             "?7") ", output = ?6"
                                   " WHERE run = ?1 AND guid = ?2 AND ledger = ?3"},
          {&new_record_,
           "INSERT INTO message_ledgers (run, guid, activity, ledger, output)"
           " VALUES (?1, ?2, ?3, ?4" PAWL_SNAPSHOT("?6") ", ?5)"
                                                         " ON CONFLICT DO NOTHING"},
          {&read_record_ledger_, "SELECT ledger FROM message_ledgers WHERE run = ?1 AND guid = ?2"},
          {&put_closing_, "UPDATE activities SET closing_ledger = ?5" PAWL_SNAPSHOT(
                              "?6") " WHERE run = ?1 AND seq = ?4 AND closing_guid = ?2 AND closing_ledger = ?3"},
          {&drop_closing_,
           "UPDATE activities SET closing_guid = NULL, closing_ledger = NULL"
           " WHERE run = ?1 AND seq = ?4 AND closing_guid = ?2 AND closing_ledger = ?3"},
          {&read_closing_, "SELECT closing_guid, closing_ledger FROM activities WHERE run = ?1 AND seq = ?2"},
      });
}

#undef PAWL_AS_IT_WAS
#undef PAWL_END_ACTIVITY
#undef PAWL_SNAPSHOT

ActivityWriter::Digits ActivityWriter::digits_of(const AtHand& at, const core::PutRecord& record) {
  if (at.snapshot == &record) return {without_snapshot(record), at.hit};
  return {static_cast<std::int64_t>(record.after.ledger.encode()), false};
}

Applied ActivityWriter::apply(const AtHand& at, std::size_t begin, std::size_t until) {
  const core::Bundle& bundle = at.bundle;
  parts_.clear();
  for (std::size_t i = begin; i < until; ++i)
    if (const auto seq = row_of(bundle.writes[i])) parts_.push_back({*seq, i});
  std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.seq < b.seq; });
  for (std::size_t first = 0; first < parts_.size();) {
    std::size_t end = first + 1;
    while (end < parts_.size() && parts_[end].seq == parts_[first].seq) ++end;
    Applied applied = apply_row(at, std::span<const Part>(parts_).subspan(first, end - first));
    if (!is_done(applied)) return applied;
    first = end;
  }
  return {};
}

Applied ActivityWriter::apply_row(const AtHand& at, std::span<const Part> parts) {
  const core::Bundle& bundle = at.bundle;
  RowWrites row;
  std::vector<const core::Write*> alone;  // what does not go with the activity's own statement
  for (const Part& part : parts) {
    const core::Write& write = bundle.writes[part.index];
    const auto* put = std::get_if<core::PutActivity>(&write);
    if (put != nullptr && row.activity == nullptr)
      row.activity = put;
    else if (put != nullptr)
      alone.push_back(&write);
  }
  for (const Part& part : parts) {
    const core::Write& write = bundle.writes[part.index];
    if (const auto* record = std::get_if<core::PutRecord>(&write)) {
      const bool may_close = row.activity != nullptr && row.closing == nullptr;
      const Checked closing = may_close ? is_closing(at.run(), *record, *row.activity) : Checked{};
      if (closing.failed) return *closing.failed;
      if (closing.yes)
        row.closing = record;
      else
        alone.push_back(&write);
    } else if (const auto* work = std::get_if<core::PutWork>(&write)) {
      if (work->item.run != bundle.entity)
        return contradicts(format("a work item of run {} in another job's bundle", work->item.run.raw()));
      const bool fits = row.activity != nullptr && !row.activity->before && !is_answered(*row.activity);
      if (fits && row.work == nullptr)
        row.work = work;
      else
        alone.push_back(&write);
    } else if (const auto* drop = std::get_if<core::DropWork>(&write)) {
      const bool fits = row.activity != nullptr && row.activity->before && is_answered(*row.activity);
      if (fits && row.drop == nullptr)
        row.drop = drop;
      else
        alone.push_back(&write);
    } else if (std::holds_alternative<core::ChangeWork>(write)) {
      alone.push_back(&write);
    }
  }
  if (row.activity != nullptr) {
    Applied applied = put_row(at, row);
    if (!is_done(applied)) return applied;
  }
  for (const core::Write* write : alone) {
    Applied applied = apply_alone(at, *write);
    if (!is_done(applied)) return applied;
  }
  return {};
}

// Whether a message's ledger is stored in its activity's row: it concluded the activity, so it is the last that
// entered, and it has no separate row. A message that enters a concluded activity (an interrupt, through the trigger)
// does not take that place, and a message with an output does not fit there.
Checked ActivityWriter::is_closing(RunId run, const core::PutRecord& record, const core::PutActivity& of) {
  if (!record.after.output.empty()) return {};
  if (!is_answered(of) || record.after.ledger.ordinal() != of.after.ledger.entries()) return {};
  if (!record.before && of.before && of.before->has(Mark::work_done)) return {};
  const GuidBytes guid(record.after.guid);
  Rows rows = read_record_ledger_.query(run, guid);
  Checked checked{!rows.next()};
  if (rows.failed()) checked.failed = failed(rows);
  return checked;
}

Applied ActivityWriter::put_row(const AtHand& at, const RowWrites& writes) {
  const core::Activity& to = writes.activity->after;
  std::optional<GuidBytes> closing_guid;
  std::optional<std::int64_t> closing;
  std::optional<std::uint64_t> closing_before;
  bool hit = false;
  if (writes.closing != nullptr) {
    closing_guid.emplace(writes.closing->after.guid);
    const Digits digits = digits_of(at, *writes.closing);
    closing = digits.ledger;
    hit = digits.hit;
    if (writes.closing->before) closing_before = writes.closing->before->encode();
  }
  if (!writes.activity->before) {
    int added = 0;
    bool quiet = false;
    if (writes.work != nullptr) {
      const core::WorkItem& item = writes.work->item;
      const StoredLife stored(item);
      quiet = is_quiet(item, stored.wake_at);
      const std::int64_t position = transaction_.next_position();
      const InputWriter::Place input = inputs_.put(at, item, to.parent);
      if (input.failed) return *input.failed;
      added = new_activity_.run(at.run(), to.seq, to.node, to.at.text(), to.parent, to.ledger.encode(), to.status,
                                to.code, to.opened_at, to.closed_at, to.output, to.state, closing_guid, closing,
                                position, item.topic, GuidBytes(item.request), item.token, item.worker, item.epoch,
                                item.lease_until, item.runs, *input.in_row, item.priority, item.visible_at, item.held,
                                stored.once, stored.wake_at, stored.life(), item.plain_key, hit, input.at, quiet);
    } else {
      added = new_activity_.run(at.run(), to.seq, to.node, to.at.text(), to.parent, to.ledger.encode(), to.status,
                                to.code, to.opened_at, to.closed_at, to.output, to.state, closing_guid, closing,
                                nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0, 0,
                                0, 0, 0, nullptr, 0, hit, nullptr, 0);
    }
    if (added == Statement::failed) return failed(new_activity_);
    if (added == 0) return contradicts(format("activity {} exists already", to.seq.raw()));
    const std::int64_t row = sqlite3_last_insert_rowid(transaction_.connection().handle());
    list_.row_added(row);
    if (writes.work == nullptr) return {};
    if (!quiet) return list_.put(at.run(), to.seq);
    hints_.remember(at.run(), to.seq, row);
    return list_.put_quiet(at.run(), to.seq, row);
  }
  std::optional<core::WorkToken> token;
  if (writes.drop != nullptr && !at.tokens_checked) token = writes.drop->token;
  const std::uint64_t before = writes.activity->before->encode();
  if (Applied kept = inputs_.keep(at.run(), *writes.activity); !is_done(kept)) return kept;
  int changed = 0;
  if (is_answered(*writes.activity)) {
    const auto end = [&](Statement& statement, std::int64_t last) {
      return statement.run(at.run(), to.seq, before, to.node, to.at.text(), to.parent, to.ledger.encode(), to.status,
                           to.code, to.opened_at, to.closed_at, to.output, closing_before, closing_guid, closing,
                           to.state, hit, token, last);
    };
    const std::int64_t row = hints_.find(at.run(), to.seq);
    if (row != 0) changed = end(end_row_, row);
    if (changed == Statement::failed) return failed(end_row_);
    if (changed == 0) changed = end(end_activity_, 0);
    if (changed == 0) {  // perhaps because of a large input, or because its item is listed: that goes first
      const Checked input = inputs_.drop(at.run(), to.seq);
      if (input.failed) return *input.failed;
      const Checked entry = list_.drop(at.run(), to.seq, token);
      if (entry.failed) return *entry.failed;
      if (input.yes || entry.yes) changed = end(end_activity_, 1);
    }
    if (changed == Statement::failed) return failed(end_activity_);
  } else {
    changed = put_activity_.run(at.run(), to.seq, before, to.node, to.at.text(), to.parent, to.ledger.encode(),
                                to.status, to.code, to.opened_at, to.closed_at, to.output, closing_before, closing_guid,
                                closing, to.state, hit);
    if (changed == Statement::failed) return failed(put_activity_);
  }
  return changed == 1 ? Applied{} : refused_row(at, writes);
}

// Nothing was written: returns the guard of the row that did not hold. A changed token is a race, a different ledger is
// corruption.
Applied ActivityWriter::refused_row(const AtHand& at, const RowWrites& writes) {
  const core::PutActivity& write = *writes.activity;
  Applied stale = work_.check_tokens(at.bundle);
  if (!is_done(stale)) return stale;
  {
    Rows rows = read_activity_ledger_.query(at.run(), write.after.seq);
    if (!rows.next())
      return rows.failed() ? failed(rows) : contradicts(format("activity {} is missing", write.after.seq.raw()));
    if (rows.word(0) != write.before->encode())
      return contradicts(format("activity {}: ledger is {:015}, expected {}", write.after.seq.raw(), rows.number(0),
                                write.before->digits()));
  }
  return contradicts(format("message {}: its ledger is not the one it was computed from",
                            writes.closing != nullptr ? writes.closing->after.guid.text() : "?"));
}

// What does not go with its activity's own statement.
Applied ActivityWriter::apply_alone(const AtHand& at, const core::Write& write) {
  if (const auto* put = std::get_if<core::PutActivity>(&write))
    return put_row(at, RowWrites{put, nullptr, nullptr, nullptr});
  if (const auto* record = std::get_if<core::PutRecord>(&write)) return put_record(at, *record);
  if (const auto* work = std::get_if<core::PutWork>(&write)) return work_.apply(at, *work);
  if (const auto* drop = std::get_if<core::DropWork>(&write)) return work_.apply(at, *drop);
  const auto* change = std::get_if<core::ChangeWork>(&write);
  invariant(change != nullptr, "a write of an activity's row");
  return work_.apply(at, *change);
}

Applied ActivityWriter::put_new_record(const AtHand& at, const core::PutRecord& write) {
  const core::MessageRecord& record = write.after;
  const Digits digits = digits_of(at, write);
  const int added =
      new_record_.run(at.run(), GuidBytes(record.guid), record.activity, digits.ledger, record.output, digits.hit);
  if (added == Statement::failed) return failed(new_record_);
  if (added == 0) return contradicts(format("message {} has a ledger already", record.guid.text()));
  return {};
}

// A record that is stored in its activity's row. If its ledger is not `before`, nothing is written. With an output,
// which does not fit there, it moves to a separate row.
Applied ActivityWriter::put_closing(const AtHand& at, const core::PutRecord& write) {
  const core::MessageRecord& record = write.after;
  const Digits digits = digits_of(at, write);
  const std::uint64_t before = write.before->encode();
  const GuidBytes guid(record.guid);
  const bool moves = !record.output.empty();
  const int changed = moves ? drop_closing_.run(at.run(), guid, before, record.activity)
                            : put_closing_.run(at.run(), guid, before, record.activity, digits.ledger, digits.hit);
  if (changed == Statement::failed) return failed(moves ? drop_closing_ : put_closing_);
  if (changed == 0) return {};
  Applied applied = moves ? put_new_record(at, write) : Applied{};
  applied.wrote = true;
  return applied;
}

Applied ActivityWriter::put_record(const AtHand& at, const core::PutRecord& write) {
  const core::MessageRecord& to = write.after;
  const GuidBytes guid(to.guid);
  std::optional<std::int64_t> closing;  // stored in its activity's row
  {
    Rows rows = read_closing_.query(at.run(), to.activity);
    if (rows.next() && !rows.is_null(0) && rows.guid(0) == to.guid) closing = rows.number(1);
    if (rows.failed()) return failed(rows);
  }
  if (!write.before) {
    if (closing) return contradicts(format("message {} has a ledger already", to.guid.text()));
    return put_new_record(at, write);
  }
  Applied put = closing ? put_closing(at, write) : Applied{};
  if (!closing) {
    const Digits digits = digits_of(at, write);
    const int changed =
        put_record_.run(at.run(), guid, write.before->encode(), to.activity, digits.ledger, to.output, digits.hit);
    if (changed == Statement::failed) return failed(put_record_);
    put.wrote = changed == 1;
  }
  if (put.wrote || !is_done(put)) return put;
  if (!closing) {
    Rows rows = read_record_ledger_.query(at.run(), guid);
    if (!rows.next())
      return rows.failed() ? failed(rows) : contradicts(format("message {} has no ledger", to.guid.text()));
    closing = rows.number(0);
  }
  return contradicts(
      format("message {}: ledger is {:015}, expected {}", to.guid.text(), *closing, write.before->digits()));
}

}  // namespace pawl::store::sqlite
