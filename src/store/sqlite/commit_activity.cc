// The rows of activities: what a bundle says of an instance, of its work item and of the message that
// concluded it is one row, and in the steady state one statement.
#include <algorithm>

#include "base/format.h"
#include "core/apply.h"
#include "store/sqlite/work_rows.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

namespace {

using Mark = ledger::ActivityLedger::Mark;


bool is_answered(const core::PutActivity& write) { return write.after.ledger.has(Mark::work_done); }

}  // namespace

Applied Writer::apply_rows(const core::Bundle& bundle, std::size_t begin, std::size_t until) {
  parts_.clear();
  for (std::size_t i = begin; i < until; ++i) {
    const core::Write& write = bundle.writes[i];
    if (const auto* put = std::get_if<core::PutActivity>(&write)) parts_.push_back({put->after.seq.raw(), i});
    else if (const auto* record = std::get_if<core::PutRecord>(&write)) parts_.push_back({record->after.activity.raw(), i});
    else if (const auto* work = std::get_if<core::PutWork>(&write)) parts_.push_back({work->item.activity.raw(), i});
    else if (const auto* drop = std::get_if<core::DropWork>(&write)) parts_.push_back({drop->activity.raw(), i});
    else if (const auto* change = std::get_if<core::ChangeWork>(&write)) parts_.push_back({change->activity.raw(), i});
  }
  std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.seq < b.seq; });
  for (std::size_t first = 0; first < parts_.size();) {
    std::size_t end = first + 1;
    while (end < parts_.size() && parts_[end].seq == parts_[first].seq) ++end;
    Applied applied = apply_row(bundle, std::span<const Part>(parts_).subspan(first, end - first));
    if (!is_done(applied)) return applied;
    first = end;
  }
  return {};
}

Applied Writer::apply_row(const core::Bundle& bundle, std::span<const Part> parts) {
  ActivityWrites row;
  std::vector<const core::Write*> alone;  // what does not go with the activity's own statement
  for (const Part& part : parts) {
    const core::Write& write = bundle.writes[part.index];
    const auto* put = std::get_if<core::PutActivity>(&write);
    if (put != nullptr && row.activity == nullptr) row.activity = put;
    else if (put != nullptr) alone.push_back(&write);
  }
  for (const Part& part : parts) {
    const core::Write& write = bundle.writes[part.index];
    if (const auto* record = std::get_if<core::PutRecord>(&write)) {
      const bool may_close = row.activity != nullptr && row.closing == nullptr;
      const Checked closing = may_close ? is_closing(bundle, *record, *row.activity) : Checked{};
      if (closing.failed) return *closing.failed;
      if (closing.yes) row.closing = record;
      else alone.push_back(&write);
    } else if (const auto* work = std::get_if<core::PutWork>(&write)) {
      if (work->item.run != bundle.entity)
        return contradicts(format("a work item of run {} in another job's bundle", work->item.run.raw()));
      const bool fits = row.activity != nullptr && !row.activity->before && !is_answered(*row.activity);
      if (fits && row.work == nullptr) row.work = work;
      else alone.push_back(&write);
    } else if (const auto* drop = std::get_if<core::DropWork>(&write)) {
      const bool fits = row.activity != nullptr && row.activity->before && is_answered(*row.activity);
      if (fits && row.drop == nullptr) row.drop = drop;
      else alone.push_back(&write);
    } else if (std::holds_alternative<core::ChangeWork>(write)) {
      alone.push_back(&write);
    }
  }
  if (row.activity != nullptr) {
    Applied applied = put_row(bundle, row);
    if (!is_done(applied)) return applied;
  }
  for (const core::Write* write : alone) {
    Applied applied = std::visit([&](const auto& one) { return apply_write(bundle, one); }, *write);
    if (!is_done(applied)) return applied;
  }
  return {};
}

// Whether a message's ledger stands in its activity's row: it concluded the activity, so it is the last
// that entered, and it has no row of its own. What enters an activity that is concluded already (an interrupt,
// through the trigger) leaves the place to whoever has it, and what has an output of its own has no room for it there.
Checked Writer::is_closing(const core::Bundle& bundle, const core::PutRecord& record, const core::PutActivity& of) {
  if (!record.after.output.empty()) return {};
  if (!is_answered(of) || record.after.ledger.ordinal() != of.after.ledger.entries()) return {};
  if (!record.before && of.before && of.before->has(Mark::work_done)) return {};
  const GuidBytes guid(record.after.guid);
  Rows rows = sql_.read_record_ledger.query(bundle.entity, guid);
  Checked checked{!rows.next()};
  if (rows.failed()) checked.failed = failed(rows);
  return checked;
}

Applied Writer::put_row(const core::Bundle& bundle, const ActivityWrites& writes) {
  const core::Activity& to = writes.activity->after;
  std::optional<GuidBytes> closing_guid;
  std::optional<std::uint64_t> closing;
  std::optional<std::uint64_t> closing_before;
  if (writes.closing != nullptr) {
    closing_guid.emplace(writes.closing->after.guid);
    closing = writes.closing->after.ledger.encode();
    if (writes.closing->before) closing_before = writes.closing->before->encode();
  }
  if (!writes.activity->before) {
    int added = 0;
    if (writes.work != nullptr) {
      const core::WorkItem& item = writes.work->item;
      const StoredLife stored(item);
      const std::int64_t position = commits_ << position_bits | positions_used_++;
      added = sql_.new_activity.run(bundle.entity, to.seq, to.node, to.at.text(), to.parent, to.ledger.encode(),
                                    to.status, to.code, to.opened_at, to.closed_at, to.output, to.state, closing_guid,
                                    closing, position, item.topic, GuidBytes(item.request), item.token, item.worker,
                                    item.epoch, item.lease_until, item.runs, item.input, item.priority, item.visible_at, item.held,
                                    stored.once, stored.wake_at, stored.life(), item.plain_key);
    } else {
      added = sql_.new_activity.run(bundle.entity, to.seq, to.node, to.at.text(), to.parent, to.ledger.encode(),
                                    to.status, to.code, to.opened_at, to.closed_at, to.output, to.state, closing_guid,
                                    closing, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                    nullptr, 0, 0, 0, 0, 0, nullptr, 0);
    }
    if (added == Statement::failed) return failed(sql_.new_activity);
    if (added == 0) return contradicts(format("activity {} exists already", to.seq.raw()));
    return {};
  }
  std::optional<core::WorkToken> token;
  if (writes.drop != nullptr && !tokens_checked_) token = writes.drop->token;
  const std::uint64_t before = writes.activity->before->encode();
  int changed = 0;
  if (is_answered(*writes.activity)) {
    changed = sql_.end_activity.run(bundle.entity, to.seq, before, to.node, to.at.text(), to.parent, to.ledger.encode(),
                                    to.status, to.code, to.opened_at, to.closed_at, to.output, closing_before,
                                    closing_guid, closing, to.state, token);
    if (changed == Statement::failed) return failed(sql_.end_activity);
  } else {
    changed = sql_.put_activity.run(bundle.entity, to.seq, before, to.node, to.at.text(), to.parent, to.ledger.encode(),
                                    to.status, to.code, to.opened_at, to.closed_at, to.output, closing_before,
                                    closing_guid, closing, to.state);
    if (changed == Statement::failed) return failed(sql_.put_activity);
  }
  return changed == 1 ? Applied{} : refused_row(bundle, writes);
}

// Nothing was written: says which guard of the row did not hold. A token that moved is a race, a ledger
// that differs is corruption.
Applied Writer::refused_row(const core::Bundle& bundle, const ActivityWrites& writes) {
  const core::PutActivity& write = *writes.activity;
  Applied stale = check_tokens(bundle);
  if (!is_done(stale)) return stale;
  {
    Rows rows = sql_.read_activity_ledger.query(bundle.entity, write.after.seq);
    if (!rows.next())
      return rows.failed() ? Applied{rows.rc(), false, {}}
                           : contradicts(format("activity {} is missing", write.after.seq.raw()));
    if (rows.word(0) != write.before->encode())
      return contradicts(format("activity {}: ledger is {:015}, expected {}", write.after.seq.raw(), rows.number(0),
                            write.before->digits()));
  }
  return contradicts(format("message {}: its ledger is not the one it was computed from",
                        writes.closing != nullptr ? writes.closing->after.guid.text() : "?"));
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::PutActivity& write) {
  return put_row(bundle, ActivityWrites{&write, nullptr, nullptr, nullptr});
}

Applied Writer::put_new_record(RunId run, const core::MessageRecord& record) {
  const int added = sql_.new_record.run(run, GuidBytes(record.guid), record.activity, record.ledger.encode(), record.output);
  if (added == Statement::failed) return failed(sql_.new_record);
  if (added == 0) return contradicts(format("message {} has a ledger already", record.guid.text()));
  return {};
}

// A record that stands in its activity's row, unless its ledger is not `before`: then nothing is written. With an
// output, which has no room there, it moves to a row of its own.
Applied Writer::put_closing(RunId run, const core::MessageRecord& record, std::uint64_t before) {
  const GuidBytes guid(record.guid);
  const bool moves = !record.output.empty();
  const int changed = moves ? sql_.drop_closing.run(run, guid, before, record.activity)
                            : sql_.put_closing.run(run, guid, before, record.activity, record.ledger.encode());
  if (changed == Statement::failed) return failed(moves ? sql_.drop_closing : sql_.put_closing);
  if (changed == 0) return {};
  Applied applied = moves ? put_new_record(run, record) : Applied{};
  applied.wrote = true;
  return applied;
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::PutRecord& write) {
  const core::MessageRecord& to = write.after;
  const GuidBytes guid(to.guid);
  std::optional<std::int64_t> closing;  // stored in its activity's row
  {
    Rows rows = sql_.read_closing.query(bundle.entity, to.activity);
    if (rows.next() && !rows.is_null(0) && rows.guid(0) == to.guid) closing = rows.number(1);
    if (rows.failed()) return Applied{rows.rc(), false, {}};
  }
  if (!write.before) {
    if (closing) return contradicts(format("message {} has a ledger already", to.guid.text()));
    return put_new_record(bundle.entity, to);
  }
  const std::uint64_t before = write.before->encode();
  Applied put = closing ? put_closing(bundle.entity, to, before) : Applied{};
  if (!closing) {
    const int changed =
        sql_.put_record.run(bundle.entity, guid, before, to.activity, to.ledger.encode(), to.output);
    if (changed == Statement::failed) return failed(sql_.put_record);
    put.wrote = changed == 1;
  }
  if (put.wrote || !is_done(put)) return put;
  if (!closing) {
    Rows rows = sql_.read_record_ledger.query(bundle.entity, guid);
    if (!rows.next())
      return rows.failed() ? Applied{rows.rc(), false, {}}
                           : contradicts(format("message {} has no ledger", to.guid.text()));
    closing = rows.number(0);
  }
  return contradicts(format("message {}: ledger is {:015}, expected {}", to.guid.text(), *closing, write.before->digits()));
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::PutWork& write) {
  const core::WorkItem& item = write.item;
  const StoredLife stored(item);
  const std::int64_t position = commits_ << position_bits | positions_used_++;
  const int changed = sql_.put_work.run(bundle.entity, item.activity, position, item.topic, GuidBytes(item.request),
                                        item.token, item.worker, item.epoch, item.lease_until, item.runs, item.input,
                                        item.priority, item.visible_at, item.held, stored.once, stored.wake_at,
                                        stored.life(), item.plain_key);
  if (changed == Statement::failed) return failed(sql_.put_work);
  if (changed == 0) return contradicts(format("work for activity {}, which does not exist", item.activity.raw()));
  return {};
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::DropWork& write) {
  const int dropped = sql_.drop_work.run(bundle.entity, write.activity, write.token, tokens_checked_);
  if (dropped == Statement::failed) return failed(sql_.drop_work);
  return dropped == 1 || tokens_checked_ ? Applied{} : stale_item(write.activity);
}

// Its token was compared before the bundle's first write; an answer in the same bundle may have taken it since.
Applied Writer::apply_write(const core::Bundle& bundle, const core::ChangeWork& write) {
  auto [item, unread] = read_item(bundle.entity, write.activity);
  if (unread) return *unread;
  if (!item) return {};
  core::apply_change(*item, write);
  return move_item(*item);
}

Applied Writer::apply_write(const core::Bundle& bundle, const core::HoldWork& write) {
  if (write.held) {
    if (sql_.hold_work.run(bundle.entity) == Statement::failed) return failed(sql_.hold_work);
    return {};
  }
  std::vector<core::ActivitySeq> items;
  {
    Rows rows = sql_.list_work.query(bundle.entity);
    while (rows.next()) items.emplace_back(rows.small(0));
    if (rows.failed()) return Applied{rows.rc(), false, {}};
  }
  for (const core::ActivitySeq activity : items) {  // each wakes at a time of its own
    auto [item, unread] = read_item(bundle.entity, activity);
    if (unread) return *unread;
    if (!item) return damaged_row(format("work item {} is listed and not there", activity.raw()));
    item->held = false;
    Applied moved = move_item(*item);
    if (!is_done(moved)) return moved;
  }
  return {};
}

}  // namespace pawl::store::sqlite
