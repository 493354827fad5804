#include "store/postgres/duplex_writer.h"

#include <set>

#include "base/format.h"
#include "base/invariant.h"
#include "store/check_limits.h"
#include "store/postgres/expected.h"
#include "store/postgres/job_rows.h"
#include "store/postgres/limits.h"

namespace pawl::store::postgres {

namespace {

const Statement lock_duplex_jobs{
    "lock_duplex_jobs",
    "SELECT j.run, j.status, j.semaphore, j.job_id FROM jobs j WHERE j.run = ANY($1::bigint[])"
    " AND EXISTS (SELECT 1 FROM duplex_jobs d WHERE d.run = ANY(ARRAY[j.run])) ORDER BY j.run FOR NO KEY UPDATE OF j"};
const Statement take_number{
    "take_number", "UPDATE lane_numbers SET next_run = next_run + 1 WHERE lane = $1::bigint RETURNING next_run - 1"};
const Statement find_key{"find_key", "SELECT run FROM start_keys WHERE namespace = $1::text AND job_id = $2::text"};
const Statement find_duplex_lane{"find_duplex_lane", "SELECT 1 FROM lane_numbers WHERE lane = $1::bigint"};
const Statement lock_duplex_numbers{
    "lock_duplex_numbers", "SELECT 1 FROM lane_numbers WHERE lane = ANY($1::bigint[]) ORDER BY lane FOR UPDATE"};
const Statement new_key{
    "new_key",
    "WITH put AS (INSERT INTO start_keys (namespace, job_id, run) VALUES ($1::text, $2::text, $3::bigint)"
    " ON CONFLICT DO NOTHING RETURNING 1) SELECT " PAWL_EXPECT("count(*) = 1") " FROM put"};
// Its semaphore counts the open addresses.
const Statement new_duplex_job{
    "new_duplex_job",
    "INSERT INTO jobs (run, namespace, job_id, graph, version, fingerprint, created_at, semaphore, priority, deadline, "
    "secret)"
    " VALUES ($1::bigint, $2::text, $3::text, $4::text, $5::bigint, $6::bigint, $7::bigint, 0, 0, 0, $8::bytea)"};
const Statement mark_duplex_job{"mark_duplex_job", "INSERT INTO duplex_jobs (run) VALUES ($1::bigint)"};
const Statement end_duplex_job{
    "end_duplex_job",
    "UPDATE jobs SET status = $2::bigint, result = $3::bytea, reason = $4::text, closed_at "
    "= $5::bigint, code = $6::bigint,"
    " completions = 1, semaphore = 0 WHERE run = $1::bigint AND status IS NOT DISTINCT FROM 0"};
const Statement park_duplex_job{
    "park_duplex_job",
    "UPDATE jobs SET status = 4, reason = $2::text WHERE run = $1::bigint AND status IS NOT DISTINCT FROM 0"};
const Statement hold_stream{"hold_stream", "UPDATE duplex_stream SET done = 2 WHERE run = $1::bigint AND done = 0"};
#define PAWL_HERE " WHERE run = $1::bigint AND node = $2::bigint AND place = $3::text"
const Statement new_cell{"new_cell",
                         "INSERT INTO duplex_cells (run, node, place, state, opened_at)"
                         " VALUES ($1::bigint, $2::bigint, $3::text, $4::bigint, $5::bigint) ON CONFLICT DO NOTHING"};
const Statement read_cell{"read_cell", "SELECT state, closer FROM duplex_cells" PAWL_HERE};
const Statement add_to_cell{"add_to_cell",
                            "UPDATE duplex_cells SET state = state + $4::bigint" PAWL_HERE " RETURNING state"};
const Statement put_mark{"put_mark",
                         "INSERT INTO duplex_marks (run, mark) VALUES ($1::bigint, $2::bytea) ON CONFLICT DO NOTHING"};
const Statement name_closer{
    "name_closer",
    "UPDATE duplex_cells SET closer = $4::bytea, status = $5::bigint, code = $6::bigint, closed_at = $7::bigint,"
    " output = $8::bytea" PAWL_HERE " AND closer IS NULL"};
const Statement open_address{"open_address",
                             "INSERT INTO duplex_addresses (run, node, place, open) VALUES ($1::bigint, $2::bigint, "
                             "$3::text, true) ON CONFLICT DO NOTHING"};
const Statement close_address{"close_address", "UPDATE duplex_addresses SET open = false" PAWL_HERE " AND open"};
const Statement find_address{"find_address", "SELECT 1 FROM duplex_addresses" PAWL_HERE};
#undef PAWL_HERE
const Statement move_count{"move_count", "UPDATE jobs SET semaphore = semaphore + $2::bigint WHERE run = $1::bigint"};
const Statement put_in_stream{"put_in_stream",
                              "INSERT INTO duplex_stream (run, guid, lane, kind, node, place, topic, status, code, "
                              "number, data) VALUES ($1::bigint,"
                              " $2::bytea, $3::bigint, $4::bigint, $5::bigint, $6::text, $7::text, $8::bigint, "
                              "$9::bigint, $10::bigint, $11::bytea)"
                              " ON CONFLICT DO NOTHING"};
#define PAWL_MESSAGE " WHERE run = $1::bigint AND guid = $2::bytea"
const Statement renew_in_stream{"renew_in_stream",
                                "UPDATE duplex_stream SET claim = 0, epoch = 0, free_at = 0" PAWL_MESSAGE
                                " AND done = 0 AND claim + 0 <> 0"};
const Statement read_in_stream{"read_in_stream", "SELECT claim FROM duplex_stream" PAWL_MESSAGE " AND done <> 1"};
const Statement ack_in_stream{"ack_in_stream", "UPDATE duplex_stream SET done = 1, data = NULL" PAWL_MESSAGE
                                               " AND claim = $3::bigint AND done <> 1"};
const Statement drop_from_stream{"drop_from_stream",
                                 "DELETE FROM duplex_stream" PAWL_MESSAGE " AND claim = $3::bigint"};
const Statement give_back_to_stream{
    "give_back_to_stream",
    "UPDATE duplex_stream SET claim = 0, epoch = 0, free_at = $4::bigint, given_back = given_back + 1" PAWL_MESSAGE
    " AND claim = $3::bigint AND done = 0"};
const Statement sweep_stream{"sweep_stream", "DELETE FROM duplex_stream WHERE run = $1::bigint AND guid <> $2::bytea"};
#undef PAWL_MESSAGE
const Statement sweep_marks{"sweep_marks", "DELETE FROM duplex_marks WHERE run = $1::bigint"};
const Statement sweep_addresses{"sweep_addresses", "DELETE FROM duplex_addresses WHERE run = $1::bigint"};

DuplexOutcome refused(OutcomeKind kind, std::string reason) { return {kind, std::move(reason), {}}; }
template <class Answer = std::monostate>
DuplexOutcome applied(bool yes, Answer answer = {}) {
  return {yes ? OutcomeKind::committed : OutcomeKind::already_done, {}, std::move(answer)};
}
DuplexOutcome no_duplex(RunId run) {
  return refused(OutcomeKind::rejected, format("there is no duplex job {}", run.raw()));
}
DuplexOutcome taken_since() { return refused(OutcomeKind::conflict, "somebody else claimed the message since"); }
DuplexOutcome never_set(const Place& place, const char* what) {
  return refused(OutcomeKind::rejected,
                 format("activity {} at {} was {} before it was set", place.node, place.at.text(), what));
}

Params here(RunId run, const Place& place) { return Params::of(run, place.node, place.at.text()); }

// All columns that a message may have. A column that its kind does not use is empty.
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

Params stream_row(const StreamMessage& message) {
  const MessageColumns columns = columns_of(message.body);
  const Payload nothing;
  const Payload* payload = payload_of(message.body);
  return Params::of(message.run, message.guid, core::lane_of(message.run), message.body.index(), columns.place.node,
                    columns.place.at.text(), columns.topic, columns.status, columns.code, columns.number,
                    payload == nullptr ? nothing : *payload);
}

}  // namespace

Result<std::vector<DuplexOutcome>> DuplexWriter::commit(std::span<const DuplexOperation> operations) {
  if (operations.empty()) return std::vector<DuplexOutcome>();
  std::optional<Failure> failure;
  for (int tries = 0; tries < limits::stale_tries; ++tries) {
    bool committing = false;
    failure = apply_group(operations, committing);
    if (!failure) return std::move(outcomes_);
    const bool ended = failure->kind == Failure::Kind::lost || connection_.is_lost();
    undo();
    if (committing && ended)
      return Error{ErrorCode::outcome_unknown, error_of(*failure).detail + " while it committed"};
    if (failure->state == stale_state) continue;
    if (!is_poison(*failure)) return error_of(*failure);
    if (operations.size() == 1)
      return std::vector<DuplexOutcome>{refused(OutcomeKind::rejected, error_of(*failure).detail)};
    // Apply each operation separately, so that only the one that can never be applied is refused.
    std::vector<DuplexOutcome> outcomes;
    for (const DuplexOperation& operation : operations) {
      auto one = commit({&operation, 1});
      if (!one) return one.error();
      outcomes.push_back(std::move(one->front()));
    }
    return outcomes;
  }
  return error_of(*failure);
}

void DuplexWriter::undo() {
  if (!connection_.is_lost()) connection_.run(rollback_statement);
}

std::optional<Failure> DuplexWriter::begin(std::span<const DuplexOperation> operations) {
  jobs_.clear();
  std::set<RunId> runs;
  std::set<core::LaneId> numbering;
  for (const DuplexOperation& operation : operations) {
    if (const auto run = run_of(operation)) runs.insert(*run);
    if (const auto* start = std::get_if<StartDuplex>(&operation)) numbering.insert(start->lane);
  }
  Script script;
  script.add(begin_statement);
  if (!numbering.empty()) script.add(lock_duplex_numbers, Params::of(std::vector(numbering.begin(), numbering.end())));
  const std::size_t locked = script.add(lock_duplex_jobs, Params::of(std::vector(runs.begin(), runs.end())));
  const auto clock_at = parts_.clock.ask(script);
  Done done = connection_.run(script);
  if (!done) return done.failure();
  now_ = parts_.clock.take(done, clock_at);
  mark_ = mark_in(done[clock_at], ServerClock::mark_column, connection_);
  Rows& rows = done[locked];
  while (rows.next())
    jobs_[RunId(rows.word(0))] =
        Job{static_cast<core::JobStatus>(rows.number(1)), rows.number(2), std::string(rows.text(3))};
  return std::nullopt;
}

std::optional<Failure> DuplexWriter::apply_group(std::span<const DuplexOperation> operations, bool& committing) {
  outcomes_.clear();
  if (auto failure = begin(operations)) return failure;
  for (const DuplexOperation& operation : operations) {
    const auto fits = check_limits(operation);
    Applied one = fits ? apply(operation) : Applied{refused(OutcomeKind::rejected, fits.error().detail)};
    if (one.failure) return one.failure;
    outcomes_.push_back(std::move(one.outcome));
  }
  Script script;
  if (const Change change = changed_by(outcomes_); !change.empty()) parts_.bell.ring(script, change);
  const auto mark_at = mark_ ? std::nullopt : std::optional(script.add(read_commit_mark));
  script.add(commit_statement);
  committing = true;
  Done done = connection_.run(script);
  if (!done) return done.failure();
  // As in Writer::finish: it is unknown whether the standby has the commit.
  if (!connection_.warning().empty())
    return Failure{Failure::Kind::lost, "", "PostgreSQL warned: " + connection_.warning()};
  if (mark_at && done[*mark_at].next()) mark_ = mark_in(done[*mark_at], 0, connection_);
  if (mark_) parts_.tail.acknowledged(*mark_);
  return std::nullopt;
}

DuplexWriter::Applied DuplexWriter::apply(const DuplexOperation& operation) {
  return std::visit([this](const auto& one) { return run(one); }, operation);
}

DuplexWriter::Job* DuplexWriter::find(RunId run) {
  const auto found = jobs_.find(run);
  return found == jobs_.end() ? nullptr : &found->second;
}

std::optional<DuplexWriter::Applied> DuplexWriter::refuse(RunId run) const {
  const auto found = jobs_.find(run);
  if (found == jobs_.end()) return Applied{no_duplex(run)};
  const Job& job = found->second;
  if (job.status == core::JobStatus::running) return std::nullopt;
  return Applied{refused(OutcomeKind::conflict, format("job {} is {}", job.id, core::name_of(job.status)))};
}

DuplexWriter::Applied DuplexWriter::run(const StartDuplex& start) {
  Script look;
  const std::size_t lane = look.add(find_duplex_lane, Params::of(start.lane));
  const std::size_t key = look.add(find_key, Params::of(start.name_space, start.id));
  Done found = connection_.run(look);
  if (!found) return {{}, found.failure()};
  if (found[key].next()) {
    DuplexOutcome taken = refused(OutcomeKind::exists, "");
    taken.answer = Started{RunId(found[key].word(0))};
    return {taken};
  }
  if (!found[lane].next()) return {refused(OutcomeKind::rejected, format("there is no lane {}", start.lane.raw()))};
  Done number = connection_.run(take_number, Params::of(start.lane));
  if (!number) return {{}, number.failure()};
  number[0].next();
  const RunId run = core::make_run(start.lane, number[0].word(0));
  Script put;
  put.add(new_key, Params::of(start.name_space, start.id, run));
  put.add(new_duplex_job, Params::of(run, start.name_space, start.id, start.graph.name, start.graph.version,
                                     start.graph.fingerprint, start.at, start.secret));
  put.add(mark_duplex_job, Params::of(run));
  put.add(put_in_stream, stream_row(duplex_start(run, start.input)));
  Done done = connection_.run(put);
  if (!done) return {{}, done.failure()};
  jobs_[run] = Job{core::JobStatus::running, 0, start.id.raw()};
  return {applied(true, Started{run})};
}

DuplexWriter::Applied DuplexWriter::run(const SetCell& set) {
  if (auto no = refuse(set.run)) return *no;
  Params cell = here(set.run, set.place);
  cell.add(set.value);
  cell.add(set.at);
  Script script;
  const std::size_t added = script.add(new_cell, std::move(cell));
  const std::size_t read = script.add(read_cell, here(set.run, set.place));
  Done done = connection_.run(script);
  if (!done) return {{}, done.failure()};
  done[read].next();
  return {applied(done[added].affected() == 1, CellHolds{done[read].number(0)})};
}

DuplexWriter::Applied DuplexWriter::run(const AddToCell& add) {
  if (auto no = refuse(add.run)) return *no;
  Done cell = connection_.run(read_cell, here(add.run, add.place));
  if (!cell) return {{}, cell.failure()};
  if (!cell[0].next()) return {never_set(add.place, "entered")};
  Done marked = connection_.run(put_mark, Params::of(add.run, add.mark));
  if (!marked) return {{}, marked.failure()};
  if (marked[0].affected() == 0) return {applied(false, CellHolds{cell[0].number(0)})};
  Params sum = here(add.run, add.place);
  sum.add(add.delta);
  Done added = connection_.run(add_to_cell, std::move(sum));
  if (!added) return {{}, added.failure()};
  added[0].next();
  return {applied(true, CellHolds{added[0].number(0)})};
}

DuplexWriter::Applied DuplexWriter::run(const NameCloser& name) {
  if (auto no = refuse(name.run)) return *no;
  Params closer = here(name.run, name.place);
  closer.add(name.closer);
  closer.add(name.status);
  closer.add(name.code);
  closer.add(name.at);
  closer.add(name.output);
  Script script;
  const std::size_t named = script.add(name_closer, std::move(closer));
  const std::size_t read = script.add(read_cell, here(name.run, name.place));
  Done done = connection_.run(script);
  if (!done) return {{}, done.failure()};
  if (!done[read].next()) return {never_set(name.place, "closed")};
  if (done[named].affected() == 1) return {applied(true)};
  return {refused(done[read].guid(1) == name.closer ? OutcomeKind::already_done : OutcomeKind::exists, "")};
}

DuplexWriter::Applied DuplexWriter::run(const OpenAddress& open) {
  if (auto no = refuse(open.run)) return *no;
  Done done = connection_.run(open_address, here(open.run, open.place));
  if (!done) return {{}, done.failure()};
  Job& job = *find(open.run);
  if (done[0].affected() == 0) return {applied(false, Obligations{job.open == 0})};
  Done counted = connection_.run(move_count, Params::of(open.run, 1));
  if (!counted) return {{}, counted.failure()};
  ++job.open;
  return {applied(true, Obligations{job.open == 0})};
}

DuplexWriter::Applied DuplexWriter::run(const CloseAddress& close) {
  if (auto no = refuse(close.run)) return *no;
  Script script;
  const std::size_t known = script.add(find_address, here(close.run, close.place));
  const std::size_t closed = script.add(close_address, here(close.run, close.place));
  Done done = connection_.run(script);
  if (!done) return {{}, done.failure()};
  if (!done[known].next())
    return {refused(OutcomeKind::rejected,
                    format("activity {} at {} was never opened", close.place.node, close.place.at.text()))};
  Job& job = *find(close.run);
  if (done[closed].affected() == 0) return {applied(false, Obligations{job.open == 0})};
  Done counted = connection_.run(move_count, Params::of(close.run, -1));
  if (!counted) return {{}, counted.failure()};
  --job.open;
  return {applied(true, Obligations{job.open == 0})};
}

DuplexWriter::Applied DuplexWriter::run(const Enqueue& enqueue) {
  const StreamMessage& message = enqueue.message;
  if (auto no = refuse(message.run)) return *no;
  Done put = connection_.run(put_in_stream, stream_row(message));
  if (!put) return {{}, put.failure()};
  if (put[0].affected() == 1) return {applied(true)};
  if (!enqueue.renew) return {applied(false)};
  Done renewed = connection_.run(renew_in_stream, Params::of(message.run, message.guid));
  if (!renewed) return {{}, renewed.failure()};
  return {applied(false)};
}

// A closed job keeps no names, so its last message is deleted completely.
DuplexWriter::Applied DuplexWriter::run(const Ack& ack) {
  const Job* job = find(ack.run);
  if (job == nullptr) return {applied(false)};
  Script script;
  const std::size_t gone = script.add(core::is_closed(job->status) ? drop_from_stream : ack_in_stream,
                                      Params::of(ack.run, ack.guid, ack.claim));
  const std::size_t waits = script.add(read_in_stream, Params::of(ack.run, ack.guid));
  Done done = connection_.run(script);
  if (!done) return {{}, done.failure()};
  if (done[gone].affected() == 1) return {applied(true)};
  return {done[waits].next() ? taken_since() : applied(false)};
}

DuplexWriter::Applied DuplexWriter::run(const GiveBack& back) {
  if (auto no = refuse(back.run)) return *no;
  Script script;
  const std::size_t given =
      script.add(give_back_to_stream, Params::of(back.run, back.guid, back.claim, now_ + back.delay));
  const std::size_t waits = script.add(read_in_stream, Params::of(back.run, back.guid));
  Done done = connection_.run(script);
  if (!done) return {{}, done.failure()};
  if (done[given].affected() == 1) return {applied(true)};
  const bool taken = done[waits].next() && done[waits].number(0) != 0;
  return {taken ? taken_since() : applied(false)};
}

DuplexWriter::Applied DuplexWriter::run(const EndDuplex& end) {
  Job* job = find(end.run);
  if (job == nullptr) return {no_duplex(end.run)};
  if (job->status == core::JobStatus::parked) return *refuse(end.run);
  Script script;
  const std::size_t ended = script.add(
      end_duplex_job, Params::of(end.run, end.status, end.result, stored_text(end.reason), end.at, end.code));
  script.add(sweep_marks, Params::of(end.run));
  script.add(sweep_addresses, Params::of(end.run));
  script.add(sweep_stream, Params::of(end.run, end.keep));
  Done done = connection_.run(script);
  if (!done) return {{}, done.failure()};
  const bool first = done[ended].affected() == 1;
  if (first) *job = Job{end.status, 0, job->id};
  return {applied(first)};
}

DuplexWriter::Applied DuplexWriter::run(const ParkDuplex& park_it) {
  const Job* job = find(park_it.run);
  if (job == nullptr) return {no_duplex(park_it.run)};
  if (job->status == core::JobStatus::parked) return {applied(false)};
  if (auto no = refuse(park_it.run)) return *no;
  if (auto failure = park(park_it.run, park_it.reason)) return {{}, failure};
  return {applied(true)};
}

// Its messages stay, and dequeues skip them.
std::optional<Failure> DuplexWriter::park(RunId run, const std::string& reason) {
  Script script;
  script.add(park_duplex_job, Params::of(run, stored_text(reason)));
  script.add(hold_stream, Params::of(run));
  Done done = connection_.run(script);
  if (!done) return done.failure();
  if (Job* job = find(run)) job->status = core::JobStatus::parked;
  return std::nullopt;
}

}  // namespace pawl::store::postgres
