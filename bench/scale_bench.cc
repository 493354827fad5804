// Does the cost of an activity grow with the job it belongs to? Per activity, in wall and processor time:
//
//   one after the other:  a chain of N steps            against  N/10 jobs of 10 steps, one at a time
//   all at once:          a fan-out from 1 to N workers  against  N/10 jobs of 10 steps, at the same time
//   beside a crowd:       N/10 jobs of 10 steps while W jobs wait for something that does not come, against the same
//                         jobs alone; and the memory of a waiting job
//   as wide as it gets:   a fan-out to 19,900 workers (a graph has at most 20,000 activities) against 199 to 100, all
//                         at once, with a worker_queue that has room for all of them, and with the usual one; a map
//                         over I items, 100 of them in progress, against I/100 maps over 100, one after the other
//   in both forms:        I/1000 fan-outs to 1,000 workers as a C++ graph, as YAML, and as YAML in which each worker
//                         maps its input
//
//   scale_bench [--activities N] [--waiting W] [--items I] [--rounds N] [--only NAME[,NAME]] [--dir DIR]
//
// Prints one JSON object. Each figure is the median of all rounds; the cases take turns, each in a separate process, so
// that a noisy minute hits all of them and none inherits another's memory.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "jobs.h"
#include "pawl/pawl.h"

namespace {

using Clock = std::chrono::steady_clock;
using pawl::bench::must;
constexpr std::uint32_t short_chain = 10;
constexpr std::uint32_t few = 100;          // items of a small fan-out or map
constexpr std::uint32_t widest = 19'900;    // fan-out: a graph has at most 20,000 activities
constexpr std::uint32_t yaml_width = 1000;  // of a fan-out in YAML: a graph with expressions is not much larger
constexpr std::uint32_t under_way_max = 20'000;  // submits that are not at rest yet

struct Settings {
  std::uint32_t activities = 10'000;
  std::uint32_t waiting = 50'000;
  std::uint32_t items = 100'000;
  std::uint32_t rounds = 5;
  std::string only;
  std::string dir = ".";
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    const auto number = static_cast<std::uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    if (flag == "--activities")
      settings.activities = number;
    else if (flag == "--waiting")
      settings.waiting = number;
    else if (flag == "--items")
      settings.items = number;
    else if (flag == "--rounds")
      settings.rounds = number;
    else if (flag == "--only")
      settings.only = value;
    else if (flag == "--dir")
      settings.dir = value;
    else {
      fmt::print(stderr, "unknown option {}\n", flag);
      std::exit(2);
    }
  }
  if (settings.activities < short_chain || settings.items < yaml_width || settings.rounds == 0) {
    fmt::print(stderr, "at least {} activities, {} items and one round\n", short_chain, yaml_width);
    std::exit(2);
  }
  return settings;
}

struct Figure {
  double wall_us = 0;  // per activity, from the first submit until the last job is closed
  double cpu_us = 0;
  double rows = 0;
  double commits = 0;
  double first_tenth_us = 0;  // of one job's steps: the time between two calls of the worker
  double last_tenth_us = 0;
  double peak_mb = 0;
  double waiting_us = 0;  // per waiting job: from its submit until it waits
  double waiting_bytes = 0;
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Case {
  const char* name;
  pawl::AppText graph;
  const char* graph_name;
  std::uint32_t activities;  // in all
  std::uint32_t jobs;
  std::uint32_t at_once;      // jobs open at the same time
  std::uint32_t waiting = 0;  // jobs that wait meanwhile
  std::string input = "{}";
  // requests claimed for the workers as they are made; the others cost one row write more
  std::uint32_t queue = pawl::RuntimeOptions{}.worker_queue;
};

// A trigger and `width` workers in parallel.
pawl::AppText yaml_fan_out(std::uint32_t width, const std::string& worker) {
  std::string activities;
  std::string children;
  for (std::uint32_t i = 0; i < width; ++i) {
    activities += fmt::format("        a{}: {}\n", i, worker);
    children += fmt::format("{}{{to: a{}}}", i == 0 ? "" : ", ", i);
  }
  return pawl::AppText("app:\n  id: fans\n  version: 1\n  graphs:\n    - subscribes: yaml.fan\n      activities:\n"
                       "        start: {type: trigger}\n" +
                       activities + "      transitions:\n        start: [" + children + "]\n");
}

const char* const map_app = R"(app:
  id: maps
  version: 1
  graphs:
    - subscribes: items
      activities:
        start: {type: trigger}
        each:
          type: map
          items: "{start.output.data.list}"
          parallel: 100
          collect: "{each.output.data.index}"
          join: done
        work: {type: worker, topic: noop, input: {maps: {item: "{each.output.data.item}"}}}
        done: {type: join}
      transitions:
        start: [{to: each}]
        each: [{to: work}]
        work: [{to: done}]
)";

std::string list_of(std::uint32_t items) {
  std::string list = R"({"list":[)";
  for (std::uint32_t i = 0; i < items; ++i) list += fmt::format("{}{}", i == 0 ? "" : ",", i);
  return list + "]}";
}

pawl::AppText waits() {
  return must(pawl::GraphBuilder("waits").trigger("start").worker("never", "nobody").after("start").build());
}

double resident_bytes() {
  double pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    unsigned long all = 0;
    unsigned long resident = 0;
    if (std::fscanf(file, "%lu %lu", &all, &resident) == 2) pages = static_cast<double>(resident);
    std::fclose(file);
  }
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void submit_waiting(pawl::Runtime& runtime, std::uint32_t number) {
  runtime.start_async("waits", pawl::Payload("{}"), {.id = fmt::format("waiting-{}", number)},
                      [](pawl::Result<pawl::Job<>> result) { must(std::move(result)); });
}

Figure run(const Case& what, const std::string& path) {
  pawl::bench::remove_store(path);
  auto runtime = std::make_unique<pawl::Runtime>(
      must(pawl::open({.store = path, .worker_threads = 2, .worker_queue = what.queue})));
  must(runtime->deploy(what.graph));
  if (what.waiting > 0) must(runtime->deploy(waits()));
  std::mutex calls_mutex;
  std::vector<Clock::time_point> calls;
  calls.reserve(what.activities);
  must(runtime->serve("noop", [&, output = pawl::Payload(std::string(200, 'x'))](pawl::Work&) {
    const std::lock_guard lock(calls_mutex);
    calls.push_back(Clock::now());
    return pawl::Reply::success(output);
  }));
  runtime->on_problem([](const std::string& text) { fmt::print(stderr, "{}\n", text); }).keep();

  const pawl::Payload input(what.input);
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t submitted = 0;
  std::uint32_t closed = 0;
  std::uint32_t at_rest = 0;
  const auto submit_next = [&] {  // REQUIRES: mutex held
    if (submitted >= what.jobs) return;
    runtime->start_async(what.graph_name, input, {.id = fmt::format("job-{}", submitted++)},
                         [](pawl::Result<pawl::Job<>> result) { must(std::move(result)); });
  };
  runtime
      ->observe([&](const pawl::Event& event) {
        const bool rests = event.kind == pawl::Event::Kind::activity_opened && event.activity.raw() == "never";
        if (event.kind != pawl::Event::Kind::job_closed && !rests) return;
        const std::lock_guard lock(mutex);
        if (rests) {
          if (++at_rest % 1000 == 0 || at_rest == what.waiting) changed.notify_all();
          return;
        }
        ++closed;
        submit_next();
        if (closed == what.jobs) changed.notify_all();
      })
      .keep();
  must(runtime->launch());
  while (!runtime->owns()) usleep(1000);
  Figure figure;
  if (what.waiting > 0) {
    const double empty = resident_bytes();
    const auto begin_waiting = Clock::now();
    std::unique_lock lock(mutex);
    for (std::uint32_t i = 0; i < what.waiting; ++i) {
      lock.unlock();
      submit_waiting(*runtime, i);
      lock.lock();
      changed.wait(lock, [&] { return i + 1 - at_rest < under_way_max; });
    }
    changed.wait(lock, [&] { return at_rest == what.waiting; });
    figure.waiting_us = std::chrono::duration<double, std::micro>(Clock::now() - begin_waiting).count() / what.waiting;
    figure.waiting_bytes = (resident_bytes() - empty) / what.waiting;
  }
  const auto before = runtime->stats();
  const double cpu_before = cpu_seconds();
  const auto begin = Clock::now();
  std::unique_lock lock(mutex);
  for (std::uint32_t i = 0; i < what.at_once; ++i) submit_next();
  changed.wait(lock, [&] { return closed == what.jobs; });
  lock.unlock();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const double cpu = cpu_seconds() - cpu_before;
  const auto after = runtime->stats();
  runtime->stop();
  runtime.reset();
  pawl::bench::remove_store(path);

  figure.wall_us = seconds * 1e6 / what.activities;
  figure.cpu_us = cpu * 1e6 / what.activities;
  figure.rows = static_cast<double>(after.row_writes - before.row_writes) / what.activities;
  figure.commits = static_cast<double>(after.commits - before.commits) / what.activities;
  const auto median_step = [&](std::size_t from, std::size_t to) {
    std::vector<double> steps;
    for (std::size_t i = std::max<std::size_t>(from, 1); i < to && i < calls.size(); ++i)
      steps.push_back(std::chrono::duration<double, std::micro>(calls[i] - calls[i - 1]).count());
    return median(std::move(steps));
  };
  if (what.jobs == 1) {
    figure.first_tenth_us = median_step(0, calls.size() / 10);
    figure.last_tenth_us = median_step(calls.size() * 9 / 10, calls.size());
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  figure.peak_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  return figure;
}

Figure run_in_child(const Case& what, const std::string& path) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    const Figure figure = run(what, path);
    const bool sent = write(ends[1], &figure, sizeof figure) == static_cast<ssize_t>(sizeof figure);
    std::_Exit(sent ? 0 : 1);
  }
  close(ends[1]);
  Figure figure;
  const bool read_all = read(ends[0], &figure, sizeof figure) == static_cast<ssize_t>(sizeof figure);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!read_all || status != 0) {
    fmt::print(stderr, "{} failed\n", what.name);
    std::exit(1);
  }
  return figure;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const std::uint32_t steps = settings.activities;
  const std::uint32_t items = settings.items;
  const std::uint32_t jobs = steps / short_chain;
  const std::uint32_t fans = items / yaml_width;
  const std::uint32_t width = std::min(items, widest);
  const char* const worker = "{type: worker, topic: noop}";
  const char* const mapping = R"({type: worker, topic: noop, input: {maps: {n: "{start.output.data.n}"}}})";
  const std::vector<Case> cases = {
      {"short_jobs_one_by_one", pawl::bench::chain(short_chain), "chain", steps, jobs, 1},
      {"long_chain", pawl::bench::chain(steps), "chain", steps, 1, 1},
      {"short_jobs_at_once", pawl::bench::chain(short_chain), "chain", steps, jobs, jobs},
      {"fan_out", pawl::bench::fan_out(steps), "fan", steps, 1, 1},
      {"short_jobs_beside_waiting", pawl::bench::chain(short_chain), "chain", steps, jobs, jobs, settings.waiting},
      {"fan_outs_of_100", pawl::bench::fan_out(few), "fan", width, width / few, width / few, 0, "{}", widest},
      {"wide_fan_out", pawl::bench::fan_out(width), "fan", width, 1, 1, 0, "{}", widest},
      {"wide_fan_out_short_queue", pawl::bench::fan_out(width), "fan", width, 1, 1},
      {"maps_of_100", pawl::AppText(map_app), "items", items, items / few, 1, 0, list_of(few)},
      {"wide_map", pawl::AppText(map_app), "items", items, 1, 1, 0, list_of(items)},
      {"fan_outs_in_cpp", pawl::bench::fan_out(yaml_width), "fan", items, fans, fans, 0, R"({"n":1})"},
      {"fan_outs_in_yaml", yaml_fan_out(yaml_width, worker), "yaml.fan", items, fans, fans, 0, R"({"n":1})"},
      {"fan_outs_in_yaml_mapped", yaml_fan_out(yaml_width, mapping), "yaml.fan", items, fans, fans, 0, R"({"n":1})"},
  };
  const auto wanted = [&](const std::string& name) {
    return settings.only.empty() || ("," + settings.only + ",").find("," + name + ",") != std::string::npos;
  };
  const std::string dir = settings.dir + fmt::format("/pawl-scale-{}", getpid());
  std::filesystem::create_directories(dir);
  std::map<std::string, std::vector<Figure>> figures;
  for (std::uint32_t round = 0; round < settings.rounds; ++round)
    for (const Case& one : cases)
      if (wanted(one.name)) figures[one.name].push_back(run_in_child(one, dir + "/scale.db"));
  std::filesystem::remove_all(dir);

  const auto of = [&](const char* name, double Figure::*field) {
    std::vector<double> values;
    for (const Figure& figure : figures[name]) values.push_back(figure.*field);
    return median(std::move(values));
  };
  const auto ratio = [&](const char* name, const char* reference, double Figure::*field) {
    const double base = of(reference, field);
    return base == 0 ? 0 : of(name, field) / base;
  };
  fmt::print("{{\n  \"activities\": {}, \"items\": {}, \"rounds\": {}, \"synchronous\": \"FULL\",\n", steps, items,
             settings.rounds);
  for (const Case& one : cases) {
    if (!wanted(one.name)) continue;
    fmt::print(
        "  \"{0}\": {{\"wall_us_per_activity\": {1:.2f}, \"cpu_us_per_activity\": {2:.2f}, \"rows_per_activity\": "
        "{3:.2f},"
        " \"commits_per_activity\": {4:.4f}, \"peak_mb\": {5:.1f}}},\n",
        one.name, of(one.name, &Figure::wall_us), of(one.name, &Figure::cpu_us), of(one.name, &Figure::rows),
        of(one.name, &Figure::commits), of(one.name, &Figure::peak_mb));
  }
  fmt::print("  \"long_chain_step_p50_us\": {{\"first_tenth\": {:.2f}, \"last_tenth\": {:.2f}}},\n",
             of("long_chain", &Figure::first_tenth_us), of("long_chain", &Figure::last_tenth_us));
  fmt::print("  \"long_chain_ratio\": {{\"wall\": {:.3f}, \"cpu\": {:.3f}}},\n",
             ratio("long_chain", "short_jobs_one_by_one", &Figure::wall_us),
             ratio("long_chain", "short_jobs_one_by_one", &Figure::cpu_us));
  fmt::print("  \"waiting_jobs\": {}, \"bytes_per_waiting_job\": {:.0f}, \"us_per_waiting_job\": {:.2f},\n",
             settings.waiting, of("short_jobs_beside_waiting", &Figure::waiting_bytes),
             of("short_jobs_beside_waiting", &Figure::waiting_us));
  fmt::print("  \"beside_waiting_ratio\": {{\"wall\": {:.3f}, \"cpu\": {:.3f}}},\n",
             ratio("short_jobs_beside_waiting", "short_jobs_at_once", &Figure::wall_us),
             ratio("short_jobs_beside_waiting", "short_jobs_at_once", &Figure::cpu_us));
  const struct {
    const char* name;
    const char* of;
    const char* against;
  } ratios[] = {{"wide_fan_out_ratio", "wide_fan_out", "fan_outs_of_100"},
                {"wide_map_ratio", "wide_map", "maps_of_100"},
                {"yaml_fan_out_ratio", "fan_outs_in_yaml", "fan_outs_in_cpp"},
                {"yaml_mapped_fan_out_ratio", "fan_outs_in_yaml_mapped", "fan_outs_in_cpp"},
                {"fan_out_ratio", "fan_out", "short_jobs_at_once"}};
  for (const auto& one : ratios)
    fmt::print("  \"{}\": {{\"wall\": {:.3f}, \"cpu\": {:.3f}}}{}\n", one.name,
               ratio(one.of, one.against, &Figure::wall_us), ratio(one.of, one.against, &Figure::cpu_us),
               &one == std::end(ratios) - 1 ? "\n}" : ",");
  return 0;
}
