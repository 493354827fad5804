#include "store/sqlite/inbox_writer.h"

#include "base/format.h"
#include "core/codec.h"
#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

Status InboxWriter::prepare(Connection& connection) {
  return prepare_each(
      connection,
      {
          {&put_message_,
           "INSERT INTO inbox (run, guid, redeliveries, body) SELECT ?1, ?2, 0, ?3"
           " WHERE NOT EXISTS (SELECT 1 FROM timers WHERE run = ?1 AND guid = ?2) ON CONFLICT DO NOTHING"},
          {&put_timer_,
           "INSERT INTO timers (run, guid, due, redeliveries, body) SELECT ?1, ?2, ?4, 0, ?3"
           " WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE run = ?1 AND guid = ?2) ON CONFLICT DO NOTHING"},
          {&count_redelivery_,
           "UPDATE inbox SET redeliveries = redeliveries + 1 WHERE run = ?1 AND guid = ?2 AND redeliveries = ?3"},
          {&count_timer_,
           "UPDATE timers SET redeliveries = redeliveries + 1 WHERE run = ?1 AND guid = ?2 AND redeliveries = ?3"},
          {&consume_, "DELETE FROM inbox WHERE run = ?1 AND guid = ?2"},
          {&consume_timer_, "DELETE FROM timers WHERE run = ?1 AND guid = ?2"},
          {&read_redeliveries_,
           "SELECT redeliveries FROM inbox WHERE run = ?1 AND guid = ?2"
           " UNION ALL SELECT redeliveries FROM timers WHERE run = ?1 AND guid = ?2"},
          {&sweep_inbox_, "DELETE FROM inbox WHERE run = ?1 AND guid IS NOT ?2"},
          {&sweep_timers_, "DELETE FROM timers WHERE run = ?1 AND guid IS NOT ?2"},
      });
}

int InboxWriter::store_late() {
  if (!late_) return SQLITE_OK;
  const Late late = std::move(*late_);
  late_.reset();
  return write(late.run, late.message, Instant()).code;
}

Applied InboxWriter::put_start(RunId run, core::Message message) {
  // In doubt each operation is undone alone: what it did must be in the file.
  if (transaction_.in_doubt()) return write(run, message, Instant());
  if (const int code = store_late(); code != SQLITE_OK) return Applied{code, false, {}};
  late_ = Late{run, std::move(message)};
  return Applied{SQLITE_OK, true, {}};
}

Applied InboxWriter::put(RunId run, const core::Message& message, Instant due) {
  if (const int code = store_late(); code != SQLITE_OK) return Applied{code, false, {}};
  return write(run, message, due);
}

Applied InboxWriter::write(RunId run, const core::Message& message, Instant due) {
  const std::string body = core::encode(message.body);
  const GuidBytes guid(message.guid);
  Statement& put = due == Instant() ? put_message_ : put_timer_;
  const int added = due == Instant() ? put.run(run, guid, Blob{body}) : put.run(run, guid, Blob{body}, due);
  if (added == Statement::failed) return failed(put);
  if (added == 0) return refused(OutcomeKind::already_done, "");
  return Applied{SQLITE_OK, true, {}};
}

Checked InboxWriter::waits(RunId run, const core::Guid& guid) {
  if (const int code = store_late(); code != SQLITE_OK) return {false, Applied{code, false, {}}};
  const GuidBytes bytes(guid);
  Rows rows = read_redeliveries_.query(run, bytes);
  Checked checked{rows.next()};
  if (rows.failed()) checked.failed = failed(rows);
  return checked;
}

Applied InboxWriter::apply(RunId run, const core::PutMessage& write) {
  Applied applied = put(run, write.message, write.due);
  if (applied.code != SQLITE_OK) return applied;
  return {};  // a message that already waits stays as it is
}

Applied InboxWriter::apply(RunId run, const core::CountRedelivery& write) {
  if (const int code = store_late(); code != SQLITE_OK) return Applied{code, false, {}};
  const GuidBytes guid(write.guid);
  const int changed = count_redelivery_.run(run, guid, write.before);
  if (changed == Statement::failed) return failed(count_redelivery_);
  if (changed == 1) return {};
  const int timer = count_timer_.run(run, guid, write.before);
  if (timer == Statement::failed) return failed(count_timer_);
  if (timer == 1) return {};
  Rows rows = read_redeliveries_.query(run, guid);
  // A missing message counts nothing: a sweep may have deleted it while an engine still knew it.
  if (!rows.next()) return Applied{rows.failed() ? rows.rc() : SQLITE_OK, false, {}};
  return contradicts(
      format("message {} has {} redeliveries, expected {}", write.guid.text(), rows.number(0), write.before));
}

Applied InboxWriter::apply(RunId run, const core::Consume& write) {
  if (late_ && late_->run == run && late_->message.guid == write.guid) {
    late_.reset();
    return {};
  }
  const GuidBytes guid(write.guid);
  const int dropped = consume_.run(run, guid);
  if (dropped == Statement::failed) return failed(consume_);
  if (dropped == 0 && consume_timer_.run(run, guid) == Statement::failed) return failed(consume_timer_);
  return {};
}

Applied InboxWriter::sweep(RunId run, const std::optional<core::Guid>& keep) {
  if (const int code = store_late(); code != SQLITE_OK) return Applied{code, false, {}};
  std::optional<GuidBytes> kept;
  if (keep) kept.emplace(*keep);
  for (Statement* sweep : {&sweep_inbox_, &sweep_timers_})
    if (sweep->run(run, kept) == Statement::failed) return failed(*sweep);
  return {};
}

}  // namespace pawl::store::sqlite
