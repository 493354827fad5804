#include "sim/swarm.h"
#include "execute/test_graph.h"

#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"

namespace pawl::sim {

namespace {

using core::ReplyStatus;
constexpr std::uint64_t islands_percent = 30;
constexpr std::uint64_t reads_later_percent = 30;  // of the others
constexpr std::uint64_t comings_percent = 30;
constexpr Duration speaks_late = std::chrono::seconds(10);

class Drawer {
 public:
  Drawer(SwarmCase& drawn, std::uint64_t seed) : case_(drawn), random_(Random::mix(seed) ^ 0x5357'41524dULL) {}

  // `sends`: jobs that send to each other.
  void draw(bool sends) {
    if (chance(20) || sends) return draw_graphs();
    const std::uint64_t size = random_.below(100);
    jobs_ = 1 + (size < 70 ? random_.below(4) : size < 97 ? random_.below(20) : random_.below(200));
    const std::uint64_t graphs = 1 + random_.below(3);
    for (std::uint64_t i = 0; i < graphs; ++i) draw_graph(format("g{}", i));
    for (std::uint64_t i = 0; i < jobs_; ++i) draw_job(i, graphs);
    draw_options();
    case_.scenario.name = "swarm";
    case_.scenario.graphs = &case_.graphs;
  }

 private:
  // Jobs of the graph language that send to each other, in a random world.
  void draw_graphs() {
    static const std::vector<const Scenario*> of_graphs = [] {
      std::vector<const Scenario*> all;
      for (const Scenario& scenario : all_scenarios())
        if (scenario.is_graphs() && !scenario.endless) all.push_back(&scenario);
      return all;
    }();
    case_.scenario = *of_graphs[random_.below(of_graphs.size())];
    draw_options();
    case_.options.homes = chance(70);
  }

  bool chance(std::uint64_t percent) { return random_.below(100) < percent; }

  void draw_graph(const std::string& name) {
    GraphBuilder builder(name);
    builder.trigger("t");
    const std::uint64_t nodes = random_.below(jobs_ > 20 ? 4 : 9);
    std::vector<std::string> names = {"t"};
    for (std::uint64_t i = 0; i < nodes; ++i) {
      const std::string node = format("n{}", i);
      const std::string parent = chance(40) ? names.back() : names[random_.below(names.size())];
      Condition when = Condition::always();
      if (parent != "t" && chance(20)) when = chance(50) ? Condition::code(402) : Condition::error();
      const std::string topic = name + "." + node;
      builder.worker(node, topic).after(parent, when);
      case_.scenario.behaviours[topic] = draw_behaviour(nodes);
      if (chance(12)) make_slow(builder, case_.scenario.behaviours[topic]);
      names.push_back(node);
    }
    if (nodes == 1 && chance(50)) builder.result_of("n0");
    auto graph = execute::graph_of(builder);
    invariant(graph.ok(), "a drawn graph is valid");
    invariant(case_.graphs.add(std::move(*graph)).ok(), "a drawn graph is new");
  }

  // Some of its attempts get no reply, and their time runs out. An attempt that the world slows down is repeated.
  void make_slow(GraphBuilder& builder, Behaviour& behaviour) {
    using namespace std::chrono_literals;
    builder.timeouts(Timeouts().attempt(100ms)).retry(Retry().attempts(1000).first_delay(5ms).longest_delay(50ms));
    behaviour.status = ReplyStatus::success;
    behaviour.code = 200;
    behaviour.remote = false;  // a lease shorter than the attempt would hand it out again and again
    behaviour.gives_back = 0;
    behaviour.takes = 5ms;
    behaviour.silent_tries = 1 + static_cast<std::uint32_t>(random_.below(2));
    behaviour.hangs = chance(50);
  }

  Behaviour draw_behaviour(std::uint64_t nodes) {
    Behaviour behaviour;
    if (chance(15)) {
      behaviour.status = ReplyStatus::error;
      behaviour.code = chance(60) ? 402 : 500;
    }
    if (nodes <= 5 && chance(15)) behaviour.pendings = 1 + static_cast<std::uint32_t>(random_.below(3));
    behaviour.answers_twice = chance(10);
    behaviour.answers_late = chance(10);
    behaviour.remote = chance(10);
    if (behaviour.remote && chance(30)) behaviour.gives_back = 1;
    if (chance(10)) behaviour.padding = random_.below(chance(20) ? 64'000 : 4000);
    return behaviour;
  }

  void draw_job(std::uint64_t index, std::uint64_t graphs) {
    WantedJob job;
    job.id = format("j{}", index / (chance(20) ? 2 : 1));
    job.name_space = format("tenant{}", index % 3);
    job.graph = format("g{}", random_.below(graphs));
    job.submits = chance(10) ? 2 : 1;
    job.at = Duration(static_cast<std::int64_t>(random_.below(20'000)));
    const bool taken = std::any_of(case_.scenario.jobs.begin(), case_.scenario.jobs.end(), [&](const WantedJob& other) {
      return other.id == job.id && other.name_space == job.name_space;
    });
    if (!taken) case_.scenario.jobs.push_back(job);
  }

  void draw_options() {
    WorldOptions& options = case_.options;
    options.seed = random_.next();
    options.traces_bundles = true;
    options.engines = 1 + static_cast<std::uint32_t>(random_.below(5));
    options.lanes = 1 + static_cast<std::uint32_t>(random_.below(4));
    options.slots = 1 + static_cast<std::uint32_t>(random_.below(6));
    options.threads = 1 + static_cast<std::uint32_t>(random_.below(options.slots));
    options.fusion = chance(70) ? core::Fusion::on : core::Fusion::off;
    options.lease = std::chrono::milliseconds(chance(50) ? 20 + random_.below(200) : 1000 + random_.below(9000));
    options.hot_jobs_max = chance(30) ? random_.below(4) : 1000;
    options.bundles_per_group_max = chance(30) ? 1 + random_.below(4) : 1024;
    options.groups_out_max = chance(50) ? 1 : 2 + static_cast<std::uint32_t>(random_.below(3));
    if (chance(30)) {
      const auto drawn_bytes = [&] { return std::size_t{4096} << random_.below(6); };
      options.bytes_max = {drawn_bytes(), drawn_bytes(), drawn_bytes(), drawn_bytes()};
    }
    // Set back, and sometimes corrected again.
    if (chance(30)) {
      const Duration back = std::chrono::seconds(1 + static_cast<std::int64_t>(random_.below(7200)));
      const Duration at = std::chrono::milliseconds(random_.below(3000));
      options.clock_steps.push_back({at, -back});
      if (chance(50)) options.clock_steps.push_back({at + std::chrono::milliseconds(random_.below(3000)), back, true});
    }
    options.new_name_at_restart = chance(50);
    options.drift_ppm_max = chance(50) ? static_cast<std::int64_t>(random_.below(50'000)) : 0;
    options.latency_max = Duration(static_cast<std::int64_t>(10 + random_.below(2'000)));
    const auto work_max =
        static_cast<std::uint64_t>(options.lease.count()) * (chance(10) ? 2 : 1) / (chance(60) ? 20 : 1);
    options.work_max =
        Duration(static_cast<std::int64_t>(10 + random_.below(std::min<std::uint64_t>(work_max, 2'000'000))));
    for (std::uint32_t& rate : options.rates.per_thousand)
      if (chance(40)) rate = static_cast<std::uint32_t>(1 + random_.below(40));
    if (chance(30)) options.rates.read_failures_per_thousand = static_cast<std::uint32_t>(1 + random_.below(100));
    if (chance(40)) options.rates.pauses_per_thousand = static_cast<std::uint32_t>(1 + random_.below(30));
    if (chance(40)) options.rates.crashes_per_thousand = static_cast<std::uint32_t>(1 + random_.below(30));
    options.rates.budget = static_cast<std::uint32_t>(1 + random_.below(chance(50) ? 4 : 40));
    // With many faults a message may be entered often without causing them: then it must not be parked.
    options.reentries_max = options.rates.budget <= 4 ? limits::reentries_max : 500;
    options.guests = chance(30);
    if (chance(20)) options.rates.bells_lost_per_thousand = static_cast<std::uint32_t>(1 + random_.below(500));
    if (options.engines == 1 && chance(50)) options.renewals = options.new_name_at_restart = false;
    // No other engine gets such a lane while its engine is alive.
    for (const FaultKind kind : all_fault_kinds)
      if (!options.renewals && (kind == FaultKind::fenced || !is_of_files(kind)))
        options.rates.per_thousand[static_cast<std::size_t>(kind)] = 0;
    options.heal_at = options.lease * static_cast<std::int64_t>(2 + random_.below(6));
  }

  SwarmCase& case_;
  Random random_;
  std::uint64_t jobs_ = 0;
};

void draw_islands(WorldOptions& options, Random& random) {
  options.islands = options.reads_later = true;
  options.engines = 2 + static_cast<std::uint32_t>(random.below(4));
  options.lanes = 4 + static_cast<std::uint32_t>(random.below(13));
  options.renewals = true;
  options.homes = random.below(2) == 0;
  options.lane_clock_error_max = Duration(static_cast<std::int64_t>(random.below(5'000)));
  options.rates.letters_per_thousand = static_cast<std::uint32_t>(random.below(400));
  options.rates.letters_max = static_cast<std::uint32_t>(random.below(100));
}

// Engines that come late, leave and die for good, all of them before `until`; the first one stays.
void draw_comings(WorldOptions& options, Random& random, Duration until, Ends ends) {
  options.lanes = 4 + static_cast<std::uint32_t>(random.below(13));
  const auto moment = [&](Duration after) {
    return after +
           Duration(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>((until - after).count()))));
  };
  for (std::uint32_t engine = 1; engine < options.engines; ++engine) {
    Duration at{0};
    if (ends == Ends::none || random.below(2) == 0)
      options.comings.push_back({Coming::Kind::joins, engine, at = moment(Duration{0})});
    const std::uint64_t end = ends == Ends::none ? 2 : random.below(3);
    if (end == 0) options.comings.push_back({Coming::Kind::leaves, engine, moment(at)});
    if (end == 1) options.comings.push_back({Coming::Kind::dies, engine, moment(at)});
  }
}

}  // namespace

std::unique_ptr<SwarmCase> draw_case(std::uint64_t seed, bool islands_only) {
  auto drawn = std::make_unique<SwarmCase>();
  Random random(Random::mix(seed) ^ 0x15'1a4d'7357ULL);
  const bool islands = islands_only || random.below(100) < islands_percent;
  Drawer(*drawn, seed).draw(islands && random.below(2) == 0);
  if (islands) draw_islands(drawn->options, random);
  WorldOptions& options = drawn->options;
  if (!islands) options.reads_later = random.below(100) < reads_later_percent;
  const bool comings = options.renewals && options.engines > 1 && random.below(100) < comings_percent;
  if (comings) draw_comings(options, random, options.heal_at, Ends::some);
  // A late job sends to the others: under any faults, they have begun by then.
  for (WantedJob& job : drawn->scenario.jobs)
    if (job.at >= speaks_late) job.at = std::max(job.at, options.heal_at + 4 * options.lease);
  return drawn;
}

WorldOptions draw_comings(std::uint64_t seed, Ends ends) {
  Random random(Random::mix(seed) ^ 0xc0'3e5ULL);
  WorldOptions options;
  options.seed = seed;
  options.engines = 1 + static_cast<std::uint32_t>(seed % 5);
  options.new_name_at_restart = true;
  options.lease = std::chrono::milliseconds(60);
  options.work_max = std::chrono::milliseconds(20);
  options.heal_at = std::chrono::milliseconds(400);
  draw_comings(options, random, std::chrono::milliseconds(300), ends);
  return options;
}

void run_seed(std::uint64_t seed, SwarmTally& tally) {
  const auto drawn = draw_case(seed, tally.islands_only);
  drawn->options.prints = tally.prints;
  WorldReport report = run_world(drawn->scenario, drawn->options);
  ++tally.seeds;
  tally.jobs += drawn->scenario.jobs.size();
  tally.commits += report.calls;
  tally.fired += report.fired;
  tally.crashes += report.crashes;
  tally.reads_failed += report.reads_failed;
  tally.runs += report.runs;
  tally.islands += drawn->options.islands ? 1 : 0;
  tally.comings += report.comings;
  tally.lane_moves += report.lane_moves;
  tally.letters_disturbed += report.letters_disturbed;
  tally.simulated += report.took;
  if (!report.violation && seed % repeat_one_in == 0) {
    ++tally.repeated;
    const auto again = run_world(drawn->scenario, drawn->options);
    if (again.trace != report.trace)
      report.violation = Violation{"determinism", format("trace {:016x}, then {:016x}", report.trace, again.trace)};
  }
  if (report.violation)
    tally.failure = Failure{*report.violation, format("build/release/sim/sim --seeds 1 --first-seed {}{}", seed,
                                                      tally.islands_only ? " --islands" : "")};
}

}  // namespace pawl::sim
