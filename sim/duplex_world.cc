#include "sim/duplex_world.h"

#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "duplex/later.h"

namespace pawl::sim {

namespace {

constexpr std::uint64_t rounds_max = 200'000;  // more than this means an endless loop
constexpr Duration lease = std::chrono::seconds(10);
constexpr std::uint32_t lanes_max = 4;
constexpr std::size_t slots = 8;

std::string what_is_left(const store::DuplexJob& job) {
  std::string text;
  for (const store::DuplexCell& cell : job.cells)
    text += format(" [{} at {}: {}]", cell.place.node, cell.place.at.text(), cell.value);
  for (const store::Place& place : job.open) text += format(" [open: {} at {}]", place.node, place.at.text());
  for (const store::ClaimedMessage& waiting : job.stream)
    text += format(" [message of kind {}, claim {}, delivered {} times]", waiting.message.body.index(),
                   waiting.claim.raw(), waiting.deliveries);
  return text;
}

std::string job_id(std::uint32_t number) { return format("job-{}", number); }
Payload input_of(const std::string& id) { return Payload("in:" + id); }

}  // namespace

std::string_view name_of(DuplexFault fault) {
  switch (fault) {
    case DuplexFault::crash_before:
      return "crash_before";
    case DuplexFault::crash_after:
      return "crash_after";
    case DuplexFault::reply_lost:
      return "reply_lost";
    case DuplexFault::request_lost:
      return "request_lost";
    case DuplexFault::stalled_before:
      return "stalled_before";
    case DuplexFault::stalled_after:
      return "stalled_after";
    case DuplexFault::stopped:
      return "stopped";
  }
  return "?";
}

struct DuplexWorld::Node final : duplex::Events {
  Node(DuplexWorld& w, std::size_t i, core::Epoch e) : world(w), index(i), epoch(e) {}
  void dispatch(const duplex::HeldRequest& request, const core::JobRow&) override {
    ++world.report_.runs;
    Work work;
    work.node = index;
    work.life = life;
    work.request = request;
    work.token = duplex::token_of(request.hand);
    world.works_.push_back(std::move(work));
  }
  void submitted(duplex::Ticket ticket, Result<duplex::Started> result) override {
    if (result) world.acknowledged_.at(job_id(static_cast<std::uint32_t>(ticket))) = true;
  }
  // Confirmed, or the job has ended: in both cases the outside worker is done with this reply.
  void replied(duplex::Ticket ticket, Status) override {
    for (auto work = world.works_.begin(); work != world.works_.end(); ++work) {
      if (work->ticket != ticket) continue;
      work->told.reset();
      if (++work->replies > world.scenario_.behaviour(work->request.body.topic.raw()).pendings)
        world.works_.erase(work);
      return;
    }
  }
  void answered(duplex::Ticket, Result<store::DuplexOutcome>) override {}
  void changed(const core::JobRow&, const Graph&, const duplex::Change&) override {}
  void ended(RunId) override {}
  void problem(const std::string&) override {}

  DuplexWorld& world;
  const std::size_t index;
  core::Epoch epoch;
  std::uint64_t life = 0;
  std::unique_ptr<duplex::Engine> engine;
  bool stalled = false;
  bool stopping = false;
  std::optional<duplex::Engine::StepId> stalled_step;
  std::optional<Result<store::DuplexOutcome>> late_reply;  // none: the operation has not arrived yet
  struct LateRead {
    duplex::Engine::StepId step = 0;
    store::DuplexAnswer answer;
  };
  std::deque<LateRead> late_reads;  // answers in transit
};

DuplexWorld::DuplexWorld(const DuplexScenario& scenario, DuplexWorldOptions options)
    : scenario_(scenario), options_(std::move(options)), random_(options_.seed), memory_(clock_), watch_(verdict_) {
  if (options_.seed != 0) lanes_ = 1 + static_cast<std::uint32_t>(random_.below(lanes_max));
  const store::Operation open = store::OpenPool{Pool("graphs"), lanes_};
  invariant(memory_.commit({&open, 1}).ok(), "a new store takes a pool");
  for (std::uint32_t i = 0; i < scenario_.jobs; ++i) acknowledged_[job_id(i)] = false;
  if (scenario_.interrupted) interrupt_at_ = options_.seed == 0 ? 20 : 1 + random_.below(80);
}

DuplexWorld::~DuplexWorld() = default;

core::LaneId DuplexWorld::lane_of_job(std::uint32_t number) const { return core::LaneId(1 + number % lanes_); }

std::size_t DuplexWorld::add_node(core::Epoch epoch) {
  nodes_.push_back(std::make_unique<Node>(*this, nodes_.size(), epoch));
  boot(*nodes_.back());
  return nodes_.size() - 1;
}

void DuplexWorld::boot(Node& node) {
  duplex::EngineOptions options;
  options.seed = node.index * 1000 + ++node.life;
  options.lease = lease;
  options.work_lease = lease * 4;
  const auto find = [this](const core::GraphRef&) { return scenario_.graph; };
  node.engine = std::make_unique<duplex::Engine>(options, duplex_, clock_, find, node);
  std::vector<duplex::OwnedLane> owned;
  for (std::uint32_t i = 0; i < lanes_; ++i) owned.push_back({lane_of_job(i), node.epoch});
  node.engine->own(std::move(owned));
  for (const Graph::Node& activity : scenario_.graph->nodes())
    if (!activity.topic.raw().empty()) node.engine->serve(activity.topic);
  node.engine->add_slots(slots);
  // The client asks again until a process confirmed.
  for (std::uint32_t i = 0; i < scenario_.jobs; ++i) {
    if (acknowledged_[job_id(i)]) continue;
    const core::GraphRef graph{scenario_.graph->name(), scenario_.graph->version(), scenario_.graph->fingerprint()};
    node.engine->submit(store::StartDuplex{Namespace("default"), JobId(job_id(i)), lane_of_job(i), graph,
                                           input_of(job_id(i)), clock_.now(), core::JobSecret(core::Guid{1, i + 1})},
                        i);
  }
}

// The workers of a process die with it; deferred replies are outside. The holder of a token waits until the worker's
// last reply is stored: before that the worker may be called again and repeat its earlier replies.
void DuplexWorld::crash(Node& node) {
  ++report_.crashes;
  std::erase_if(works_, [&](const Work& work) {
    const bool outside = work.deferred || (work.left && !node.engine->has(work.request.hand.guid));
    return !outside && work.node == node.index && work.life == node.life;
  });
  come_back(node);
}

void DuplexWorld::come_back(Node& node) {
  node.engine.reset();
  node.late_reads.clear();
  node.stopping = false;
  epoch_ = core::next(epoch_);
  node.epoch = epoch_;
  boot(node);
}

void DuplexWorld::stop(Node& node) {
  node.stopping = true;
  node.engine->stop();
}

// Of a process that is stopping: work that no worker began is given back; when all other work is done, the process
// ends.
bool DuplexWorld::end_stops() {
  for (auto& node : nodes_) {
    if (!node->stopping || node->stalled) continue;
    const auto waits = std::find_if(works_.begin(), works_.end(), [&](const Work& work) {
      return !work.deferred && !work.left && work.replies == 0 && work.node == node->index && work.life == node->life;
    });
    if (waits != works_.end()) {
      node->engine->give_back(waits->request.hand.guid);
      works_.erase(waits);
      return true;
    }
    if (!node->engine->drained()) continue;
    come_back(*node);
    return true;
  }
  return false;
}

std::optional<DuplexFault> DuplexWorld::draw_fault() {
  ++report_.calls;
  for (const PlannedDuplexFault& planned : options_.planned)
    if (report_.calls >= planned.first && report_.calls < planned.first + planned.calls) {
      ++report_.fired;
      if (planned.kind != DuplexFault::stopped) ++report_.broken;
      return planned.kind;
    }
  if (report_.fired >= options_.budget || random_.below(1000) >= options_.faults_per_thousand) return std::nullopt;
  ++report_.fired;
  const DuplexFault drawn = all_duplex_faults[random_.below(std::size(all_duplex_faults))];
  if (drawn != DuplexFault::stopped) ++report_.broken;
  return drawn;
}

Result<store::DuplexOutcome> DuplexWorld::apply(const store::DuplexOperation& asked) {
  const store::DuplexOperation& operation = mistaken(asked, duplex_);
  auto outcome = duplex_.commit_one(operation);
  invariant(outcome.ok(), "the memory store takes everything");
  watch_.note(operation, *outcome);
  report_.trace.push_back(static_cast<char>('A' + operation.index()));
  return outcome;
}

void DuplexWorld::put_from_outside(const store::StreamMessage& message) {
  (void)apply(store::Enqueue{message, false});
  for (auto& node : nodes_) node->engine->look();
}

void DuplexWorld::commit(Node& node, duplex::Engine::StepId step) {
  const store::DuplexOperation operation = node.engine->operation(step);
  const auto fault = draw_fault();
  const Error unknown{ErrorCode::outcome_unknown, "the reply was lost"};
  if (!fault) return node.engine->settle(step, apply(operation));
  switch (*fault) {
    case DuplexFault::crash_before:
      return crash(node);
    case DuplexFault::crash_after:
      (void)apply(operation);
      return crash(node);
    case DuplexFault::reply_lost:
      (void)apply(operation);
      return node.engine->settle(step, unknown);
    case DuplexFault::request_lost:
      return node.engine->settle(step, unknown);
    case DuplexFault::stalled_after:
      node.late_reply = apply(operation);
      [[fallthrough]];
    case DuplexFault::stalled_before:
      node.stalled = true;
      node.stalled_step = step;
      add_node(node.epoch);
      return;
    case DuplexFault::stopped:
      node.engine->settle(step, apply(operation));
      return stop(node);
  }
}

// One commit or one read of one running node. In the plain order reads come first, as with a local store. In a random
// order other events happen between a question and its answer, as with a remote store, and between the answer and what
// follows from it.
bool DuplexWorld::step() {
  struct Choice {
    std::size_t node = 0;
    duplex::Engine::StepId step = 0;
    bool is_read = false;
  };
  std::vector<Choice> choices;
  for (const auto& node : nodes_)
    if (!node->stalled)
      for (const auto id : node->engine->asking()) choices.push_back({node->index, id, true});
  for (const auto& node : nodes_)
    if (!node->stalled)
      for (const auto id : node->engine->ready()) choices.push_back({node->index, id, false});
  if (choices.empty()) return false;
  const Choice chosen = choices[options_.seed == 0 ? 0 : random_.below(choices.size())];
  if (chosen.is_read)
    read(*nodes_[chosen.node], chosen.step);
  else
    commit(*nodes_[chosen.node], chosen.step);
  return true;
}

// Sometimes the answer is as old as possible: it is read at once and arrives much later.
void DuplexWorld::read(Node& node, duplex::Engine::StepId step) {
  const bool comes_late = options_.seed != 0 && random_.one_in(4);
  if (!comes_late) return node.engine->settle_read(step, duplex_.answer(node.engine->question(step)));
  node.engine->send(step);
  node.late_reads.push_back({step, duplex_.answer(node.engine->question(step))});
}

bool DuplexWorld::waits_for_reads() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return !node->late_reads.empty(); });
}

// One answer that was in transit.
bool DuplexWorld::receive() {
  for (auto& node : nodes_) {
    if (node->stalled || node->late_reads.empty()) continue;
    auto late = std::move(node->late_reads.front());
    node->late_reads.pop_front();
    node->engine->settle_read(late.step, std::move(late.answer));
    return true;
  }
  return false;
}

// A worker in a stalled process stops with it. One outside asks another process when its own does not answer.
bool DuplexWorld::can_work(const Work& work) {
  const auto stands = [&](std::size_t node) { return !nodes_[node]->stalled; };
  if (work.left) {
    // If another process that had the request is stopped, it gives the request back, which looks the same in the store.
    const Node& home = *nodes_[work.node];
    if (home.life == work.life && home.engine->has(work.request.hand.guid)) return false;
    const auto job = duplex_.read(work.request.hand.run);
    const auto request = duplex::find_request(**job, work.token);
    return !request || duplex::is_settled(**job, *request);
  }
  if (!work.deferred) return stands(work.node);
  const bool waits = work.told && stands(*work.told) && nodes_[*work.told]->life == work.told_life;
  return !waits;
}

// One reply of one worker.
bool DuplexWorld::work() {
  for (std::size_t i = 0; i < late_.size(); ++i) {
    const auto view = duplex_.view(late_[i].hand.run, late_[i].body.place);
    const auto state = ledger::DuplexState::decode((*view)->cell->value);
    if (!state || state->open()) continue;
    const duplex::HeldRequest request = late_[i];
    late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(i));
    put_from_outside(duplex::response_to(request, core::ReplyStatus::pending, 202, 77, "late"));
    return true;
  }
  const auto at = std::find_if(works_.begin(), works_.end(), [&](const Work& work) { return can_work(work); });
  if (at == works_.end()) return false;
  Work& work = *at;
  const std::string topic = work.request.body.topic.raw();
  const DuplexBehaviour& behaviour = scenario_.behaviour(topic);
  Node& home = *nodes_[work.node];
  if (behaviour.later && !work.deferred) {
    work.deferred = home.engine->defer(work.request.hand.guid);
    if (!work.deferred) works_.erase(at);
    return true;
  }
  const std::uint32_t reply = work.replies;
  const bool final = reply == behaviour.pendings;
  if (behaviour.leaves && final) {
    if (work.left) {
      if (complete(work, behaviour)) works_.erase(at);
      return true;
    }
    work.left = home.engine->leave(work.request.hand.guid, lease * 2);
    const bool forgotten = work.left && forgotten_[work.request.hand.guid] < behaviour.forgotten;
    if (forgotten) ++forgotten_[work.request.hand.guid];
    if (!work.left || forgotten) works_.erase(at);
    return true;
  }
  duplex::Answer answer;
  answer.status = final ? behaviour.status : core::ReplyStatus::pending;
  answer.code = final ? behaviour.code : 202;
  answer.data = duplex_reply(topic, work.request.body.data.view(), final ? std::nullopt : std::optional(reply));
  if (final && behaviour.late_pending) late_.push_back(work.request);
  if (final && behaviour.second_closer) {
    store::StreamMessage other =
        duplex::response_to(work.request, answer.status, answer.code, behaviour.pendings, answer.data);
    other.guid = work.request.hand.guid.derive(core::Guid::Purpose::response_final, 1);
    put_from_outside(other);
  }
  if (work.deferred) {
    const auto standing = std::find_if(nodes_.begin(), nodes_.end(), [](const auto& node) { return !node->stalled; });
    Node& told = **standing;
    work.told = told.index;
    work.told_life = told.life;
    work.ticket = next_ticket_++;
    duplex::Deferred deferred = *work.deferred;
    deferred.pendings = reply;
    told.engine->reply(deferred, std::move(answer), work.ticket);
    return true;
  }
  home.engine->answer(work.request.hand.guid, std::move(answer));
  if (final)
    works_.erase(at);
  else
    ++work.replies;
  return true;
}

// The holder of the token replies, in two operations, until the reply is known to be durable or is refused.
bool DuplexWorld::complete(const Work& work, const DuplexBehaviour& behaviour) {
  const auto job = duplex_.read(work.request.hand.run);
  const auto request = duplex::find_request(**job, work.token);
  if (!request || (*job)->job.status != core::JobStatus::running) return true;
  const std::string topic = work.request.body.topic.raw();
  const auto operations = duplex::completion_of(**job, *request, behaviour.status, behaviour.code,
                                                duplex_reply(topic, work.request.body.data.view(), std::nullopt));
  for (const store::DuplexOperation& operation : operations) {
    auto fault = draw_fault();
    if (fault == DuplexFault::stopped) fault.reset();     // an outside caller: there is no process to stop
    if (fault == DuplexFault::crash_before) return true;  // it died
    if (fault == DuplexFault::request_lost || fault == DuplexFault::stalled_before) return false;  // asked again
    const auto outcome = apply(operation);
    if (fault == DuplexFault::crash_after) return true;
    if (fault) return false;
    if (!outcome->done()) return true;
    for (auto& node : nodes_) node->engine->look();
  }
  return true;
}

// Ends the first job from outside.
bool DuplexWorld::interrupt() {
  if (interrupt_at_ == 0 || report_.calls < interrupt_at_) return false;
  const auto run = memory_.find_run(Namespace("default"), JobId(job_id(0)));
  if (!*run) return false;
  interrupt_at_ = 0;
  store::EndDuplex end{**run, core::JobStatus::interrupted};
  end.reason = "asked for";
  end.at = clock_.now();
  (void)apply(std::move(end));
  return true;
}

// Nothing can be done now, so time passes.
bool DuplexWorld::wait() {
  std::optional<Duration> wake;
  for (const auto& node : nodes_) {
    if (node->stalled) continue;
    const auto at = node->engine->next_wake();
    if (at && *at > clock_.monotonic() && (!wake || *at < *wake)) wake = at;
  }
  if (!wake) return false;
  clock_.set(*wake);
  return true;
}

// All others are done: the oldest zombie continues.
bool DuplexWorld::thaw() {
  for (auto& node : nodes_) {
    if (!node->stalled) continue;
    node->stalled = false;
    const auto step = *std::exchange(node->stalled_step, std::nullopt);
    auto reply = std::exchange(node->late_reply, std::nullopt);
    if (!reply) {
      const store::DuplexOperation operation = node->engine->operation(step);
      reply = apply(operation);
    }
    node->engine->settle(step, std::move(*reply));
    return true;
  }
  return false;
}

DuplexReport DuplexWorld::run() {
  add_node(epoch_);
  std::uint64_t rounds = 0;
  while (verdict_.ok()) {
    if (++rounds > rounds_max) {
      verdict_.fail("liveness", "the run goes round in circles");
      break;
    }
    // In a random order, workers reply between any two operations.
    if (interrupt() || end_stops()) continue;
    const bool work_first = options_.seed != 0 && random_.one_in(3);
    if (work_first && work()) continue;
    if (options_.seed != 0 && random_.one_in(8) && receive()) continue;
    if (report_.broken > 0 && waits_for_reads() && random_.one_in(16) && wait())
      continue;  // a lease may end before the answer comes
    if (step() || work() || receive() || wait() || thaw()) continue;
    break;
  }
  if (verdict_.ok()) check_end();
  report_.violation = verdict_.violation();
  report_.figures = watch_.figures();
  return report_;
}

void DuplexWorld::check_end() {
  for (const auto& node : nodes_)
    if (node->engine->drained() && node->engine->free_slots() != slots)
      verdict_.fail("slots", format("{} of {} slots for workers are free, and nothing is under way",
                                    node->engine->free_slots(), slots));
  for (const auto& [id, acknowledged] : acknowledged_) {
    const auto run = memory_.find_run(Namespace("default"), JobId(id));
    if (!*run) return verdict_.fail("accepted", format("{} was never accepted", id));
    if (!acknowledged) verdict_.fail("accepted", format("{} was never acknowledged", id));
    check_job(**duplex_.read(**run), id);
  }
}

void DuplexWorld::check_job(const store::DuplexJob& job, const std::string& id) {
  const DuplexExpected expected = duplex_expected(scenario_, input_of(id));
  const auto fail = [&](const char* oracle, const std::string& what) {
    verdict_.fail(oracle, format("{}: {}", id, what));
  };
  if (scenario_.interrupted && id == job_id(0) && job.job.status == core::JobStatus::interrupted) {
    if (!job.stream.empty() || !job.open.empty() || job.job.completions != 1)
      fail("left over", "it was interrupted and something of it is left: " + what_is_left(job));
    return;
  }
  const auto wanted = expected.uncaught.empty() ? core::JobStatus::completed : core::JobStatus::failed;
  if (job.job.status != wanted)
    return fail(job.job.status == core::JobStatus::running ? "liveness" : "status",
                format("it is {} ({}), not {}; {}", core::name_of(job.job.status), job.job.reason,
                       core::name_of(wanted), what_is_left(job)));
  if (job.job.completions != 1) fail("completion", format("its clean-up ran {} times", job.job.completions));
  if (!job.stream.empty()) fail("left over", format("{} messages are left", job.stream.size()));
  if (!job.open.empty() || job.job.semaphore != 0) fail("left over", format("{} addresses are left", job.open.size()));

  std::map<std::string, DuplexExpected::Instance> seen;
  std::size_t errored = 0;
  for (const store::DuplexCell& cell : job.cells) {
    const auto state = ledger::DuplexState::decode(cell.value);
    const std::string key =
        format("{} at {}", scenario_.graph->nodes()[cell.place.node].name.raw(), cell.place.at.text());
    if (!state) return fail("digits", format("{}: {}", key, state.error().detail));
    seen[key] = {cell.status == core::ActivityStatus::errored, cell.code, cell.output.str(), state->exits()};
    const bool uncaught = std::count(expected.uncaught.begin(), expected.uncaught.end(), key) > 0;
    if (state->errored()) ++errored;
    if (state->errored() && !uncaught) fail("887", format("{} reads as errored: {}", key, state->digits()));
    const bool trigger = cell.place.node == scenario_.graph->trigger();
    if (state->entries() > watch_.deliveries(job.job.run, cell.place) + (trigger ? 1 : 0))
      fail("entries", format("{} has more entries than deliveries: {}", key, state->digits()));
    const bool calm = report_.broken == 0 && state->closed();  // a stop leaves no trace
    if (calm && state->entries() != state->exits())
      fail("entries", format("{}: an entry without an exit and without a fault: {}", key, state->digits()));
    if (calm && state->leg1_entries() != 1) fail("entries", format("{} was entered again: {}", key, state->digits()));
    if (trigger && cell.value != ledger::DuplexState::trigger().encode())
      fail("digits", format("{}: {}", key, state->digits()));
  }
  if (wanted == core::JobStatus::failed) {
    if (errored == 0) fail("887", "it failed and no activity reads as errored");
    const bool named = std::any_of(expected.uncaught.begin(), expected.uncaught.end(), [&](const std::string& key) {
      return job.job.reason.find(format("activity {} failed", key.substr(0, key.find(' ')))) != std::string::npos;
    });
    if (!named) fail("reason", job.job.reason);
    return;
  }
  if (seen != expected.instances) {
    std::string text;
    for (const auto& [key, instance] : seen) {
      const auto known = expected.instances.find(key);
      if (known == expected.instances.end() || !(known->second == instance))
        text += format(" [{} code {} exits {} '{}']", key, instance.code, instance.exits, instance.output);
    }
    for (const auto& [key, instance] : expected.instances)
      if (!seen.contains(key)) text += format(" [no {}]", key);
    fail("model", "its activities are not those of the model:" + text);
  }
  for (const store::DuplexCell& cell : job.cells)
    if (const auto state = ledger::DuplexState::decode(cell.value); state && !state->closed())
      fail("digits", format("an activity of a completed job reads {}", state->digits()));
  if (std::count(expected.results.begin(), expected.results.end(), job.job.result.str()) == 0)
    fail("result", format("its result is '{}'", job.job.result.view()));
}

DuplexReport run_duplex(const DuplexScenario& scenario, const DuplexWorldOptions& options) {
  return DuplexWorld(scenario, options).run();
}

}  // namespace pawl::sim
