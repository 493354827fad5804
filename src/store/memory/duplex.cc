// The single operations of `collation: duplex`.
#include "store/memory/duplex.h"

#include "base/format.h"
#include "base/seeded_bug.h"
#include "store/memory/answers.h"
#include "store/memory/store.h"

namespace pawl::store::memory {

namespace {

Outcome not_running(const core::JobRow& job) {
  return conflict(format("job {} is {}", job.id.raw(), core::name_of(job.status)));
}

}  // namespace

// None: the job takes writes.
std::optional<Outcome> Store::refuse_duplex(RunId run) {
  if (!duplex_.jobs.contains(run)) return rejected(format("there is no duplex job {}", run.raw()));
  const core::JobRow& job = find_job(run)->state.job;
  if (job.status != core::JobStatus::running) return not_running(job);
  return std::nullopt;
}

void Store::put_into_stream(StreamMessage message) {
  StreamEntry entry;
  entry.position = duplex_.next_position++;
  const StreamKey key{core::lane_of(message.run), message.topic};
  duplex_.streams[key].emplace(entry.position, std::make_pair(message.run, message.guid));
  DuplexRows& rows = duplex_.jobs.at(message.run);
  const core::Guid guid = message.guid;
  entry.message = std::move(message);
  rows.stream.emplace(guid, std::move(entry));
}

void Store::leave_stream(const StreamEntry& entry) {
  const auto stream = duplex_.streams.find({core::lane_of(entry.message.run), entry.message.topic});
  if (stream == duplex_.streams.end()) return;
  stream->second.erase(entry.position);
  if (stream->second.empty()) duplex_.streams.erase(stream);
}

Outcome Store::run(const StartDuplex& start) {
  Submit submit{start.name_space, start.id, start.lane, start.graph, {}, start.at};
  submit.secret = start.secret;
  Outcome outcome = begin_job(submit);
  if (outcome.kind != OutcomeKind::committed) return outcome;
  find_job(outcome.run)->state.job.semaphore = 0;  // counts the open addresses
  duplex_.jobs[outcome.run];
  put_into_stream(duplex_start(outcome.run, start.input));
  return outcome;
}

Outcome Store::run(const SetCell& set) {
  if (const auto refused = refuse_duplex(set.run)) return *refused;
  DuplexRows& rows = duplex_.jobs.at(set.run);
  const DuplexCell* known = rows.find(set.place);
  Outcome outcome = known == nullptr ? committed() : already_done();
  outcome.value = known == nullptr ? set.value : known->value;
  if (known != nullptr) return outcome;
  rows.by_place.emplace(set.place, rows.cells.size());
  DuplexCell cell;
  cell.place = set.place;
  cell.value = set.value;
  cell.opened_at = set.at;
  rows.cells.push_back(std::move(cell));
  return outcome;
}

Outcome Store::run(const AddToCell& add) {
  if (const auto refused = refuse_duplex(add.run)) return *refused;
  DuplexRows& rows = duplex_.jobs.at(add.run);
  DuplexCell* cell = rows.find(add.place);
  if (cell == nullptr)
    return rejected(format("activity {} at {} was entered before it was set", add.place.node, add.place.at.text()));
  const bool added = rows.marks.insert(add.mark).second;
  if (added) cell->value += add.delta;
  Outcome outcome = added ? committed() : already_done();
  outcome.value = cell->value;
  return outcome;
}

Outcome Store::run(const NameCloser& name) {
  if (const auto refused = refuse_duplex(name.run)) return *refused;
  DuplexCell* cell = duplex_.jobs.at(name.run).find(name.place);
  if (cell == nullptr)
    return rejected(format("activity {} at {} was closed before it was set", name.place.node, name.place.at.text()));
  if (cell->closer) return *cell->closer == name.closer ? already_done() : answer(OutcomeKind::exists);
  cell->closer = name.closer;
  cell->status = name.status;
  cell->code = name.code;
  cell->closed_at = name.at;
  cell->output = name.output;
  return committed();
}

Outcome Store::run(const OpenAddress& open) {
  if (const auto refused = refuse_duplex(open.run)) return *refused;
  const bool counts = seeded(SeededBug::duplex_counter_not_set);
  const bool added = duplex_.jobs.at(open.run).open.emplace(open.place, true).second;
  std::int64_t& count = find_job(open.run)->state.job.semaphore;
  if (added || counts) ++count;
  Outcome outcome = added ? committed() : already_done();
  outcome.empty = count == 0;
  return outcome;
}

Outcome Store::run(const CloseAddress& close) {
  if (const auto refused = refuse_duplex(close.run)) return *refused;
  auto& open = duplex_.jobs.at(close.run).open;
  const auto known = open.find(close.place);
  if (known == open.end())
    return rejected(format("activity {} at {} was never opened", close.place.node, close.place.at.text()));
  std::int64_t& count = find_job(close.run)->state.job.semaphore;
  const bool counts = seeded(SeededBug::duplex_counter_not_set) && count > 0;
  const bool closed = std::exchange(known->second, false);
  if (closed || counts) --count;
  Outcome outcome = closed ? committed() : already_done();
  outcome.empty = count == 0;
  return outcome;
}

Outcome Store::run(const Enqueue& enqueue) {
  const StreamMessage& message = enqueue.message;
  if (const auto refused = refuse_duplex(message.run)) return *refused;
  auto& stream = duplex_.jobs.at(message.run).stream;
  const auto known = stream.find(message.guid);
  if (known == stream.end()) {
    put_into_stream(message);
    return committed();
  }
  if (enqueue.renew && !known->second.done) {
    known->second.claim = ClaimId(0);
    known->second.epoch = core::Epoch(0);
    known->second.free_at = Instant();
  }
  return already_done();
}

Outcome Store::run(const Dequeue& dequeue) {
  Outcome outcome = committed();
  if (dequeue.claim == ClaimId(0)) return rejected("a claim needs a name");
  const auto stream = duplex_.streams.find({dequeue.lane, dequeue.topic});
  if (stream == duplex_.streams.end()) return outcome;
  const auto entry_of = [&](const auto& place) -> StreamEntry& {
    return duplex_.jobs.at(place.second.first).stream.at(place.second.second);
  };
  for (const auto& place : stream->second)
    if (const StreamEntry& entry = entry_of(place); entry.claim == dequeue.claim)
      outcome.messages.push_back(entry.claimed());
  const bool again = !outcome.messages.empty();
  if (again) outcome.kind = OutcomeKind::already_done;
  const Instant now = clock_.now();
  for (const auto& place : stream->second) {
    StreamEntry& entry = entry_of(place);
    if (entry.claim == dequeue.claim) continue;
    if (find_job(entry.message.run)->state.job.status == core::JobStatus::parked) continue;
    const bool orphaned = entry.claim != ClaimId(0) && entry.epoch < dequeue.epoch;
    const bool free = entry.free_at <= now || orphaned;
    if (free && !again && outcome.messages.size() < dequeue.items_max) {
      entry.claim = dequeue.claim;
      entry.epoch = dequeue.epoch;
      entry.free_at = now + dequeue.lease;
      ++entry.claims;
      outcome.messages.push_back(entry.claimed());
    } else {
      const Instant at = free ? now : entry.free_at;
      if (!outcome.lease_until || at < *outcome.lease_until) outcome.lease_until = at;
    }
  }
  return outcome;
}

Outcome Store::run(const Ack& ack) {
  const auto rows = duplex_.jobs.find(ack.run);
  if (rows == duplex_.jobs.end()) return already_done();
  auto& stream = rows->second.stream;
  const auto known = stream.find(ack.guid);
  if (known == stream.end() || known->second.done) return already_done();
  if (known->second.claim != ack.claim) return conflict("somebody else claimed the message since");
  leave_stream(known->second);
  if (core::is_closed(find_job(ack.run)->state.job.status)) {
    stream.erase(known);
    return committed();
  }
  known->second.done = true;
  known->second.message.data = Payload();
  return committed();
}

Outcome Store::run(const GiveBack& back) {
  if (const auto refused = refuse_duplex(back.run)) return *refused;
  auto& stream = duplex_.jobs.at(back.run).stream;
  const auto known = stream.find(back.guid);
  if (known == stream.end() || known->second.done || known->second.claim == ClaimId(0)) return already_done();
  if (known->second.claim != back.claim) return conflict("somebody else claimed the message since");
  known->second.claim = ClaimId(0);
  known->second.epoch = core::Epoch(0);
  known->second.free_at = clock_.now() + back.delay;
  ++known->second.given_back;
  return committed();
}

Outcome Store::run(const EndDuplex& end) {
  const auto found = duplex_.jobs.find(end.run);
  if (found == duplex_.jobs.end()) return rejected(format("there is no duplex job {}", end.run.raw()));
  core::JobRow& job = find_job(end.run)->state.job;
  if (job.status == core::JobStatus::parked) return not_running(job);
  const bool first = job.status == core::JobStatus::running;
  if (first) {
    job.status = end.status;
    job.result = end.result;
    job.reason = end.reason;
    job.closed_at = end.at;
    job.code = end.code;
    job.completions = 1;
    job.semaphore = 0;
  }
  DuplexRows& rows = found->second;
  rows.marks.clear();
  rows.open.clear();
  for (auto entry = rows.stream.begin(); entry != rows.stream.end();) {
    if (entry->first == end.keep) {
      ++entry;
      continue;
    }
    if (!entry->second.done) leave_stream(entry->second);
    entry = rows.stream.erase(entry);
  }
  return first ? committed() : already_done();
}

Outcome Store::run(const ParkDuplex& park) {
  if (!duplex_.jobs.contains(park.run)) return rejected(format("there is no duplex job {}", park.run.raw()));
  core::JobRow& job = find_job(park.run)->state.job;
  if (job.status == core::JobStatus::parked) return already_done();
  if (job.status != core::JobStatus::running) return not_running(job);
  job.status = core::JobStatus::parked;
  job.reason = park.reason;
  return committed();
}

Result<std::optional<DuplexJob>> Store::read_duplex(RunId run) {
  const std::lock_guard lock(mutex_);
  const auto found = duplex_.jobs.find(run);
  if (found == duplex_.jobs.end()) return std::optional<DuplexJob>();
  DuplexJob out;
  out.job = find_job(run)->state.job;
  out.cells = found->second.cells;
  for (const auto& [place, open] : found->second.open)
    if (open) out.open.push_back(place);
  std::map<std::uint64_t, ClaimedMessage> in_order;
  for (const auto& [guid, entry] : found->second.stream)
    if (!entry.done) in_order.emplace(entry.position, entry.claimed());
  for (auto& [position, message] : in_order) out.stream.push_back(std::move(message));
  return std::optional<DuplexJob>(std::move(out));
}

Result<std::optional<DuplexView>> Store::view_duplex(RunId run, const Place& place) {
  const std::lock_guard lock(mutex_);
  const auto found = duplex_.jobs.find(run);
  if (found == duplex_.jobs.end()) return std::optional<DuplexView>();
  DuplexView view{find_job(run)->state.job, std::nullopt};
  view.job.result = Payload();
  if (const DuplexCell* cell = found->second.find(place)) view.cell = *cell;
  return std::optional<DuplexView>(std::move(view));
}

}  // namespace pawl::store::memory
