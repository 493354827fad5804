// The foundation's speed: durable worker activities per second with many concurrent jobs, and the time per activity of
// one sequential job, each beside the raw limit, measured at the same time.
//
//   foundation_bench [--jobs N] [--concurrent N] [--rounds N] [--output-bytes N] [--dir DIR]
//
// Prints one JSON object. Compare only figures of one execution: absolute figures vary, ratios do not.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "jobs.h"
#include "pawl/pawl.h"
#include "raw_loop.h"

namespace {

using Clock = std::chrono::steady_clock;
using pawl::bench::chain;
using pawl::bench::must;
using pawl::bench::remove_store;
constexpr std::uint32_t activities_per_job = 10;

struct Settings {
  std::uint32_t jobs = 20'000;
  std::uint32_t concurrent = 2'000;
  std::uint32_t threads = 2;
  std::uint32_t sequential = 2'000;
  std::uint32_t rounds = 3;
  std::uint32_t output_bytes = 200;
  bool fusion = true;
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
    else if (flag == "--threads")
      settings.threads = number;
    else if (flag == "--sequential")
      settings.sequential = number;
    else if (flag == "--rounds")
      settings.rounds = number;
    else if (flag == "--output-bytes")
      settings.output_bytes = number;
    else if (flag == "--fusion")
      settings.fusion = value != "off";
    else if (flag == "--dir")
      settings.dir = value;
    else {
      fmt::print(stderr, "unknown option {}\n", flag);
      std::exit(2);
    }
  }
  return settings;
}

struct Throughput {
  double activities_per_second = 0;
  double rows = 0;
  double commits = 0;
  double bytes = 0;
};

Throughput concurrent_jobs(const Settings& settings, const std::string& path) {
  remove_store(path);
  pawl::RuntimeOptions options;
  options.store = path;
  options.worker_threads = settings.threads;
  options.worker_queue = 65'536;
  options.fusion = settings.fusion;
  auto runtime = std::make_unique<pawl::Runtime>(must(pawl::open(options)));
  must(runtime->deploy(chain(activities_per_job)));
  const pawl::Payload output(std::string(settings.output_bytes, 'x'));
  must(runtime->serve("noop", [&](pawl::Work&) { return pawl::Reply::success(output); }));
  runtime->on_problem([](const std::string& text) { fmt::print(stderr, "{}\n", text); }).keep();

  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t submitted = 0;
  std::uint32_t closed = 0;
  std::function<void()> submit_next = [&] {
    // REQUIRES: mutex held. Keeps `concurrent` jobs open until all were submitted.
    if (submitted >= settings.jobs) return;
    const std::uint32_t number = submitted++;
    runtime->start_async("chain", pawl::Payload("{}"), {.id = fmt::format("job-{}", number)},
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
  const auto before = runtime->stats();
  const auto begin = Clock::now();
  {
    const std::lock_guard lock(mutex);
    for (std::uint32_t i = 0; i < settings.concurrent; ++i) submit_next();
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return closed == settings.jobs; });
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  lock.unlock();
  const auto after = runtime->stats();
  runtime->stop();
  const double activities = static_cast<double>(settings.jobs) * activities_per_job;
  return {activities / seconds, static_cast<double>(after.row_writes - before.row_writes) / activities,
          static_cast<double>(after.commits - before.commits) / activities,
          static_cast<double>(after.bytes - before.bytes) / activities};
}

// Times between two calls of the worker of one job: commit, dispatch and everything else.
struct Sequential {
  double p50_us = 0;
  double p99_us = 0;
  double rows = 0;
  double commits = 0;
  double bytes = 0;
};

Sequential one_job(const Settings& settings, const std::string& path) {
  constexpr std::uint32_t chain_length = 100;
  remove_store(path);
  pawl::RuntimeOptions options;
  options.store = path;
  options.worker_threads = 1;
  auto runtime = std::make_unique<pawl::Runtime>(must(pawl::open(options)));
  must(runtime->deploy(chain(chain_length)));
  std::vector<Clock::time_point> calls;
  const pawl::Payload output(std::string(settings.output_bytes, 'x'));
  must(runtime->serve("noop", [&](pawl::Work&) {
    calls.push_back(Clock::now());
    return pawl::Reply::success(output);
  }));
  must(runtime->launch());
  const auto before = runtime->stats();
  std::vector<double> micros;
  const std::uint32_t jobs = std::max(1u, settings.sequential / chain_length);
  for (std::uint32_t i = 0; i < jobs; ++i) {
    calls.clear();
    const auto job = must(runtime->start("chain", pawl::Payload("{}"), {.id = fmt::format("one-{}", i)}));
    must(job.wait(std::chrono::seconds(60)));
    for (std::size_t c = 1; c < calls.size(); ++c)
      micros.push_back(std::chrono::duration<double, std::micro>(calls[c] - calls[c - 1]).count());
  }
  const auto after = runtime->stats();
  runtime->stop();
  std::sort(micros.begin(), micros.end());
  const double activities = static_cast<double>(jobs) * chain_length;
  return {micros[micros.size() / 2], micros[micros.size() * 99 / 100],
          static_cast<double>(after.row_writes - before.row_writes) / activities,
          static_cast<double>(after.commits - before.commits) / activities,
          static_cast<double>(after.bytes - before.bytes) / activities};
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const std::string dir = settings.dir + fmt::format("/pawl-bench-{}", getpid());
  std::filesystem::create_directories(dir);
  // Raw and Pawl alternate, and the best of each counts: what the machine can do without disturbance.
  pawl::bench::RawFigure raw;
  pawl::bench::RawFigure raw_fused;
  Throughput ours;
  Sequential sequential;
  double bare_p50 = 0;
  for (std::uint32_t round = 0; round < settings.rounds; ++round) {
    const auto limit_of = [&](pawl::bench::Legs legs) {
      return pawl::bench::row_layout_loop(dir + "/raw.db", settings.concurrent,
                                          settings.jobs * activities_per_job / settings.concurrent, 1024, legs,
                                          settings.output_bytes);
    };
    const auto limit = limit_of(pawl::bench::Legs::both);
    if (limit.activities_per_second > raw.activities_per_second) raw = limit;
    const auto fused = limit_of(pawl::bench::Legs::fused);
    if (fused.activities_per_second > raw_fused.activities_per_second) raw_fused = fused;
    const auto figure = concurrent_jobs(settings, dir + "/ours.db");
    if (figure.activities_per_second > ours.activities_per_second) ours = figure;
    const auto bare = pawl::bench::bare_commits(dir + "/bare.db", settings.sequential);
    if (round == 0 || bare[bare.size() / 2] < bare_p50) bare_p50 = bare[bare.size() / 2];
    const auto one = one_job(settings, dir + "/one.db");
    if (round == 0 || one.p50_us < sequential.p50_us) sequential = one;
  }
  std::filesystem::remove_all(dir);
  fmt::print(
      "{{\n"
      "  \"jobs\": {}, \"concurrent\": {}, \"activities_per_job\": {}, \"output_bytes\": {},\n"
      "  \"synchronous\": \"FULL\",\n"
      "  \"raw_row_layout_activities_per_second\": {:.0f},\n"
      "  \"activities_per_second\": {:.0f},\n"
      "  \"ratio_to_raw\": {:.3f},\n"
      "  \"raw_fused_rows_activities_per_second\": {:.0f}, \"ratio_to_raw_fused_rows\": {:.3f},\n"
      "  \"rows_per_activity\": {:.2f}, \"raw_rows_per_activity\": {:.2f},\n"
      "  \"commits_per_activity\": {:.4f},\n"
      "  \"log_bytes_per_activity\": {:.0f}, \"raw_log_bytes_per_activity\": {:.0f},\n"
      "  \"bare_commit_p50_us\": {:.1f},\n"
      "  \"sequential_activity_p50_us\": {:.1f}, \"sequential_activity_p99_us\": {:.1f},\n"
      "  \"sequential_ratio_to_bare_commit\": {:.3f},\n"
      "  \"sequential_rows_per_activity\": {:.2f}, \"sequential_commits_per_activity\": {:.3f},\n"
      "  \"sequential_log_bytes_per_activity\": {:.0f}\n"
      "}}\n",
      settings.jobs, settings.concurrent, activities_per_job, settings.output_bytes, raw.activities_per_second,
      ours.activities_per_second,
      ours.activities_per_second / raw.activities_per_second, raw_fused.activities_per_second,
      ours.activities_per_second / raw_fused.activities_per_second, ours.rows, raw.rows_per_activity, ours.commits,
      ours.bytes, raw.log_bytes_per_activity, bare_p50, sequential.p50_us, sequential.p99_us,
      sequential.p50_us / bare_p50, sequential.rows, sequential.commits, sequential.bytes);
  return 0;
}
