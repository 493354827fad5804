// World: engines, their commits, and the clients that submit to them.
#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "sim/world.h"

namespace pawl::sim {

namespace {
constexpr Duration wake_min = std::chrono::microseconds(100);
constexpr Duration client_timeout = std::chrono::milliseconds(200);
constexpr Duration restart_max = std::chrono::milliseconds(50);
}  // namespace

std::string World::name_of(const Node& node, std::uint32_t boot) const {
  return options_.new_name_at_restart ? format("e{}.{}", node.index, boot) : format("e{}", node.index);
}

// As if every engine had been here before: then it takes its own lanes back at once.
void World::give_homes() {
  const store::PoolInfo pool = **memory_.read_pool(Pool("graphs"));
  std::vector<store::Operation> homes;
  std::vector<std::vector<core::LaneId>> held(nodes_.size());
  for (std::uint32_t i = 0; i < pool.lanes; ++i) {
    const core::LaneId lane(pool.first.raw() + i);
    homes.push_back(store::AcquireLane{lane, name_of(*nodes_[i % nodes_.size()], 1), options_.lease});
    held[i % nodes_.size()].push_back(lane);
  }
  for (const auto& node : nodes_)
    if (options_.renewals)
      homes.push_back(store::BeatEngine{pool.pool, name_of(*node, 1), options_.lease, held[node->index], {}, false});
  invariant(watch_.commit(homes).ok(), "a new store's lanes are free");
}

bool World::joins_late(const Node& node) const {
  return std::any_of(options_.comings.begin(), options_.comings.end(), [&](const Coming& coming) {
    return coming.kind == Coming::Kind::joins && coming.engine == node.index;
  });
}

void World::come_and_go(const Coming& coming) {
  Node& node = *nodes_[coming.engine];
  ++report_.comings;
  if (coming.kind == Coming::Kind::joins) return boot(node);
  node.gone = true;
  if (node.engine == nullptr) return;
  if (coming.kind == Coming::Kind::dies) return crash(node);
  stop(node);
  step(node);
}

void World::watch_shares() {
  lanes_.look(clock_.monotonic());
  post(options_.lease / 4, [this] { watch_shares(); });
}

void World::boot(Node& node) {
  if (node.gone) return;
  ++node.life;
  ++node.boots;
  runtime::EngineOptions options;
  options.name = name_of(node, node.boots);
  options.lease = options_.renewals ? options_.lease : Duration{0};
  options.fusion = options_.fusion;
  options.seed = Random::mix(options_.seed * 31 + node.index) + node.boots;
  options.hot_jobs_max = options_.hot_jobs_max;
  options.bundles_per_group_max = options_.bundles_per_group_max;
  options.bytes_max = bytes_max();
  options.reads_later = options_.reads_later;
  options.reentries_max = options_.reentries_max;
  options.keep_keys = scenario_.keep_keys;
  options.signal_page_jobs = 2;
  options.mailbox_page.messages = 2;
  const auto pool = memory_.read_pool(Pool("graphs"));
  node.clock.boot();
  node.groups_out = 0;
  node.promised = 0;
  node.wake_at.reset();
  node.paused_until = Duration{0};
  node.damage_said.clear();
  node.queue.clear();
  node.active.clear();
  node.stopping = false;
  node.engine = std::make_unique<runtime::Engine>(options, **pool, store_, node.clock, *scenario_.graphs, node);
  for (const auto& graph : scenario_.all_graphs())
    for (const Graph::Node& activity : graph->nodes())
      if (activity.kind == Graph::Kind::worker) {
        const Behaviour& behaviour = scenario_.behaviour(activity.topic.raw());
        if (!behaviour.remote && !behaviour.unserved) node.engine->serve(activity.topic);
        if (activity.policy.when_unknown == WhenUnknown::ask_probe) node.engine->offer_probe(activity.topic);
      }
  if (options_.renewals) lanes_.lives(options.name, clock_.monotonic());
  node.engine->add_slots(slots());
  node.engine->set_threads(threads());
  if (!options_.renewals) watch_lanes(node);
  post_to(node, drawn(options_.latency_max), [this, &node] {
    node.engine->tick();
    step(node);
  });
  // Workers that waited for a server ask it at once, while it still reads its jobs.
  if (!remote_topics_.empty())
    post(drawn(options_.latency_max * 8), [this] {
      for (const core::LaneId lane : remote_lanes_) remote_claim(lane);
    });
}

void World::crash(Node& node) {
  ++node.crashes;
  ++report_.crashes;
  in_order_ = false;
  ++node.life;
  node.engine.reset();
  lanes_.is_gone(name_of(node, node.boots), clock_.monotonic());
  trace_.add(0xdead + node.index);
  post(drawn(restart_max), [this, &node] { boot(node); });
}

// As the runtime does it: work that no thread has begun is given back, the others may finish, and are cancelled after a
// while.
void World::stop(Node& node) {
  if (node.stopping) return;
  ++report_.stops;
  node.stopping = true;
  trace_.add(0x5709 + node.index);
  node.engine->stop();
  for (const core::WorkItem& item : std::exchange(node.queue, {})) node.engine->give_back(item, core::Began::no);
  post_to(node, drawn(options_.work_max), [this, &node] {
    for (const auto& [token, run] : std::exchange(node.active, {})) {
      node.engine->give_back(run->item, core::Began::yes);
    }
    step(node);
  });
  // A store that refuses, a detached attempt whose reply does not come: the engine does not wait for ever.
  post_to(node, options_.lease * 2, [this, &node] { crash(node); });
}

void World::end_stop(Node& node) {
  node.engine->release_lanes();
  while (auto group = node.engine->take_group()) {
    auto result = commit_group(*group, {});
    node.engine->finished(std::move(*group), std::move(result));
  }
  ++node.life;
  node.engine.reset();
  lanes_.is_gone(name_of(node, node.boots), clock_.monotonic());
  post(drawn(restart_max), [this, &node] { boot(node); });
}

// Over a store without renewals an engine does not ask repeatedly for a lane: the store notifies it when the lane is
// free.
void World::watch_lanes(Node& node) {
  post_to(node, options_.lease / 2, [this, &node] {
    watch_lanes(node);
    if (node.stopping || node.engine->owns_anything()) return;
    node.engine->ownership_changed();
    node.engine->tick();
    step(node);
  });
}

void World::step(Node& node) {
  const FaultRates& rates = options_.rates;
  if (!healed() && random_faults_ < rates.budget) {
    if (random_.below(1000) < rates.crashes_per_thousand) {
      ++random_faults_;
      return crash(node);
    }
    if (random_.below(1000) < rates.pauses_per_thousand) {
      ++random_faults_;
      in_order_ = false;
      node.paused_until = clock_.monotonic() + drawn(options_.lease * 2);
      lanes_.disturbed(node.paused_until);
    }
  }
  node.engine->pump();
  send_reads(node);
  // With islands each lane has one group in transit: the engine ensures that.
  const std::uint32_t groups_max = options_.islands ? options_.lanes + 1 : options_.groups_out_max;
  while (node.engine != nullptr && node.groups_out < groups_max) {
    auto group = node.engine->take_group();
    if (!group) break;
    send(node, std::move(*group));
    if (!options_.islands) break;
  }
  if (node.engine == nullptr) return;
  check_bytes(node);
  if (node.stopping && node.engine->drained()) return end_stop(node);
  plan_wake(node);
}

// The machine notifies its processes (runtime/clock_watch.h).
void World::set_clocks(const ClockStep& set) {
  for (auto& node : nodes_) {
    if (set.puts_right)
      node->clock.put_right_by(set.by);
    else
      node->clock.set_by(set.by);
    if (node->engine == nullptr) continue;
    post_to(*node, drawn(options_.latency_max), [this, raw = node.get()] {
      raw->engine->tick();
      step(*raw);
    });
  }
}

void World::plan_wake(Node& node) {
  const auto own = node.engine->next_wake();
  if (!own) return;
  const Duration at = std::max(node.clock.world_time_of(*own), clock_.monotonic() + wake_min);
  if (node.wake_at && *node.wake_at <= at) return;
  node.wake_at = at;
  post_to(node, at - clock_.monotonic(), [this, &node, at] {
    if (node.wake_at != at) return;  // a nearer one came since, and planned the next
    node.wake_at.reset();
    node.engine->tick();
    step(node);
  });
}

World::Passage World::passage_of(std::optional<FaultKind> fault, std::size_t operations) {
  using Kind = store::fault::Kind;
  Passage passage;
  passage.arrives = drawn(options_.latency_max);
  passage.replies = drawn(options_.latency_max);
  if (fault == FaultKind::reply_lost) passage.store.kind = Kind::error_after;
  if (fault == FaultKind::request_lost) passage.store.kind = Kind::drop_midway;
  if (fault == FaultKind::cut_midway) passage.store = {Kind::drop_midway, random_.below(operations + 1)};
  if (fault == FaultKind::refused) passage.store.kind = Kind::error_before;
  if (fault == FaultKind::fenced) passage.store.kind = Kind::fence;
  if (fault == FaultKind::duplicated) passage.store.kind = Kind::duplicate;
  if (fault == FaultKind::delayed) passage.arrives += options_.lease * 3 / 2;
  if (fault == FaultKind::late_reply) passage.replies += options_.lease * 7 / 10 + drawn(options_.lease / 4);
  passage.crash_after = fault == FaultKind::crash_after;
  return passage;
}

void World::send(Node& node, runtime::Group group) {
  const auto fault = draw_fault();
  trace_.add(static_cast<std::uint64_t>(clock_.monotonic().count()) * 16 + node.index);
  trace_.add(fault ? static_cast<std::uint64_t>(*fault) + 1 : 0);
  ++node.groups_out;
  if (fault == FaultKind::crash_before) return crash(node);
  if (fault == FaultKind::stopped) stop(node);
  Passage passage = passage_of(fault, group.operations.size());
  // One thread writes to a file, in order.
  if (!options_.renewals)
    passage.arrives = std::max(passage.arrives, node.last_arrival + Duration(1) - clock_.monotonic());
  node.last_arrival = clock_.monotonic() + passage.arrives;
  const std::uint64_t life = node.life;
  const auto order = options_.islands ? disturb_letters(group) : std::vector<std::size_t>();
  auto shared = std::make_shared<runtime::Group>(std::move(group));
  // The commit is in transit: it arrives even if the engine dies meanwhile, unless the store is a file, which only a
  // living process can write.
  post(passage.arrives, [this, &node, life, shared, order, passage] {
    if (!options_.renewals && node.life != life) return;
    auto result = std::make_shared<Result<std::vector<store::Outcome>>>(
        options_.islands ? commit_to_island(*shared, order, passage.store) : commit_group(*shared, passage.store));
    if (node.life != life) return;
    if (passage.crash_after) return crash(node);
    post_to(node, passage.replies, [this, &node, shared, result] {
      --node.groups_out;
      node.engine->finished(std::move(*shared), std::move(*result));
      step(node);
    });
  });
}

void World::send_reads(Node& node) {
  while (auto batch = node.engine->take_reads()) {
    auto shared = std::make_shared<runtime::ReadBatch>(std::move(*batch));
    const std::uint64_t life = node.life;
    post(drawn(options_.latency_max), [this, &node, life, shared] {
      if (node.life != life) return;
      auto answers = std::make_shared<std::vector<store::ReadAnswer>>(store_.read(shared->reads));
      const bool in_part = random_.below(8) == 0;
      const std::size_t left = in_part ? 1 + random_.below(answers->size()) : answers->size();
      answers->erase(answers->begin() + static_cast<std::ptrdiff_t>(left), answers->end());
      post_to(node, drawn(options_.latency_max), [this, &node, shared, answers] {
        node.engine->answered(std::move(*shared), std::move(*answers));
        step(node);
      });
    });
  }
}

void World::submit(std::size_t client) {
  Client& waiting = clients_[client];
  if (waiting.answered) return;
  ++waiting.attempt;
  Node& node = *nodes_[random_.below(nodes_.size())];
  const std::uint64_t attempt = waiting.attempt;
  // Whatever happens to the engine, the client asks again some time later.
  post(client_timeout + drawn(client_timeout), [this, client, attempt] {
    if (clients_[client].attempt == attempt) submit(client);
  });
  if (options_.guests && random_.below(2) == 0)
    return post(drawn(options_.latency_max), [this, client] {
      if (!clients_[client].answered) submit_as_guest(client);
    });
  if (node.engine == nullptr) return;
  post_to(node, drawn(options_.latency_max), [this, &node, client] {
    const WantedJob& wanted = *clients_[client].wanted;
    node.engine->submit({Namespace(wanted.name_space), JobId(wanted.id), GraphName(wanted.graph), input_of(wanted),
                         draw_secret(), wanted.reuse, wanted.delay, wanted.end_within, wanted.keep, wanted.priority},
                        client + 1);
    step(node);
  });
}

// A process that owns nothing: the owner learns of its commits only by notifications.
void World::submit_as_guest(std::size_t client) {
  const WantedJob& wanted = *clients_[client].wanted;
  const auto graph = scenario_.graphs->newest(GraphName(wanted.graph));
  const Instant now = memory_.now();
  store::Submit submit{Namespace(wanted.name_space),
                       JobId(wanted.id),
                       core::LaneId(0),
                       runtime::ref_of(*graph),
                       input_of(wanted),
                       now,
                       wanted.reuse};
  submit.lane = runtime::lane_for(**memory_.read_pool(Pool("graphs")), submit.name_space, submit.id.raw());
  if (wanted.delay.count() != 0) submit.start_at = now + wanted.delay;
  if (wanted.end_within.count() != 0) submit.deadline = now + wanted.delay + wanted.end_within;
  submit.keep = wanted.keep;
  submit.priority = wanted.priority;
  const auto fault = draw_fault();
  if (fault == FaultKind::crash_before || fault == FaultKind::refused || fault == FaultKind::request_lost) return;
  const store::Operation operation = submit;
  const auto result = commit({&operation, 1}, {});
  const store::Outcome& outcome = (*result)[0];
  if (fault == FaultKind::crash_after) return miss_bell();
  ring(operation, outcome);
  if (fault) return;  // it does not know, and asks again
  acknowledged(client, runtime::Submitted{outcome.run(), outcome.kind == store::OutcomeKind::committed});
}

bool World::is_damaged(RunId run) const {
  return !options_.damaged.empty() && clock_.monotonic() >= options_.damage_at &&
         watch_.run_of("default", options_.damaged) == run;
}

void World::Node::problem(const std::string& text) {
  if (text.find("is damaged") == std::string::npos) return;
  ++world.report_.damage_said;
  if (text.starts_with("injected") && !damage_said.insert(text).second)
    world.verdict_.fail("damage", "it was said twice: " + text);
}

void World::acknowledged(std::size_t client, const Result<runtime::Submitted>& result) {
  if (!result) return;  // refused or unknown: asked again
  const WantedJob& wanted = *clients_[client].wanted;
  const std::string name = format("{}/{}{}", wanted.name_space, wanted.id, wanted.tag);
  clients_[client].answered = true;
  const bool removed = watch_.was_removed(result->run);
  const auto stored = memory_.read_job(result->run);
  const bool exists = *stored && (*stored)->state.job.id.raw() == wanted.id &&
                      (*stored)->state.job.name_space.raw() == wanted.name_space;
  if (!exists && !removed) verdict_.fail("client", format("{} was acknowledged and is not in the store", name));
  // An id that goes from run to run may name another run at the next request.
  const bool passes_on = std::any_of(scenario_.jobs.begin(), scenario_.jobs.end(), [&](const WantedJob& other) {
    return other.id == wanted.id && other.name_space == wanted.name_space && other.reuse != store::Reuse::never;
  });
  const bool goes_on = std::any_of(scenario_.asks.begin(), scenario_.asks.end(),
                                   [&](const Ask& ask) { return ask.kind == Ask::Kind::go_on && ask.of == wanted.id; });
  if (passes_on || goes_on) return;
  const auto [known, fresh] = acknowledged_.emplace(&wanted, result->run);
  if (!fresh && known->second != result->run)
    verdict_.fail("client",
                  format("{} was acknowledged as run {} and as run {}", name, known->second.raw(), result->run.raw()));
  if (result->created && ++created_[&wanted] > 1) verdict_.fail("client", format("{} was created twice", name));
}

void World::Node::dispatch(const core::WorkItem& item) { world.work(*this, item); }

void World::Node::submitted(runtime::Ticket ticket, Result<runtime::Submitted> result) {
  if (ticket == 0) return;
  if (ticket > ask_tickets) return answered(ticket - ask_tickets, runtime::outcome_of(result));
  world.acknowledged(static_cast<std::size_t>(ticket - 1), result);
}

void World::Node::closed(const core::JobRow& job) {
  const auto stored = world.memory_.read_job(job.run);
  if (world.watch_.was_removed(job.run)) return;
  if (!*stored || (*stored)->state.job.completions != 1 || (*stored)->state.job.status != job.status)
    world.verdict_.fail("client", format("job {} was announced as ended before its commit", job.id.raw()));
}

}  // namespace pawl::sim
