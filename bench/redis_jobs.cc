#include "redis_jobs.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

#include "base/limits.h"
#include "jobs.h"
#include "pawl/pawl.h"
#include "runtime/local_runtime.h"
#include "runtime/open_store.h"
#include "store/redis/store.h"

namespace pawl::bench {

namespace {

namespace redis = store::redis;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// A runtime over a Redis store that can report what it did.
struct Opened {
  redis::Store* store = nullptr;  // owned by the runtime
  std::unique_ptr<Runtime> runtime;
};

Opened open_runtime(const std::string& url, std::uint32_t lanes, std::uint32_t connections = 0) {
  redis::Options options;
  options.accept_weaker = true;  // everysec is measured too
  if (connections != 0) options.connections = connections;
  auto store = must(redis::Store::open(url, options));
  Opened opened;
  opened.store = store.get();
  RuntimeOptions runtime_options;
  runtime_options.lanes = lanes == 0 ? store->usual_lanes() : lanes;
  runtime_options.worker_threads = 2;
  runtime_options.worker_queue = 65'536;
  const Pool pool("graphs");
  const store::Operation made = store::OpenPool{pool, runtime_options.lanes};
  must(store->commit({&made, 1}));
  const auto info = *must(store->read_pool(pool));
  runtime::OpenedStore parts;
  parts.duplex = &store->duplex();
  parts.store = std::move(store);
  parts.lease = limits::server_lease;
  parts.stats = [] { return RuntimeStats{}; };
  opened.runtime =
      std::make_unique<Runtime>(std::make_shared<runtime::LocalRuntime>(runtime_options, std::move(parts), info));
  opened.runtime->on_problem([](const std::string& text) { fmt::print(stderr, "{}\n", text); }).keep();
  return opened;
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double our_cpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

struct Counters {
  double commands = 0;
  double log_bytes = 0;
  double memory = 0;
  double cpu = 0;
};
Counters read_counters(const RedisServer& server) {
  return {server.commands(), server.info("persistence", "aof_current_size"), server.info("memory", "used_memory"),
          server.info("cpu", "used_cpu_user") + server.info("cpu", "used_cpu_sys")};
}

std::string name_of(std::uint32_t number) { return fmt::format("job-{}", number); }

// Starts `jobs` of them, not too many at once, and waits until all were taken.
void submit_all(Runtime& runtime, std::uint32_t jobs, const std::string& graph, StartOptions options) {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t under_way = 0;
  for (std::uint32_t i = 0; i < jobs; ++i) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return under_way < 4'000; });
    ++under_way;
    lock.unlock();
    options.id = name_of(i);
    runtime.start_async(graph, Payload("{}"), options, [&](Result<Job<>> result) {
      must(std::move(result));
      const std::lock_guard settled(mutex);
      --under_way;
      changed.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return under_way == 0; });
}

// Whether a message waits for the engine: a job that has not begun.
bool has_waiting(const RedisServer& server, redis::Store& store) {
  const auto pool = *must(store.read_pool(Pool("graphs")));
  for (std::uint32_t i = 0; i < pool.lanes; ++i)
    if (server.ask({"EXISTS", fmt::format("pawl:{{{}}}:waiting", pool.first.raw() + i)}).integer != 0) return true;
  return false;
}

// The bytes of each of `jobs` that stay open: what the server has more once `make` has submitted them, and nothing is
// left to do.
double bytes_per_job(const RedisServer& server, std::uint32_t jobs, std::uint32_t lanes,
                     const std::function<void(Runtime&, std::uint32_t)>& make) {
  Opened opened = open_runtime(server.url(), lanes);
  make(*opened.runtime, 0);
  must(opened.runtime->launch());
  while (!opened.runtime->owns()) std::this_thread::sleep_for(1ms);
  const double before = server.info("memory", "used_memory");
  make(*opened.runtime, jobs);
  while (has_waiting(server, *opened.store)) std::this_thread::sleep_for(10ms);
  opened.runtime->stop();
  opened.runtime.reset();
  return (server.info("memory", "used_memory") - before) / jobs;
}

}  // namespace

JobsFigure run_jobs(const std::string& url, const RedisServer* server, const JobsSettings& settings) {
  Opened opened = open_runtime(url, settings.lanes, settings.connections);
  Runtime& runtime = *opened.runtime;
  const bool is_wide = settings.width != 0;
  const std::string graph = is_wide ? "fan" : "chain";
  must(runtime.deploy(is_wide ? fan_out(settings.width) : chain(activities_per_job)));
  const Payload output(std::string(200, 'x'));
  must(runtime.serve("noop", [&](Work&) { return Reply::success(output); }));
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t submitted = 0;
  std::uint32_t closed = 0;
  const std::function<void()> submit_next = [&] {  // REQUIRES: mutex held
    if (submitted >= settings.jobs) return;
    runtime.start_async(graph, Payload("{}"), {.id = name_of(submitted++)},
                        [](Result<Job<>> result) { must(std::move(result)); });
  };
  runtime
      .observe([&](const Event& event) {
        if (event.kind != Event::Kind::job_closed) return;
        const std::lock_guard lock(mutex);
        ++closed;
        submit_next();
        if (closed == settings.jobs) changed.notify_all();
      })
      .keep();
  must(runtime.launch());
  while (!runtime.owns()) std::this_thread::sleep_for(1ms);
  const Counters before = server == nullptr ? Counters{} : read_counters(*server);
  const redis::Stats stats_before = opened.store->stats();
  const double cpu_before = our_cpu();
  const auto begin = Clock::now();
  std::unique_lock lock(mutex);
  for (std::uint32_t i = 0; i < settings.concurrent; ++i) submit_next();
  changed.wait(lock, [&] { return closed == settings.jobs; });
  lock.unlock();
  const double activities = settings.jobs * (is_wide ? settings.width : activities_per_job);
  JobsFigure figure;
  figure.activities_per_second = activities / seconds_since(begin);
  figure.our_cpu_us = (our_cpu() - cpu_before) / activities * 1e6;
  const redis::Stats stats = opened.store->stats();
  const auto groups = static_cast<double>(stats.groups - stats_before.groups);
  figure.operations_per_group = static_cast<double>(stats.operations - stats_before.operations) / groups;
  figure.round_trips_per_group = static_cast<double>(stats.round_trips - stats_before.round_trips) / groups;
  if (server != nullptr) {
    const Counters after = read_counters(*server);
    figure.commands = (after.commands - before.commands) / activities;
    figure.log_bytes = (after.log_bytes - before.log_bytes) / activities;
    figure.server_cpu_us = (after.cpu - before.cpu) / activities * 1e6;
    figure.bytes_per_job = (after.memory - before.memory) / settings.jobs;
  }
  runtime.stop();
  return figure;
}

std::vector<double> one_step_jobs(const std::string& url, std::uint32_t count, std::uint32_t lanes) {
  Opened opened = open_runtime(url, lanes);
  must(opened.runtime->deploy(chain(1)));
  must(opened.runtime->serve("noop", [](Work&) { return Reply::success(); }));
  must(opened.runtime->launch());
  std::vector<double> micros;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    const Job<> job = must(opened.runtime->start("chain", Payload("{}"), {.id = name_of(i)}));
    must(job.wait(60s));
    micros.push_back(seconds_since(begin) * 1e6);
  }
  opened.runtime->stop();
  std::sort(micros.begin(), micros.end());
  return micros;
}

double bytes_per_open_job(const RedisServer& server, std::uint32_t jobs, std::uint32_t lanes) {
  return bytes_per_job(server, jobs, lanes, [](Runtime& runtime, std::uint32_t count) {
    if (count == 0) must(runtime.deploy(chain(1)));
    submit_all(runtime, count, "chain", {});
  });
}

double bytes_per_delayed_job(const RedisServer& server, std::uint32_t jobs, std::uint32_t lanes) {
  return bytes_per_job(server, jobs, lanes, [](Runtime& runtime, std::uint32_t count) {
    if (count == 0) must(runtime.deploy(chain(1)));
    submit_all(runtime, count, "chain", {.delay = 24h * 365});
  });
}

double bytes_per_sleeping_job(const RedisServer& server, const std::string& dir, std::uint32_t jobs,
                              std::uint32_t lanes) {
  const std::string path = dir + "/sleeper.yaml";
  std::ofstream(path) << R"(app:
  id: sleepers
  version: 1
  graphs:
    - subscribes: sleeper
      activities:
        start: {type: trigger}
        rest: {type: hook, sleep: 31536000}
      transitions:
        start: [{to: rest}]
)";
  const double bytes = bytes_per_job(server, jobs, lanes, [&](Runtime& runtime, std::uint32_t count) {
    if (count == 0) must(runtime.deploy(pawl::AppFile{path}));
    submit_all(runtime, count, "sleeper", {});
  });
  std::filesystem::remove(path);
  return bytes;
}

}  // namespace pawl::bench
