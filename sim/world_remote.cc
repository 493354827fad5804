// World: workers that claim from the queue, and replies that come by token through the store. Such a worker speaks to
// the store, or to a server: an engine, which commits what it says among its own work. Some of them wait at a server:
// it claims work for them in the commit that puts the work, and sends it when that is durable.
#include "base/format.h"
#include "sim/world.h"
#include "store/domain.h"

namespace pawl::sim {

namespace {
constexpr std::size_t remote_claim_max = 4;
constexpr Duration remote_backoff = std::chrono::milliseconds(20);
constexpr std::uint64_t server_one_in = 2;
constexpr Duration server_timeout = std::chrono::milliseconds(200);
constexpr int remote_polls_per_lease_at_rest = 8;  // enough to claim any item that is wrongly left
}  // namespace

void World::remote_poll() {
  // Once every job has ended there should be nothing to find, and most polls of a simulation would happen then.
  const Duration backoff = all_done() ? options_.lease / remote_polls_per_lease_at_rest : remote_backoff;
  post(backoff + drawn(backoff), [this] { remote_poll(); });
  for (const core::LaneId lane : remote_lanes_) remote_claim(lane);
}

void World::remote_claim(core::LaneId lane) {
  store::ClaimWork claim;
  claim.topics = remote_topics_;
  claim.items_max = remote_claim_max;
  claim.worker = "far";
  claim.lease = options_.lease;
  claim.lane = lane;
  if (Node* server = draw_server())
    return ask_server(*server, claim, [this](const Result<store::Outcome>& outcome) {
      if (outcome && outcome->done()) remote_begin(outcome->items());
    });
  const auto fault = draw_foreign_fault();
  if (fault == FaultKind::crash_before || fault == FaultKind::refused || fault == FaultKind::request_lost) return;
  const store::Operation operation = claim;
  const auto result = commit({&operation, 1}, {});
  if (fault) return miss_bell();  // this worker has the items, but does not know it: their lease must run out
  if (!(*result)[0].items().empty()) ring(operation, (*result)[0]);  // their times begin to run
  remote_begin((*result)[0].items());
}

void World::remote_begin(const std::vector<core::WorkItem>& items) {
  for (const core::WorkItem& item : items) {
    begin(item);
    auto run = std::make_shared<Run>(Run{item});
    post(time_of(scenario_.behaviour(item.topic.raw())), [this, run] { remote_go_on(run); });
  }
}

// In half of the cases somebody waits at this server.
std::optional<runtime::FarTaker> World::find_far_taker(Node& node, const core::WorkItem& item) {
  if (!scenario_.behaviour(item.topic.raw()).remote || random_.below(server_one_in) != 0) return std::nullopt;
  ++node.promised;
  return runtime::FarTaker{node.index + 1, "waiting", options_.lease};
}

void World::far_given(Node& node, const core::WorkItem& item) {
  --node.promised;
  if (!watch_.handed_out(item))
    verdict_.fail("dispatch", format("run {} of activity {} reached a remote worker before its commit", item.runs,
                                     item.activity.raw()));
  // Nobody waits any more, or the line breaks: then its lease must run out.
  const auto fault = draw_foreign_fault();
  if (fault == FaultKind::crash_before || fault == FaultKind::refused) {
    return ask_server(node, store::ReleaseWork{item.run, item.activity, item.token},
                      [](const Result<store::Outcome>&) {});
  }
  if (fault) return;
  // A server that stops sends what it has; one that dies does not.
  post(drawn(options_.latency_max), [this, &node, item, crashes = node.crashes] {
    if (node.crashes == crashes) remote_begin({item});
  });
}

// None: it speaks to the store.
World::Node* World::draw_server() {
  if (random_.below(server_one_in) != 0) return nullptr;
  Node& node = *nodes_[random_.below(nodes_.size())];
  return node.engine == nullptr || node.stopping ? nullptr : &node;
}

// `done` is not called if the server dies first: what it committed may count all the same.
void World::ask_server(Node& node, store::Operation operation,
                       std::function<void(const Result<store::Outcome>&)> done) {
  post_to(node, drawn(options_.latency_max),
          [this, &node, operation = std::move(operation), done = std::move(done)]() mutable {
            requests_.push_back({0, operation, std::move(done)});
            node.engine->request(std::move(operation), requests_.size());
            step(node);
          });
}

// Until the answer is definite: by servers, or by the store itself.
void World::ask_server_until_done(const std::shared_ptr<Run>& run, store::Operation operation,
                                  std::function<void(const store::Outcome&)> done) {
  const std::uint64_t asked = ++run->asked;
  post(server_timeout + drawn(server_timeout), [this, run, asked, operation, done] {
    if (run->asked == asked) ask_server_until_done(run, operation, done);
  });
  if (run->server && (nodes_[*run->server]->engine == nullptr || nodes_[*run->server]->stopping)) return;
  if (Node* server = run->server ? nodes_[*run->server].get() : draw_server())
    return ask_server(*server, operation, [run, asked, done](const Result<store::Outcome>& outcome) {
      if (run->asked != asked || !outcome || outcome->kind == store::OutcomeKind::outcome_unknown) return;
      ++run->asked;
      done(*outcome);
    });
  const auto fault = draw_foreign_fault();
  if (fault == FaultKind::crash_before || fault == FaultKind::refused || fault == FaultKind::request_lost) return;
  const auto result = commit({&operation, 1}, {});
  if (fault == FaultKind::crash_after) return miss_bell();
  ring(operation, (*result)[0]);
  if (fault) return;
  ++run->asked;
  done((*result)[0]);
}

void World::remote_give_back(std::shared_ptr<Run> run) {
  const core::WorkItem& item = run->item;
  ask_server_until_done(run, store::ReleaseWork{item.run, item.activity, item.token}, [](const store::Outcome&) {});
}

void World::remote_go_on(std::shared_ptr<Run> run) {
  const core::WorkItem& item = run->item;
  const Behaviour& behaviour = scenario_.behaviour(item.topic.raw());
  if (run->beats < behaviour.heartbeats) {
    ++run->beats;
    const auto fault = draw_foreign_fault();
    if (fault == FaultKind::crash_before) return;  // the worker died
    post(time_of(behaviour), [this, run] { remote_go_on(run); });
    if (fault == FaultKind::refused || fault == FaultKind::request_lost) return;
    const store::Operation beat = store::ExtendWork{item.run, item.activity, item.token, options_.lease,
                                                    Payload(format("\"run {} beat {}\"", item.runs, run->beats))};
    if (Node* server = draw_server()) return ask_server(*server, beat, [](const Result<store::Outcome>&) {});
    const auto result = commit({&beat, 1}, {});
    ring(beat, (*result)[0]);
    return;
  }
  if (item.runs <= behaviour.gives_back) return remote_give_back(run);
  if (!is_silent(behaviour, item.life.failures, item.runs)) remote_answer(run);
}

void World::remote_answer(std::shared_ptr<Run> run) {
  const core::WorkItem& item = run->item;
  const Said said = said_by(*run);
  const core::Reply reply{item.activity, said.status, said.code, item.token, said.data};
  const store::Operation operation =
      store::DeliverReply{item.run, item.activity, item.token, core::Message{said.guid, reply}};
  // Interim answers and the last one go one way: an owner that is told late of the first would take the last before it
  // (docs/WORKERS.md).
  const bool one_way = scenario_.behaviour(item.topic.raw()).pendings > 0;
  if (one_way && run->reply == 0 && options_.comings.empty() && !run->server && random_.below(server_one_in) == 0)
    run->server = random_.below(nodes_.size());
  if (run->server || (!one_way && random_.below(server_one_in) == 0)) {
    journal_.answer(item, said.status, run->reply, said.data);
    return ask_server_until_done(run, operation, [this, run, operation](const store::Outcome& outcome) {
      remote_answered(run, operation, outcome);
    });
  }
  const auto again = [this, run](Duration wait) { post(wait, [this, run] { remote_answer(run); }); };
  const auto fault = draw_foreign_fault();
  if (fault == FaultKind::crash_before) return;  // the worker died: the item comes back after its lease
  journal_.answer(item, said.status, run->reply, said.data);
  if (fault == FaultKind::refused || fault == FaultKind::request_lost) return again(remote_backoff);
  if (fault == FaultKind::delayed) return again(options_.lease * 3 / 2);
  const auto result = commit({&operation, 1}, {});
  ring(operation, (*result)[0]);
  if (fault == FaultKind::crash_after) return;
  if (fault) return again(remote_backoff);  // the answer was lost: the same reply once more
  remote_answered(run, operation, (*result)[0]);
}

void World::remote_answered(const std::shared_ptr<Run>& run, const store::Operation& operation,
                            const store::Outcome& outcome) {
  if (!outcome.done()) return;  // another worker has it now
  const Behaviour& behaviour = scenario_.behaviour(run->item.topic.raw());
  const bool pending = run->reply < behaviour.pendings;
  if (!pending && outcome.kind == store::OutcomeKind::committed)
    watch_.check_acknowledged(run->item, said_by(*run).status);
  ++run->reply;
  if (pending) return post(drawn(options_.work_max), [this, run] { remote_answer(run); });
  if (behaviour.answers_twice && run->reply == behaviour.pendings + 1)
    // A careless worker: the final reply once more, as if it were new. Not repeated after that.
    post(drawn(options_.work_max), [this, operation] {
      const auto repeated = commit({&operation, 1}, {});
      ring(operation, (*repeated)[0]);
    });
}

// The holder of the token replies, through an engine or directly to the store, until the answer is definite.
void World::answer_later(std::shared_ptr<Run> run) {
  const core::WorkItem& item = run->item;
  const Said said = said_by(*run);
  const core::Reply reply{item.activity, said.status, said.code, item.token, said.data};
  journal_.answer(item, said.status, 0, said.data);
  const store::Operation operation =
      store::DeliverReply{item.run, item.activity, item.token, core::Message{said.guid, reply}};
  asks_.push_back(Asked{nullptr});
  asks_.back().operation = operation;
  asks_.back().waits = true;
  ask(asks_.size() - 1);
}

void World::ring(const store::Operation& operation, const store::Outcome& outcome) {
  const store::Change change = store::changed_by({&operation, 1}, {&outcome, 1});
  if (!change.empty()) store_.ring(store::domain_of(operation).lane, change);
}

// A lost notification leaves a gap in the numbers of the commits: the owner notices it and scans everything.
bool World::loses_ring(Node& node) {
  const std::uint32_t rate = healed() ? 0 : options_.rates.bells_lost_per_thousand;
  if (node.engine == nullptr || rate == 0 || random_.below(1000) >= rate) return false;
  ++report_.bells_lost;
  notify(node, store::Change::everything(), store_.ring_late_max());
  return true;
}

void World::notify(Node& node, const store::Change& change, Duration after) {
  if (node.engine == nullptr) return;
  post_to(node, after, [this, &node, change] {
    node.engine->changed(change);
    step(node);
  });
}

// Where lanes are renewed, each renewal scans everything.
void World::miss_bell() {
  if (options_.renewals) return;
  for (auto& node : nodes_) notify(*node, store::Change::everything(), store_.ring_late_max());
}

}  // namespace pawl::sim
