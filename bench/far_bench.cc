// A remote store: how much of the speed is left when every read takes 1 ms and every commit 2 ms, and how long a start
// takes that finds many open jobs.
//
//   far_bench [--jobs N] [--concurrent N] [--lanes N] [--open N] [--read-us N] [--commit-us N] [--connections N]
//   [--islands 1] [--dir DIR]
//
// Prints one JSON object. Each figure is beside the same figure on the same file without the delays.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "far_store.h"
#include "jobs.h"
#include "pawl/pawl.h"
#include "runtime/local_runtime.h"
#include "runtime/open_store.h"

namespace {

using Clock = std::chrono::steady_clock;
using pawl::bench::chain;
using pawl::bench::FarStore;
using pawl::bench::must;
constexpr std::uint32_t activities_per_job = 10;
constexpr std::uint32_t fill_callers = 256;

struct Settings {
  std::uint32_t jobs = 10'000;
  std::uint32_t concurrent = 2'000;
  std::uint32_t lanes = 8;
  std::uint32_t open = 100'000;
  FarStore::Way way{std::chrono::milliseconds(1), std::chrono::milliseconds(2)};
  std::string dir = ".";
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const auto number = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
    if (flag == "--jobs")
      settings.jobs = number;
    else if (flag == "--concurrent")
      settings.concurrent = number;
    else if (flag == "--lanes")
      settings.lanes = number;
    else if (flag == "--open")
      settings.open = number;
    else if (flag == "--read-us")
      settings.way.read = pawl::Duration(number);
    else if (flag == "--commit-us")
      settings.way.commit = pawl::Duration(number);
    else if (flag == "--connections")
      settings.way.connections = number;
    else if (flag == "--islands")
      settings.way.islands = number != 0;
    else if (flag == "--dir")
      settings.dir = argv[i + 1];
    else {
      fmt::print(stderr, "unknown option {}\n", flag);
      std::exit(2);
    }
  }
  return settings;
}

// The file, with or without the delays.
struct Opened {
  std::unique_ptr<pawl::store::Store> file;  // behind the delays
  std::unique_ptr<pawl::Runtime> runtime;
};

Opened open(const Settings& settings, const std::string& path, bool far) {
  pawl::RuntimeOptions options;
  options.store = path;
  options.lanes = settings.lanes;
  options.worker_threads = 2;
  options.worker_queue = 65'536;
  auto store = must(pawl::runtime::open_store(options, pawl::process_clock()));
  const pawl::Pool pool("graphs");
  if (!must(store.store->read_pool(pool))) {
    const pawl::store::Operation made = pawl::store::OpenPool{pool, options.lanes};
    must(store.store->commit({&made, 1}));
  }
  const auto info = *must(store.store->read_pool(pool));
  Opened opened;
  if (far) {
    opened.file = std::move(store.store);
    store.store = std::make_unique<FarStore>(*opened.file, settings.way);
  }
  opened.runtime =
      std::make_unique<pawl::Runtime>(std::make_shared<pawl::runtime::LocalRuntime>(options, std::move(store), info));
  opened.runtime->on_problem([](const std::string& text) { fmt::print(stderr, "{}\n", text); }).keep();
  return opened;
}

double rate(const Settings& settings, const std::string& path, bool far) {
  pawl::bench::remove_store(path);
  Opened opened = open(settings, path, far);
  pawl::Runtime& runtime = *opened.runtime;
  must(runtime.deploy(chain(activities_per_job)));
  const pawl::Payload output(std::string(200, 'x'));
  must(runtime.serve("noop", [&](pawl::Work&) { return pawl::Reply::success(output); }));
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t submitted = 0;
  std::uint32_t closed = 0;
  const std::function<void()> submit_next = [&] {
    if (submitted >= settings.jobs) return;
    runtime.start_async("chain", pawl::Payload("{}"), {.id = fmt::format("job-{}", submitted++)},
                        [](pawl::Result<pawl::Job<>> result) { must(std::move(result)); });
  };
  runtime
      .observe([&](const pawl::Event& event) {
        if (event.kind != pawl::Event::Kind::job_closed) return;
        const std::lock_guard lock(mutex);
        ++closed;
        submit_next();
        if (closed == settings.jobs) changed.notify_all();
      })
      .keep();
  must(runtime.launch());
  const auto begin = Clock::now();
  std::unique_lock lock(mutex);
  for (std::uint32_t i = 0; i < settings.concurrent; ++i) submit_next();
  changed.wait(lock, [&] { return closed == settings.jobs; });
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  lock.unlock();
  runtime.stop();
  return settings.jobs * activities_per_job / seconds;
}

// Jobs wait on a topic without a worker, and then a worker starts.
void fill(const Settings& settings, const std::string& path) {
  pawl::bench::remove_store(path);
  Opened opened = open(settings, path, false);
  must(opened.runtime->deploy(chain(1)));
  must(opened.runtime->launch());
  std::vector<std::thread> callers;  // they wait when there is no room
  for (std::uint32_t caller = 0; caller < fill_callers; ++caller)
    callers.emplace_back([&, caller] {
      for (std::uint32_t i = caller; i < settings.open; i += fill_callers)
        must(opened.runtime->start("chain", pawl::Payload("{}"), {.id = fmt::format("open-{}", i)}));
    });
  for (std::thread& caller : callers) caller.join();
  opened.runtime->stop();
}

double recovery(const Settings& settings, const std::string& path, bool far) {
  fill(settings, path);
  std::atomic<std::uint32_t> closed{0};
  const auto begin = Clock::now();
  Opened opened = open(settings, path, far);
  must(opened.runtime->deploy(chain(1)));
  must(opened.runtime->serve("noop", [](pawl::Work&) { return pawl::Reply::success("{}"); }));
  opened.runtime
      ->observe([&](const pawl::Event& event) {
        if (event.kind == pawl::Event::Kind::job_closed) ++closed;
      })
      .keep();
  must(opened.runtime->launch());
  while (closed < settings.open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  opened.runtime->stop();
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const std::string path = settings.dir + "/far_bench.db";
  const double near = rate(settings, path, false);
  const double far = rate(settings, path, true);
  const double near_start = settings.open == 0 ? 0 : recovery(settings, path, false);
  const double far_start = settings.open == 0 ? 0 : recovery(settings, path, true);
  pawl::bench::remove_store(path);
  fmt::print(
      "{{\"lanes\": {}, \"concurrent\": {}, \"read_us\": {}, \"commit_us\": {}, \"connections\": {}, \"islands\": {},\n"
      " \"activities_per_second\": {:.0f}, \"far_activities_per_second\": {:.0f}, \"ratio\": {:.3f},\n"
      " \"open_jobs\": {}, \"recovery_seconds\": {:.2f}, \"far_recovery_seconds\": {:.2f}}}\n",
      settings.lanes, settings.concurrent, settings.way.read.count(), settings.way.commit.count(),
      settings.way.connections, settings.way.islands, near, far, far / near, settings.open, near_start, far_start);
}
