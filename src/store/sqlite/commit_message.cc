// Deliver, Respond: messages that enter an inbox from outside a bundle, and a bundle's
// sends.
#include "base/format.h"
#include "core/codec.h"
#include "store/rules.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

Applied Writer::apply(const Deliver& deliver) {
  if (deliver.source) {
    const Deliver::Source& source = *deliver.source;
    if (find_lane(source.lane) == nullptr)
      return lane_code_ != SQLITE_OK ? Applied{lane_code_, false, {}} : no_lane(source.lane);
    std::uint64_t last = 0;
    {
      Rows rows = sql_.read_source.query(source.lane);
      if (rows.next()) last = rows.word(0);
      if (rows.failed()) return Applied{rows.rc(), false, {}};
    }
    if (source.seq <= last) return refused(OutcomeKind::already_done, "");
    if (source.seq != last + 1)
      return refused(OutcomeKind::conflict,
                     format("row {} came before row {}", source.seq, last + 1));
  }
  Applied applied = send(deliver.envelope, deliver.lane);
  if (deliver.source) pass_over(applied.outcome);
  if (!is_done(applied) || !deliver.source) return applied;
  if (sql_.put_source.run(deliver.source->lane, deliver.source->seq) == Statement::failed)
    return failed(sql_.put_source);
  return applied;
}

// A run that is gone or closed takes nothing; a mailbox is made by its first message, a child by its start.
Applied Writer::send(const core::Envelope& envelope, core::LaneId lane) {
  if (const auto* key = std::get_if<core::MailboxKey>(&envelope.to))
    return send_to_mailbox(*key, envelope.message, lane);
  if (const auto* key = std::get_if<core::JobKey>(&envelope.to)) {
    const auto* start = std::get_if<core::StartChild>(&envelope.message.body);
    return start != nullptr ? start_child(*key, *start, lane) : send_by_id(*key, envelope.message);
  }
  return send_to_job(std::get<RunId>(envelope.to), envelope.message);
}

Applied Writer::send_to_mailbox(const core::MailboxKey& key, const core::Message& message, core::LaneId lane) {
  MailboxLoad load;
  Applied mailbox = find_or_make_mailbox(key, lane, load);
  if (!is_done(mailbox)) return mailbox;
  const RunId run = mailbox.outcome.run;
  const GuidBytes guid(message.guid);
  Applied applied;
  if (const auto* signal = std::get_if<core::Signal>(&message.body)) {
    const std::size_t bytes = signal->data.size();
    if (const auto full = mailbox_full(key, load.signals, load.bytes, bytes)) {
      Rows rows = sql_.read_redeliveries.query(run, guid);
      const bool waits = rows.next();
      if (rows.failed()) return Applied{rows.rc(), false, {}};
      applied = waits ? refused(OutcomeKind::already_done, "") : refused(OutcomeKind::over_limit, *full);
      applied.outcome.run = run;
      return applied;
    }
  }
  applied = put_into_inbox(run, message);
  const bool counts = std::holds_alternative<core::Signal>(message.body) && applied.wrote;
  if (counts && sql_.add_signal.run(run, guid) == Statement::failed)
    return failed(sql_.add_signal);
  applied.outcome.run = run;
  return applied;
}

Applied Writer::send_by_id(const core::JobKey& key, const core::Message& message) {
  RunId holder(0);
  {
    Rows rows = sql_.find_start_key.query(key.name_space, key.id);
    if (!rows.next()) return Applied{rows.failed() ? rows.rc() : SQLITE_OK, false, {}};
    holder = RunId(rows.word(0));
  }
  Applied applied = send_to_job(holder, message);
  applied.outcome.run = holder;
  return applied;
}

Applied Writer::send_to_job(RunId run, const core::Message& message) {
  std::int64_t status = 0;
  {
    Rows rows = sql_.read_status.query(run);
    if (!rows.next()) return Applied{rows.failed() ? rows.rc() : SQLITE_OK, false, {}};
    status = rows.number(0);
  }
  if (!core::is_closed(static_cast<core::JobStatus>(status))) return put_into_inbox(run, message);
  const GuidBytes guid(message.guid);
  Rows rows = sql_.read_redeliveries.query(run, guid);
  const bool waits = rows.next();
  if (rows.failed()) return Applied{rows.rc(), false, {}};
  return waits ? refused(OutcomeKind::already_done, "") : Applied{};
}

Applied Writer::put_into_inbox(RunId run, const core::Message& message) {
  return put_timed(run, message, Instant());
}

// A timer, or, due at once, an ordinary message.
Applied Writer::put_timed(RunId run, const core::Message& message, Instant due) {
  const std::string body = core::encode(message.body);
  const GuidBytes guid(message.guid);
  Statement& put = due == Instant() ? sql_.put_message : sql_.put_timer;
  const int added = due == Instant() ? put.run(run, guid, Blob{body}) : put.run(run, guid, Blob{body}, due);
  if (added == Statement::failed) return failed(put);
  if (added == 0) return refused(OutcomeKind::already_done, "");
  return Applied{SQLITE_OK, true, {}};
}

Applied Writer::find_or_make_mailbox(const core::MailboxKey& key, core::LaneId lane_id, MailboxLoad& load) {
  Applied applied;
  {
    Rows rows = sql_.find_mailbox.query(key.name_space, key.topic, key.key);
    if (rows.next()) {
      applied.outcome.run = RunId(rows.word(0));
      load = MailboxLoad{rows.word(1), rows.word(2)};
      return applied;
    }
    if (rows.failed()) return Applied{rows.rc(), false, {}};
  }
  Lane* lane = find_lane(lane_id);
  if (lane_code_ != SQLITE_OK) return Applied{lane_code_, false, {}};
  if (lane == nullptr) return no_lane(lane_id);
  applied.outcome.run = next_run(lane_id, *lane);
  if (sql_.new_mailbox.run(applied.outcome.run, key.name_space, key.topic, key.key) ==
      Statement::failed)
    return failed(sql_.new_mailbox);
  return applied;
}

Applied Writer::apply(const Respond& respond) {
  const auto* response = std::get_if<core::Response>(&respond.message.body);
  if (response == nullptr || response->activity != respond.activity)
    return refused(OutcomeKind::rejected, "the message is no answer to this work item");
  auto [item, unread] = read_item(respond.run, respond.activity);
  if (unread) return *unread;
  const bool answered = !item || awaits_decision(*item);
  if (answered) {
    // A repeated answer whose first reply was lost: its item went with it, or waits for the job's word.
    const GuidBytes guid(respond.message.guid);
    Rows rows = sql_.read_redeliveries.query(respond.run, guid);
    if (rows.next()) return refused(OutcomeKind::already_done, "");
    if (rows.failed()) return Applied{rows.rc(), false, {}};
  }
  if (answered || respond.token == core::WorkToken(0) || item->token != respond.token)
    return stale_item(respond.activity);
  if (response->status == core::ReplyStatus::success) {
    if (sql_.drop_work.run(respond.run, respond.activity, respond.token, false) == Statement::failed)
      return failed(sql_.drop_work);
  } else if (core::is_error(response->status)) {
    await_decision(*item);
    Applied moved = move_item(*item);
    if (!is_done(moved)) return moved;
  }
  Applied applied = send_to_job(respond.run, respond.message);
  applied.wrote = true;
  return applied;
}

}  // namespace pawl::store::sqlite
