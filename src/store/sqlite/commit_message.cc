// Submit, Deliver, Respond: messages that enter an inbox from outside a bundle, and a bundle's
// sends.
#include "base/format.h"
#include "core/codec.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

namespace {

Applied no_lane(core::LaneId lane) {
  return refused(OutcomeKind::rejected, format("there is no lane {}", lane.raw()));
}

}  // namespace

Applied Writer::apply(const Submit& submit) {
  Lane* lane = find_lane(submit.lane);
  if (lane_code_ != SQLITE_OK) return Applied{lane_code_, false, {}};
  {
    Rows rows = sql_.find_start_key.query(submit.name_space, submit.id);
    if (rows.next()) {
      Applied taken = refused(OutcomeKind::exists, "");
      taken.outcome.run = RunId(rows.word(0));
      return taken;
    }
    if (rows.failed()) return Applied{rows.rc(), false, {}};
  }
  if (lane == nullptr) return no_lane(submit.lane);
  Applied applied;
  applied.wrote = true;
  applied.outcome.run = next_run(submit.lane, *lane);
  const RunId run = applied.outcome.run;
  if (sql_.put_start_key.run(submit.name_space, submit.id, run) == Statement::failed)
    return failed(sql_.put_start_key);
  if (sql_.put_new_job.run(run, submit.name_space, submit.id, submit.graph.name,
                           submit.graph.version, submit.graph.fingerprint,
                           submit.at) == Statement::failed)
    return failed(sql_.put_new_job);
  const core::Guid guid = core::Guid::of_run(run).derive(core::Guid::Purpose::start, 0);
  const std::string body = core::encode(core::Body(core::Start{submit.input}));
  if (sql_.put_message.run(run, GuidBytes(guid), Blob{body}) == Statement::failed)
    return failed(sql_.put_message);
  return applied;
}

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
  Applied applied = send(deliver.envelope, deliver.mailbox_lane);
  if (!is_done(applied) || !deliver.source) return applied;
  if (sql_.put_source.run(deliver.source->lane, deliver.source->seq) == Statement::failed)
    return failed(sql_.put_source);
  return applied;
}

// A run that is gone or closed takes nothing; a mailbox is made by its first message.
Applied Writer::send(const core::Envelope& envelope, core::LaneId mailbox_lane) {
  if (const auto* key = std::get_if<core::MailboxKey>(&envelope.to)) {
    Applied mailbox = find_or_make_mailbox(*key, mailbox_lane);
    if (!is_done(mailbox)) return mailbox;
    Applied applied = put_into_inbox(mailbox.outcome.run, envelope.message);
    applied.outcome.run = mailbox.outcome.run;
    return applied;
  }
  return send_to_job(std::get<RunId>(envelope.to), envelope.message);
}

Applied Writer::send_to_job(RunId run, const core::Message& message) {
  std::int64_t status = 0;
  {
    Rows rows = sql_.read_status.query(run);
    if (!rows.next()) return Applied{rows.failed() ? rows.rc() : SQLITE_OK, false, {}};
    status = rows.number(0);
  }
  if (!core::is_closed(static_cast<core::JobStatus>(status))) return put_into_inbox(run, message);
  Rows rows = sql_.read_redeliveries.query(run, GuidBytes(message.guid));
  const bool waits = rows.next();
  if (rows.failed()) return Applied{rows.rc(), false, {}};
  return waits ? refused(OutcomeKind::already_done, "") : Applied{};
}

Applied Writer::put_into_inbox(RunId run, const core::Message& message) {
  const std::string body = core::encode(message.body);
  const int added = sql_.put_message.run(run, GuidBytes(message.guid), Blob{body});
  if (added == Statement::failed) return failed(sql_.put_message);
  if (added == 0) return refused(OutcomeKind::already_done, "");
  return Applied{SQLITE_OK, true, {}};
}

Applied Writer::find_or_make_mailbox(const core::MailboxKey& key, core::LaneId lane_id) {
  Applied applied;
  {
    Rows rows = sql_.find_mailbox.query(key.name_space, key.topic, key.key);
    if (rows.next()) {
      applied.outcome.run = RunId(rows.word(0));
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
  bool exists = false;
  bool held = false;
  {
    Rows rows = sql_.read_work_item.query(respond.run, respond.activity);
    exists = rows.next();
    if (rows.failed()) return Applied{rows.rc(), false, {}};
    held = exists && respond.token != core::WorkToken(0) &&
           core::WorkToken(rows.word(2)) == respond.token;
  }
  if (!exists) {
    // A repeated answer whose first reply was lost: its item went with it.
    Rows rows = sql_.read_redeliveries.query(respond.run, GuidBytes(respond.message.guid));
    if (rows.next()) return refused(OutcomeKind::already_done, "");
    if (rows.failed()) return Applied{rows.rc(), false, {}};
  }
  if (!held) return stale_item(respond.activity);
  if (response->status != core::ReplyStatus::pending &&
      sql_.drop_work.run(respond.run, respond.activity, respond.token) == Statement::failed)
    return failed(sql_.drop_work);
  Applied applied = send_to_job(respond.run, respond.message);
  applied.wrote = true;
  return applied;
}

}  // namespace pawl::store::sqlite
