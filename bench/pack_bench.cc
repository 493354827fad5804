// What compressed payloads save, and what they cost: jobs of ten activities whose workers return JSON, without and with
// RuntimeOptions::compress_payloads: bytes of the file for each ended job, processor and wall time, and how long it
// takes to read an ended job.
//
//   pack_bench [--jobs N] [--concurrent N] [--output-bytes N] [--from N] [--rounds N] [--dir DIR]
//
// Prints one JSON object; each figure is the median of the rounds. The two take turns, each in a separate process.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
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

namespace {

using Clock = std::chrono::steady_clock;
using pawl::bench::must;
constexpr std::uint32_t steps = 10;
constexpr std::size_t outputs = 64;  // different ones

struct Settings {
  std::uint32_t jobs = 1'000;
  std::uint32_t concurrent = 200;
  std::uint32_t output_bytes = 4'096;
  std::uint32_t from = 1'024;
  std::uint32_t rounds = 3;
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
    else if (flag == "--output-bytes")
      settings.output_bytes = number;
    else if (flag == "--from")
      settings.from = number;
    else if (flag == "--rounds")
      settings.rounds = number;
    else if (flag == "--dir")
      settings.dir = argv[i + 1];
    else
      std::exit(2);
  }
  return settings;
}

std::uint64_t next(std::uint64_t& state) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return state >> 33;
}

// Lines of an order: names that repeat, numbers and ids that do not.
std::string document(std::size_t bytes, std::uint64_t seed) {
  static const char* const words[] = {"paper",    "printer", "desk lamp", "chair",
                                      "notebook", "cable",   "monitor",   "stapler"};
  std::string json = R"({"order":)" + std::to_string(seed) + R"(,"lines":[)";
  for (bool first = true; json.size() < bytes; first = false)
    json += fmt::format(R"({}{{"sku":"{:08x}{:08x}","name":"{}","quantity":{},"cents":{},"gift":{}}})",
                        first ? "" : ",", next(seed), next(seed), words[next(seed) % std::size(words)],
                        1 + next(seed) % 9, next(seed) % 100'000, next(seed) % 2 == 0);
  return json + "]}";
}

struct Figure {
  double bytes = 0;  // of the file, for each job
  double cpu_us = 0;
  double wall_us = 0;
  double log_bytes = 0;
  double read_us = 0;  // to read an ended job
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

Figure run(const Settings& settings, bool packs, const std::string& path) {
  pawl::bench::remove_store(path);
  pawl::RuntimeOptions options;
  options.store = path;
  options.worker_threads = 2;
  if (packs) options.compress_payloads = settings.from;
  auto runtime = std::make_unique<pawl::Runtime>(must(pawl::open(options)));
  must(runtime->deploy(pawl::bench::chain(steps)));
  std::vector<pawl::Payload> replies;
  for (std::size_t i = 0; i < outputs; ++i) replies.emplace_back(document(settings.output_bytes, i + 1));
  std::atomic<std::size_t> calls{0};
  must(runtime->serve("noop", [&](pawl::Work&) { return pawl::Reply::success(replies[calls++ % outputs]); }));
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t submitted = 0;
  std::uint32_t closed = 0;
  const auto submit_next = [&] {  // REQUIRES: mutex held
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
  while (!runtime->owns()) usleep(1000);
  const double cpu = cpu_seconds();
  const auto begin = Clock::now();
  {
    std::unique_lock lock(mutex);
    for (std::uint32_t i = 0; i < std::min(settings.concurrent, settings.jobs); ++i) submit_next();
    changed.wait(lock, [&] { return closed == settings.jobs; });
  }
  Figure figure;
  figure.wall_us = seconds_since(begin) * 1e6 / settings.jobs;
  figure.cpu_us = (cpu_seconds() - cpu) * 1e6 / settings.jobs;
  figure.log_bytes = static_cast<double>(runtime->stats().bytes) / settings.jobs;
  const auto reads = Clock::now();
  const std::uint32_t sample = std::min<std::uint32_t>(settings.jobs, 200);
  for (std::uint32_t i = 0; i < sample; ++i)
    must(must(runtime->find(fmt::format("job-{}", i)))->inspect());
  figure.read_us = seconds_since(reads) * 1e6 / sample;
  runtime->stop();
  runtime.reset();
  figure.bytes = static_cast<double>(std::filesystem::file_size(path)) / settings.jobs;
  pawl::bench::remove_store(path);
  return figure;
}

Figure run_in_child(const Settings& settings, bool packs, const std::string& path) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    const Figure figure = run(settings, packs, path);
    std::_Exit(write(ends[1], &figure, sizeof figure) == static_cast<ssize_t>(sizeof figure) ? 0 : 1);
  }
  close(ends[1]);
  Figure figure;
  const bool read_all = read(ends[0], &figure, sizeof figure) == static_cast<ssize_t>(sizeof figure);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!read_all || status != 0) std::exit(1);
  return figure;
}

double median(const std::vector<Figure>& figures, double Figure::*field) {
  std::vector<double> values;
  for (const Figure& figure : figures) values.push_back(figure.*field);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const std::string path = settings.dir + "/pack_bench.db";
  std::vector<Figure> plain;
  std::vector<Figure> packed;
  for (std::uint32_t round = 0; round < settings.rounds; ++round) {
    plain.push_back(run_in_child(settings, false, path));
    packed.push_back(run_in_child(settings, true, path));
  }
  const auto print = [](const char* name, const std::vector<Figure>& figures) {
    fmt::print("\"{}\":{{\"file_bytes_per_job\":{:.0f},\"log_bytes_per_job\":{:.0f},\"cpu_us_per_job\":{:.0f},"
               "\"wall_us_per_job\":{:.0f},\"us_to_read_a_job\":{:.0f}}},",
               name, median(figures, &Figure::bytes), median(figures, &Figure::log_bytes),
               median(figures, &Figure::cpu_us), median(figures, &Figure::wall_us), median(figures, &Figure::read_us));
  };
  fmt::print("{{\"jobs\":{},\"activities_per_job\":{},\"output_bytes\":{},\"from_bytes\":{},\"rounds\":{},",
             settings.jobs, steps, settings.output_bytes, settings.from, settings.rounds);
  print("plain", plain);
  print("compressed", packed);
  fmt::print("\"file_ratio\":{:.3f},\"cpu_ratio\":{:.3f}}}\n",
             median(packed, &Figure::bytes) / median(plain, &Figure::bytes),
             median(packed, &Figure::cpu_us) / median(plain, &Figure::cpu_us));
  return 0;
}
