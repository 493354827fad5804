// A million jobs that wait for their time: the cost of a start on that store, the memory of these jobs, and whether
// timers are on time: a thousand every second, and a thousand and ten thousand in the same instant. And the memory of
// a process whose own jobs sleep: a million of them, each behind its first step.
//
//   timer_bench [--waiting N] [--sleeping N] [--per-second N] [--seconds N] [--dir DIR]
//
// Prints one JSON object.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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
  std::uint32_t sleeping = 1'000'000;
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
    else if (flag == "--sleeping")
      settings.sleeping = number;
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

// A job that sleeps for a year.
const char* const sleeper = R"(
app:
  id: sleeper
  version: "1"
  graphs:
    - subscribes: sleeps
      activities:
        begin: {type: trigger}
        pause: {type: hook, sleep: 365d}
      transitions:
        begin: [{to: pause}]
)";

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

// Submits jobs without waiting for each; at most two thousand are in progress.
class Submitter {
 public:
  explicit Submitter(pawl::Runtime& runtime) : runtime_(runtime) {}
  void submit(const std::string& graph, std::string id, pawl::Duration delay) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return under_way_ < 2000; });
      ++under_way_;
    }
    runtime_.start_async(graph, pawl::Payload("{}"), {.id = std::move(id), .delay = delay},
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
      submitter.submit("later", fmt::format("waits-{}", i), 24h * 365 + std::chrono::milliseconds(i));
    submitter.wait();
    runtime->stop();
    std::_Exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
  return seconds_since(begin);
}

struct Memory {
  double before_mb = 0;
  double after_mb = 0;
};

// What the process needs whose jobs sleep. In a separate process too: nothing else is in its memory.
Memory make_sleepers(const std::string& path, std::uint32_t count) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    auto runtime = std::make_unique<pawl::Runtime>(must(pawl::open({.store = path})));
    must(runtime->deploy(pawl::AppText(sleeper)));
    must(runtime->launch());
    while (!runtime->owns()) std::this_thread::sleep_for(100us);
    Memory memory;
    memory.before_mb = resident_mb();
    Submitter submitter(*runtime);
    for (std::uint32_t i = 0; i < count; ++i) submitter.submit("sleeps", fmt::format("sleeps-{}", i), 0s);
    submitter.wait();
    std::this_thread::sleep_for(1s);
    memory.after_mb = resident_mb();
    if (write(ends[1], &memory, sizeof(memory)) != sizeof(memory)) std::_Exit(1);
    runtime->stop();
    std::_Exit(0);
  }
  close(ends[1]);  // so that the read ends if the child does
  Memory memory;
  if (read(ends[0], &memory, sizeof(memory)) != sizeof(memory)) std::exit(1);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
  return memory;
}

double at(const std::vector<double>& sorted, double share) {
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

std::int64_t wall() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Jobs that are due at given times, and how late each of them began: its first step is committed then.
class Punctuality {
 public:
  explicit Punctuality(pawl::Runtime& runtime) : runtime_(runtime) {
    runtime
        .observe([this](const pawl::Event& event) {
          const std::lock_guard lock(mutex_);
          if (event.kind == pawl::Event::Kind::job_closed) ++ended_;
          if (event.kind != pawl::Event::Kind::job_started) return;
          const std::string& id = event.job.raw();
          if (id.rfind(prefix_, 0) != 0) return;
          const std::size_t number = std::strtoul(id.c_str() + prefix_.size(), nullptr, 10);
          late_ms_.push_back(static_cast<double>(event.at.micros() - due_[number]) / 1000.0);
        })
        .keep();
  }

  // Microseconds of the wall clock. Returns the sorted milliseconds.
  std::vector<double> measure(const std::string& name, std::vector<std::int64_t> due) {
    {
      const std::lock_guard lock(mutex_);
      prefix_ = name + "-";
      due_ = due;
      late_ms_.clear();
      ended_ = 0;
    }
    Submitter submitter(runtime_);
    for (std::size_t i = 0; i < due.size(); ++i)
      submitter.submit("later", fmt::format("{}-{}", name, i), pawl::Duration(due[i] - wall()));
    submitter.wait();
    for (;;) {
      std::this_thread::sleep_for(10ms);
      const std::lock_guard lock(mutex_);
      if (ended_ < due.size()) continue;
      std::sort(late_ms_.begin(), late_ms_.end());
      return late_ms_;
    }
  }

 private:
  pawl::Runtime& runtime_;
  std::mutex mutex_;
  std::string prefix_;             // guarded by mutex_, as the rest
  std::vector<std::int64_t> due_;  // by number of the job
  std::vector<double> late_ms_;
  std::size_t ended_ = 0;
};

void print_late(const std::string& name, const std::vector<double>& late) {
  fmt::print("\"{}\":{{\"jobs\":{},\"late_ms_p50\":{:.2f},\"late_ms_p99\":{:.2f},\"late_ms_max\":{:.2f}}},", name,
             late.size(), at(late, 0.5), at(late, 0.99), late.back());
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const std::string path = settings.dir + "/timer_bench.db";
  pawl::bench::remove_store(path);
  const Memory sleepers = make_sleepers(path, settings.sleeping);
  pawl::bench::remove_store(path);
  const double crowd_seconds = make_crowd(path, settings.waiting);

  const auto begin = Clock::now();
  auto runtime = std::make_unique<pawl::Runtime>(must(pawl::open({.store = path, .worker_threads = 2})));
  must(runtime->deploy(graph()));
  must(runtime->serve("bench.done", [](pawl::Work&) { return pawl::Reply::success(); }));
  Punctuality punctuality(*runtime);
  must(runtime->launch());
  while (!runtime->owns()) std::this_thread::sleep_for(100us);
  const double start_seconds = seconds_since(begin);
  const double start_mb = resident_mb();

  std::vector<std::int64_t> due(std::size_t{settings.per_second} * settings.seconds);
  const std::int64_t first = wall() + 3'000'000;
  for (std::size_t i = 0; i < due.size(); ++i)
    due[i] = first + std::int64_t{1'000'000} * static_cast<std::int64_t>(i) / settings.per_second;
  const auto spread = punctuality.measure("fires", std::move(due));
  const auto thousand = punctuality.measure("thousand", std::vector<std::int64_t>(1'000, wall() + 2'000'000));
  const auto ten_thousand = punctuality.measure("myriad", std::vector<std::int64_t>(10'000, wall() + 3'000'000));
  const double end_mb = resident_mb();
  runtime->stop();
  fmt::print("{{\"sleeping\":{},\"sleeping_before_mb\":{:.1f},\"sleeping_mb\":{:.1f},", settings.sleeping,
             sleepers.before_mb, sleepers.after_mb);
  fmt::print("\"waiting\":{},\"crowd_seconds\":{:.1f},\"start_seconds\":{:.3f},\"start_mb\":{:.1f},"
             "\"per_second\":{},",
             settings.waiting, crowd_seconds, start_seconds, start_mb, settings.per_second);
  print_late("spread", spread);
  print_late("thousand_in_one_instant", thousand);
  print_late("ten_thousand_in_one_instant", ten_thousand);
  fmt::print("\"end_mb\":{:.1f}}}\n", end_mb);
  pawl::bench::remove_store(path);
  return 0;
}
