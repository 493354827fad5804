// Jobs as a whole: how they begin, and how they go.
#include "base/format.h"
#include "store/rules.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

Applied no_lane(core::LaneId lane) {
  return refused(OutcomeKind::rejected, format("there is no lane {}", lane.raw()));
}

Applied Writer::apply(const Submit& submit) { return begin_job(submit, std::nullopt); }

Applied Writer::begin_job(const Submit& submit, const std::optional<core::ParentLink>& parent) {
  Lane* lane = find_lane(submit.lane);
  if (lane_code_ != SQLITE_OK) return Applied{lane_code_, false, {}};
  RunId holder(0);
  KeyHolder key;
  {
    Rows rows = sql_.find_start_key.query(submit.name_space, submit.id);
    if (rows.next()) {
      holder = RunId(rows.word(0));
      const Instant expires_at = Instant::from_micros(rows.number(1));
      key.over = expires_at != Instant() && expires_at <= clock_.now();
    }
    if (rows.failed()) return Applied{rows.rc(), false, {}};
  }
  if (holder != RunId(0)) {
    if (submit.reuse != Reuse::never) {
      Rows rows = sql_.read_status.query(holder);
      key.open = rows.next() && !core::is_closed(static_cast<core::JobStatus>(rows.number(0)));
      if (rows.failed()) return Applied{rows.rc(), false, {}};
    }
    if (is_taken(submit.reuse, key)) {
      Applied taken = refused(OutcomeKind::exists, "");
      taken.outcome.run = holder;
      return taken;
    }
  }
  if (lane == nullptr) return no_lane(submit.lane);
  Applied applied = make_job(submit, parent, next_run(submit.lane, *lane));
  if (!is_done(applied) || !key.open) return applied;
  applied.outcome.replaced = holder;
  const Applied told = put_into_inbox(holder, replaced_message(applied.outcome.run));
  return told.code == SQLITE_OK ? applied : told;
}

Applied Writer::make_job(const Submit& submit, const std::optional<core::ParentLink>& parent, RunId run) {
  Applied applied;
  applied.wrote = true;
  applied.outcome.run = run;
  if (sql_.put_start_key.run(submit.name_space, submit.id, run) == Statement::failed)
    return failed(sql_.put_start_key);
  std::optional<RunId> parent_run;
  std::optional<core::ActivitySeq> parent_activity;
  std::optional<GuidBytes> parent_request;
  std::optional<bool> parent_awaits;
  if (parent) {
    parent_run = parent->run;
    parent_activity = parent->activity;
    parent_request.emplace(parent->request);
    parent_awaits = parent->awaits;
  }
  if (sql_.put_new_job.run(run, submit.name_space, submit.id, submit.graph.name, submit.graph.version,
                           submit.graph.fingerprint, submit.at, submit.priority, submit.keep,
                           submit.deadline, parent_run, parent_activity, parent_request,
                           parent_awaits, stored_secret(submit.secret)) == Statement::failed)
    return failed(sql_.put_new_job);
  const Applied started = put_timed(run, core::start_message(run, submit.input), submit.start_at);
  if (started.code != SQLITE_OK) return started;
  if (submit.deadline != Instant()) {
    const Applied limited = put_timed(run, core::deadline_message(run), submit.deadline);
    if (limited.code != SQLITE_OK) return limited;
  }
  return applied;
}

Applied Writer::start_child(const core::JobKey& key, const core::StartChild& start, core::LaneId lane) {
  Applied begun = begin_job(submit_of(start, key, lane, clock_.now()), start.parent);
  if (begun.code != SQLITE_OK || begun.outcome.kind != OutcomeKind::exists) return begun;
  std::optional<core::ParentLink> parent;  // of whoever has the id
  {
    Rows rows = sql_.read_parent.query(begun.outcome.run);
    if (rows.next()) parent.emplace().request = rows.guid(0);
    if (rows.failed()) return Applied{rows.rc(), false, {}};
    if (rows.malformed()) return Applied{SQLITE_CORRUPT, false, {}};
  }
  if (made_by(start, parent)) {
    begun.outcome.kind = OutcomeKind::already_done;
    return begun;
  }
  Applied told = send_to_job(start.parent.run, core::refused_child(start, key.id).message);
  told.outcome.run = start.parent.run;
  return told;
}

Applied Writer::apply(const RemoveJob& remove) {
  std::string name_space;
  std::string id;
  {
    Rows rows = sql_.read_ended.query(remove.run);
    if (!rows.next()) {
      if (rows.failed()) return Applied{rows.rc(), false, {}};
      return refused(OutcomeKind::already_done, "");
    }
    if (!core::is_closed(static_cast<core::JobStatus>(rows.number(2))) || rows.number(3) == 0)
      return refused(OutcomeKind::conflict, "the job is not over yet");
    name_space = rows.text(0);
    id = rows.text(1);
  }
  // The key is left alone when a later run of the same id has it.
  Statement& key = remove.key_until == Instant() ? sql_.drop_start_key : sql_.end_start_key;
  const int ended = remove.key_until == Instant() ? key.run(name_space, id, remove.run)
                                                  : key.run(name_space, id, remove.run, remove.key_until);
  if (ended == Statement::failed) return failed(key);
  for (Statement* drop : {&sql_.sweep_inbox, &sql_.sweep_timers})
    if (drop->run(remove.run, nullptr) == Statement::failed) return failed(*drop);
  for (Statement* drop : {&sql_.drop_activities, &sql_.drop_records, &sql_.drop_labels, &sql_.drop_announcements,
                          &sql_.drop_job})
    if (drop->run(remove.run) == Statement::failed) return failed(*drop);
  return Applied{SQLITE_OK, true, {}};
}

Applied Writer::apply(const DropKeys& drop) {
  const int dropped = sql_.drop_old_keys.run(drop.up_to, drop.rows_max);
  if (dropped == Statement::failed) return failed(sql_.drop_old_keys);
  return Applied{SQLITE_OK, dropped > 0, {}};
}

}  // namespace pawl::store::sqlite
