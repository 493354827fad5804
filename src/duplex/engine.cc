#include "duplex/engine.h"

#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "base/random.h"

namespace pawl::duplex {

namespace {

using store::OutcomeKind;

constexpr Duration backoff_min = std::chrono::milliseconds(5);
constexpr Duration backoff_max = std::chrono::seconds(1);

Duration backoff(std::uint32_t refusals) {
  return std::min(backoff_min * (std::int64_t{1} << std::min(refusals, 8u)), backoff_max);
}

std::size_t bytes_of(const stream::Body& body) {
  const Payload* payload = store::payload_of(body);
  return payload == nullptr ? 0 : payload->size();
}

}  // namespace

Engine::Engine(EngineOptions options, store::DuplexStore& store, const Clock& clock, FindGraph find_graph,
               Events& events)
    : options_(options),
      store_(store),
      clock_(clock),
      events_(events),
      sequences_(store, std::move(find_graph), *this) {}

// --- input

void Engine::own(std::vector<OwnedLane> lanes) {
  if (lanes == lanes_) return;
  lanes_ = std::move(lanes);
  rebuild_streams();
}

void Engine::serve(const Topic& topic) {
  if (std::find(topics_.begin(), topics_.end(), topic) != topics_.end()) return;
  topics_.push_back(topic);
  rebuild_streams();
}

void Engine::add_slots(std::size_t count) { free_slots_ += count; }

// Whatever changed, there may be messages that the engine was not notified of.
void Engine::rebuild_streams() {
  std::vector<Stream> before = std::move(streams_);
  streams_.clear();
  for (const OwnedLane& owned : lanes_)
    for (std::size_t i = 0; i <= topics_.size(); ++i)
      streams_.push_back(
          Stream{owned.lane, i == 0 ? Topic("") : topics_[i - 1], owned.epoch, false, clock_.monotonic()});
  for (const Stream& old : before)
    if (Stream* stream = find_stream(old.lane, old.topic)) stream->out = old.out;
}

Engine::Stream* Engine::find_stream(core::LaneId lane, const Topic& topic) {
  for (Stream& stream : streams_)
    if (stream.lane == lane && stream.topic == topic) return &stream;
  return nullptr;
}

void Engine::look_at(core::LaneId lane, const Topic& topic, Duration at) {
  if (Stream* stream = find_stream(lane, topic))
    if (!stream->look_at || at < *stream->look_at) stream->look_at = at;
}

void Engine::look() {
  for (Stream& stream : streams_) stream.look_at = clock_.monotonic();
}

void Engine::stop() { stopping_ = true; }

void Engine::submit(store::StartDuplex request, Ticket ticket) {
  if (stopping_) return events_.submitted(ticket, Error{ErrorCode::retry_later, "this engine is stopping"});
  if (steps_.size() >= limits::submits_waiting_max)
    return events_.submitted(
        ticket, Error{ErrorCode::retry_later,
                      format("{} submits wait already (submits_waiting_max)", limits::submits_waiting_max)});
  const std::size_t bytes = request.input.size();
  add(start(std::move(request), ticket), bytes, Role::submit, ticket);
}

Sequence Engine::start(store::StartDuplex request, Ticket ticket) {
  const core::LaneId lane = request.lane;
  Operation operation = std::move(request);
  const Outcome outcome = co_await Ask(std::move(operation));  // A
  look_at(lane, Topic(""), clock_.monotonic());
  events_.submitted(ticket, Started{outcome.run(), outcome.kind == OutcomeKind::committed});
}

void Engine::dispatch(const HeldRequest& request, const core::JobRow& job) {
  if (const auto found = running_.find(request.hand.guid); found != running_.end()) {
    // Its lease ran out while its job was read, and it was claimed here again: one worker is enough. The later claim
    // counts, whichever read came back first.
    Hand& hand = found->second.claimed.hand;
    if (request.hand.deliveries > hand.deliveries) hand = request.hand;
    return;
  }
  Running running;
  running.claimed = request;
  running.slot_of = request.hand.claim;
  running_.insert_or_assign(request.hand.guid, std::move(running));
  events_.dispatch(request, job);
}

bool Engine::answer(const core::Guid& request, Answer answer) {
  const auto found = running_.find(request);
  if (found == running_.end()) return false;
  Running& running = found->second;
  if (running.ended) return true;
  const bool final = answer.status != core::ReplyStatus::pending;
  const std::uint32_t number = final ? running.pendings : running.pendings++;
  running.ended = final;
  bytes_ += answer.data.size();
  running.answers.push_back(response_to(running.claimed, answer.status, answer.code, number, std::move(answer.data)));
  store_next_answer(request);
  return true;
}

void Engine::store_next_answer(const core::Guid& request) {
  const auto found = running_.find(request);
  if (found == running_.end() || found->second.storing) return;
  Running& running = found->second;
  if (running.answers.empty()) {
    if (!running.ended) return;
    if (running.has_slot) free_slot(running.claimed.body.data.size());
    running_.erase(found);
    return;
  }
  std::optional<StreamMessage> reply = std::move(running.answers.front());
  running.answers.pop_front();
  running.storing = true;
  const std::size_t bytes = reply ? bytes_of(reply->body) : 0;
  const Hand& hand = running.claimed.hand;
  Sequence next = reply              ? sequences_.answer(hand, std::move(*reply))
                  : running.left_for ? sequences_.release(hand, *running.left_for)
                                     : sequences_.defer(hand);
  bytes_ -= bytes;  // the step has them now
  add(std::move(next), bytes, Role::answer, 0, request);
}

void Engine::free_slot(std::size_t bytes) {
  ++free_slots_;
  work_bytes_ -= bytes;
}

bool Engine::write_off(const core::Guid& request) {
  const auto found = running_.find(request);
  if (found == running_.end()) return false;
  if (std::exchange(found->second.has_slot, false)) free_slot(found->second.claimed.body.data.size());
  return true;
}

void Engine::ask(Operation operation, Ticket ticket) { add(one(std::move(operation), ticket), 0, Role::ask, ticket); }

Sequence Engine::one(Operation operation, Ticket ticket) {
  Outcome outcome = co_await Ask(std::move(operation));
  events_.answered(ticket, std::move(outcome));
}

bool Engine::give_back(const core::Guid& request) {
  const auto found = running_.find(request);
  if (found == running_.end()) return false;
  found->second.ended = true;
  found->second.storing = true;
  add(sequences_.release(found->second.claimed.hand), 0, Role::answer, 0, request);
  return true;
}

std::optional<Deferred> Engine::defer(const core::Guid& request) {
  const auto found = running_.find(request);
  if (found == running_.end() || found->second.ended) return std::nullopt;
  Running& running = found->second;
  Deferred deferred{running.claimed, running.pendings};
  running.ended = true;
  running.answers.push_back(std::nullopt);
  store_next_answer(request);
  return deferred;
}

bool Engine::leave(const core::Guid& request, Duration within) {
  const auto found = running_.find(request);
  if (found == running_.end() || found->second.ended) return false;
  found->second.left_for = within;
  found->second.ended = true;
  found->second.answers.push_back(std::nullopt);
  store_next_answer(request);
  return true;
}

void Engine::reply(Deferred& deferred, Answer answer, Ticket ticket) {
  const bool final = answer.status != core::ReplyStatus::pending;
  const std::uint32_t number = final ? deferred.pendings : deferred.pendings++;
  StreamMessage reply = response_to(deferred.request, answer.status, answer.code, number, std::move(answer.data));
  const std::size_t bytes = bytes_of(reply.body);
  add(store_reply(std::move(reply), ticket), bytes, Role::reply, ticket);
}

Sequence Engine::store_reply(StreamMessage reply, Ticket ticket) {
  co_await Ask(enqueue(reply));  // j
  events_.replied(ticket, {});
}

// --- what is under way

void Engine::add(Sequence sequence, std::size_t bytes, Role role, Ticket ticket, core::Guid request) {
  const StepId id = next_step_++;
  steps_.emplace(id, Step{std::move(sequence), role, ticket, request, bytes, Duration{0}, 0});
  if (role != Role::worker) bytes_ += bytes;  // a request's bytes are counted with its slot
  if (role == Role::message) ++messages_;
  if (steps_.at(id).sequence.done()) finish(id);
}

// Every kind of message has its sequence: a new kind does not compile until it has one.
void Engine::begin(ClaimedMessage claimed) {
  const Hand hand = hand_of(claimed);
  const std::size_t bytes = bytes_of(claimed.message.body);
  auto* request = std::get_if<stream::Request>(&claimed.message.body);
  if (request != nullptr && running_.contains(hand.guid)) {  // its lease ran out while a local worker has it
    running_.at(hand.guid).claimed.hand = hand;
    return free_slot(bytes);
  }
  if (hand.deliveries > options_.deliveries_max) {
    if (request != nullptr) free_slot(bytes);
    return add(sequences_.stop_job(
        hand.run, format("message {} was delivered {} times and never finished", hand.guid.shown(), hand.deliveries)));
  }
  std::visit(Overloaded{
                 [&](stream::Start& start) { add(sequences_.start(hand, std::move(start)), bytes); },
                 [&](stream::Transition& transition) { add(sequences_.leg1(hand, std::move(transition)), bytes); },
                 [&](stream::Reply& reply) { add(sequences_.leg2(hand, std::move(reply)), bytes); },
                 [&](stream::Cleanup& cleanup) { add(sequences_.cleanup(hand, std::move(cleanup)), bytes); },
                 [&](stream::Request& held) {
                   begin_worker(HeldRequest{hand, std::move(held)});
                 },
             },
             claimed.message.body);
}

void Engine::begin_worker(HeldRequest request) {
  const Hand hand = request.hand;
  const std::size_t bytes = request.body.data.size();
  const StepId id = next_step_;
  add(sequences_.worker(std::move(request)), bytes, Role::worker, 0, hand.guid);
  steps_.at(id).claim = hand.claim;  // it exists: a worker's sequence begins with a read
}

// How much a dequeue may bring: half of the free bytes, so that other streams get their turn meanwhile.
Engine::Room Engine::room_for(const Stream& stream) const {
  const auto left = [](std::size_t used, std::size_t max) { return max - std::min(used, max); };
  const std::size_t items = stream.is_own() ? left(messages_, options_.in_flight_max) : free_slots_;
  const std::size_t bytes =
      stream.is_own() ? left(bytes_, options_.bytes_max) : left(work_bytes_, options_.work_bytes_max);
  if (bytes == 0) return {};
  return {std::min(items, options_.in_flight_max), (bytes + 1) / 2};
}

Sequence Engine::fetch(core::LaneId lane, Topic topic, core::Epoch epoch, Room room) {
  const store::ClaimId claim((Random::mix(Random::mix(options_.seed) + ++next_claim_) >> 1) | 1);
  const bool own = topic.raw().empty();
  const Duration lease = own ? options_.lease : options_.work_lease;
  Operation operation = store::Dequeue{lane, topic, room.items, claim, epoch, lease, room.bytes};
  Outcome outcome = co_await Ask(std::move(operation));  // a, g, l
  store::Handed handed = outcome.take_handed();
  if (Stream* stream = find_stream(lane, topic)) stream->out = false;
  if (own) {
    bytes_ -= room.bytes;
    granted_ -= room.bytes;
  } else {
    free_slots_ += room.items - handed.messages.size();
    work_bytes_ -= room.bytes;
    for (const ClaimedMessage& claimed : handed.messages) work_bytes_ += bytes_of(claimed.message.body);
  }
  if (handed.next_free)
    look_at(lane, topic, clock_.monotonic() + std::max(*handed.next_free - store_.now(), Duration{0}));
  for (ClaimedMessage& claimed : handed.messages) begin(std::move(claimed));
}

void Engine::fetch_more() {
  const Duration now = clock_.monotonic();
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    Stream& stream = streams_[i];
    if (stream.out || !stream.look_at || *stream.look_at > now) continue;
    const Room room = room_for(stream);
    if (room.items == 0) continue;
    if (stream.is_own()) {
      bytes_ += room.bytes;
      granted_ += room.bytes;
    } else {
      free_slots_ -= room.items;
      work_bytes_ += room.bytes;
    }
    stream.out = true;
    stream.look_at.reset();
    add(fetch(stream.lane, stream.topic, stream.epoch, room), 0, Role::dequeue);
  }
}

// --- commits and reads

std::vector<Engine::StepId> Engine::ready() {
  if (!stopping_) fetch_more();
  const Duration now = clock_.monotonic();
  std::vector<StepId> steps;
  for (const auto& [id, step] : steps_)
    if (!step.is_out && !step.sequence.is_reading() && step.not_before <= now) steps.push_back(id);
  return steps;
}

std::vector<Engine::StepId> Engine::asking() const {
  std::vector<StepId> steps;
  for (const auto& [id, step] : steps_)
    if (!step.is_out && step.sequence.is_reading()) steps.push_back(id);
  return steps;
}

std::optional<Duration> Engine::next_wake() const {
  std::optional<Duration> wake;
  const auto sooner = [&](Duration at) {
    if (!wake || at < *wake) wake = at;
  };
  for (const auto& [id, step] : steps_)
    if (!step.is_out) sooner(step.not_before);
  if (stopping_) return wake;
  for (const Stream& stream : streams_)
    if (!stream.out && stream.look_at && room_for(stream).items > 0) sooner(*stream.look_at);
  return wake;
}

void Engine::settle(StepId id, Result<Outcome> result) {
  if (!steps_.contains(id)) return;
  steps_.at(id).is_out = false;
  if (!result) return refuse(id, result.error());
  refusals_ = 0;
  switch (result->kind) {
    case OutcomeKind::committed:
    case OutcomeKind::already_done:
    case OutcomeKind::exists:
      break;
    case OutcomeKind::outcome_unknown:
      return refuse(id, Error{ErrorCode::outcome_unknown, result->reason});
    case OutcomeKind::conflict:
    case OutcomeKind::fenced:
    case OutcomeKind::over_limit:
    case OutcomeKind::rejected:
      return drop(id, *result);
  }
  Step& step = steps_.at(id);
  step.refusals = 0;
  note(step.sequence.operation());
  step.sequence.resume(std::move(*result));
  if (step.sequence.done()) finish(id);
}

void Engine::settle_read(StepId id, store::DuplexAnswer answer) {
  if (!steps_.contains(id)) return;
  Step& step = steps_.at(id);
  step.is_out = false;
  step.sequence.resume(std::move(answer));
  if (step.sequence.done()) finish(id);
}

// The same operation again, later: it may be repeated whether or not it was applied.
void Engine::refuse(StepId id, const Error& error) {
  Step& step = steps_.at(id);
  if (refusals_++ == 0 || error.detail != refused_why_) events_.problem(to_string(error));
  refused_why_ = error.detail;
  if (step.role == Role::ask) {  // the caller may ask again
    events_.answered(step.ticket, error);
    return finish(id);
  }
  if (step.role == Role::submit && error.code != ErrorCode::outcome_unknown) {
    events_.submitted(step.ticket, error);
    return finish(id);
  }
  step.not_before =
      clock_.monotonic() + backoff(++step.refusals);  // others may succeed meanwhile: its lane may be lost
}

// Which streams have to be looked at, and what must be reported to the driver.
void Engine::note(const Operation& operation) {
  std::visit(Overloaded{
                 [&](const store::Enqueue& put) {
                   look_at(core::lane_of(put.message.run), store::stream_of(put.message.body), clock_.monotonic());
                 },
                 [&](const store::GiveBack& back) {
                   // The engine does not remember its stream, so it looks at all streams of the lane.
                   for (Stream& stream : streams_)
                     if (stream.lane == core::lane_of(back.run))
                       look_at(stream.lane, stream.topic, clock_.monotonic() + back.delay);
                 },
                 [&](const store::EndDuplex& end) { events_.ended(end.run); },
                 [&](const store::ParkDuplex& parked) {
                   events_.problem(format("run {} is parked: {}", parked.run.raw(), parked.reason));
                   events_.ended(parked.run);
                 },
                 each_of<store::StartDuplex, store::SetCell, store::AddToCell, store::NameCloser, store::OpenAddress,
                         store::CloseAddress, store::Dequeue, store::Ack>([] {}),
             },
             operation);
}

// The job is over or stopped, or another consumer has the message: nothing of this sequence is needed any more. An
// operation that the store can never apply stops the job.
void Engine::drop(StepId id, const Outcome& outcome) {
  Step& step = steps_.at(id);
  const Operation operation = step.sequence.operation();
  if (step.role == Role::ask) {
    events_.answered(step.ticket, outcome);
  } else if (step.role == Role::submit) {
    events_.submitted(step.ticket, Error{ErrorCode::invalid, outcome.reason});
  } else if (step.role == Role::reply) {
    events_.replied(step.ticket, Error{ErrorCode::not_found, outcome.reason});
  } else if (outcome.kind == OutcomeKind::rejected && !std::holds_alternative<store::ParkDuplex>(operation)) {
    if (const auto run = store::run_of(operation)) add(sequences_.stop_job(*run, outcome.reason));
  }
  finish(id);
}

void Engine::finish(StepId id) {
  const Step step = std::move(steps_.at(id));
  steps_.erase(id);
  if (step.role == Role::message) --messages_;
  const auto found = running_.find(step.request);
  if (step.role != Role::worker) {
    bytes_ -= step.bytes;
  } else {
    const bool dispatched = found != running_.end() && found->second.slot_of == step.claim;
    if (!dispatched) free_slot(step.bytes);
  }
  if (step.role != Role::answer || found == running_.end()) return;
  found->second.storing = false;
  store_next_answer(step.request);
}

}  // namespace pawl::duplex
