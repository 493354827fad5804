// World: workers inside the engines' processes.
#include "base/format.h"
#include "sim/world.h"

namespace pawl::sim {

void World::begin(const core::WorkItem& item) {
  if (!journal_.begin(item))
    verdict_.fail("effects", format("run {} of activity {} began twice", item.runs, item.activity.raw()));
  if (item.life.at_most_once && journal_.find(item.request)->begins > watch_.begins_allowed(item.request))
    verdict_.fail("effects", format("activity {} may act at most once and began {} times", item.activity.raw(),
                                    journal_.find(item.request)->begins));
  trace_.add(item.request.low);
}

Duration World::time_of(const Behaviour& behaviour) {
  return behaviour.takes.count() != 0 ? behaviour.takes : drawn(options_.work_max);
}

// What the run says next.
World::Said World::said_by(const Run& run) const {
  using Purpose = core::Guid::Purpose;
  const core::WorkItem& item = run.item;
  const std::string topic = item.topic.raw();
  const Behaviour& behaviour = scenario_.behaviour(topic);
  if (run.reply < behaviour.pendings)
    return {core::ReplyStatus::pending, 202, reply_data(topic, item.input.view(), behaviour, run.reply),
            item.request.derive(Purpose::response_pending, run.reply)};
  const core::Guid guid = item.request.derive(Purpose::response_final, 0);
  if (item.life.failures < behaviour.fails_first)
    return {behaviour.failure, behaviour.failure_code, failure_data(topic, item.input.view()), guid};
  return {behaviour.status, behaviour.code, reply_data(topic, item.input.view(), behaviour, std::nullopt), guid};
}

void World::work(Node& node, const core::WorkItem& item) {
  if (!watch_.handed_out(item))
    verdict_.fail("dispatch", format("run {} of activity {} reached a worker before its commit",
                                     item.runs, item.activity.raw()));
  post_to(node, drawn(options_.latency_max), [this, &node, item] {
    begin(item);
    const Behaviour& behaviour = scenario_.behaviour(item.topic.raw());
    if (behaviour.kills_engine) return crash(node);
    auto run = std::make_shared<Run>(Run{item});
    post_to(node, time_of(behaviour), [this, &node, run] { go_on(node, run); });
  });
}

void World::go_on(Node& node, std::shared_ptr<Run> run) {
  const core::WorkItem& item = run->item;
  const Behaviour& behaviour = scenario_.behaviour(item.topic.raw());
  const runtime::WorkRun named{{item.run, item.activity}, item.token};
  if (run->beats < behaviour.heartbeats) {
    ++run->beats;
    node.engine->heartbeat(named, Payload(format("\"run {} beat {}\"", item.runs, run->beats)));
    post_to(node, time_of(behaviour), [this, &node, run] { go_on(node, run); });
    return step(node);
  }
  if (is_silent(behaviour, item.life.failures, item.runs)) {
    node.silent.emplace(item.token, run);
    if (node.cancelled.contains(item.token)) cancelled(node, named);
    return;
  }
  if (!behaviour.later) return answer(node, run);
  node.engine->detach(named, options_.lease / 2);
  if (item.runs > behaviour.forgotten) post(time_of(behaviour), [this, run] { answer_later(run); });
  step(node);
}

// Nobody waits for the run: a silent worker is told so and returns.
void World::cancelled(Node& node, const runtime::WorkRun& run) {
  node.cancelled.insert(run.token);
  const auto found = node.silent.find(run.token);
  if (found == node.silent.end()) return;
  const core::WorkItem item = found->second->item;
  node.silent.erase(found);
  post_to(node, drawn(options_.latency_max), [this, &node, item] {
    const Payload data = failure_data(item.topic.raw(), item.input.view());
    journal_.answer(item, core::ReplyStatus::error, 0, data);
    node.engine->answer({item.run, item.activity, item.token, item.request, core::ReplyStatus::error, 499, data, 0});
    step(node);
  });
}

// The next reply of a run: pending ones, the last one, and those that a careless worker sends after
// it.
void World::answer(Node& node, std::shared_ptr<Run> run) {
  const core::WorkItem& item = run->item;
  const Behaviour& behaviour = scenario_.behaviour(item.topic.raw());
  const Said said = said_by(*run);
  const bool pending = said.status == core::ReplyStatus::pending;
  const std::uint32_t reply = run->reply++;
  journal_.answer(item, said.status, reply, said.data);
  node.engine->answer({item.run, item.activity, item.token, item.request, said.status, said.code, said.data,
                       pending ? reply : 0});
  const std::uint32_t sent_after = pending ? 0 : reply - behaviour.pendings;
  const bool again = (behaviour.answers_twice && sent_after == 0) || pending;
  const bool late = behaviour.answers_late && sent_after == 0 && !pending;
  if (again || late)
    post_to(node, again ? drawn(options_.work_max) : options_.lease * 2,
            [this, &node, run] { answer(node, run); });
  step(node);
}

}  // namespace pawl::sim
