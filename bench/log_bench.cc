// The log layout (log_store/) beside the SQLite store, the store in memory and the raw loops: what decision 096 says.
//
//   log_bench [--jobs N] [--concurrent N] [--open N] [--rounds N] [--dir DIR]
//
// Prints one JSON object. Compare only figures of one execution: absolute figures vary, ratios do not. With
// --opens NAME PATH it opens one file, and prints how long that took and how much memory the process has then.
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "jobs.h"
#include "log_store/group_codec.h"
#include "log_store/store.h"
#include "pawl/pawl.h"
#include "raw_loop.h"
#include "runtime/local_runtime.h"
#include "runtime/open_store.h"
#include "store/forward_store.h"

namespace {

using Clock = std::chrono::steady_clock;
using pawl::bench::chain;
using pawl::bench::must;
using pawl::bench::remove_store;
using Groups = std::vector<std::vector<pawl::store::Operation>>;
constexpr std::uint32_t activities_per_job = 10;
constexpr std::uint32_t fill_callers = 256;

struct Settings {
  std::uint32_t jobs = 20'000;
  std::uint32_t concurrent = 2'000;
  std::uint32_t open = 100'000;
  std::uint32_t rounds = 3;
  std::string dir = ".";
};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Keeps what passes, so that the same groups can be given to other stores.
class Recorder final : public pawl::store::ForwardStore {
 public:
  Recorder(std::unique_ptr<pawl::store::Store> inner, Groups& groups)
      : ForwardStore(*inner), owned_(std::move(inner)), groups_(groups) {}
  pawl::Result<std::vector<pawl::store::Outcome>> commit(std::span<const pawl::store::Operation> group) override {
    groups_.emplace_back(group.begin(), group.end());
    return ForwardStore::commit(group);
  }

 private:
  std::unique_ptr<pawl::store::Store> owned_;
  Groups& groups_;
};

const std::vector<std::string> kinds = {"sqlite", "log", "log_archive", "memory"};

pawl::runtime::OpenedStore open_kind(const std::string& kind, const std::string& path) {
  pawl::RuntimeOptions options;
  options.store = kind == "memory" ? ":memory:" : path;
  if (kind == "sqlite" || kind == "memory") return must(pawl::runtime::open_store(options, pawl::process_clock()));
  pawl::runtime::OpenedStore opened;
  opened.store = must(pawl::log_store::Store::open(
      path, {.clock = &pawl::process_clock(), .archives = kind == "log_archive"}));
  opened.lease = std::chrono::hours(24);
  opened.stats = [] { return pawl::RuntimeStats{}; };
  return opened;
}

std::unique_ptr<pawl::Runtime> run_on(pawl::runtime::OpenedStore store, std::uint32_t threads) {
  pawl::RuntimeOptions options;
  options.worker_threads = threads;
  options.worker_queue = 65'536;
  const pawl::Pool pool("graphs");
  if (!must(store.store->read_pool(pool))) {
    const pawl::store::Operation made = pawl::store::OpenPool{pool, 1};
    must(store.store->commit({&made, 1}));
  }
  const auto info = *must(store.store->read_pool(pool));
  auto runtime =
      std::make_unique<pawl::Runtime>(std::make_shared<pawl::runtime::LocalRuntime>(options, std::move(store), info));
  runtime->on_problem([](const std::string& text) { fmt::print(stderr, "{}\n", text); }).keep();
  return runtime;
}

struct Rate {
  double per_second = 0;
  double cpu_us = 0;  // of the process, per activity
};

Rate rate(const Settings& settings, pawl::runtime::OpenedStore store) {
  auto runtime = run_on(std::move(store), 2);
  must(runtime->deploy(chain(activities_per_job)));
  const pawl::Payload output(std::string(200, 'x'));
  must(runtime->serve("noop", [&](pawl::Work&) { return pawl::Reply::success(output); }));
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t submitted = 0;
  std::uint32_t closed = 0;
  const std::function<void()> submit_next = [&] {
    if (submitted >= settings.jobs) return;
    runtime->start_async("chain", pawl::Payload("{}"), {.id = fmt::format("job-{}", submitted++)},
                         [](pawl::Result<pawl::Job<>> result) { must(std::move(result)); });
  };
  runtime
      ->observe([&](const pawl::Event& event) {
        if (event.kind != pawl::Event::Kind::job_closed) return;
        const std::lock_guard lock(mutex);
        ++closed;
        submit_next();
        if (closed == settings.jobs) changed.notify_all();
      })
      .keep();
  must(runtime->launch());
  const std::clock_t cpu = std::clock();
  const auto begin = Clock::now();
  std::unique_lock lock(mutex);
  for (std::uint32_t i = 0; i < settings.concurrent; ++i) submit_next();
  changed.wait(lock, [&] { return closed == settings.jobs; });
  const double seconds = seconds_since(begin);
  const double used = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  lock.unlock();
  runtime->stop();
  const double activities = settings.jobs * activities_per_job;
  return {activities / seconds, used / activities * 1e6};
}

// The median time between two calls of the worker of one job, in microseconds.
double sequential(pawl::runtime::OpenedStore store) {
  auto runtime = run_on(std::move(store), 1);
  must(runtime->deploy(chain(100)));
  std::vector<Clock::time_point> calls;
  const pawl::Payload output(std::string(200, 'x'));
  must(runtime->serve("noop", [&](pawl::Work&) {
    calls.push_back(Clock::now());
    return pawl::Reply::success(output);
  }));
  must(runtime->launch());
  std::vector<double> micros;
  for (int job = 0; job < 10; ++job) {
    calls.clear();
    const auto started = must(runtime->start("chain", pawl::Payload("{}"), {.id = fmt::format("one-{}", job)}));
    must(started.wait(std::chrono::minutes(1)));
    for (std::size_t i = 1; i < calls.size(); ++i)
      micros.push_back(std::chrono::duration<double, std::micro>(calls[i] - calls[i - 1]).count());
  }
  runtime->stop();
  std::nth_element(micros.begin(), micros.begin() + static_cast<std::ptrdiff_t>(micros.size() / 2), micros.end());
  return micros[micros.size() / 2];
}

// The recorded groups again, without an engine: activities per second.
double commits_alone(pawl::store::Store& store, const Groups& groups, double activities) {
  const auto begin = Clock::now();
  std::size_t refused = 0;
  for (const auto& group : groups) {
    const auto outcomes = must(store.commit(group));
    refused += static_cast<std::size_t>(
        std::count_if(outcomes.begin(), outcomes.end(), [](const auto& one) { return !one.done(); }));
  }
  const double seconds = seconds_since(begin);
  if (refused > 0) fmt::print(stderr, "{} operations were refused: the figure means nothing\n", refused);
  return activities / seconds;
}

// One row per group and nothing else: the bytes are there already, and there is no state.
double appends_alone(const std::string& path, const Groups& groups, double activities) {
  remove_store(path);
  auto file = must(pawl::store::sqlite::Connection::open(
      {path, pawl::store::sqlite::Connection::Mode::create, "", std::chrono::seconds(1)}));
  must(file->execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 20000;"
                     "CREATE TABLE log(seq INTEGER PRIMARY KEY, at INTEGER, operations BLOB)"));
  std::vector<std::string> rows;
  for (const auto& group : groups) rows.push_back(pawl::log_store::encode_group(group));
  pawl::store::sqlite::Statement put;
  put.prepare(file->handle(), "INSERT INTO log(at, operations) VALUES(1, ?1)");
  const auto begin = Clock::now();
  for (const std::string& row : rows) put.run(pawl::store::sqlite::Blob{row});
  return activities / seconds_since(begin);
}

double megabytes_at(const std::string& path) {
  double bytes = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(path + suffix, missing);
    if (!missing) bytes += static_cast<double>(size);
  }
  return bytes / 1e6;
}

double resident_megabytes() {
  std::ifstream statm("/proc/self/statm");
  double all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

// Jobs that wait on a topic without a worker.
void fill(const Settings& settings, const std::string& kind, const std::string& path) {
  remove_store(path);
  auto runtime = run_on(open_kind(kind, path), 1);
  must(runtime->deploy(chain(activities_per_job)));
  must(runtime->launch());
  std::vector<std::thread> callers;
  for (std::uint32_t caller = 0; caller < fill_callers; ++caller)
    callers.emplace_back([&, caller] {
      for (std::uint32_t i = caller; i < settings.open; i += fill_callers)
        must(runtime->start("chain", pawl::Payload("{}"), {.id = fmt::format("open-{}", i)}));
    });
  for (std::thread& caller : callers) caller.join();
  runtime->stop();
}

int opens(const std::string& kind, const std::string& path) {
  const double before = resident_megabytes();
  const auto begin = Clock::now();
  auto opened = open_kind(kind, path);
  const double seconds = seconds_since(begin);
  const double memory = resident_megabytes() - before;
  fmt::print("{{\"seconds\": {:.3f}, \"resident_mb\": {:.1f}, \"file_mb\": {:.1f}", seconds, memory,
             megabytes_at(path));
  if (auto* log = dynamic_cast<pawl::log_store::Store*>(opened.store.get())) {
    const auto snapshot = must(log->measure_snapshot());
    fmt::print(", \"snapshot\": {{\"jobs\": {}, \"mb\": {:.1f}, \"write_seconds\": {:.2f}, \"read_seconds\": {:.2f}}}",
               snapshot.jobs, static_cast<double>(snapshot.bytes) / 1e6, snapshot.write_seconds, snapshot.read_seconds);
  }
  fmt::print("}}\n");
  return 0;
}

// In a process of its own: memory that was freed here would hide what the store takes.
std::string opened_apart(const char* self, const std::string& kind, const std::string& path) {
  const std::string command = fmt::format("{} --opens {} {}", self, kind, path);
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "null";
  char line[1024] = {};
  const bool told = std::fgets(line, sizeof line, pipe) != nullptr;
  pclose(pipe);
  std::string text = told ? line : "null";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const auto number = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
    if (flag == "--jobs")
      settings.jobs = number;
    else if (flag == "--concurrent")
      settings.concurrent = number;
    else if (flag == "--open")
      settings.open = number;
    else if (flag == "--rounds")
      settings.rounds = number;
    else if (flag == "--dir")
      settings.dir = argv[i + 1];
    else {
      fmt::print(stderr, "unknown option {}\n", flag);
      std::exit(2);
    }
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--opens") return opens(argv[2], argv[3]);
  const Settings settings = parse(argc, argv);
  const std::string path = settings.dir + "/log_bench.db";
  const double activities = settings.jobs * activities_per_job;

  // Engine and store together, in turns.
  std::map<std::string, std::vector<double>> rates, cpu;
  std::map<std::string, std::string> opened_after;
  for (std::uint32_t round = 0; round < settings.rounds; ++round)
    for (const std::string& kind : kinds) {
      remove_store(path);
      const Rate one = rate(settings, open_kind(kind, path));
      rates[kind].push_back(one.per_second);
      cpu[kind].push_back(one.cpu_us);
      if (round == 0 && kind != "memory") opened_after[kind] = opened_apart(argv[0], kind, path);
    }

  Groups groups;
  {
    remove_store(path);
    auto recorded = open_kind("log", path);
    recorded.store = std::make_unique<Recorder>(std::move(recorded.store), groups);
    rate(settings, std::move(recorded));
  }
  std::map<std::string, double> alone;
  for (const std::string& kind : kinds) {
    remove_store(path);
    auto opened = open_kind(kind, path);
    alone[kind] = commits_alone(*opened.store, groups, activities);
  }
  const double appends = appends_alone(path, groups, activities);
  const double operations_per_group = [&] {
    double all = 0;
    for (const auto& group : groups) all += static_cast<double>(group.size());
    return all / static_cast<double>(groups.size());
  }();
  remove_store(path);
  const double rows = pawl::bench::row_layout_loop(path, settings.concurrent, activities_per_job * 5, 256,
                                                   pawl::bench::Legs::both)
                          .activities_per_second;
  const auto bare = pawl::bench::bare_commits(path, 1'000);

  std::map<std::string, double> steps;
  for (const std::string& kind : kinds) {
    remove_store(path);
    steps[kind] = sequential(open_kind(kind, path));
  }
  std::map<std::string, std::string> opened_open;
  for (const char* kind : {"sqlite", "log_archive"}) {
    fill(settings, kind, path);
    opened_open[kind] = opened_apart(argv[0], kind, path);
  }
  remove_store(path);

  fmt::print("{{\"jobs\": {}, \"concurrent\": {}, \"operations_per_group\": {:.0f},\n \"row_loop\": {:.0f}, ",
             settings.jobs, settings.concurrent, operations_per_group, rows);
  fmt::print("\"append_loop\": {:.0f}, \"bare_commit_us\": {:.0f}", appends, bare[bare.size() / 2]);
  for (const std::string& kind : kinds)
    fmt::print(",\n \"{}\": {{\"activities_per_second\": {:.0f}, \"cpu_us\": {:.1f}, \"commits_alone\": {:.0f}, "
               "\"step_us\": {:.0f}}}",
               kind, median(rates[kind]), median(cpu[kind]), alone[kind], steps[kind]);
  for (const auto& [kind, text] : opened_after) fmt::print(",\n \"{}_opened_after\": {}", kind, text);
  for (const auto& [kind, text] : opened_open) fmt::print(",\n \"{}_with_{}_open\": {}", kind, settings.open, text);
  fmt::print("}}\n");
}
