// What the graph language costs: the same chain of workers as a C++ graph and as an app whose activities each map
// five references; a cycle of many rounds and a map over many items, whose cost per round must not grow.
//
//   graph_bench [--jobs N] [--concurrent N] [--rounds N] [--items N] [--dir DIR]
//
// Prints one JSON object. Compare only figures of one execution: absolute figures vary, ratios do not.
#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>

#include "jobs.h"
#include "pawl/pawl.h"

namespace {

using Clock = std::chrono::steady_clock;
using pawl::bench::must;
using pawl::bench::remove_store;
constexpr std::uint32_t activities_per_job = 10;

struct Settings {
  std::uint32_t jobs = 5'000;
  std::uint32_t concurrent = 1'000;
  std::uint32_t rounds = 10'000;
  std::uint32_t items = 10'000;
  std::string dir = ".";
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    const auto number = static_cast<std::uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    if (flag == "--jobs")
      settings.jobs = number;
    else if (flag == "--concurrent")
      settings.concurrent = number;
    else if (flag == "--rounds")
      settings.rounds = number;
    else if (flag == "--items")
      settings.items = number;
    else if (flag == "--dir")
      settings.dir = value;
    else {
      fmt::print(stderr, "unknown option {}\n", flag);
      std::exit(2);
    }
  }
  return settings;
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

long resident_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

std::string write_app(const std::string& dir, const std::string& name, const std::string& text) {
  const std::string path = dir + "/" + name + ".yaml";
  std::ofstream(path) << text;
  return path;
}

// Each worker gets five values of earlier activities.
std::string chain_app() {
  std::string activities = "        a0: {type: trigger}\n";
  std::string transitions;
  for (std::uint32_t i = 1; i <= activities_per_job; ++i) {
    const std::string before = fmt::format("a{}", i - 1);
    activities += fmt::format(
        "        a{0}: {{type: worker, topic: noop, input: {{maps: {{a: \"{{{1}.output.data.a}}\", b: "
        "\"{{{1}.output.data.b}}\", c: \"{{{1}.output.data.c}}\", d: \"{{{1}.output.data.d}}\", e: "
        "\"{{{1}.output.data.e}}\"}}}}}}\n",
        i, before);
    transitions += fmt::format("        {}: [{{to: a{}}}]\n", before, i);
  }
  return "app:\n  id: bench\n  version: 1\n  graphs:\n    - subscribes: chain\n      activities:\n" + activities +
         "      transitions:\n" + transitions;
}

constexpr const char* cycle_app = R"(app:
  id: cycles
  version: 1
  graphs:
    - subscribes: rounds
      activities:
        start: {type: trigger}
        again: {type: hook, cycle: true, output: {maps: {n: 1}}}
        work: {type: worker, topic: noop, input: {maps: {n: "{again.output.data.n}"}}}
        back:
          type: cycle
          ancestor: again
          input: {maps: {n: {"@pipe": [["{again.output.data.n}", 1], ["{@math.add}"]]}}}
      transitions:
        start: [{to: again}]
        again: [{to: work}]
        work:
          - to: back
            conditions:
              match: [{expected: true, actual: {"@pipe": [["{again.output.data.n}", "{start.output.data.rounds}"], ["{@conditional.less_than}"]]}}]
)";

constexpr const char* map_app = R"(app:
  id: maps
  version: 1
  graphs:
    - subscribes: items
      activities:
        start: {type: trigger}
        each: {type: map, items: "{start.output.data.list}", parallel: 100, collect: "{each.output.data.index}", join: done}
        work: {type: worker, topic: noop, input: {maps: {item: "{each.output.data.item}"}}}
        done: {type: join}
      transitions:
        start: [{to: each}]
        each: [{to: work}]
        work: [{to: done}]
)";

std::unique_ptr<pawl::Runtime> open(const std::string& path) {
  remove_store(path);
  pawl::RuntimeOptions options;
  options.store = path;
  options.worker_threads = 2;
  options.worker_queue = 65'536;
  auto runtime = std::make_unique<pawl::Runtime>(must(pawl::open(options)));
  static const pawl::Payload output(std::string(R"({"a":1,"b":"two","c":true,"d":4.5,"e":"five","rest":")") +
                                    std::string(150, 'x') + "\"}");
  must(runtime->serve("noop", [](pawl::Work&) { return pawl::Reply::success(output); }));
  return runtime;
}

// Activities per second with `concurrent` jobs at a time.
double throughput(const Settings& settings, pawl::Runtime& runtime) {
  const pawl::Payload input(R"({"a":1,"b":"two","c":true,"d":4.5,"e":"five"})");
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t open_jobs = 0;
  std::uint32_t ended = 0;
  runtime
      .observe([&](const pawl::Event& event) {
        if (event.kind != pawl::Event::Kind::job_closed) return;
        const std::lock_guard lock(mutex);
        --open_jobs;
        ++ended;
        changed.notify_one();
      })
      .keep();
  must(runtime.launch());
  const auto start = Clock::now();
  for (std::uint32_t i = 0; i < settings.jobs; ++i) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return open_jobs < settings.concurrent; });
    ++open_jobs;
    lock.unlock();
    runtime.start_async("chain", input, {.id = fmt::format("j{}", i)},
                        [](pawl::Result<pawl::Job<>> done) { must(std::move(done)); });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return ended == settings.jobs; });
  return settings.jobs * activities_per_job / seconds_since(start);
}

// Microseconds per round or item of one job.
double one_job(pawl::Runtime& runtime, const std::string& topic, std::string input, std::uint32_t count) {
  const auto start = Clock::now();
  const auto job =
      must(runtime.start(topic, pawl::Payload(std::move(input)), {.id = fmt::format("{}-{}", topic, count)}));
  const auto end = must(job.wait(std::chrono::minutes(10)));
  if (end.status != pawl::JobStatus::completed) {
    fmt::print(stderr, "{} of {} ended as {}: {}\n", topic, count, name_of(end.status), end.reason);
    std::exit(1);
  }
  return seconds_since(start) * 1e6 / count;
}

std::string list_of(std::uint32_t items) {
  std::string list = R"({"list":[)";
  for (std::uint32_t i = 0; i < items; ++i) list += fmt::format("{}{}", i == 0 ? "" : ",", i);
  return list + "]}";
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const std::string path = settings.dir + "/graph_bench.db";
  double plain = 0;
  double mapped = 0;
  {
    auto runtime = open(path);
    must(runtime->deploy(pawl::bench::chain(activities_per_job)));
    plain = throughput(settings, *runtime);
  }
  {
    auto runtime = open(path);
    must(runtime->deploy(pawl::AppFile{write_app(settings.dir, "graph_bench_chain", chain_app())}));
    mapped = throughput(settings, *runtime);
  }
  auto runtime = open(path);
  must(runtime->deploy(pawl::AppFile{write_app(settings.dir, "graph_bench_cycle", cycle_app)}));
  must(runtime->deploy(pawl::AppFile{write_app(settings.dir, "graph_bench_map", map_app)}));
  must(runtime->launch());
  const std::uint32_t few = 100;
  const auto rounds = [](std::uint32_t count) { return fmt::format(R"({{"rounds":{}}})", count); };
  const double few_rounds = one_job(*runtime, "rounds", rounds(few), few);
  const double many_rounds = one_job(*runtime, "rounds", rounds(settings.rounds), settings.rounds);
  const double few_items = one_job(*runtime, "items", list_of(few), few);
  const double many_items = one_job(*runtime, "items", list_of(settings.items), settings.items);
  runtime->stop();
  remove_store(path);
  fmt::print(
      "{{\"plain_activities_per_second\":{:.0f},\"mapped_activities_per_second\":{:.0f},\"mapped_ratio\":{:.3f},"
      "\"cycle\":{{\"few\":{},\"us_per_round_few\":{:.1f},\"rounds\":{},\"us_per_round\":{:.1f},\"ratio\":{:.3f}}},"
      "\"map\":{{\"few\":{},\"us_per_item_few\":{:.1f},\"items\":{},\"us_per_item\":{:.1f},\"ratio\":{:.3f}}},"
      "\"resident_kilobytes_max\":{}}}\n",
      plain, mapped, mapped / plain, few, few_rounds, settings.rounds, many_rounds, many_rounds / few_rounds, few,
      few_items, settings.items, many_items, many_items / few_items, resident_kilobytes());
}
