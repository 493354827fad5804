#include "store/sqlite/duplex_writer.h"

#include "base/format.h"
#include "base/invariant.h"
#include "store/check_limits.h"

namespace pawl::store::sqlite {

namespace {

DuplexApplied refused_duplex(OutcomeKind kind, std::string reason = {}) {
  return {SQLITE_OK, false, {kind, std::move(reason), {}}};
}
DuplexApplied failed_duplex(int code) { return {code, false, {}}; }
DuplexApplied failed_duplex(const Statement& statement) { return failed_duplex(statement.code()); }

DuplexApplied no_duplex(RunId run) {
  return refused_duplex(OutcomeKind::rejected, format("there is no duplex job {}", run.raw()));
}

template <class Answer = std::monostate>
DuplexApplied already(Answer answer = {}) {
  return {SQLITE_OK, false, {OutcomeKind::already_done, {}, answer}};
}
template <class Answer = std::monostate>
DuplexApplied wrote(Answer answer = {}) {
  return {SQLITE_OK, true, {OutcomeKind::committed, {}, answer}};
}

DuplexApplied taken_since() { return refused_duplex(OutcomeKind::conflict, "somebody else claimed the message since"); }

DuplexApplied never_set(const Place& place, const char* what) {
  return refused_duplex(OutcomeKind::rejected,
                        format("activity {} at {} was {} before it was set", place.node, place.at.text(), what));
}

// The columns that a message may need; those that its kind does not use are empty.
struct MessageColumns {
  Place place;
  Topic topic{""};
  core::ReplyStatus status = core::ReplyStatus::success;
  std::int32_t code = 0;
  std::uint32_t number = 0;
};

MessageColumns columns_of(const stream::Body& body) {
  return std::visit(Overloaded{
                        [](const stream::Start&) { return MessageColumns{}; },
                        [](const stream::Transition& transition) { return MessageColumns{transition.place}; },
                        [](const stream::Request& request) {
                          return MessageColumns{request.place, request.topic};
                        },
                        [](const stream::Reply& reply) {
                          return MessageColumns{reply.place, Topic(""), reply.status, reply.code, reply.number};
                        },
                        [](const stream::Cleanup& cleanup) {
                          MessageColumns columns;
                          if (cleanup.failure) columns.status = core::ReplyStatus::error;
                          if (cleanup.failure) columns.code = cleanup.failure->code;
                          return columns;
                        },
                    },
                    body);
}

}  // namespace

DuplexApplied DuplexWriter::apply(const DuplexOperation& operation) {
  const auto fits = check_limits(operation);
  if (!fits) return refused_duplex(OutcomeKind::rejected, fits.error().detail);
  return std::visit([this](const auto& one) { return run(one); }, operation);
}

DuplexApplied DuplexWriter::read_job(RunId run) {
  Rows rows = sql_.read_job.query(run);
  if (!rows.next()) return rows.failed() ? failed_duplex(rows.rc()) : no_duplex(run);
  job_.status = static_cast<core::JobStatus>(rows.number(0));
  job_.open = rows.number(1);
  job_.id = std::string(rows.text(2));
  return {};
}

DuplexApplied DuplexWriter::not_running() const {
  return refused_duplex(OutcomeKind::conflict, format("job {} is {}", job_.id, core::name_of(job_.status)));
}

DuplexApplied DuplexWriter::take_job(RunId run) {
  DuplexApplied read = read_job(run);
  if (!is_done(read)) return read;
  return job_.status == core::JobStatus::running ? read : not_running();
}

DuplexApplied DuplexWriter::run(const StartDuplex& start) {
  const Applied taken = jobs_.take_id(start.name_space, start.id, start.lane);
  DuplexApplied applied{taken.code, taken.wrote, {taken.outcome.kind, taken.outcome.reason, {}}};
  if (taken.code != SQLITE_OK) return applied;
  const RunId run = taken.outcome.run();
  if (run != RunId(0)) applied.outcome.answer = Started{run};
  if (!taken.outcome.done()) return applied;
  if (sql_.new_job.run(run, start.name_space, start.id, start.graph.name, start.graph.version, start.graph.fingerprint,
                       start.at, stored_secret(start.secret)) == Statement::failed)
    return failed_duplex(sql_.new_job);
  if (sql_.mark_job.run(run) == Statement::failed) return failed_duplex(sql_.mark_job);
  if (put_message(duplex_start(run, start.input)) == Statement::failed) return failed_duplex(sql_.put_message);
  return applied;
}

int DuplexWriter::put_message(const StreamMessage& message) {
  const MessageColumns columns = columns_of(message.body);
  const Payload nothing;
  const Payload* payload = payload_of(message.body);
  const Payload& data = payload == nullptr ? nothing : *payload;
  return sql_.put_message.run(message.run, GuidBytes(message.guid), core::lane_of(message.run), message.body.index(),
                              columns.place.node, columns.place.at.text(), columns.topic, columns.status, columns.code,
                              columns.number, data);
}

DuplexApplied DuplexWriter::run(const SetCell& set) {
  DuplexApplied taken = take_job(set.run);
  if (!is_done(taken)) return taken;
  const int added = sql_.new_cell.run(set.run, set.place.node, set.place.at.text(), set.value, set.at);
  if (added == Statement::failed) return failed_duplex(sql_.new_cell);
  if (added == 1) return wrote(CellHolds{set.value});
  Rows rows = sql_.read_cell.query(set.run, set.place.node, set.place.at.text());
  if (!rows.next()) return failed_duplex(rows.failed() ? rows.rc() : SQLITE_CORRUPT);
  return already(CellHolds{rows.number(0)});
}

DuplexApplied DuplexWriter::run(const AddToCell& add) {
  DuplexApplied taken = take_job(add.run);
  if (!is_done(taken)) return taken;
  std::int64_t value = 0;
  {
    Rows rows = sql_.read_cell.query(add.run, add.place.node, add.place.at.text());
    if (!rows.next()) return rows.failed() ? failed_duplex(rows.rc()) : never_set(add.place, "entered");
    value = rows.number(0);
  }
  const int added = sql_.put_mark.run(add.run, GuidBytes(add.mark));
  if (added == Statement::failed) return failed_duplex(sql_.put_mark);
  if (added == 0) return already(CellHolds{value});
  if (sql_.add_to_cell.run(add.run, add.place.node, add.place.at.text(), add.delta) == Statement::failed)
    return failed_duplex(sql_.add_to_cell);
  return wrote(CellHolds{value + add.delta});
}

DuplexApplied DuplexWriter::run(const NameCloser& name) {
  DuplexApplied taken = take_job(name.run);
  if (!is_done(taken)) return taken;
  const int named = sql_.name_closer.run(name.run, name.place.node, name.place.at.text(), GuidBytes(name.closer),
                                         name.status, name.code, name.at, name.output);
  if (named == Statement::failed) return failed_duplex(sql_.name_closer);
  if (named == 1) return wrote();
  Rows rows = sql_.read_cell.query(name.run, name.place.node, name.place.at.text());
  if (!rows.next()) return rows.failed() ? failed_duplex(rows.rc()) : never_set(name.place, "closed");
  return rows.guid(1) == name.closer ? already() : refused_duplex(OutcomeKind::exists);
}

// The job's row counts the open addresses.
DuplexApplied DuplexWriter::count_addresses(RunId run, bool changed, std::int64_t by) {
  if (changed && sql_.move_count.run(run, by) == Statement::failed) return failed_duplex(sql_.move_count);
  const Obligations left{job_.open + (changed ? by : 0) == 0};
  return changed ? wrote(left) : already(left);
}

DuplexApplied DuplexWriter::run(const OpenAddress& open) {
  DuplexApplied taken = take_job(open.run);
  if (!is_done(taken)) return taken;
  const int added = sql_.open_address.run(open.run, open.place.node, open.place.at.text());
  if (added == Statement::failed) return failed_duplex(sql_.open_address);
  return count_addresses(open.run, added == 1, 1);
}

DuplexApplied DuplexWriter::run(const CloseAddress& close) {
  DuplexApplied taken = take_job(close.run);
  if (!is_done(taken)) return taken;
  const int closed = sql_.close_address.run(close.run, close.place.node, close.place.at.text());
  if (closed == Statement::failed) return failed_duplex(sql_.close_address);
  if (closed == 0) {
    Rows rows = sql_.has_address.query(close.run, close.place.node, close.place.at.text());
    if (!rows.next())
      return rows.failed() ? failed_duplex(rows.rc())
                           : refused_duplex(OutcomeKind::rejected, format("activity {} at {} was never opened",
                                                                          close.place.node, close.place.at.text()));
  }
  return count_addresses(close.run, closed == 1, -1);
}

DuplexApplied DuplexWriter::run(const Enqueue& enqueue) {
  DuplexApplied taken = take_job(enqueue.message.run);
  if (!is_done(taken)) return taken;
  const int added = put_message(enqueue.message);
  if (added == Statement::failed) return failed_duplex(sql_.put_message);
  if (added == 1) return wrote();
  if (!enqueue.renew) return already();
  const int freed = sql_.renew_message.run(enqueue.message.run, GuidBytes(enqueue.message.guid));
  if (freed == Statement::failed) return failed_duplex(sql_.renew_message);
  DuplexApplied applied = already();
  applied.wrote = freed == 1;
  return applied;
}

// A closed job keeps no names, so its last message is deleted completely.
DuplexApplied DuplexWriter::run(const Ack& ack) {
  DuplexApplied read = read_job(ack.run);
  if (read.code != SQLITE_OK) return read;
  if (!is_done(read)) return already();
  const bool closed = core::is_closed(job_.status);
  Statement& statement = closed ? sql_.drop_message : sql_.ack;
  const int gone = statement.run(ack.run, GuidBytes(ack.guid), ack.claim);
  if (gone == Statement::failed) return failed_duplex(statement);
  if (gone == 1) return wrote();
  const GuidBytes guid(ack.guid);
  Rows rows = sql_.read_message.query(ack.run, guid);
  const bool waits = rows.next();
  if (rows.failed()) return failed_duplex(rows.rc());
  return waits ? taken_since() : already();
}

DuplexApplied DuplexWriter::run(const GiveBack& back) {
  DuplexApplied taken = take_job(back.run);
  if (!is_done(taken)) return taken;
  const int given = sql_.give_back.run(back.run, GuidBytes(back.guid), back.claim, clock_.now() + back.delay);
  if (given == Statement::failed) return failed_duplex(sql_.give_back);
  if (given == 1) return wrote();
  const GuidBytes guid(back.guid);
  Rows rows = sql_.read_message.query(back.run, guid);
  const bool taken_by_another = rows.next() && rows.number(0) != 0;
  if (rows.failed()) return failed_duplex(rows.rc());
  return taken_by_another ? taken_since() : already();
}

DuplexApplied DuplexWriter::run(const EndDuplex& end) {
  DuplexApplied read = read_job(end.run);
  if (!is_done(read)) return read;
  if (job_.status == core::JobStatus::parked) return not_running();
  const int ended = sql_.end_job.run(end.run, end.status, end.result, end.reason, end.at, end.code);
  if (ended == Statement::failed) return failed_duplex(sql_.end_job);
  if (sql_.sweep_marks.run(end.run) == Statement::failed) return failed_duplex(sql_.sweep_marks);
  if (sql_.sweep_addresses.run(end.run) == Statement::failed) return failed_duplex(sql_.sweep_addresses);
  if (sql_.sweep_stream.run(end.run, GuidBytes(end.keep)) == Statement::failed) return failed_duplex(sql_.sweep_stream);
  DuplexApplied applied = ended == 1 ? wrote() : already();
  applied.wrote = true;
  return applied;
}

DuplexApplied DuplexWriter::run(const ParkDuplex& park) {
  DuplexApplied read = read_job(park.run);
  if (!is_done(read)) return read;
  if (job_.status == core::JobStatus::parked) return already();
  if (job_.status != core::JobStatus::running) return not_running();
  const int code = park_job(park.run, park.reason);
  return code == SQLITE_OK ? wrote() : failed_duplex(code);
}

// Its messages stay, and no dequeue takes them.
int DuplexWriter::park_job(RunId run, std::string_view reason) {
  if (sql_.park_job.run(run, reason) == Statement::failed) return sql_.park_job.code();
  return sql_.hold_messages.run(run) == Statement::failed ? sql_.hold_messages.code() : SQLITE_OK;
}

}  // namespace pawl::store::sqlite
