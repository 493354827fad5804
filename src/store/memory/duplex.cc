// The single operations of `collation: duplex`.
#include "store/memory/duplex.h"

#include <algorithm>

#include "base/format.h"
#include "store/check_limits.h"

namespace pawl::store::memory {

namespace {

DuplexOutcome duplex_answer(OutcomeKind kind, std::string reason = {}) { return {kind, std::move(reason), {}}; }
template <class Answer>
DuplexOutcome duplex_answer(bool applied, Answer answer) {
  return {applied ? OutcomeKind::committed : OutcomeKind::already_done, {}, std::move(answer)};
}
DuplexOutcome applied(bool yes) { return duplex_answer(yes ? OutcomeKind::committed : OutcomeKind::already_done); }
DuplexOutcome duplex_conflict(std::string why) { return duplex_answer(OutcomeKind::conflict, std::move(why)); }
DuplexOutcome duplex_rejected(std::string why) { return duplex_answer(OutcomeKind::rejected, std::move(why)); }

DuplexOutcome not_running(const core::JobRow& job) {
  return duplex_conflict(format("job {} is {}", job.id.raw(), core::name_of(job.status)));
}
DuplexOutcome no_duplex_job(RunId run) { return duplex_rejected(format("there is no duplex job {}", run.raw())); }
DuplexOutcome never_set(const Place& place, const char* what) {
  return duplex_rejected(format("activity {} at {} was {} before it was set", place.node, place.at.text(), what));
}
DuplexOutcome taken_since() { return duplex_conflict("somebody else claimed the message since"); }

}  // namespace

void DuplexStore::copy_from(const DuplexStore& other) {
  jobs_ = other.jobs_;
  streams_ = other.streams_;
  next_position_ = other.next_position_;
}

Result<std::vector<DuplexOutcome>> DuplexStore::commit(std::span<const DuplexOperation> operations) {
  const std::lock_guard lock(mutex_);
  std::vector<DuplexOutcome> outcomes;
  outcomes.reserve(operations.size());
  for (const DuplexOperation& operation : operations) {
    const auto fits = check_limits(operation);
    outcomes.push_back(fits ? std::visit([this](const auto& one) { return run(one); }, operation)
                            : duplex_rejected(fits.error().detail));
  }
  return outcomes;
}

std::optional<DuplexOutcome> DuplexStore::refuse(RunId run) {
  if (!jobs_.contains(run)) return no_duplex_job(run);
  const core::JobRow& job = *shared_.find_row(run);
  if (job.status != core::JobStatus::running) return not_running(job);
  return std::nullopt;
}

void DuplexStore::put(StreamMessage message) {
  Entry entry;
  entry.position = next_position_++;
  entry.message = std::move(message);
  const Where where{entry.message.run, entry.message.guid};
  Entry& kept = jobs_.at(where.first).stream.emplace(where.second, std::move(entry)).first->second;
  move(kept, Shelf::free);
}

void DuplexStore::move(Entry& entry, Shelf to) {
  const StreamKey key{core::lane_of(entry.message.run), stream_of(entry.message.body)};
  Stream& stream = streams_[key];
  const Where where{entry.message.run, entry.message.guid};
  switch (entry.shelf) {
    case Shelf::free:
      stream.free.erase(entry.position);
      break;
    case Shelf::claimed:
      stream.claimed.erase(entry.position);
      break;
    case Shelf::later:
      stream.later.erase({entry.free_at, entry.position});
      break;
    case Shelf::none:
      break;
  }
  entry.shelf = to;
  switch (to) {
    case Shelf::free:
      stream.free.emplace(entry.position, where);
      break;
    case Shelf::claimed:
      stream.claimed.emplace(entry.position, where);
      break;
    case Shelf::later:
      stream.later.emplace(std::pair(entry.free_at, entry.position), where);
      break;
    case Shelf::none:
      if (stream.empty()) streams_.erase(key);
      break;
  }
}

DuplexOutcome DuplexStore::run(const StartDuplex& start) {
  const Outcome begun = shared_.begin_duplex(start);
  DuplexOutcome outcome{begun.kind, begun.reason, {}};
  if (begun.kind == OutcomeKind::committed || begun.kind == OutcomeKind::exists) outcome.answer = Started{begun.run()};
  if (begun.kind != OutcomeKind::committed) return outcome;
  jobs_[begun.run()];
  put(duplex_start(begun.run(), start.input));
  return outcome;
}

DuplexOutcome DuplexStore::run(const SetCell& set) {
  if (const auto refused = refuse(set.run)) return *refused;
  Job& job = jobs_.at(set.run);
  if (const DuplexCell* known = job.find(set.place)) return duplex_answer(false, CellHolds{known->value});
  job.by_place.emplace(set.place, job.cells.size());
  DuplexCell cell;
  cell.place = set.place;
  cell.value = set.value;
  cell.opened_at = set.at;
  job.cells.push_back(std::move(cell));
  return duplex_answer(true, CellHolds{set.value});
}

DuplexOutcome DuplexStore::run(const AddToCell& add) {
  if (const auto refused = refuse(add.run)) return *refused;
  Job& job = jobs_.at(add.run);
  DuplexCell* cell = job.find(add.place);
  if (cell == nullptr) return never_set(add.place, "entered");
  const bool added = job.marks.insert(add.mark).second;
  if (added) cell->value += add.delta;
  return duplex_answer(added, CellHolds{cell->value});
}

DuplexOutcome DuplexStore::run(const NameCloser& name) {
  if (const auto refused = refuse(name.run)) return *refused;
  DuplexCell* cell = jobs_.at(name.run).find(name.place);
  if (cell == nullptr) return never_set(name.place, "closed");
  if (cell->closer)
    return duplex_answer(*cell->closer == name.closer ? OutcomeKind::already_done : OutcomeKind::exists);
  cell->closer = name.closer;
  cell->status = name.status;
  cell->code = name.code;
  cell->closed_at = name.at;
  cell->output = name.output;
  return applied(true);
}

DuplexOutcome DuplexStore::run(const OpenAddress& open) {
  if (const auto refused = refuse(open.run)) return *refused;
  const bool added = jobs_.at(open.run).open.emplace(open.place, true).second;
  std::int64_t& count = shared_.find_row(open.run)->semaphore;
  if (added) ++count;
  return duplex_answer(added, Obligations{count == 0});
}

DuplexOutcome DuplexStore::run(const CloseAddress& close) {
  if (const auto refused = refuse(close.run)) return *refused;
  auto& open = jobs_.at(close.run).open;
  const auto known = open.find(close.place);
  if (known == open.end())
    return duplex_rejected(format("activity {} at {} was never opened", close.place.node, close.place.at.text()));
  std::int64_t& count = shared_.find_row(close.run)->semaphore;
  const bool closed = std::exchange(known->second, false);
  if (closed) --count;
  return duplex_answer(closed, Obligations{count == 0});
}

DuplexOutcome DuplexStore::run(const Enqueue& enqueue) {
  const StreamMessage& message = enqueue.message;
  if (const auto refused = refuse(message.run)) return *refused;
  auto& stream = jobs_.at(message.run).stream;
  const auto known = stream.find(message.guid);
  if (known == stream.end()) {
    put(message);
    return applied(true);
  }
  Entry& entry = known->second;
  if (enqueue.renew && !entry.done && entry.claim != ClaimId(0)) {
    move(entry, Shelf::free);
    entry.claim = ClaimId(0);
    entry.epoch = core::Epoch(0);
  }
  return applied(false);
}

// What was claimed under an earlier epoch or longer than its lease, and what was delayed until now.
void DuplexStore::free_what_is_due(Stream& stream, core::Epoch epoch) {
  const Instant now = clock_.now();
  std::vector<Where> due;
  for (const auto& [position, where] : stream.claimed)
    if (const Entry& entry = entry_at(where); entry.free_at <= now || entry.epoch < epoch) due.push_back(where);
  for (auto at = stream.later.begin(); at != stream.later.end() && at->first.first <= now; ++at)
    due.push_back(at->second);
  for (const Where& where : due) move(entry_at(where), Shelf::free);
}

DuplexOutcome DuplexStore::run(const Dequeue& dequeue) {
  if (dequeue.claim == ClaimId(0)) return duplex_rejected("a claim needs a name");
  if (dequeue.epoch == core::Epoch(0)) return duplex_rejected("a claim needs the epoch of its lane");
  Handed handed;
  const auto found = streams_.find({dequeue.lane, dequeue.topic});
  if (found == streams_.end()) return duplex_answer(true, std::move(handed));
  Stream& stream = found->second;
  free_what_is_due(stream, dequeue.epoch);
  for (const auto& [position, where] : stream.claimed)
    if (const Entry& entry = entry_at(where); entry.claim == dequeue.claim) handed.messages.push_back(entry.claimed());
  const bool again = !handed.messages.empty();
  const Instant now = clock_.now();
  std::size_t bytes = 0;
  while (!again && !stream.free.empty() && handed.messages.size() < dequeue.items_max) {
    Entry& entry = entry_at(stream.free.begin()->second);
    const Payload* payload = payload_of(entry.message.body);
    bytes += payload == nullptr ? 0 : payload->size();
    if (bytes > dequeue.bytes_max && !handed.messages.empty()) break;
    move(entry, Shelf::claimed);
    entry.claim = dequeue.claim;
    entry.epoch = dequeue.epoch;
    entry.free_at = now + dequeue.lease;
    ++entry.claims;
    handed.messages.push_back(entry.claimed());
  }
  const auto sooner = [&](Instant at) {
    if (!handed.next_free || at < *handed.next_free) handed.next_free = at;
  };
  if (!stream.free.empty()) sooner(now);
  if (!stream.later.empty()) sooner(stream.later.begin()->first.first);
  for (const auto& [position, where] : stream.claimed)
    if (const Entry& entry = entry_at(where); entry.claim != dequeue.claim) sooner(entry.free_at);
  return duplex_answer(!again, std::move(handed));
}

DuplexOutcome DuplexStore::run(const Ack& ack) {
  const auto job = jobs_.find(ack.run);
  if (job == jobs_.end()) return applied(false);
  auto& stream = job->second.stream;
  const auto known = stream.find(ack.guid);
  if (known == stream.end() || known->second.done) return applied(false);
  Entry& entry = known->second;
  if (entry.claim != ack.claim) return taken_since();
  move(entry, Shelf::none);
  if (core::is_closed(shared_.find_row(ack.run)->status)) {
    stream.erase(known);
    return applied(true);
  }
  entry.done = true;
  // Only its name is left, and its stream no longer matters.
  entry.message.body = stream::Cleanup{};
  return applied(true);
}

DuplexOutcome DuplexStore::run(const GiveBack& back) {
  if (const auto refused = refuse(back.run)) return *refused;
  auto& stream = jobs_.at(back.run).stream;
  const auto known = stream.find(back.guid);
  if (known == stream.end() || known->second.done || known->second.claim == ClaimId(0)) return applied(false);
  Entry& entry = known->second;
  if (entry.claim != back.claim) return taken_since();
  move(entry, Shelf::none);
  entry.claim = ClaimId(0);
  entry.epoch = core::Epoch(0);
  entry.free_at = clock_.now() + back.delay;
  ++entry.given_back;
  move(entry, Shelf::later);
  return applied(true);
}

DuplexOutcome DuplexStore::run(const EndDuplex& end) {
  const auto found = jobs_.find(end.run);
  if (found == jobs_.end()) return no_duplex_job(end.run);
  core::JobRow& row = *shared_.find_row(end.run);
  if (row.status == core::JobStatus::parked) return not_running(row);
  const bool first = row.status == core::JobStatus::running;
  if (first) {
    row.status = end.status;
    row.result = end.result;
    row.reason = end.reason;
    row.closed_at = end.at;
    row.code = end.code;
    row.completions = 1;
    row.semaphore = 0;
  }
  Job& job = found->second;
  job.marks.clear();
  job.open.clear();
  for (auto entry = job.stream.begin(); entry != job.stream.end();) {
    if (entry->first == end.keep) {
      ++entry;
      continue;
    }
    if (!entry->second.done) move(entry->second, Shelf::none);
    entry = job.stream.erase(entry);
  }
  return applied(first);
}

DuplexOutcome DuplexStore::run(const ParkDuplex& park) {
  const auto found = jobs_.find(park.run);
  if (found == jobs_.end()) return no_duplex_job(park.run);
  core::JobRow& row = *shared_.find_row(park.run);
  if (row.status == core::JobStatus::parked) return applied(false);
  if (row.status != core::JobStatus::running) return not_running(row);
  row.status = core::JobStatus::parked;
  row.reason = park.reason;
  for (auto& [guid, entry] : found->second.stream)
    if (!entry.done) move(entry, Shelf::none);
  return applied(true);
}

Result<std::optional<DuplexJob>> DuplexStore::read(RunId run) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(run);
  if (found == jobs_.end()) return std::optional<DuplexJob>();
  DuplexJob out;
  out.job = *shared_.find_row(run);
  out.cells = found->second.cells;
  for (const auto& [place, open] : found->second.open)
    if (open) out.open.push_back(place);
  out.stream = found->second.waiting();
  return std::optional<DuplexJob>(std::move(out));
}

std::vector<ClaimedMessage> DuplexStore::Job::waiting() const {
  std::map<std::uint64_t, ClaimedMessage> in_order;
  for (const auto& [guid, entry] : stream)
    if (!entry.done) in_order.emplace(entry.position, entry.claimed());
  std::vector<ClaimedMessage> out;
  for (auto& [position, message] : in_order) out.push_back(std::move(message));
  return out;
}

Result<std::optional<DuplexJob>> DuplexStore::read_under_way(RunId run) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(run);
  if (found == jobs_.end()) return std::optional<DuplexJob>();
  DuplexJob out;
  out.job = *shared_.find_row(run);
  out.job.result = Payload();
  out.stream = found->second.waiting();
  for (const Place& place : places_of(out.stream))
    if (const DuplexCell* cell = found->second.find(place)) out.cells.push_back(*cell);
  return std::optional<DuplexJob>(std::move(out));
}

Result<std::optional<DuplexView>> DuplexStore::view(RunId run, const Place& place) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(run);
  if (found == jobs_.end()) return std::optional<DuplexView>();
  DuplexView view{*shared_.find_row(run), std::nullopt};
  view.job.result = Payload();
  if (const DuplexCell* cell = found->second.find(place)) view.cell = *cell;
  return std::optional<DuplexView>(std::move(view));
}

}  // namespace pawl::store::memory
