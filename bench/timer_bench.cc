// A million jobs that wait for their time: the cost of a start on that store, the memory of these jobs, and whether
// timers are on time while a thousand fire every second.
//
//   timer_bench [--waiting N] [--per-second N] [--seconds N] [--dir DIR]
//
// Prints one JSON object.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "jobs.h"
#include "pawl/pawl.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using pawl::bench::must;

struct Settings {
  std::uint32_t waiting = 1'000'000;
  std::uint32_t per_second = 1'000;
  std::uint32_t seconds = 10;
  std::string dir = ".";
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const auto number = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
    if (flag == "--waiting")
      settings.waiting = number;
    else if (flag == "--per-second")
      settings.per_second = number;
    else if (flag == "--seconds")
      settings.seconds = number;
    else if (flag == "--dir")
      settings.dir = argv[i + 1];
  }
  return settings;
}

pawl::AppText graph() {
  return must(pawl::GraphBuilder("later").trigger("due").worker("done", "bench.done").after("due").build());
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double resident_mb() {
  unsigned long all = 0;
  unsigned long resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu %lu", &all, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

// Submits jobs without waiting for each; at most a few thousand are in progress.
class Submitter {
 public:
  explicit Submitter(pawl::Runtime& runtime) : runtime_(runtime) {}
  void submit(std::string id, pawl::Duration delay) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return under_way_ < 8000; });
      ++under_way_;
    }
    runtime_.start_async("later", pawl::Payload("{}"), {.id = std::move(id), .delay = delay},
                         [this](pawl::Result<pawl::Job<>> result) {
                           must(std::move(result));
                           const std::lock_guard lock(mutex_);
                           --under_way_;
                           changed_.notify_one();
                         });
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return under_way_ == 0; });
  }

 private:
  pawl::Runtime& runtime_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t under_way_ = 0;
};

// The crowd: jobs that start in a year. In a separate process, so that its memory is not counted.
double make_crowd(const std::string& path, std::uint32_t count) {
  const auto begin = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    auto runtime = std::make_unique<pawl::Runtime>(must(pawl::open({.store = path})));
    must(runtime->deploy(graph()));
    must(runtime->launch());
    Submitter submitter(*runtime);
    for (std::uint32_t i = 0; i < count; ++i)
      submitter.submit(fmt::format("waits-{}", i), 24h * 365 + std::chrono::milliseconds(i));
    submitter.wait();
    runtime->stop();
    std::_Exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
  return seconds_since(begin);
}

double at(const std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const std::string path = settings.dir + "/timer_bench.db";
  pawl::bench::remove_store(path);
  const double crowd_seconds = make_crowd(path, settings.waiting);

  const auto begin = Clock::now();
  auto runtime = std::make_unique<pawl::Runtime>(must(pawl::open({.store = path, .worker_threads = 2})));
  must(runtime->deploy(graph()));
  std::mutex mutex;
  std::vector<double> late_ms;
  std::atomic<std::uint32_t> ended{0};
  std::vector<std::int64_t> due;  // by number of the job, microseconds of the wall clock
  must(runtime->serve("bench.done", [](pawl::Work&) { return pawl::Reply::success(); }));
  runtime
      ->observe([&](const pawl::Event& event) {
        if (event.kind == pawl::Event::Kind::job_closed) ended.fetch_add(1);
        if (event.kind != pawl::Event::Kind::job_started) return;
        const std::string& id = event.job.raw();
        if (id.rfind("fires-", 0) != 0) return;
        const std::lock_guard lock(mutex);
        late_ms.push_back(static_cast<double>(event.at.micros() - due[std::strtoul(id.c_str() + 6, nullptr, 10)]) /
                          1000.0);
      })
      .keep();
  must(runtime->launch());
  while (!runtime->owns()) std::this_thread::sleep_for(100us);
  const double start_seconds = seconds_since(begin);
  const double start_mb = resident_mb();

  const std::uint32_t count = settings.per_second * settings.seconds;
  due.resize(count);
  Submitter submitter(*runtime);
  const auto wall = [] {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const std::int64_t first = wall() + 3'000'000;
  for (std::uint32_t i = 0; i < count; ++i) {
    {
      const std::lock_guard lock(mutex);
      due[i] = first + std::int64_t{1'000'000} * i / settings.per_second;
    }
    submitter.submit(fmt::format("fires-{}", i), pawl::Duration(due[i] - wall()));
  }
  submitter.wait();
  while (ended.load() < count) std::this_thread::sleep_for(10ms);
  const double end_mb = resident_mb();
  runtime->stop();
  std::sort(late_ms.begin(), late_ms.end());
  fmt::print(
      "{{\"waiting\":{},\"crowd_seconds\":{:.1f},\"start_seconds\":{:.3f},\"start_mb\":{:.1f},\"per_second\":{},"
      "\"fired\":{},\"late_ms_p50\":{:.2f},\"late_ms_p99\":{:.2f},\"late_ms_max\":{:.2f},\"end_mb\":{:.1f}}}\n",
      settings.waiting, crowd_seconds, start_seconds, start_mb, settings.per_second, late_ms.size(), at(late_ms, 0.5),
      at(late_ms, 0.99), late_ms.back(), end_mb);
  pawl::bench::remove_store(path);
  return 0;
}
