// What waiting costs: jobs of ten no-op steps, submitted and awaited by N threads that block, against the same number
// of jobs kept in progress by callbacks. And how late N threads are notified that a sleep of one second is over.
//
//   wait_bench [--seconds S] [--rounds N] [--sleeps N] [--dir DIR]
//
// Prints one JSON object. Each ratio is the median of all rounds; the two ways take turns.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "jobs.h"
#include "pawl/pawl.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using pawl::bench::must;
constexpr std::uint32_t steps_per_job = 10;
constexpr auto end_within = 600s;

struct Settings {
  double seconds = 2;
  std::uint32_t rounds = 3;
  std::uint32_t sleeps = 1000;
  std::string dir = ".";
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const auto number = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
    if (flag == "--seconds")
      settings.seconds = std::strtod(argv[i + 1], nullptr);
    else if (flag == "--rounds")
      settings.rounds = number;
    else if (flag == "--sleeps")
      settings.sleeps = number;
    else if (flag == "--dir")
      settings.dir = argv[i + 1];
    else {
      fmt::print(stderr, "unknown option {}\n", flag);
      std::exit(2);
    }
  }
  return settings;
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A runtime on an empty store that runs no-op steps.
class Site {
 public:
  explicit Site(const std::string& path) : path_(path) {
    pawl::bench::remove_store(path_);
    runtime_ = std::make_unique<pawl::Runtime>(must(pawl::open({.store = path_, .worker_threads = 2})));
    must(runtime_->deploy(pawl::bench::chain(steps_per_job)));
    must(runtime_->deploy(
        must(pawl::GraphBuilder("sleep").trigger("over").worker("last", "noop").after("over").build())));
    must(runtime_->serve("noop", [](pawl::Work&) { return pawl::Reply::success("{}"); }));
    runtime_->on_problem([](const std::string& text) { fmt::print(stderr, "{}\n", text); }).keep();
    runtime_
        ->observe([this](const pawl::Event& event) {
          if (event.kind == pawl::Event::Kind::job_closed && on_closed) on_closed();
        })
        .keep();
  }
  ~Site() {
    runtime_.reset();
    pawl::bench::remove_store(path_);
  }
  void start() {
    must(runtime_->launch());
    while (!runtime_->owns()) std::this_thread::sleep_for(100us);
  }
  pawl::Runtime& runtime() { return *runtime_; }
  std::function<void()> on_closed;  // set before start()

 private:
  const std::string path_;
  std::unique_ptr<pawl::Runtime> runtime_;
};

// Steps per second of `callers` threads that submit a job, wait for its end, and begin again.
double blocking(const std::string& path, std::uint32_t callers, double seconds) {
  Site site(path);
  site.start();
  std::atomic<std::uint64_t> next{0}, ended{0};
  std::atomic<bool> go{false}, over{false};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < callers; ++i)
    threads.emplace_back([&] {
      while (!go) std::this_thread::sleep_for(1ms);
      while (!over) {
        const auto job = must(site.runtime().start("chain", pawl::Payload("{}"), {.id = fmt::format("j{}", next++)}));
        must(job.wait(end_within));
        if (!over) ++ended;
      }
    });
  go = true;
  const auto begin = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  over = true;
  const double rate = static_cast<double>(ended) * steps_per_job / seconds_since(begin);
  for (std::thread& thread : threads) thread.join();
  return rate;
}

// The same without a thread that waits: the end of a job submits the next one.
double asynchronous(const std::string& path, std::uint32_t callers, double seconds) {
  Site site(path);
  std::atomic<std::uint64_t> next{0}, ended{0}, open{0};
  std::atomic<bool> over{false};
  const auto submit = [&] {
    ++open;
    site.runtime().start_async("chain", pawl::Payload("{}"), {.id = fmt::format("j{}", next++)},
                               [](pawl::Result<pawl::Job<>> result) { must(std::move(result)); });
  };
  site.on_closed = [&] {
    if (!over) {
      ++ended;
      submit();
    }
    --open;
  };
  site.start();
  const auto begin = Clock::now();
  for (std::uint32_t i = 0; i < callers; ++i) submit();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  over = true;
  const double rate = static_cast<double>(ended) * steps_per_job / seconds_since(begin);
  while (open > 0) std::this_thread::sleep_for(1ms);
  return rate;
}

// How late threads are notified that their job, which began after a second, has ended: milliseconds, sorted.
std::vector<double> lateness(const std::string& path, std::uint32_t callers) {
  Site site(path);
  site.start();
  std::vector<double> late(callers);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < callers; ++i)
    threads.emplace_back([&, i] {
      const auto job =
          must(site.runtime().start("sleep", pawl::Payload("{}"), {.id = fmt::format("s{}", i), .delay = 1s}));
      const auto due = Clock::now() + 1s;
      must(job.wait(end_within));
      late[i] = std::chrono::duration<double, std::milli>(Clock::now() - due).count();
    });
  for (std::thread& thread : threads) thread.join();
  std::sort(late.begin(), late.end());
  return late;
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const std::string path = settings.dir + fmt::format("/wait-{}.db", getpid());
  fmt::print("{{\n  \"steps_per_job\": {}, \"rounds\": {},\n", steps_per_job, settings.rounds);
  for (const std::uint32_t callers : {64u, 256u, 1024u}) {
    std::vector<double> blocked, free, ratios;
    for (std::uint32_t round = 0; round < settings.rounds; ++round) {
      free.push_back(asynchronous(path, callers, settings.seconds));
      blocked.push_back(blocking(path, callers, settings.seconds));
      ratios.push_back(blocked.back() / free.back());
    }
    fmt::print(
        "  \"callers_{}\": {{\"blocking_steps_per_second\": {:.0f}, \"asynchronous_steps_per_second\": {:.0f}, "
        "\"ratio\": {:.3f}}},\n",
        callers, median(blocked), median(free), median(ratios));
    std::fflush(stdout);
  }
  const auto late = lateness(path, settings.sleeps);
  fmt::print("  \"sleepers\": {}, \"late_p50_ms\": {:.1f}, \"late_p99_ms\": {:.1f}, \"late_max_ms\": {:.1f}\n}}\n",
             late.size(), late[late.size() / 2], late[late.size() * 99 / 100], late.back());
  return 0;
}
