// World: what people and programs ask of jobs and topics. A request is repeated until its answer is definite, through
// any engine, or by a process that owns nothing, directly to the store.
#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "core/kind_state.h"
#include "core/signal_id.h"
#include "execute/program.h"
#include "runtime/requests.h"
#include "sim/world.h"

namespace pawl::sim {

namespace {

using Kind = Ask::Kind;
constexpr Duration ask_timeout = std::chrono::milliseconds(200);
constexpr std::uint64_t straight_one_in = 3;
// A signal has an id: it may be repeated at any time, and counts once. Some clients repeat it although they got the
// answer.
constexpr std::uint32_t signal_repeats_max = 3;
constexpr Duration signal_repeat_within = std::chrono::seconds(3);

bool is_asked_once(Kind kind) {
  return kind == Kind::answer || kind == Kind::interrupt || kind == Kind::pause || kind == Kind::pause_topic ||
         kind == Kind::remove || kind == Kind::signal || kind == Kind::drop_signal;
}

}  // namespace

// After every commit: is there a request to make now?
void World::look_for_asks() {
  for (std::size_t i = 0; i < asks_.size(); ++i) {
    Asked& asked = asks_[i];
    if (asked.waits || asked.done) continue;
    if (clock_.monotonic() < std::max(asked.ask->at, asked.again_at)) continue;
    asked.operation = operation_for(asked);
    if (!asked.operation) continue;
    asked.waits = true;
    post(drawn(options_.latency_max), [this, i] { ask(i); });
  }
}

store::Operation World::signal_for(const Asked& asked) {
  const auto graph = scenario_.graphs->newest(GraphName(scenario_.jobs.front().graph));
  const Payload data(asked.ask->data);
  const auto keys = execute::GraphProgram::of(*graph)->keys_of(Topic(asked.ask->of), data);
  invariant(keys.ok() && keys->size() == 1, "a signal from outside goes to one mailbox");
  const core::MailboxKey to{Namespace(asked.ask->name_space), Topic(asked.ask->of), keys->front()};
  store::Deliver deliver;
  const auto sent = std::find_if(scenario_.asks.begin(), scenario_.asks.end(), [&](const Ask& one) {
    return one.kind == Kind::signal && one.of == asked.ask->of && one.data == asked.ask->data;
  });
  const bool drops = asked.ask->kind == Kind::drop_signal;
  const std::string id = format("ask-{}", (drops ? &*sent : asked.ask) - scenario_.asks.data());
  if (drops) {
    const core::Guid signal = core::signal_guid(to, id);
    deliver.envelope = {to, {core::drop_of(signal), core::DropSignal{signal}}};
    deliver.lane = runtime::lane_for(**memory_.read_pool(Pool("graphs")), to);
    return deliver;
  }
  deliver.envelope = {to, {core::signal_guid(to, id), core::Signal{data}}};
  deliver.remembered = true;
  deliver.lane = runtime::lane_for(**memory_.read_pool(Pool("graphs")), to);
  return deliver;
}

// As the library plans it, except that the secret must be the same in every repetition of this world.
std::optional<store::Operation> World::plan(RunId run, const BulkRequest& request) {
  runtime::Requests requests(memory_, **memory_.read_pool(Pool("graphs")), *scenario_.graphs, ++requests_asked_,
                             [](const store::Operation&) -> Result<store::Outcome> { return store::Outcome(); }, {});
  auto planned = requests.plan(run, request);
  if (!planned) return std::nullopt;
  store::Operation operation = std::move(planned->first.front());
  if (auto* submit = std::get_if<store::Submit>(&operation)) submit->secret = draw_secret();
  return operation;
}

// As a person who resolves a task: in the place of a signal, to the hook itself.
std::optional<store::Operation> World::answer_to_hook(RunId run, const std::string& data) {
  const auto stored = memory_.read_job(run);
  if (!stored || !*stored) return std::nullopt;
  for (const core::Activity& activity : (*stored)->state.activities()) {
    if (activity.status != core::ActivityStatus::open || activity.state.empty()) continue;
    const auto kind = core::decode_kind_state(activity.state.view());
    const auto* hook = kind ? std::get_if<core::HookState>(&*kind) : nullptr;
    if (hook == nullptr || !hook->mailbox) continue;
    store::Deliver deliver;
    deliver.envelope = core::Envelope{run, core::Message{hook->request.derive(core::Guid::Purpose::verdict, 0),
                                                         core::GiveAnswer{activity.seq, 200, Payload(data)}}};
    return deliver;
  }
  return std::nullopt;
}

// A person whose job failed asks until the run that failed is gone: first for a new run, then for the removal, which
// may have got lost.
std::optional<store::Operation> World::go_on(Asked& asked) {
  if (!asked.failed) {
    const auto run = watch_.run_of(asked.ask->name_space, asked.ask->of);
    const auto stored = run ? memory_.read_job(*run) : Result<std::optional<store::StoredJob>>(std::nullopt);
    if (!stored || !*stored) return std::nullopt;
    const core::JobRow& job = (*stored)->state.job;
    if (job.status != core::JobStatus::failed || job.completions == 0) return std::nullopt;
    asked.failed = run;
  }
  asked.done = watch_.was_removed(*asked.failed);
  return asked.done ? std::nullopt : plan(*asked.failed, {.verb = BulkVerb::redrive});
}

// None: there is nothing to ask, not yet or not any more.
std::optional<store::Operation> World::operation_for(Asked& asked) {
  using core::JobStatus;
  const Ask& wanted = *asked.ask;
  if (wanted.kind == Kind::signal || wanted.kind == Kind::drop_signal) return signal_for(asked);
  if (wanted.kind == Kind::go_on) return go_on(asked);
  const bool topic_paused = watch_.is_paused(wanted.of);
  const core::LaneId lane(options_.islands ? 1 + asked.lane % options_.lanes : 0);
  if (wanted.kind == Kind::pause_topic) return store::PauseTopic{Topic(wanted.of), true, lane};
  if (wanted.kind == Kind::resume_topic)
    return topic_paused ? std::optional<store::Operation>(store::PauseTopic{Topic(wanted.of), false, lane})
                        : std::nullopt;
  const auto run = watch_.run_of(wanted.name_space, wanted.of);
  const auto status = run ? watch_.status_of(*run) : std::nullopt;
  if (!status) return std::nullopt;
  if (wanted.kind == Kind::remove) {
    if (!core::is_closed(*status)) return std::nullopt;
    return plan(*run, {.verb = BulkVerb::remove, .remove = {.keep_id = scenario_.keep_keys}});
  }
  core::Body body;
  if (wanted.kind == Kind::interrupt) {
    if (core::is_closed(*status)) return std::nullopt;
    body = core::Interrupt{410, "asked for"};
  } else if (wanted.kind == Kind::cancel) {
    if (core::is_closed(*status)) return std::nullopt;
    body = core::Cancel{410, "asked for"};
  } else if (wanted.kind == Kind::pause) {
    if (*status != JobStatus::running) return std::nullopt;
    body = core::Pause{"asked for"};
  } else if (wanted.kind == Kind::resume) {
    if (*status != JobStatus::paused) return std::nullopt;
    body = core::Proceed{};
  } else if (wanted.kind == Kind::answer) {
    // Of a paused job too: the person saw the task before the pause.
    if (*status == JobStatus::running || *status == JobStatus::paused) return answer_to_hook(*run, wanted.data);
    if (*status != JobStatus::parked) return std::nullopt;
    return plan(*run, {.verb = BulkVerb::redrive, .redrive = {.answer = Payload(wanted.data)}});
  } else if (wanted.kind == Kind::redrive) {
    if (*status != JobStatus::parked) return std::nullopt;
    body = core::Redrive{};
  } else {
    const auto items = watch_.unknown_work(*run);
    if (items.empty() || *status != JobStatus::running) return std::nullopt;
    const core::WorkItem& item = items.front();
    const Behaviour& behaviour = scenario_.behaviour(item.topic.raw());
    core::Verdict verdict{item.activity, core::Verdict::Kind::done, 200,
                          reply_data(item.topic.raw(), item.input.view(), behaviour, std::nullopt)};
    if (behaviour.finding == Behaviour::Finding::failed)
      verdict = {item.activity, core::Verdict::Kind::failed, 500, failure_data(item.topic.raw(), item.input.view())};
    if (behaviour.finding == Behaviour::Finding::retry) verdict = {item.activity, core::Verdict::Kind::retry, 0, {}};
    body = verdict;
  }
  const core::Guid guid = core::Guid::of_run(*run).derive(core::Guid::Purpose::asked, ++requests_asked_);
  store::Deliver deliver;
  deliver.envelope = core::Envelope{*run, core::Message{guid, std::move(body)}};
  return deliver;
}

void World::ask(std::size_t index) {
  Asked& asked = asks_[index];
  if (!asked.waits) return;  // an earlier request was answered meanwhile
  const std::uint64_t attempt = ++asked.attempt;
  post(ask_timeout + drawn(ask_timeout), [this, index, attempt] {
    if (asks_[index].waits && asks_[index].attempt == attempt) ask(index);
  });
  if (random_.below(straight_one_in) == 0) {
    const auto fault = draw_foreign_fault();
    if (fault == FaultKind::crash_before || fault == FaultKind::refused || fault == FaultKind::request_lost) return;
    const store::Operation operation = *asked.operation;
    const auto result = commit({&operation, 1}, {});
    if (fault == FaultKind::crash_after) return miss_bell();
    ring(operation, (*result)[0]);
    if (!fault) answered(index, (*result)[0]);
    return;
  }
  Node& node = *nodes_[random_.below(nodes_.size())];
  if (node.engine == nullptr) return;
  post_to(node, drawn(options_.latency_max), [this, &node, index] {
    if (!asks_[index].waits) return;
    requests_.push_back({index, *asks_[index].operation, {}});
    if (const auto* submit = std::get_if<store::Submit>(&*asks_[index].operation))
      node.engine->submit(runtime::request_of(*submit), ask_tickets + requests_.size());
    else
      node.engine->request(*asks_[index].operation, requests_.size());
    step(node);
  });
}

// A commit of one engine may concern another.
void World::Node::answered(runtime::Ticket ticket, Result<store::Outcome> outcome) {
  const Request& request = world.requests_.at(static_cast<std::size_t>(ticket - 1));
  if (request.done) return request.done(outcome);
  world.answered(request.asked, outcome);
}

void World::answered(std::size_t index, const Result<store::Outcome>& outcome) {
  if (!outcome || outcome->kind == store::OutcomeKind::outcome_unknown) return;  // asked again
  Asked& asked = asks_[index];
  if (!asked.waits) return;
  asked.waits = false;
  if (asked.ask == nullptr) {  // a late reply of a worker
    asked.done = true;
    return;
  }
  // With islands, a topic is paused in one lane after the other.
  const Kind kind = asked.ask->kind;
  const bool of_topic = kind == Kind::pause_topic || kind == Kind::resume_topic;
  if (of_topic && options_.islands && ++asked.lane % options_.lanes != 0) return look_for_asks();
  if (is_asked_once(kind)) {
    asked.done = true;
    if (kind == Kind::signal) repeat_signal(index);
    return;
  }
  // Perhaps the request had no effect and must be repeated.
  asked.again_at = clock_.monotonic() + ask_timeout;
  post(ask_timeout, [this] { look_for_asks(); });
}

void World::repeat_signal(std::size_t index) {
  if (asks_[index].repeats == signal_repeats_max || random_.below(2) == 0) return;
  ++asks_[index].repeats;
  asks_[index].waits = true;
  post(drawn(signal_repeat_within), [this, index] { ask(index); });
}

// A person who can find out what became of a lost attempt is asked.
void World::probe(Node& node, const core::WorkItem& item) {
  const Behaviour& behaviour = scenario_.behaviour(item.topic.raw());
  post_to(node, drawn(options_.work_max), [this, &node, item, &behaviour] {
    using Probed = runtime::ProbeAnswer::Kind;
    runtime::ProbeAnswer answer{item.run, item.activity, item.token, item.request, item.runs};
    const core::Guid guid = item.request.derive(core::Guid::Purpose::verdict, item.runs);
    if (behaviour.probe_can_tell && behaviour.finding == Behaviour::Finding::retry) {
      answer.kind = Probed::not_done;
      journal_.probe(item, guid, std::nullopt);
    } else if (behaviour.probe_can_tell) {
      answer.kind = Probed::done;
      answer.data = reply_data(item.topic.raw(), item.input.view(), behaviour, std::nullopt);
      journal_.probe(item, guid, answer.data);
    }
    node.engine->probed(std::move(answer));
    step(node);
  });
}

}  // namespace pawl::sim
