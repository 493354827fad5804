// World: workers inside the engines' processes, and remote ones that claim from the queue.
#include "base/format.h"
#include "sim/world.h"

namespace pawl::sim {

namespace {
constexpr std::size_t remote_claim_max = 4;
constexpr Duration remote_backoff = std::chrono::milliseconds(20);

Topic topic_of(const core::WorkItem& item) { return item.topic; }
}  // namespace

void World::work(Node& node, const core::WorkItem& item) {
  if (!watch_.handed_out(item))
    verdict_.fail("dispatch", format("run {} of activity {} reached a worker before its commit",
                                     item.runs, item.activity.raw()));
  post_to(node, drawn(options_.latency_max), [this, &node, item] {
    journal_.begin(item);
    trace_.add(item.request.low);
    const Behaviour& behaviour = scenario_.behaviour(topic_of(item).raw());
    if (behaviour.kills_engine) return crash(node);
    post_to(node, drawn(options_.work_max), [this, &node, item] { answer(node, item, 0); });
  });
}

// The nth reply of a run: pending ones, the last one, and those that a careless worker sends after
// it.
void World::answer(Node& node, const core::WorkItem& item, std::uint32_t reply) {
  const std::string topic = topic_of(item).raw();
  const Behaviour& behaviour = scenario_.behaviour(topic);
  const bool pending = reply < behaviour.pendings;
  const auto status = pending ? core::ReplyStatus::pending : behaviour.status;
  const Payload data = reply_data(topic, item.input.view(), behaviour,
                                  pending ? std::optional<std::uint32_t>(reply) : std::nullopt);
  journal_.answer(item, status, reply, data);
  node.engine->answer({item.run, item.activity, item.token, item.request, status,
                       pending ? 202 : behaviour.code, data, pending ? reply : 0});
  const std::uint32_t sent_after = pending ? 0 : reply - behaviour.pendings;
  const bool again = (behaviour.answers_twice && sent_after == 0) || pending;
  const bool late = behaviour.answers_late && sent_after == 0 && !pending;
  if (again)
    post_to(node, drawn(options_.work_max),
            [this, &node, item, reply] { answer(node, item, reply + 1); });
  else if (late)
    post_to(node, options_.lease * 2,
            [this, &node, item, reply] { answer(node, item, reply + 1); });
  step(node);
}

struct World::RemoteRun {
  core::WorkItem item;
  std::uint32_t reply = 0;
};

void World::remote_poll() {
  post(remote_backoff + drawn(remote_backoff), [this] { remote_poll(); });
  store::ClaimWork claim;
  for (const auto& [topic, behaviour] : scenario_.behaviours)
    if (behaviour.remote) claim.topics.push_back(Topic(topic));
  claim.items_max = remote_claim_max;
  claim.worker = "far";
  claim.lease = options_.lease;
  const auto fault = draw_fault();
  if (fault == FaultKind::crash_before || fault == FaultKind::refused ||
      fault == FaultKind::request_lost)
    return;
  const store::Operation operation = claim;
  const auto result = commit({&operation, 1}, {});
  if (fault) return;  // the items are ours, and nobody knows: their lease must run out
  for (const core::WorkItem& item : (*result)[0].items) {
    journal_.begin(item);
    auto run = std::make_shared<RemoteRun>(RemoteRun{item});
    post(drawn(options_.work_max), [this, run] { remote_answer(run); });
  }
}

void World::remote_answer(std::shared_ptr<RemoteRun> run) {
  const core::WorkItem& item = run->item;
  const std::string topic = topic_of(item).raw();
  const Behaviour& behaviour = scenario_.behaviour(topic);
  const bool pending = run->reply < behaviour.pendings;
  const auto status = pending ? core::ReplyStatus::pending : behaviour.status;
  const Payload data =
      reply_data(topic, item.input.view(), behaviour,
                 pending ? std::optional<std::uint32_t>(run->reply) : std::nullopt);
  using Purpose = core::Guid::Purpose;
  const core::Guid guid = pending ? item.request.derive(Purpose::response_pending, run->reply)
                                  : item.request.derive(Purpose::response_final, 0);
  core::Response response{item.activity, status, pending ? 202 : behaviour.code, item.token, data};
  const auto again = [this, run](Duration wait) {
    post(wait, [this, run] { remote_answer(run); });
  };
  const auto fault = draw_fault();
  if (fault == FaultKind::crash_before)
    return;  // the worker died: the item comes back by its lease
  journal_.answer(item, status, run->reply, data);
  if (fault == FaultKind::refused || fault == FaultKind::request_lost) return again(remote_backoff);
  if (fault == FaultKind::delayed) return again(options_.lease * 3 / 2);
  const store::Operation operation =
      store::Respond{item.run, item.activity, item.token, core::Message{guid, std::move(response)}};
  const auto result = commit({&operation, 1}, {});
  ring_doorbells();
  if (fault == FaultKind::crash_after) return;
  if (fault) return again(remote_backoff);  // the reply was lost: the same answer once more
  if (!(*result)[0].done()) return;         // no longer ours
  ++run->reply;
  const bool twice = behaviour.answers_twice && run->reply == behaviour.pendings + 1;
  if (pending)
    again(drawn(options_.work_max));
  else if (twice) {
    run->reply = behaviour.pendings;
    post(drawn(options_.work_max), [this, run] {
      // A careless worker: the final answer once more, as if it were new. Not repeated after that.
      const core::WorkItem& done = run->item;
      const Behaviour& b = scenario_.behaviour(topic_of(done).raw());
      const Payload output = reply_data(topic_of(done).raw(), done.input.view(), b, std::nullopt);
      const store::Operation repeat = store::Respond{
          done.run, done.activity, done.token,
          core::Message{done.request.derive(core::Guid::Purpose::response_final, 0),
                        core::Response{done.activity, b.status, b.code, done.token, output}}};
      (void)commit({&repeat, 1}, {}).ok();
      ring_doorbells();
    });
  }
}

void World::ring_doorbells() {
  for (auto& node : nodes_)
    if (node->engine != nullptr)
      post_to(*node, drawn(options_.latency_max), [this, &n = *node] {
        n.engine->inbox_changed();
        step(n);
      });
}

}  // namespace pawl::sim
