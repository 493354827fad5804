// Is a store as quick with ten million finished jobs in it as an empty one? In turns, each in a separate process:
//
//   jobs of one activity and of ten per second, with random ids, against the same on an empty store; and how long a
//   process needs until it owns its lanes. On the large store also the time of list() and count() with each filter
//   that few jobs match, or none.
//
//   flat_bench [--jobs N] [--at-once N] [--measured N] [--rounds N] [--dir DIR] [--store FILE] [--only-fill 1]
//
// Prints one JSON object. `--store` takes a file that was filled before, or fills it and keeps it. When the disk lacks
// room, it takes as many jobs as fit.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "flat_fill.h"
#include "flat_jobs.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using pawl::bench::must;
constexpr std::uint32_t long_job = 10;
constexpr int timings = 3;  // of each filter, the median counts

struct Settings {
  std::uint64_t jobs = 1'000'000;
  std::uint32_t at_once = 1'024;
  std::uint32_t measured = 20'000;  // jobs of one activity; a fifth as many of ten
  std::uint32_t rounds = 3;
  bool only_fill = false;
  std::string dir = ".";
  std::string store;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    const std::uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    if (flag == "--jobs")
      settings.jobs = number;
    else if (flag == "--at-once")
      settings.at_once = static_cast<std::uint32_t>(number);
    else if (flag == "--measured")
      settings.measured = static_cast<std::uint32_t>(number);
    else if (flag == "--rounds")
      settings.rounds = static_cast<std::uint32_t>(number);
    else if (flag == "--only-fill")
      settings.only_fill = number != 0;
    else if (flag == "--dir")
      settings.dir = value;
    else if (flag == "--store")
      settings.store = value;
    else {
      fmt::print(stderr, "unknown option {}\n", flag);
      std::exit(2);
    }
  }
  return settings;
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string random_id() {
  static std::mt19937_64 random{std::random_device{}()};
  return fmt::format("{:016x}{:016x}", random(), random());
}

struct Figures {
  double start_ms = 0;
  double jobs = 0;   // of one activity, per second
  double steps = 0;  // activities per second, in jobs of ten
};

double rate(pawl::Runtime& runtime, const std::string& graph, std::uint32_t jobs, std::uint32_t at_once) {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t under_way = 0;
  const auto observed = runtime.observe([&](const pawl::Event& event) {
    if (event.kind != pawl::Event::Kind::job_closed) return;
    const std::lock_guard lock(mutex);
    --under_way;
    changed.notify_one();
  });
  const auto begin = Clock::now();
  for (std::uint32_t i = 0; i < jobs; ++i) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return under_way < at_once; });
      ++under_way;
    }
    runtime.start_async(graph, pawl::Payload("{}"), {.id = random_id()},
                        [](pawl::Result<pawl::Job<>> job) { must(std::move(job)); });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return under_way == 0; });
  return jobs / seconds_since(begin);
}

Figures measure(const std::string& path, const Settings& settings) {
  Figures figures;
  const auto begin = Clock::now();
  auto runtime = pawl::bench::open_flat(path);
  must(runtime->launch());
  while (!runtime->owns()) std::this_thread::sleep_for(100us);
  figures.start_ms = seconds_since(begin) * 1e3;
  rate(*runtime, "one", settings.measured / 10, settings.at_once);  // the caches of both have their first pages
  figures.jobs = rate(*runtime, "one", settings.measured, settings.at_once);
  figures.steps = rate(*runtime, "chain", settings.measured / 5, settings.at_once) * long_job;
  runtime->stop();
  return figures;
}

Figures measure_in_child(const std::string& path, const Settings& settings) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    const Figures figures = measure(path, settings);
    std::_Exit(write(ends[1], &figures, sizeof figures) == sizeof figures ? 0 : 1);
  }
  close(ends[1]);
  Figures figures;
  const bool whole = read(ends[0], &figures, sizeof figures) == sizeof figures;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!whole || status != 0) std::exit(1);
  return figures;
}

struct Search {
  std::string name;
  pawl::JobFilter filter;
};

pawl::Instant ago(pawl::Duration time) {
  return pawl::Instant::from_micros(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::system_clock::now().time_since_epoch() - time)
                                        .count());
}

std::vector<Search> searches(std::uint64_t jobs) {
  const pawl::Duration long_ago = std::chrono::milliseconds(jobs) + 24h;
  const auto middle = ago(std::chrono::milliseconds(jobs / 2));
  using pawl::JobStatus;
  using Label = pawl::JobFilter::Label;
  std::vector<Search> all;
  const auto add = [&](const char* name, pawl::JobFilter filter) { all.push_back({name, std::move(filter)}); };
  add("status, few", {.status = JobStatus::failed});
  add("status, none", {.status = JobStatus::parked});
  add("graph, few", {.graph = "mends"});
  add("graph, none", {.graph = "nowhere"});
  add("graph and status, few", {.status = JobStatus::failed, .graph = "one"});
  add("graph and status, none", {.status = JobStatus::parked, .graph = "one"});
  add("namespace, few", {.name_space = "aside"});
  add("namespace, none", {.name_space = "nowhere"});
  add("namespace and status, few", {.status = JobStatus::failed, .name_space = "default"});
  add("namespace and graph, few", {.name_space = "aside", .graph = "one"});
  add("namespace and graph, few of the graph", {.name_space = "default", .graph = "mends"});
  add("namespace and graph, none", {.name_space = "aside", .graph = "sold/sells"});
  add("where, few", {.where = {{"work", "errored"}}});
  add("where, none", {.where = {{"mend", "errored"}}});
  add("where and graph, few", {.graph = "one", .where = {{"work", "errored"}}});
  add("where and graph, none", {.graph = "sold/sells", .where = {{"work", "errored"}}});
  add("where started, none", {.where = {{"work", "started"}}});
  add("where skipped, few", {.graph = "mends", .where = {{"work", "skipped"}}});
  add("collation key, few", {.graph = "one", .collation_key = "67"});
  add("collation key, none", {.graph = "one", .collation_key = "77"});
  add("activity, few", {.activity = "work"});
  add("activity and graph, none", {.graph = "sold/sells", .activity = "work"});
  add("error, few", {.error = "card was refused"});
  add("error, none", {.error = "no such text"});
  add("code, few", {.code = 409});
  add("code, none", {.code = 999});
  add("since, none", {.since = ago(-24h)});
  add("until, none", {.until = ago(long_ago)});
  add("made between, few", {.since = middle, .until = pawl::Instant::from_micros(middle.micros() + 5'000)});
  add("ended since, none", {.ended_since = ago(-24h)});
  add("ended until, none", {.ended_until = ago(long_ago)});
  const auto behind = pawl::Instant::from_micros(middle.micros() + 5'000);
  add("ended between, few", {.ended_since = middle, .ended_until = behind});
  add("label, few", {.graph = "sold/sells", .label = Label{"shop", "south"}});
  add("label, none", {.graph = "sold/sells", .label = Label{"shop", "west"}});
  add("label and status, none", {.status = JobStatus::failed, .graph = "sold/sells", .label = Label{"shop", "north"}});
  add("label and error, none", {.graph = "sold/sells", .error = "refused", .label = Label{"shop", "north"}});
  add("key, none", {.graph = "sold/sells", .label = Label{"", "", "nowhere"}});
  return all;
}

double timed_ms(const std::function<void()>& what) {
  std::vector<double> times;
  for (int i = 0; i < timings; ++i) {
    const auto begin = Clock::now();
    what();
    times.push_back(seconds_since(begin) * 1e3);
    if (times.back() > 1'000) break;
  }
  return median(times);
}

// Returns the slowest of them.
double print_searches(const std::string& path, std::uint64_t jobs) {
  auto runtime = pawl::bench::open_flat(path);
  double slowest = 0;
  for (const Search& search : searches(jobs)) {
    std::uint64_t count = 0;
    std::size_t listed = 0;
    const double count_ms = timed_ms([&] { count = must(runtime->count(search.filter)); });
    pawl::JobFilter newest = search.filter;
    newest.order = pawl::JobOrder::newest_first;
    const double list_ms = timed_ms([&] { listed = must(runtime->list(newest)).size(); });
    if (listed != std::min<std::uint64_t>(count, newest.rows_max)) {
      fmt::print(stderr, "{}: counted {}, listed {}\n", search.name, count, listed);
      std::exit(1);
    }
    slowest = std::max({slowest, count_ms, list_ms});
    fmt::print("  \"{}\": {{\"jobs\": {}, \"count_ms\": {:.2f}, \"list_ms\": {:.2f}}},\n", search.name, count, count_ms,
               list_ms);
  }
  return slowest;
}

// The copies are jobs for the program too: some of them are read as its callers read them.
void check(const std::string& path, std::uint64_t jobs) {
  auto runtime = pawl::bench::open_flat(path);
  const auto page = must(runtime->list({.order = pawl::JobOrder::newest_first, .rows_max = 1'000}));
  if (page.size() != std::min<std::uint64_t>(jobs, 1'000)) std::exit(1);
  for (const pawl::JobView& row : page) {
    const auto job = must(runtime->find(row.id.raw()));
    if (!job || must(job->inspect()).activities.size() != 2) {
      fmt::print(stderr, "job {} was not copied whole\n", row.id.raw());
      std::exit(1);
    }
  }
}

std::uint64_t that_fit(const std::string& dir, std::uint64_t jobs) {
  const auto free_bytes = std::filesystem::space(dir).available;
  std::uint64_t fit = jobs;
  while (fit > 1'000 && pawl::bench::bytes_of(fit) > free_bytes) fit /= 2;
  if (fit < jobs) fmt::print(stderr, "the disk has {} MB: {} jobs instead of {}\n", free_bytes >> 20, fit, jobs);
  return fit;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings = parse(argc, argv);
  const bool keep = !settings.store.empty();
  const std::string full = keep ? settings.store : settings.dir + "/flat_bench.db";
  const std::string empty = settings.dir + "/flat_bench_empty.db";
  if (!keep || !std::filesystem::exists(full)) {
    settings.jobs = that_fit(settings.dir, settings.jobs);
    pawl::bench::fill(full, settings.jobs);
    check(full, settings.jobs);
  }
  if (settings.only_fill) return 0;
  std::vector<Figures> of_empty, of_full;
  for (std::uint32_t round = 0; round < settings.rounds; ++round) {
    pawl::bench::remove_store(empty);
    of_empty.push_back(measure_in_child(empty, settings));
    of_full.push_back(measure_in_child(full, settings));
  }
  pawl::bench::remove_store(empty);
  const auto of = [](const std::vector<Figures>& all, double Figures::*field) {
    std::vector<double> values;
    for (const Figures& one : all) values.push_back(one.*field);
    return median(std::move(values));
  };
  fmt::print("{{\n");
  const double slowest = print_searches(full, settings.jobs);
  for (const auto& [name, all] : {std::pair("empty", &of_empty), std::pair("full", &of_full)})
    fmt::print("  \"{}\": {{\"start_ms\": {:.1f}, \"jobs_per_second\": {:.0f}, \"steps_per_second\": {:.0f}}},\n", name,
               of(*all, &Figures::start_ms), of(*all, &Figures::jobs), of(*all, &Figures::steps));
  const auto ratio = [&](double Figures::*field) { return of(of_full, field) / std::max(of(of_empty, field), 1.0); };
  fmt::print("  \"jobs\": {}, \"bytes\": {}, \"slowest_search_ms\": {:.2f}, \"jobs_ratio\": {:.3f},"
             " \"steps_ratio\": {:.3f}\n}}\n",
             settings.jobs, std::filesystem::file_size(full), slowest, ratio(&Figures::jobs), ratio(&Figures::steps));
  if (!keep) pawl::bench::remove_store(full);
  return 0;
}
