#include "sim/world.h"

#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"

namespace pawl::sim {

namespace {

constexpr Duration patience_min = std::chrono::seconds(60);
constexpr std::uint64_t events_max = 5'000'000;  // more than this means an endless loop

// How far the clocks of a scenario jump ahead: what is due by them is not early.
Duration leap_of(const Scenario& scenario) {
  Duration leap{0};
  for (const ClockStep& step : scenario.clock_steps) leap += std::max(step.by, Duration{0});
  return leap;
}

}  // namespace

World::World(const Scenario& scenario, WorldOptions options)
    : scenario_(scenario),
      options_(std::move(options)),
      random_(options_.seed),
      memory_(clock_, options_.islands ? store::memory::Lanes::islands : store::memory::Lanes::one_domain,
              [this](core::LaneId lane) { return lane_error(lane); }),
      effects_(memory_),
      seeded_(static_cast<store::Store&>(effects_)),
      watch_(seeded_, journal_, verdict_, trace_, scenario_.graphs,
             options_.clock_error_max + options_.lane_clock_error_max + leap_of(scenario_), options_.drift_ppm_max),
      lanes_(verdict_, {options_.lease, options_.lease / 2 + 20 * options_.latency_max + options_.lane_clock_error_max +
                                            std::chrono::milliseconds(10)}),
      store_(watch_, store::fault::Options{[this](const store::fault::Call&) { return current_fault_; }, nullptr,
                                           options_.rates.read_failures_per_thousand, options_.seed,
                                           [this](RunId run) { return is_damaged(run); }, ErrorCode::corrupt, nullptr,
                                           [this](store::Listener& ear) { return loses_ring(static_cast<Node&>(ear)); },
                                           ring_late}) {
  const store::Operation open = store::OpenPool{Pool("graphs"), options_.lanes};
  invariant(memory_.commit({&open, 1}).ok(), "a new store takes a pool");
  invariant(!options_.islands || options_.renewals, "lanes that are islands are not in a file");
  if (options_.renewals)
    watch_.on_owner(
        [this](core::LaneId lane, const std::string& owner) { lanes_.owned(lane, owner, clock_.monotonic()); });
  watch_.set_lane_clocks([this](core::LaneId lane) { return lane_error(lane); });
  for (const WantedJob& wanted : scenario_.jobs)
    remote_lanes_.insert(options_.islands ? runtime::lane_for(**memory_.read_pool(Pool("graphs")),
                                                              Namespace(wanted.name_space), wanted.id)
                                          : core::LaneId(0));
  for (const auto& graph : scenario_.all_graphs())
    for (const Graph::Node& node : graph->nodes())
      if (scenario_.behaviour(node.topic.raw()).remote &&
          std::count(remote_topics_.begin(), remote_topics_.end(), node.topic) == 0)
        remote_topics_.push_back(node.topic);
  for (const WantedJob& wanted : scenario_.jobs) {
    const Expected& expected = expected_[&wanted] = expect(scenario_, wanted);
    if ((expected.end == Expected::End::parked && !expected.interruptible) || wanted.graph == "poison")
      ++parked_expected_;
  }
  for (const WantedJob& wanted : scenario_.jobs) payload_max_ = std::max(payload_max_, input_of(wanted).size());
  for (const auto& graph : scenario_.all_graphs()) {
    std::size_t replies = 0;
    for (const Graph::Node& node : graph->nodes()) {
      const Behaviour& behaviour = scenario_.behaviour(node.topic.raw());
      payload_max_ = std::max(payload_max_, behaviour.padding);
      replies += 1 + behaviour.pendings;
    }
    replies_max_ = std::max(replies_max_, replies);
  }
  if (!options_.damaged.empty()) ++parked_expected_;
  if (options_.prints) watch_.print_operations();
  if (options_.traces_bundles) watch_.trace_bundles();
  for (const Ask& ask : scenario_.asks) asks_.push_back(Asked{&ask});
  const auto drift = static_cast<std::uint64_t>(options_.drift_ppm_max);
  for (std::uint32_t i = 0; i < options_.engines; ++i) {
    EngineClock::Error error;
    if (drift > 0) {
      error.drift_ppm = static_cast<std::int64_t>(random_.below(2 * drift + 1)) - options_.drift_ppm_max;
      error.monotonic_offset = drawn(std::chrono::hours(1));
    }
    if (options_.clock_error_max.count() > 0) error.wall_offset = drawn(options_.clock_error_max);
    nodes_.push_back(std::make_unique<Node>(*this, i, error));
    store_.listen(*nodes_.back());
  }
  const store::PoolInfo pool = **memory_.read_pool(Pool("graphs"));
  for (std::uint32_t i = 0; i < pool.lanes; ++i) lanes_.add_lane(core::LaneId(pool.first.raw() + i));
  if (options_.homes) give_homes();
}

World::~World() = default;

void World::post(Duration delay, std::function<void()> act) {
  events_.post(clock_.monotonic() + delay, std::move(act));
}

void World::post_to(Node& node, Duration delay, std::function<void()> act) {
  const std::uint64_t life = node.life;
  post(delay, [this, &node, life, act = std::move(act)]() mutable {
    if (node.life != life) return;
    if (clock_.monotonic() < node.paused_until)
      return post_to(node, node.paused_until - clock_.monotonic(), std::move(act));
    act();
  });
}

std::optional<FaultKind> World::draw_fault() {
  ++report_.calls;
  for (const PlannedFault& planned : options_.planned)
    if (report_.calls >= planned.first && report_.calls < planned.first + planned.calls) {
      ++report_.fired;
      if (planned.kind != FaultKind::stopped) in_order_ = false;
      lanes_.disturbed(clock_.monotonic() + 2 * options_.lease);
      return planned.kind;
    }
  if (healed() || random_faults_ >= options_.rates.budget) return std::nullopt;
  std::uint64_t draw = random_.below(1000);
  for (std::size_t i = 0; i < std::size(all_fault_kinds); ++i) {
    if (draw < options_.rates.per_thousand[i]) {
      ++random_faults_;
      ++report_.fired;
      if (all_fault_kinds[i] != FaultKind::stopped) in_order_ = false;
      lanes_.disturbed(clock_.monotonic() + 2 * options_.lease);
      return all_fault_kinds[i];
    }
    draw -= options_.rates.per_thousand[i];
  }
  return std::nullopt;
}

Result<std::vector<store::Outcome>> World::commit(std::span<const store::Operation> group, store::fault::Fault fault) {
  current_fault_ = fault;
  auto result = store_.commit(group);
  current_fault_ = {};
  if (const auto violation = memory_.violation()) verdict_.fail("islands", *violation);
  if (!options_.renewals && result)
    for (store::Outcome& outcome : *result)
      if (auto* lane = std::get_if<store::answer::Lane>(&outcome.answer))
        lane->lease_until.reset();  // held until the process ends
  look_for_asks();
  return result;
}

bool World::all_done() const {
  if (!healed()) return false;
  for (const Client& client : clients_)
    if (!client.answered) return false;
  for (const Asked& asked : asks_)
    if (asked.waits || (asked.failed && !asked.done)) return false;
  return watch_.open_jobs() == 0 && watch_.parked_jobs() <= parked_expected_ && watch_.to_remove() == 0 &&
         watch_.in_transit() == 0;
}

void World::run_until(const std::function<bool()>& done, Duration deadline) {
  std::uint64_t handled = 0;
  while (verdict_.ok() && !done() && !events_.empty() && events_.next_at() <= deadline) {
    clock_.set(events_.next_at());
    events_.take()();
    if (++handled > events_max) verdict_.fail("liveness", "the run goes round in circles");
  }
}

WorldReport World::run() {
  for (auto& node : nodes_)
    if (!joins_late(*node)) boot(*node);
  for (const Coming& coming : options_.comings) post(coming.at, [this, coming] { come_and_go(coming); });
  if (options_.renewals) watch_shares();
  for (const WantedJob& wanted : scenario_.jobs)
    for (std::uint32_t i = 0; i < wanted.submits; ++i) {
      clients_.push_back(Client{&wanted});
      const std::size_t client = clients_.size() - 1;
      post(wanted.at + drawn(options_.latency_max), [this, client] { submit(client); });
    }
  for (const Asked& asked : asks_) post(asked.ask->at, [this] { look_for_asks(); });
  for (const auto* steps : {&scenario_.clock_steps, &options_.clock_steps})
    for (const ClockStep& step : *steps) post(step.at, [this, step] { set_clocks(step); });
  if (!remote_topics_.empty()) post(drawn(options_.latency_max), [this] { remote_poll(); });
  if (options_.heal_at.count() > 0) {
    post(options_.heal_at, [this] { store_.heal(); });
  }
  // One worker may have to do all the work, one attempt after the other.
  const auto work = static_cast<std::int64_t>(scenario_.jobs.size() * 64);
  const Duration patience = patience_min + options_.lease * 40 + options_.work_max * work;
  run_until([this] { return all_done(); }, options_.heal_at + patience);
  report_.took = clock_.monotonic();
  report_.calls_to_end = report_.calls;
  const bool calm = report_.fired == 0 && report_.crashes == 0 && random_faults_ == 0 && store_.reads_failed() == 0 &&
                    report_.letters_disturbed == 0 && report_.comings == 0;
  if (verdict_.ok() && calm && scenario_.took_max.count() > 0 && report_.took > scenario_.took_max)
    verdict_.fail("late", format("it took {} ms, and nothing was in the way", report_.took.count() / 1000));
  if (verdict_.ok() && !all_done())
    verdict_.fail("liveness", format("{} jobs are still open and {} parked, {} messages on their way after {} s",
                                     watch_.open_jobs(), watch_.parked_jobs(), watch_.in_transit(),
                                     report_.took.count() / 1'000'000));
  // Late replies, delayed commits, engines that come back: none of them may change anything.
  Duration rest = options_.lease * 3 + options_.work_max * 8;  // the slowest attempt may just have begun
  for (const PlannedFault& planned : options_.planned) rest += options_.lease * 2 * static_cast<int>(planned.calls);
  if (!options_.renewals) rest = std::max(rest, 2 * ring_late);  // a lost notification is noticed by then
  run_until([] { return false; }, clock_.monotonic() + rest);
  if (verdict_.ok()) check_end();
  if (verdict_.ok() && options_.renewals) lanes_.check_shares(clock_.monotonic());
  report_.lane_moves = lanes_.moves();
  report_.lanes_settled = lanes_.changed_at();
  report_.violation = verdict_.violation();
  report_.trace = trace_.value();
  report_.runs = journal_.begins();
  report_.rows_max = watch_.figures().rows_max;
  report_.bundles = watch_.figures().bundles;
  report_.first_steps = watch_.figures().first_steps;
  report_.sent_across = watch_.figures().sent_across;
  report_.reads_failed = store_.reads_failed();
  return report_;
}

WorldReport run_world(const Scenario& scenario, const WorldOptions& options) { return World(scenario, options).run(); }

}  // namespace pawl::sim
