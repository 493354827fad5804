// The single operations of `collation: duplex`.
#include <algorithm>

#include "base/format.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

namespace {

Applied no_duplex(RunId run) {
  return refused(OutcomeKind::rejected, format("there is no duplex job {}", run.raw()));
}

Applied already(std::int64_t value = 0) {
  Applied applied = refused(OutcomeKind::already_done, "");
  applied.outcome.value = value;
  return applied;
}

Applied wrote(std::int64_t value = 0) {
  Applied applied{SQLITE_OK, true, {}};
  applied.outcome.value = value;
  return applied;
}

Applied taken_since() {
  return refused(OutcomeKind::conflict, "somebody else claimed the message since");
}

Applied never_set(const Place& place, const char* what) {
  return refused(OutcomeKind::rejected,
                 format("activity {} at {} was {} before it was set", place.node, place.at.text(), what));
}

}  // namespace

// A refusal unless the job is there; is_done(): duplex_status_ and duplex_open_ hold what its row says.
Applied Writer::read_duplex_job(RunId run) {
  Rows rows = duplex_.read_job.query(run);
  if (!rows.next()) return rows.failed() ? Applied{rows.rc(), false, {}} : no_duplex(run);
  duplex_status_ = static_cast<core::JobStatus>(rows.number(0));
  duplex_open_ = rows.number(1);
  duplex_id_ = std::string(rows.text(2));
  return {};
}

Applied Writer::not_running() const {
  return refused(OutcomeKind::conflict, format("job {} is {}", duplex_id_, core::name_of(duplex_status_)));
}

Applied Writer::take_duplex(RunId run) {
  Applied read = read_duplex_job(run);
  if (!is_done(read)) return read;
  return duplex_status_ == core::JobStatus::running ? read : not_running();
}

Applied Writer::apply(const StartDuplex& start) {
  Lane* lane = find_lane(start.lane);
  if (lane_code_ != SQLITE_OK) return Applied{lane_code_, false, {}};
  {
    Rows rows = sql_.find_start_key.query(start.name_space, start.id);
    if (rows.next()) {
      Applied taken = refused(OutcomeKind::exists, "");
      taken.outcome.run = RunId(rows.word(0));
      return taken;
    }
    if (rows.failed()) return Applied{rows.rc(), false, {}};
  }
  if (lane == nullptr)
    return refused(OutcomeKind::rejected, format("there is no lane {}", start.lane.raw()));
  const RunId run = next_run(start.lane, *lane);
  if (sql_.put_start_key.run(start.name_space, start.id, run) == Statement::failed)
    return failed(sql_.put_start_key);
  if (duplex_.new_job.run(run, start.name_space, start.id, start.graph.name, start.graph.version,
                          start.graph.fingerprint, start.at, stored_secret(start.secret)) == Statement::failed)
    return failed(duplex_.new_job);
  if (duplex_.mark_job.run(run) == Statement::failed) return failed(duplex_.mark_job);
  if (put_into_stream(duplex_start(run, start.input)) == Statement::failed)
    return failed(duplex_.put_message);
  Applied applied = wrote();
  applied.outcome.run = run;
  return applied;
}

int Writer::put_into_stream(const StreamMessage& message) {
  return duplex_.put_message.run(message.run, GuidBytes(message.guid), core::lane_of(message.run), message.kind,
                                 message.place.node, message.place.at.text(), message.topic, message.status,
                                 message.code, message.number, message.data);
}

Applied Writer::apply(const SetCell& set) {
  Applied taken = take_duplex(set.run);
  if (!is_done(taken)) return taken;
  const int added = duplex_.new_cell.run(set.run, set.place.node, set.place.at.text(), set.value, set.at);
  if (added == Statement::failed) return failed(duplex_.new_cell);
  if (added == 1) return wrote(set.value);
  Rows rows = duplex_.read_cell.query(set.run, set.place.node, set.place.at.text());
  if (!rows.next()) return Applied{rows.failed() ? rows.rc() : SQLITE_CORRUPT, false, {}};
  return already(rows.number(0));
}

Applied Writer::apply(const AddToCell& add) {
  Applied taken = take_duplex(add.run);
  if (!is_done(taken)) return taken;
  std::int64_t value = 0;
  {
    Rows rows = duplex_.read_cell.query(add.run, add.place.node, add.place.at.text());
    if (!rows.next())
      return rows.failed() ? Applied{rows.rc(), false, {}} : never_set(add.place, "entered");
    value = rows.number(0);
  }
  const int added = duplex_.put_mark.run(add.run, GuidBytes(add.mark));
  if (added == Statement::failed) return failed(duplex_.put_mark);
  if (added == 0) return already(value);
  if (duplex_.add_to_cell.run(add.run, add.place.node, add.place.at.text(), add.delta) == Statement::failed)
    return failed(duplex_.add_to_cell);
  return wrote(value + add.delta);
}

Applied Writer::apply(const NameCloser& name) {
  Applied taken = take_duplex(name.run);
  if (!is_done(taken)) return taken;
  const int named = duplex_.name_closer.run(name.run, name.place.node, name.place.at.text(), GuidBytes(name.closer),
                                            name.status, name.code, name.at, name.output);
  if (named == Statement::failed) return failed(duplex_.name_closer);
  if (named == 1) return wrote();
  Rows rows = duplex_.read_cell.query(name.run, name.place.node, name.place.at.text());
  if (!rows.next())
    return rows.failed() ? Applied{rows.rc(), false, {}} : never_set(name.place, "closed");
  return rows.guid(1) == name.closer ? already() : refused(OutcomeKind::exists, "");
}

// `empty` follows from the job's row, which counts the open addresses.
Applied Writer::count_addresses(RunId run, bool changed, std::int64_t by) {
  if (changed && duplex_.move_count.run(run, by) == Statement::failed) return failed(duplex_.move_count);
  Applied applied = changed ? wrote() : already();
  applied.outcome.empty = duplex_open_ + (changed ? by : 0) == 0;
  return applied;
}

Applied Writer::apply(const OpenAddress& open) {
  Applied taken = take_duplex(open.run);
  if (!is_done(taken)) return taken;
  const int added = duplex_.open_address.run(open.run, open.place.node, open.place.at.text());
  if (added == Statement::failed) return failed(duplex_.open_address);
  return count_addresses(open.run, added == 1, 1);
}

Applied Writer::apply(const CloseAddress& close) {
  Applied taken = take_duplex(close.run);
  if (!is_done(taken)) return taken;
  const int closed = duplex_.close_address.run(close.run, close.place.node, close.place.at.text());
  if (closed == Statement::failed) return failed(duplex_.close_address);
  if (closed == 0) {
    Rows rows = duplex_.has_address.query(close.run, close.place.node, close.place.at.text());
    if (!rows.next())
      return rows.failed() ? Applied{rows.rc(), false, {}}
                           : refused(OutcomeKind::rejected,
                                     format("activity {} at {} was never opened", close.place.node,
                                            close.place.at.text()));
  }
  return count_addresses(close.run, closed == 1, -1);
}

Applied Writer::apply(const Enqueue& enqueue) {
  Applied taken = take_duplex(enqueue.message.run);
  if (!is_done(taken)) return taken;
  const int added = put_into_stream(enqueue.message);
  if (added == Statement::failed) return failed(duplex_.put_message);
  if (added == 1) return wrote();
  if (!enqueue.renew) return already();
  const int freed = duplex_.renew_message.run(enqueue.message.run, GuidBytes(enqueue.message.guid));
  if (freed == Statement::failed) return failed(duplex_.renew_message);
  Applied applied = already();
  applied.wrote = freed == 1;
  return applied;
}

// Fills the outcome with what the claim holds; SQLITE_OK or what failed. A message that no store can have written
// parks its job and stops no other.
int Writer::read_claimed(const Dequeue& dequeue, Outcome& outcome) {
  std::vector<RunId> damaged;
  {
    Rows rows = duplex_.claimed_by.query(dequeue.lane, dequeue.topic, dequeue.claim);
    while (rows.next()) {
      auto message = claimed_message(rows);
      if (message) outcome.messages.push_back(std::move(*message));
      else damaged.emplace_back(rows.word(0));
    }
    if (rows.failed()) return rows.rc();
  }
  for (const RunId run : damaged)
    if (duplex_.park_job.run(run, std::string_view("corrupt: a message of its stream is malformed")) == Statement::failed)
      return duplex_.park_job.code();
  return SQLITE_OK;
}

Applied Writer::apply(const Dequeue& dequeue) {
  if (dequeue.claim == ClaimId(0)) return refused(OutcomeKind::rejected, "a claim needs a name");
  Applied applied;
  applied.code = read_claimed(dequeue, applied.outcome);
  if (applied.code != SQLITE_OK) return applied;
  const Instant now = clock_.now();
  if (!applied.outcome.messages.empty()) {
    applied.outcome.kind = OutcomeKind::already_done;
  } else {
    std::vector<std::int64_t> free;
    {
      Rows rows = duplex_.find_free.query(dequeue.lane, dequeue.topic, now, dequeue.epoch, dequeue.items_max);
      while (rows.next()) free.push_back(rows.number(0));
      if (rows.failed()) return Applied{rows.rc(), false, {}};
    }
    for (const std::int64_t id : free) {
      if (duplex_.claim.run(id, dequeue.claim, dequeue.epoch, now + dequeue.lease) == Statement::failed)
        return failed(duplex_.claim);
      applied.wrote = true;
    }
    if (applied.wrote) applied.code = read_claimed(dequeue, applied.outcome);
    if (applied.code != SQLITE_OK) return applied;
  }
  Rows rows = duplex_.next_free.query(dequeue.lane, dequeue.topic, dequeue.claim, dequeue.epoch);
  if (rows.next() && !rows.is_null(0))
    applied.outcome.lease_until = std::max(now, Instant::from_micros(rows.number(0)));
  if (rows.failed()) return Applied{rows.rc(), applied.wrote, {}};
  return applied;
}

// A closed job keeps no names, so its last message goes altogether.
Applied Writer::apply(const Ack& ack) {
  Applied read = read_duplex_job(ack.run);
  if (read.code != SQLITE_OK) return read;
  if (!is_done(read)) return already();
  const bool closed = core::is_closed(duplex_status_);
  Statement& statement = closed ? duplex_.drop_message : duplex_.ack;
  const int gone = statement.run(ack.run, GuidBytes(ack.guid), ack.claim);
  if (gone == Statement::failed) return failed(statement);
  if (gone == 1) return wrote();
  const GuidBytes guid(ack.guid);
  Rows rows = duplex_.read_message.query(ack.run, guid);
  const bool waits = rows.next();
  if (rows.failed()) return Applied{rows.rc(), false, {}};
  return waits ? taken_since() : already();
}

Applied Writer::apply(const GiveBack& back) {
  Applied taken = take_duplex(back.run);
  if (!is_done(taken)) return taken;
  const int given = duplex_.give_back.run(back.run, GuidBytes(back.guid), back.claim, clock_.now() + back.delay);
  if (given == Statement::failed) return failed(duplex_.give_back);
  if (given == 1) return wrote();
  const GuidBytes guid(back.guid);
  Rows rows = duplex_.read_message.query(back.run, guid);
  const bool taken_by_another = rows.next() && rows.number(0) != 0;
  if (rows.failed()) return Applied{rows.rc(), false, {}};
  return taken_by_another ? taken_since() : already();
}

Applied Writer::apply(const EndDuplex& end) {
  Applied read = read_duplex_job(end.run);
  if (!is_done(read)) return read;
  if (duplex_status_ == core::JobStatus::parked) return not_running();
  const int ended = duplex_.end_job.run(end.run, end.status, end.result, end.reason, end.at, end.code);
  if (ended == Statement::failed) return failed(duplex_.end_job);
  if (duplex_.sweep_marks.run(end.run) == Statement::failed) return failed(duplex_.sweep_marks);
  if (duplex_.sweep_addresses.run(end.run) == Statement::failed) return failed(duplex_.sweep_addresses);
  if (duplex_.sweep_stream.run(end.run, GuidBytes(end.keep)) == Statement::failed)
    return failed(duplex_.sweep_stream);
  Applied applied = ended == 1 ? wrote() : already();
  applied.wrote = true;
  return applied;
}

Applied Writer::apply(const ParkDuplex& park) {
  Applied read = read_duplex_job(park.run);
  if (!is_done(read)) return read;
  if (duplex_status_ == core::JobStatus::parked) return already();
  if (duplex_status_ != core::JobStatus::running) return not_running();
  if (duplex_.park_job.run(park.run, park.reason) == Statement::failed) return failed(duplex_.park_job);
  return wrote();
}

}  // namespace pawl::store::sqlite
