// World: workers that claim from the queue, and replies that come by token through the store.
#include "base/format.h"
#include "sim/world.h"
#include "store/domain.h"

namespace pawl::sim {

namespace {
constexpr std::size_t remote_claim_max = 4;
constexpr Duration remote_backoff = std::chrono::milliseconds(20);
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
  const auto fault = draw_foreign_fault();
  if (fault == FaultKind::crash_before || fault == FaultKind::refused || fault == FaultKind::request_lost) return;
  const store::Operation operation = claim;
  const auto result = commit({&operation, 1}, {});
  if (fault) return miss_bell();  // this worker has the items, but does not know it: their lease must run out
  if (!(*result)[0].items().empty()) ring(operation, (*result)[0]);  // their times begin to run
  for (const core::WorkItem& item : (*result)[0].items()) {
    begin(item);
    auto run = std::make_shared<Run>(Run{item});
    post(time_of(scenario_.behaviour(item.topic.raw())), [this, run] { remote_go_on(run); });
  }
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
    const auto result = commit({&beat, 1}, {});
    ring(beat, (*result)[0]);
    return;
  }
  if (!is_silent(behaviour, item.life.failures, item.runs)) remote_answer(run);
}

void World::remote_answer(std::shared_ptr<Run> run) {
  const core::WorkItem& item = run->item;
  const Behaviour& behaviour = scenario_.behaviour(item.topic.raw());
  const Said said = said_by(*run);
  const bool pending = said.status == core::ReplyStatus::pending;
  const core::Reply reply{item.activity, said.status, said.code, item.token, said.data};
  const auto again = [this, run](Duration wait) { post(wait, [this, run] { remote_answer(run); }); };
  const auto fault = draw_foreign_fault();
  if (fault == FaultKind::crash_before) return;  // the worker died: the item comes back after its lease
  journal_.answer(item, said.status, run->reply, said.data);
  if (fault == FaultKind::refused || fault == FaultKind::request_lost) return again(remote_backoff);
  if (fault == FaultKind::delayed) return again(options_.lease * 3 / 2);
  const store::Operation operation =
      store::DeliverReply{item.run, item.activity, item.token, core::Message{said.guid, reply}};
  const auto result = commit({&operation, 1}, {});
  ring(operation, (*result)[0]);
  if (fault == FaultKind::crash_after) return;
  if (fault) return again(remote_backoff);  // the answer was lost: the same reply once more
  if (!(*result)[0].done()) return;         // another worker has it now
  ++run->reply;
  if (pending) return again(drawn(options_.work_max));
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
