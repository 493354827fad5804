// World: workers inside the engines' processes.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "sim/world.h"

namespace pawl::sim {

void World::begin(const core::WorkItem& item) {
  const Journal::Request* known = journal_.find(item.request);
  const std::uint32_t counted = known == nullptr ? 0 : known->begins - watch_.given_back(item.request);
  if (in_order_ && item.runs != counted + 1)
    verdict_.fail("tries", format("activity {} begins for the {}. time and this is called run {}", item.activity.raw(),
                                  counted + 1, item.runs));
  if (!journal_.begin(item, clock_.now()))
    verdict_.fail("effects", format("run {} of activity {} began twice", item.runs, item.activity.raw()));
  if (item.life.at_most_once && journal_.find(item.request)->begins > watch_.begins_allowed(item.request))
    verdict_.fail("effects", format("activity {} may act at most once and began {} times", item.activity.raw(),
                                    journal_.find(item.request)->begins));
  trace_.add(item.request.low);
}

Duration World::time_of(const Behaviour& behaviour) {
  return behaviour.takes.count() != 0 ? behaviour.takes : drawn(options_.work_max);
}

// The next reply of the attempt.
World::Said World::said_by(const Run& run) const {
  using Purpose = core::Guid::Purpose;
  const core::WorkItem& item = run.item;
  const std::string topic = item.topic.raw();
  const Behaviour& behaviour = scenario_.behaviour(topic);
  if (run.reply < behaviour.pendings)
    return {core::ReplyStatus::pending, 202, reply_data(topic, item.input.view(), behaviour, run.reply),
            item.request.derive(Purpose::response_pending, run.reply)};
  const core::Guid guid = item.request.derive(Purpose::response_final, 0);
  if (behaviour.broken_at_first && !watch_.follows(item.run))
    return {core::ReplyStatus::fatal, 500, failure_data(topic, item.input.view()), guid};
  if (item.life.failures < behaviour.fails_first)
    return {behaviour.failure, behaviour.failure_code, failure_data(topic, item.input.view()), guid};
  return {behaviour.status, behaviour.code, reply_data(topic, item.input.view(), behaviour, std::nullopt), guid};
}

void World::work(Node& node, const core::WorkItem& item) {
  if (!watch_.handed_out(item))
    verdict_.fail("dispatch",
                  format("run {} of activity {} reached a worker before its commit", item.runs, item.activity.raw()));
  if (node.stopping) {
    post_to(node, drawn(options_.latency_max), [this, &node, item] {
      node.engine->give_back(item, core::Began::no);
      step(node);
    });
    return;
  }
  // The largest priority first, then the oldest; work that may act at most once begins first.
  const auto before = [&](const core::WorkItem& other) {
    return other.priority < item.priority || (other.priority == item.priority && item.life.at_most_once);
  };
  node.queue.insert(std::find_if(node.queue.begin(), node.queue.end(), before), item);
  check_started(node);
  post_to(node, drawn(options_.latency_max), [this, &node] { begin_some(node); });
}

// Work that may act at most once counts as started with its claim: no more of it is claimed than threads could begin.
void World::check_started(const Node& node) {
  const auto once = [](const core::WorkItem& item) { return item.life.at_most_once; };
  auto started = static_cast<std::size_t>(std::count_if(node.queue.begin(), node.queue.end(), once));
  for (const auto& [token, run] : node.active)
    if (once(run->item)) ++started;
  if (started > threads())
    verdict_.fail("at most once",
                  format("{} runs count as started, and {} threads could begin them", started, threads()));
}

void World::begin_some(Node& node) {
  bool watched = false;
  while (!node.queue.empty() && node.active.size() < threads()) {
    auto run = std::make_shared<Run>(Run{node.queue.front()});
    node.queue.pop_front();
    const core::WorkItem& item = run->item;
    begin(item);
    const Behaviour& behaviour = scenario_.behaviour(item.topic.raw());
    if (behaviour.kills_engine) return crash(node);
    node.active.emplace(item.token, run);
    if (runtime::RunClocks::watches(item.life)) {
      watched = true;
      node.engine->begun(runtime::run_of(item));
      expect_end(node, run);
    }
    post_to(node, time_of(behaviour), [this, &node, run] { go_on(node, run); });
  }
  if (watched) step(node);
}

// Without a fault, an attempt is cancelled when its time is over, the first attempt of its item as well as later ones.
void World::expect_end(Node& node, const std::shared_ptr<Run>& run) {
  const Duration allowed = run->item.life.attempt_timeout;
  if (allowed.count() == 0) return;
  const Duration slack = options_.latency_max * 8 + allowed * options_.drift_ppm_max / 900'000;
  post_to(node, allowed + slack, [this, &node, run, allowed] {
    const auto status = watch_.status_of(run->item.run);
    // A failed read is repeated a while later.
    const bool judged = in_order_ && store_.reads_failed() == 0 && !node.stopping && report_.stops == 0 &&
                        status == core::JobStatus::running;
    if (judged && node.active.contains(run->item.token) && !run->cancelled)
      verdict_.fail("timer", format("run {} of activity {} takes longer than {} us and nobody told it", run->item.runs,
                                    run->item.activity.raw(), allowed.count()));
  });
}

// Its thread is free.
void World::end(Node& node, const Run& run) {
  if (node.active.erase(run.item.token) > 0 && !node.queue.empty())
    post_to(node, drawn(options_.latency_max), [this, &node] { begin_some(node); });
}

void World::go_on(Node& node, std::shared_ptr<Run> run) {
  const core::WorkItem& item = run->item;
  if (!node.active.contains(item.token)) return;  // the process stopped, and the worker returned
  const Behaviour& behaviour = scenario_.behaviour(item.topic.raw());
  const runtime::WorkRun named = runtime::run_of(item);
  if (run->beats < behaviour.heartbeats) {
    ++run->beats;
    journal_.beat(item, clock_.now());
    node.engine->heartbeat(named, Payload(format("\"run {} beat {}\"", item.runs, run->beats)));
    post_to(node, time_of(behaviour), [this, &node, run] { go_on(node, run); });
    return step(node);
  }
  if (is_silent(behaviour, item.life.failures, item.runs)) {
    run->silent = true;
    if (run->cancelled) leave_silence(node, run);
    return;
  }
  if (!behaviour.later) return answer(node, run);
  end(node, *run);
  node.engine->detach(named, options_.lease / 2);
  if (item.runs > behaviour.forgotten) post(time_of(behaviour), [this, run] { answer_later(run); });
  step(node);
}

// The attempt is no longer needed: it is not begun, or a silent worker is cancelled.
void World::cancelled(Node& node, const runtime::WorkRun& named) {
  if (give_back_queued(node, named)) return;
  const auto found = node.active.find(named.token);
  if (found == node.active.end() || std::exchange(found->second->cancelled, true)) return;
  if (found->second->silent) leave_silence(node, found->second);
}

// The time to wait for a thread is over.
void World::withdraw(Node& node, const runtime::WorkRun& named) { give_back_queued(node, named); }

bool World::give_back_queued(Node& node, const runtime::WorkRun& named) {
  const auto is_it = [&](const core::WorkItem& item) { return runtime::run_of(item) == named; };
  const auto waiting = std::find_if(node.queue.begin(), node.queue.end(), is_it);
  if (waiting == node.queue.end()) return false;
  const core::WorkItem item = *waiting;
  node.queue.erase(waiting);
  post_to(node, drawn(options_.latency_max), [this, &node, item] {
    node.engine->give_back(item, core::Began::no);
    step(node);
  });
  return true;
}

// Most return when they are cancelled. One that hangs never does: another thread takes the place of its thread.
void World::leave_silence(Node& node, const std::shared_ptr<Run>& run) {
  const Behaviour& behaviour = scenario_.behaviour(run->item.topic.raw());
  const bool hangs = behaviour.hangs || run->item.life.at_most_once;
  post_to(node, hangs ? options_.work_max + drawn(options_.work_max) : drawn(options_.latency_max),
          [this, &node, run, hangs] {
            const core::WorkItem& item = run->item;
            if (!node.active.contains(item.token)) return;
            end(node, *run);
            if (hangs) {
              node.engine->write_off(runtime::run_of(item));
              return step(node);
            }
            const Payload data = failure_data(item.topic.raw(), item.input.view());
            journal_.answer(item, core::ReplyStatus::error, 0, data);
            node.engine->answer(
                {item.run, item.activity, item.token, item.request, core::ReplyStatus::error, 499, data, 0});
            step(node);
          });
}

// The next reply of an attempt: pending ones, the last one, and those that a careless worker sends after it.
void World::answer(Node& node, std::shared_ptr<Run> run) {
  const core::WorkItem& item = run->item;
  const Behaviour& behaviour = scenario_.behaviour(item.topic.raw());
  const Said said = said_by(*run);
  const bool pending = said.status == core::ReplyStatus::pending;
  const std::uint32_t reply = run->reply++;
  if (!pending) end(node, *run);
  journal_.answer(item, said.status, reply, said.data);
  runtime::WorkReply answered{item.run,    item.activity, item.token, item.request,
                              said.status, said.code,     said.data,  pending ? reply : 0};
  if (behaviour.transaction && said.status == core::ReplyStatus::success && !options_.islands)
    answered.transaction = std::make_shared<SimTransaction>(Effect{item.run, item.activity});
  node.engine->answer(std::move(answered));
  const std::uint32_t sent_after = pending ? 0 : reply - behaviour.pendings;
  const bool again = (behaviour.answers_twice && sent_after == 0) || pending;
  const bool late = behaviour.answers_late && sent_after == 0 && !pending;
  // The time between two pending replies is the same as before the first: all of them share one attempt's time.
  const Duration next = pending ? time_of(behaviour) : again ? drawn(options_.work_max) : options_.lease * 2;
  if (again || late) post_to(node, next, [this, &node, run] { answer(node, run); });
  step(node);
}

}  // namespace pawl::sim
