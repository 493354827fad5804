// How much one part of the work disturbs another.
//
// never_pauses: one caller runs jobs of one activity, one after the other; then again beside a job that never waits.
// guest: many jobs wait on a topic without a worker; the same caller continues while another process submits a job from
// time to time. `worst_ms` is the longest time of one job of the caller.
//
//   flow_bench [--jobs N] [--waiting N] [--dir DIR]
//
// Prints one JSON object. Compare only figures of one execution: absolute figures vary, ratios do not.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "jobs.h"
#include "pawl/pawl.h"

namespace {

using Clock = std::chrono::steady_clock;
using pawl::bench::must;
using pawl::bench::remove_store;

constexpr std::uint32_t guest_submits = 5;
constexpr auto guest_pause = std::chrono::milliseconds(300);

constexpr const char* spin_app = R"(app:
  id: spin
  version: 1
  graphs:
    - subscribes: spin
      activities:
        start: {type: trigger}
        again: {type: hook}
        step: {type: hook}
        back: {type: cycle, ancestor: again}
      transitions:
        start: [{to: again}]
        again: [{to: step}]
        step: [{to: back}]
)";

struct Settings {
  std::uint32_t jobs = 2'000;
  std::uint32_t waiting = 150'000;
  std::string dir = ".";
};

struct Latency {
  double p50_ms = 0, p99_ms = 0, worst_ms = 0;
};

Latency latency_of(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  return {ms[ms.size() / 2], ms[ms.size() * 99 / 100], ms.back()};
}

std::unique_ptr<pawl::Runtime> open(const std::string& path) {
  pawl::RuntimeOptions options;
  options.store = path;
  options.worker_threads = 2;
  auto runtime = std::make_unique<pawl::Runtime>(must(pawl::open(options)));
  must(runtime->serve("noop", [](pawl::Work&) { return pawl::Reply::success("{}"); }));
  must(runtime->deploy(pawl::bench::chain(1)));
  must(runtime->deploy(must(pawl::GraphBuilder("idle").trigger("t").worker("w", "nobody").after("t").build())));
  return runtime;
}

double run_one(pawl::Runtime& runtime, const std::string& id) {
  const auto start = Clock::now();
  const auto job = must(runtime.start("chain", pawl::Payload("{}"), {.id = id}));
  must(job.wait(std::chrono::minutes(1)));
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Latency run_jobs(pawl::Runtime& runtime, const std::string& name, std::uint32_t jobs) {
  std::vector<double> ms;
  for (std::uint32_t i = 0; i < jobs; ++i) ms.push_back(run_one(runtime, fmt::format("{}-{}", name, i)));
  return latency_of(std::move(ms));
}

void submit_waiting(pawl::Runtime& runtime, std::uint32_t count) {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t open_submits = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return open_submits < 2'000; });
    ++open_submits;
    lock.unlock();
    runtime.start_async("idle", pawl::Payload("{}"), {.id = fmt::format("w{}", i)},
                        [&](pawl::Result<pawl::Job<>> done) {
                          must(std::move(done));
                          const std::lock_guard guard(mutex);
                          --open_submits;
                          changed.notify_one();
                        });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return open_submits == 0; });
}

// The other process: it submits, and the owner runs what it submitted.
int be_guest(const std::string& path) {
  auto runtime = open(path);
  must(runtime->launch());
  for (std::uint32_t i = 0; i < guest_submits; ++i) {
    run_one(*runtime, fmt::format("guest-{}", i));
    std::this_thread::sleep_for(guest_pause);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    const auto number = static_cast<std::uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    if (flag == "--jobs")
      settings.jobs = number;
    else if (flag == "--waiting")
      settings.waiting = number;
    else if (flag == "--dir")
      settings.dir = value;
    else if (flag == "--guest-of")
      return be_guest(value);
    else {
      fmt::print(stderr, "unknown option {}\n", flag);
      return 2;
    }
  }
  const std::string path = settings.dir + "/flow_bench.db";
  Latency alone, beside;
  {
    remove_store(path);
    auto runtime = open(path);
    const std::string app = settings.dir + "/flow_bench_spin.yaml";
    std::ofstream(app) << spin_app;
    must(runtime->deploy(pawl::AppFile{app}));
    must(runtime->launch());
    run_jobs(*runtime, "warm", settings.jobs / 10 + 1);
    alone = run_jobs(*runtime, "alone", settings.jobs);
    const auto job = must(runtime->start("spin", pawl::Payload("{}"), {.id = "spin"}));
    beside = run_jobs(*runtime, "beside", settings.jobs);
    must(job.interrupt("enough"));
  }
  Latency quiet, visited;
  {
    remove_store(path);
    auto runtime = open(path);
    must(runtime->launch());
    submit_waiting(*runtime, settings.waiting);
    run_jobs(*runtime, "warm", settings.jobs / 10 + 1);
    quiet = run_jobs(*runtime, "quiet", settings.jobs);
    const pid_t guest = fork();
    if (guest == 0) {
      execl("/proc/self/exe", argv[0], "--guest-of", path.c_str(), nullptr);
      _exit(127);
    }
    std::vector<double> ms;
    int status = 0;
    while (waitpid(guest, &status, WNOHANG) == 0) ms.push_back(run_one(*runtime, fmt::format("visited-{}", ms.size())));
    if (status != 0) {
      fmt::print(stderr, "the other process ended with {}\n", status);
      return 1;
    }
    visited = latency_of(std::move(ms));
  }
  remove_store(path);
  fmt::print(
      "{{\"never_pauses\":{{\"jobs\":{},\"alone_p50_ms\":{:.2f},\"alone_p99_ms\":{:.2f},\"beside_p50_ms\":{:.2f},"
      "\"beside_p99_ms\":{:.2f},\"p99_ratio\":{:.2f}}},\"guest\":{{\"waiting\":{},\"quiet_p99_ms\":{:.2f},"
      "\"quiet_worst_ms\":{:.2f},\"visited_p99_ms\":{:.2f},\"visited_worst_ms\":{:.2f}}}}}\n",
      settings.jobs, alone.p50_ms, alone.p99_ms, beside.p50_ms, beside.p99_ms, beside.p99_ms / alone.p99_ms,
      settings.waiting, quiet.p99_ms, quiet.worst_ms, visited.p99_ms, visited.worst_ms);
}
