// The operations on one job.
#include "store/redis/duplex.h"

#include "base/format.h"
#include "base/invariant.h"
#include "store/check_limits.h"
#include "store/redis/limits.h"
#include "store/redis/records.h"

namespace pawl::store::redis {

namespace {

DuplexOutcome duplex_outcome(OutcomeKind kind, std::string reason = {}) { return {kind, std::move(reason), {}}; }
DuplexOutcome applied(bool yes) { return duplex_outcome(yes ? OutcomeKind::committed : OutcomeKind::already_done); }
template <class Answer>
DuplexOutcome applied(bool yes, Answer answer) {
  return {yes ? OutcomeKind::committed : OutcomeKind::already_done, {}, std::move(answer)};
}
DuplexOutcome duplex_rejected(std::string why) { return duplex_outcome(OutcomeKind::rejected, std::move(why)); }
DuplexOutcome taken_since() { return duplex_outcome(OutcomeKind::conflict, "somebody else claimed the message since"); }
DuplexOutcome never_set(const Place& place, const char* what) {
  return duplex_rejected(format("activity {} at {} was {} before it was set", place.node, place.at.text(), what));
}
DuplexOutcome not_running(const std::string& id, core::JobStatus status) {
  return duplex_outcome(OutcomeKind::conflict, format("job {} is {}", id, core::name_of(status)));
}
DuplexOutcome no_duplex_job(RunId run) { return duplex_rejected(format("there is no duplex job {}", run.raw())); }

std::string cell_field(const Place& place) { return "c:" + place_text(place); }
std::string closer_field(const Place& place) { return "z:" + place_text(place); }

constexpr std::string_view group_name = "engines";

}  // namespace

Result<std::vector<DuplexOutcome>> DuplexStore::commit(std::span<const DuplexOperation> operations) {
  if (const auto known = committer_.check_known_layout(); !known) return known.error();
  std::vector<DuplexOutcome> outcomes;
  for (const DuplexOperation& operation : operations) {
    if (const auto fits = check_limits(operation); !fits) {
      outcomes.push_back(duplex_rejected(fits.error().detail));
      continue;
    }
    auto outcome = std::visit([this](const auto& one) { return run(one); }, operation);
    if (!outcome && outcome.error().code == ErrorCode::corrupt) {
      // Its lane is blocked; the others continue. Nothing was applied, but only a caller with one operation can be told
      // so.
      if (operations.size() == 1) return outcome.error();
      const bool is_asked_for = std::holds_alternative<StartDuplex>(operation);
      outcomes.push_back(
          duplex_outcome(is_asked_for ? OutcomeKind::rejected : OutcomeKind::outcome_unknown, outcome.error().detail));
      continue;
    }
    if (!outcome) {
      // "Nothing was applied" is only true for the first operation.
      const bool nothing = outcomes.empty() && outcome.error().code == ErrorCode::retry_later;
      if (nothing || outcome.error().code == ErrorCode::unsupported) return outcome.error();
      return Error{ErrorCode::outcome_unknown, outcome.error().detail};
    }
    outcomes.push_back(std::move(*outcome));
  }
  return outcomes;
}

Result<Instant> DuplexStore::time_in(const Reply& reply) const {
  if (clock_ != nullptr) return clock_->now();
  const auto seconds = number_in<std::int64_t>(reply[0].text);
  const auto micros = number_in<std::int64_t>(reply[1].text);
  if (!seconds || !micros) return malformed("the server's time");
  return Instant::from_micros(*seconds * 1'000'000 + *micros);
}

void DuplexStore::ask_job(Look& look, RunId run) const {
  look.watched.push_back(keys_.of_run(run, "run"));
  look.questions.add({"HMGET", keys_.of_run(run, "run"), "duplex", "status", "id", "semaphore"});
}

DuplexStore::JobSeen DuplexStore::job_in(const Reply& row) {
  JobSeen job;
  job.exists = !row[0].is_nil();
  for (int status = 0; status <= static_cast<int>(core::JobStatus::paused); ++status)
    if (core::name_of(static_cast<core::JobStatus>(status)) == row[1].text)
      job.status = static_cast<core::JobStatus>(status);
  job.id = row[2].text;
  job.open = number_in<std::int64_t>(row[3].text).value_or(0);
  return job;
}

std::optional<DuplexStore::Decision> DuplexStore::refuse(RunId run, const JobSeen& job) const {
  if (!job.exists) return Decision{no_duplex_job(run), {}};
  if (job.status != core::JobStatus::running) return Decision{not_running(job.id, job.status), {}};
  return std::nullopt;
}

void DuplexStore::ring(Commands& commands, core::LaneId lane) const {
  commands.add({"PUBLISH", keys_.bell(), format("{} {} -x", committer_.sender(), lane.raw())});
}

// --- A: the job, its id and its start message

Result<DuplexOutcome> DuplexStore::run(const StartDuplex& start) {
  const auto known = committer_.has_lane(start.lane);
  if (!known) return Error{ErrorCode::retry_later, known.error().detail};
  if (!*known) return duplex_rejected(format("there is no lane {}", start.lane.raw()));
  const std::string ids = keys_.of_lane(start.lane, "ids");
  const std::string runs = keys_.of_lane(start.lane, "runs");
  const std::string positions = keys_.of_lane(start.lane, "positions");
  const std::string name = name_of(core::JobKey{start.name_space, start.id});
  Look look;
  look.watched = {ids, runs, positions};
  look.questions.add({"HGET", ids, name});
  look.questions.add({"GET", runs});
  look.questions.add({"GET", positions});
  look.questions.add({"TIME"});
  return attempt(start.lane, look, [&](const Replies& seen, const Ask&) -> Result<Decision> {
    const auto now = time_in(seen[3]);
    if (!now) return now.error();
    Decision decision;
    Commands& commands = decision.commands;
    if (!seen[0].is_nil()) {
      WordReader holder(seen[0].text);
      const RunId run(holder.number<std::uint64_t>());
      const Instant expires = holder.at_end() ? Instant() : holder.instant();
      if (holder.malformed()) return malformed(format("the name of job {}", start.id.raw()));
      if (expires == Instant() || expires > *now) return Decision{{OutcomeKind::exists, {}, Started{run}}, {}};
      const std::string old = wide(run.raw());
      commands.add({"ZREM", keys_.of_lane(start.lane, "expiring"), old + name});
      commands.add({"ZREM", keys_.of_lane(start.lane, "due"), old + "3" + core::Guid{}.text() + wide_activity(0)});
    }
    const RunId run(number_in<std::uint64_t>(seen[1].text).value_or(core::make_run(start.lane, 0).raw()) + 1);
    const std::uint64_t position = number_in<std::uint64_t>(seen[2].text).value_or(0) + 1;
    commands.add({"SET", runs, format("{}", run.raw())});
    Submit submit{start.name_space, start.id, start.lane, start.graph, {}, start.at};
    submit.secret = start.secret;
    std::vector<std::string> row = {"HSET", keys_.of_run(run, "run")};
    for (std::string& word : new_row(submit, std::nullopt)) row.push_back(std::move(word));
    row.insert(row.end(), {"semaphore", "0", "duplex", "1"});  // the job counts open addresses instead
    commands.add(row);
    commands.add({"ZADD", keys_.of_lane(start.lane, "jobs"), "0", "0" + wide(run.raw())});
    commands.add({"HSET", ids, name, format("{}", run.raw())});
    put_message(commands, duplex_start(run, start.input), position);
    ring(commands, start.lane);
    decision.outcome = applied(true, Started{run});
    return decision;
  });
}

// --- cells

Result<DuplexOutcome> DuplexStore::run(const SetCell& set) {
  const std::string key = keys_.of_run(set.run, "run");
  const std::string field = cell_field(set.place);
  Look look;
  ask_job(look, set.run);
  look.questions.add({"HMGET", key, field, "cells"});
  return attempt(core::lane_of(set.run), look, [&](const Replies& seen, const Ask&) -> Result<Decision> {
    if (auto refused = refuse(set.run, job_in(seen[0]))) return std::move(*refused);
    const Reply& row = seen[1];
    if (!row[0].is_nil())
      return Decision{applied(false, CellHolds{number_in<std::int64_t>(row[0].text).value_or(0)}), {}};
    const std::uint64_t number = number_in<std::uint64_t>(row[1].text).value_or(0) + 1;
    Decision decision;
    decision.commands.add({"HSETNX", key, field, format("{}", set.value)});
    decision.commands.add(
        {"HSET", key, field + ":is", format("{} {}", number, set.at.micros()), "cells", format("{}", number)});
    decision.outcome = applied(true, CellHolds{set.value});
    return decision;
  });
}

Result<DuplexOutcome> DuplexStore::run(const AddToCell& add) {
  const std::string key = keys_.of_run(add.run, "run");
  const std::string marks = keys_.of_run(add.run, "marks");
  const std::string field = cell_field(add.place);
  const std::string mark = add.mark.text();
  Look look;
  ask_job(look, add.run);
  look.watched.push_back(marks);
  look.questions.add({"HGET", key, field});
  look.questions.add({"SISMEMBER", marks, mark});
  return attempt(core::lane_of(add.run), look, [&](const Replies& seen, const Ask&) -> Result<Decision> {
    if (auto refused = refuse(add.run, job_in(seen[0]))) return std::move(*refused);
    if (seen[1].is_nil()) return Decision{never_set(add.place, "entered"), {}};
    const std::int64_t value = number_in<std::int64_t>(seen[1].text).value_or(0);
    if (seen[2].integer == 1) return Decision{applied(false, CellHolds{value}), {}};
    Decision decision;
    decision.commands.add({"SADD", marks, mark});
    decision.commands.add({"HINCRBY", key, field, format("{}", add.delta)});
    decision.outcome = applied(true, CellHolds{value + add.delta});
    return decision;
  });
}

Result<DuplexOutcome> DuplexStore::run(const NameCloser& name) {
  const std::string key = keys_.of_run(name.run, "run");
  const std::string closer = closer_field(name.place);
  Look look;
  ask_job(look, name.run);
  look.questions.add({"HMGET", key, cell_field(name.place), closer});
  return attempt(core::lane_of(name.run), look, [&](const Replies& seen, const Ask&) -> Result<Decision> {
    if (auto refused = refuse(name.run, job_in(seen[0]))) return std::move(*refused);
    if (seen[1][0].is_nil()) return Decision{never_set(name.place, "closed"), {}};
    if (!seen[1][1].is_nil()) {
      const bool mine = seen[1][1].text.starts_with(name.closer.text());
      return Decision{duplex_outcome(mine ? OutcomeKind::already_done : OutcomeKind::exists), {}};
    }
    Decision decision;
    decision.commands.add(
        {"HSETNX", key, closer,
         format("{} {} {} {}", name.closer.text(), static_cast<int>(name.status), name.code, name.at.micros())});
    if (!name.output.empty()) decision.commands.add({"HSET", key, closer + ":out", name.output.view()});
    decision.outcome = applied(true);
    return decision;
  });
}

// --- open obligations: a set of addresses, and a set of the closed ones

Result<DuplexOutcome> DuplexStore::run(const OpenAddress& open) {
  const std::string key = keys_.of_run(open.run, "run");
  const std::string set = keys_.of_run(open.run, "open");
  const std::string closed = keys_.of_run(open.run, "closed");
  const std::string place = place_text(open.place);
  Look look;
  ask_job(look, open.run);
  look.watched.insert(look.watched.end(), {set, closed});
  look.questions.add({"SISMEMBER", set, place});
  look.questions.add({"SISMEMBER", closed, place});
  return attempt(core::lane_of(open.run), look, [&](const Replies& seen, const Ask&) -> Result<Decision> {
    const JobSeen job = job_in(seen[0]);
    if (auto refused = refuse(open.run, job)) return std::move(*refused);
    if (seen[1].integer == 1 || seen[2].integer == 1) return Decision{applied(false, Obligations{job.open == 0}), {}};
    Decision decision;
    decision.commands.add({"SADD", set, place});
    decision.commands.add({"HINCRBY", key, "semaphore", "1"});
    decision.outcome = applied(true, Obligations{job.open + 1 == 0});
    return decision;
  });
}

Result<DuplexOutcome> DuplexStore::run(const CloseAddress& close) {
  const std::string key = keys_.of_run(close.run, "run");
  const std::string set = keys_.of_run(close.run, "open");
  const std::string closed = keys_.of_run(close.run, "closed");
  const std::string place = place_text(close.place);
  Look look;
  ask_job(look, close.run);
  look.watched.insert(look.watched.end(), {set, closed});
  look.questions.add({"SISMEMBER", set, place});
  look.questions.add({"SISMEMBER", closed, place});
  return attempt(core::lane_of(close.run), look, [&](const Replies& seen, const Ask&) -> Result<Decision> {
    const JobSeen job = job_in(seen[0]);
    if (auto refused = refuse(close.run, job)) return std::move(*refused);
    if (seen[2].integer == 1) return Decision{applied(false, Obligations{job.open == 0}), {}};
    if (seen[1].integer == 0)
      return Decision{
          duplex_rejected(format("activity {} at {} was never opened", close.place.node, close.place.at.text())), {}};
    Decision decision;
    decision.commands.add({"SMOVE", set, closed, place});
    decision.commands.add({"HINCRBY", key, "semaphore", "-1"});
    decision.outcome = applied(true, Obligations{job.open - 1 == 0});
    return decision;
  });
}

// --- messages

std::string DuplexStore::of_stream(core::LaneId lane, std::string_view what, std::string_view topic) const {
  return keys_.of_lane(lane, format("{}:{}", what, topic));
}

// The position is the entry's id.
void DuplexStore::put_message(Commands& commands, const StreamMessage& message, std::uint64_t position) const {
  const core::LaneId lane = core::lane_of(message.run);
  Told told;
  told.topic = escape(stream_of(message.body).raw());
  told.position = position;
  commands.add({"SET", keys_.of_lane(lane, "positions"), format("{}", position)});
  std::vector<std::string> entry = {"XADD", of_stream(lane, "stream", told.topic), format("{}-0", position)};
  for (std::string& word : message_fields(message)) entry.push_back(std::move(word));
  commands.add(entry);
  commands.add({"HSET", keys_.of_run(message.run, "told"), message.guid.text(), told.words()});
  commands.add({"ZADD", of_stream(lane, "free", told.topic), "0", stream_member(position, message.run, message.guid)});
}

void DuplexStore::unshelf(Commands& commands, core::LaneId lane, const Told& told, const std::string& member) const {
  commands.add({"ZREM", of_stream(lane, "free", told.topic), member});
  commands.add({"ZREM", of_stream(lane, "held", told.topic), member});
  commands.add({"ZREM", of_stream(lane, "claimed", told.topic), member});
  commands.add({"XACK", of_stream(lane, "stream", told.topic), group_name, format("{}-0", told.position)});
}

Result<DuplexOutcome> DuplexStore::run(const Enqueue& enqueue) {
  const StreamMessage& message = enqueue.message;
  const core::LaneId lane = core::lane_of(message.run);
  const std::string told_key = keys_.of_run(message.run, "told");
  const std::string positions = keys_.of_lane(lane, "positions");
  Look look;
  ask_job(look, message.run);
  look.watched.insert(look.watched.end(), {told_key, positions});
  look.questions.add({"HGET", told_key, message.guid.text()});
  look.questions.add({"GET", positions});
  return attempt(lane, look, [&](const Replies& seen, const Ask&) -> Result<Decision> {
    if (auto refused = refuse(message.run, job_in(seen[0]))) return std::move(*refused);
    Decision decision;
    if (seen[1].is_nil()) {
      put_message(decision.commands, message, number_in<std::uint64_t>(seen[2].text).value_or(0) + 1);
      ring(decision.commands, lane);
      decision.outcome = applied(true);
      return decision;
    }
    decision.outcome = applied(false);
    auto told = Told::parse(seen[1].text);
    if (!told) return told.error();
    if (!enqueue.renew || told->shelf == Told::Shelf::done || told->claim == ClaimId(0)) return decision;
    const std::string member = stream_member(told->position, message.run, message.guid);
    unshelf(decision.commands, lane, *told, member);
    decision.commands.add({"ZADD", of_stream(lane, "free", told->topic), "0", member});
    told->shelf = Told::Shelf::free;
    told->claim = ClaimId(0);
    told->epoch = core::Epoch(0);
    decision.commands.add({"HSET", told_key, message.guid.text(), told->words()});
    ring(decision.commands, lane);
    return decision;
  });
}

Result<DuplexOutcome> DuplexStore::run(const Ack& ack) {
  const core::LaneId lane = core::lane_of(ack.run);
  const std::string told_key = keys_.of_run(ack.run, "told");
  Look look;
  ask_job(look, ack.run);
  look.watched.push_back(told_key);
  look.questions.add({"HGET", told_key, ack.guid.text()});
  return attempt(lane, look, [&](const Replies& seen, const Ask& ask) -> Result<Decision> {
    if (seen[1].is_nil()) return Decision{applied(false), {}};
    auto told = Told::parse(seen[1].text);
    if (!told) return told.error();
    if (told->shelf == Told::Shelf::done) return Decision{applied(false), {}};
    if (told->claim != ack.claim) return Decision{taken_since(), {}};
    Decision decision;
    decision.outcome = applied(true);
    const std::string stream = of_stream(lane, "stream", told->topic);
    unshelf(decision.commands, lane, *told, stream_member(told->position, ack.run, ack.guid));
    decision.commands.add({"XDEL", stream, format("{}-0", told->position)});
    // The consumer of the claim is removed with its last message.
    Commands count;
    count.add({"XPENDING", stream, group_name, "-", "+", "2", format("{}", ack.claim.raw())});
    const auto left = ask(count);
    if (!left) return Error{ErrorCode::retry_later, left.error().detail};
    if (left->front().list.size() == 1 && told->shelf == Told::Shelf::claimed)
      decision.commands.add({"XGROUP", "DELCONSUMER", stream, group_name, format("{}", ack.claim.raw())});
    if (core::is_closed(job_in(seen[0]).status)) {
      decision.commands.add({"HDEL", told_key, ack.guid.text()});
      return decision;
    }
    told->shelf = Told::Shelf::done;
    decision.commands.add({"HSET", told_key, ack.guid.text(), told->words()});
    return decision;
  });
}

Result<DuplexOutcome> DuplexStore::run(const GiveBack& back) {
  const core::LaneId lane = core::lane_of(back.run);
  const std::string told_key = keys_.of_run(back.run, "told");
  Look look;
  ask_job(look, back.run);
  look.watched.push_back(told_key);
  look.questions.add({"HGET", told_key, back.guid.text()});
  look.questions.add({"TIME"});
  return attempt(lane, look, [&](const Replies& seen, const Ask&) -> Result<Decision> {
    if (auto refused = refuse(back.run, job_in(seen[0]))) return std::move(*refused);
    if (seen[1].is_nil()) return Decision{applied(false), {}};
    auto told = Told::parse(seen[1].text);
    const auto now = time_in(seen[2]);
    if (!told) return told.error();
    if (!now) return now.error();
    if (told->shelf == Told::Shelf::done || told->claim == ClaimId(0)) return Decision{applied(false), {}};
    if (told->claim != back.claim) return Decision{taken_since(), {}};
    Decision decision;
    decision.outcome = applied(true);
    const std::string member = stream_member(told->position, back.run, back.guid);
    unshelf(decision.commands, lane, *told, member);
    told->shelf = Told::Shelf::later;
    told->claim = ClaimId(0);
    told->epoch = core::Epoch(0);
    told->free_at = *now + back.delay;
    ++told->given_back;
    decision.commands.add({"ZADD", of_stream(lane, "held", told->topic), format("{}", told->free_at.micros()), member});
    decision.commands.add({"HSET", told_key, back.guid.text(), told->words()});
    return decision;
  });
}

// --- ends

Result<DuplexOutcome> DuplexStore::run(const EndDuplex& end) {
  const core::LaneId lane = core::lane_of(end.run);
  const std::string key = keys_.of_run(end.run, "run");
  const std::string told_key = keys_.of_run(end.run, "told");
  Look look;
  ask_job(look, end.run);
  look.watched.push_back(told_key);
  look.questions.add({"HGETALL", told_key});
  return attempt(lane, look, [&](const Replies& seen, const Ask&) -> Result<Decision> {
    const JobSeen job = job_in(seen[0]);
    if (!job.exists) return Decision{no_duplex_job(end.run), {}};
    if (job.status == core::JobStatus::parked) return Decision{not_running(job.id, job.status), {}};
    const bool first = job.status == core::JobStatus::running;
    Decision decision;
    decision.outcome = applied(first);
    Commands& commands = decision.commands;
    if (first) {
      core::JobHead head;
      head.completions = 1;
      head.closed_at = end.at;
      head.code = end.code;
      commands.add({"HSET", key, "status", core::name_of(end.status), "head", head_words(head), "semaphore", "0"});
      if (!end.result.empty()) commands.add({"HSET", key, "result", end.result.view()});
      if (!end.reason.empty()) commands.add({"HSET", key, "reason", end.reason});
      const std::string jobs = keys_.of_lane(lane, "jobs");
      commands.add({"ZREM", jobs, "0" + wide(end.run.raw())});
      commands.add({"ZADD", jobs, "0", format("{}", static_cast<int>(end.status)) + wide(end.run.raw())});
    }
    commands.add(
        {"DEL", keys_.of_run(end.run, "marks"), keys_.of_run(end.run, "open"), keys_.of_run(end.run, "closed")});
    const Fields rows = fields_of(seen[1]);
    for (const auto& [guid_text, words] : rows) {
      if (guid_text == end.keep.text()) continue;
      const auto told = Told::parse(*words);
      const auto guid = core::Guid::parse(guid_text);
      if (!told || !guid) return malformed("what is known of a message of a duplex job");
      if (told->shelf != Told::Shelf::done) {
        unshelf(commands, lane, *told, stream_member(told->position, end.run, *guid));
        commands.add({"XDEL", of_stream(lane, "stream", told->topic), format("{}-0", told->position)});
      }
      commands.add({"HDEL", told_key, guid_text});
    }
    ring(commands, lane);
    return decision;
  });
}

Result<DuplexOutcome> DuplexStore::run(const ParkDuplex& park) {
  const core::LaneId lane = core::lane_of(park.run);
  const std::string key = keys_.of_run(park.run, "run");
  const std::string told_key = keys_.of_run(park.run, "told");
  Look look;
  ask_job(look, park.run);
  look.watched.push_back(told_key);
  look.questions.add({"HGETALL", told_key});
  return attempt(lane, look, [&](const Replies& seen, const Ask&) -> Result<Decision> {
    const JobSeen job = job_in(seen[0]);
    if (!job.exists) return Decision{no_duplex_job(park.run), {}};
    if (job.status == core::JobStatus::parked) return Decision{applied(false), {}};
    if (job.status != core::JobStatus::running) return Decision{not_running(job.id, job.status), {}};
    Decision decision;
    decision.outcome = applied(true);
    Commands& commands = decision.commands;
    commands.add({"HSET", key, "status", core::name_of(core::JobStatus::parked)});
    if (!park.reason.empty()) commands.add({"HSET", key, "reason", park.reason});
    const std::string jobs = keys_.of_lane(lane, "jobs");
    commands.add({"ZREM", jobs, "0" + wide(park.run.raw())});
    commands.add({"ZADD", jobs, "0", format("{}", static_cast<int>(core::JobStatus::parked)) + wide(park.run.raw())});
    const Fields rows = fields_of(seen[1]);
    for (const auto& [guid_text, words] : rows) {
      auto told = Told::parse(*words);
      const auto guid = core::Guid::parse(guid_text);
      if (!told || !guid) return malformed("what is known of a message of a duplex job");
      if (told->shelf == Told::Shelf::done) continue;
      unshelf(commands, lane, *told, stream_member(told->position, park.run, *guid));
      told->shelf = Told::Shelf::parked;
      commands.add({"HSET", told_key, guid_text, told->words()});
    }
    return decision;
  });
}

}  // namespace pawl::store::redis
