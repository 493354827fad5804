// A server with remote workers beside the same jobs in one process: serve_bench [--dir FOLDER] [--load]. The server is
// the real binary, the workers are a process of their own, all on loopback and on SQLite files of one folder. Each
// figure is measured in turns, some rounds of both, so that a slow moment of the disk hits both. Processor time is
// counted, too: on a machine that others use it is the figure to compare. --load: only jobs of ten steps at the server,
// for a profiler.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "pawl/pawl.h"
#include "raw_loop.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int steps = 10;
constexpr int jobs_at_once = 2000;
constexpr int single_jobs = 300;
constexpr int rounds = 9;
constexpr auto idle_time = 5s;
constexpr std::uint32_t bare_commits = 300;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

[[noreturn]] void give_up(const std::string& what) {
  fmt::print(stderr, "serve_bench: {}\n", what);
  std::exit(1);
}

pawl::AppText app() {
  std::string text = "app:\n  id: bench\n  version: \"1\"\n  graphs:\n";
  const auto graph = [&](const std::string& name, int count) {
    text += fmt::format("    - subscribes: bench.{0}\n      activities:\n        {0}: {{type: trigger}}\n", name);
    for (int i = 0; i < count; ++i) text += fmt::format("        {}{}: {{type: worker, topic: step}}\n", name, i);
    text += fmt::format("      transitions:\n        {0}: [{{to: {0}0}}]\n", name);
    for (int i = 0; i + 1 < count; ++i) text += fmt::format("        {0}{1}: [{{to: {0}{2}}}]\n", name, i, i + 1);
  };
  graph("one", 1);
  graph("ten", steps);
  return {text};
}

pid_t child(const std::function<void()>& run) {
  const pid_t process = fork();
  if (process != 0) return process;
  run();
  _exit(0);
}

// Milliseconds from start to result of a job of one activity, sorted.
std::vector<double> one_step_times(pawl::Runtime& runtime, int round) {
  std::vector<double> times;
  for (int i = 0; i < single_jobs; ++i) {
    const auto begin = Clock::now();
    const auto job = runtime.start("bench.one", pawl::Payload("{}"), {.id = fmt::format("one-{}-{}", round, i)});
    if (!job || !job->wait(10s)) give_up("a job did not end");
    times.push_back(seconds_since(begin) * 1000);
  }
  std::sort(times.begin(), times.end());
  return times;
}

// Of jobs of ten steps, all at once.
double activities_per_second(pawl::Runtime& runtime, int round) {
  std::vector<pawl::StartItem<pawl::Payload>> items;
  for (int i = 0; i < jobs_at_once; ++i)
    items.push_back({pawl::Payload("{}"), {.id = fmt::format("ten-{}-{}", round, i)}});
  const auto begin = Clock::now();
  const auto jobs = runtime.start_many("bench.ten", items);
  for (const auto& job : jobs)
    if (!job || !job->wait(120s)) give_up("a job of ten steps did not end");
  return jobs_at_once * steps / seconds_since(begin);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// How often threads of a process slept and woke.
long wakes_of(pid_t process) {
  long count = 0;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process))) {
    std::ifstream status(thread.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.rfind("voluntary_ctxt_switches:", 0) == 0) count += std::atol(line.c_str() + 24);
  }
  return count;
}

// Of all of its threads, user and system.
double cpu_seconds(pid_t process) {
  std::ifstream stat(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(stat, text);
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

long resident_kb(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::atol(line.c_str() + 6);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path parent = std::filesystem::temp_directory_path();
  bool load_only = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--load")
      load_only = true;
    else if (std::string(argv[i]) == "--dir" && i + 1 < argc)
      parent = argv[++i];
  }
  const std::string folder = parent / fmt::format("serve-bench-{}", getpid());
  std::filesystem::create_directories(folder);
  const std::string port = "18299";
  const std::string url = "http://127.0.0.1:" + port;
  const pid_t server = child([&] {
    std::freopen((folder + "/log").c_str(), "w", stderr);
    execl(PAWL_BINARY, "pawl", "serve", "--store", (folder + "/served.db").c_str(), "--listen",
          ("127.0.0.1:" + port).c_str(), nullptr);
  });
  pawl::Result<pawl::Runtime> remote = pawl::Error{pawl::ErrorCode::retry_later, ""};
  for (int tries = 0; !remote && tries < 200; ++tries) {
    std::this_thread::sleep_for(50ms);
    remote = pawl::connect(url);
  }
  if (!remote) give_up("the server does not answer: " + remote.error().detail);
  std::this_thread::sleep_for(1s);
  const long idle = resident_kb(server);
  const long wakes_before = wakes_of(server);
  std::this_thread::sleep_for(idle_time);
  const long wakes = wakes_of(server) - wakes_before;
  if (const auto deployed = remote->deploy(app()); !deployed) give_up(deployed.error().detail);
  const pid_t worker = child([&] {
    auto own = pawl::connect({.url = url, .worker_threads = 2});
    if (!own || !own->serve("step", [](pawl::Work&) { return pawl::Payload("{}"); }) || !own->launch()) _exit(1);
    pause();
  });
  auto local = pawl::open(folder + "/embedded.db");
  if (!local || !local->deploy(app()) || !local->serve("step", [](pawl::Work&) { return pawl::Payload("{}"); }) ||
      !local->launch())
    give_up("no embedded runtime");

  if (load_only) {
    for (int round = 0; round < 3 * rounds; ++round) activities_per_second(*remote, round);
    local->stop();
    for (const pid_t process : {worker, server}) {
      kill(process, process == server ? SIGTERM : SIGKILL);
      waitpid(process, nullptr, 0);
    }
    return 0;
  }
  // Seconds of processor time, in the rounds of ten steps.
  double server_cpu = 0, worker_cpu = 0, client_cpu = 0, embedded_cpu = 0;
  std::vector<double> remote_p50, remote_p99, embedded_p50, commit, remote_rate, embedded_rate;
  for (int round = 0; round < rounds; ++round) {
    const auto times = one_step_times(*remote, round);
    remote_p50.push_back(times[times.size() / 2]);
    remote_p99.push_back(times[times.size() * 99 / 100]);
    embedded_p50.push_back(median(one_step_times(*local, round)));
    const auto commits = pawl::bench::bare_commits(fmt::format("{}/bare-{}.db", folder, round), bare_commits);
    commit.push_back(commits[commits.size() / 2] / 1000);
    server_cpu -= cpu_seconds(server);
    worker_cpu -= cpu_seconds(worker);
    client_cpu -= cpu_seconds(getpid());
    remote_rate.push_back(activities_per_second(*remote, round));
    server_cpu += cpu_seconds(server);
    worker_cpu += cpu_seconds(worker);
    client_cpu += cpu_seconds(getpid());
    embedded_cpu -= cpu_seconds(getpid());
    embedded_rate.push_back(activities_per_second(*local, round));
    embedded_cpu += cpu_seconds(getpid());
  }
  const long busy = resident_kb(server);
  local->stop();
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  kill(server, SIGTERM);
  waitpid(server, nullptr, 0);
  const auto each = [](double seconds) { return seconds * 1e6 / (rounds * jobs_at_once * steps); };
  fmt::print(
      "{{\n  \"idle_server_kilobytes\": {},\n  \"idle_server_wakes_in_5_seconds\": {},\n"
      "  \"bare_commit_p50_ms\": {:.3f},\n  \"remote_one_activity_p50_ms\": {:.3f},\n"
      "  \"remote_one_activity_p99_ms\": {:.3f},\n  \"remote_p50_beyond_one_commit_ms\": {:.3f},\n"
      "  \"embedded_one_activity_p50_ms\": {:.3f},\n  \"remote_activities_per_second\": {:.0f},\n"
      "  \"embedded_activities_per_second\": {:.0f},\n  \"share_of_embedded\": {:.3f},\n"
      "  \"busy_server_kilobytes\": {},\n"
      "  \"microseconds_of_processor_per_activity\": {{\"server\": {:.1f}, \"worker\": {:.1f}, \"client\": {:.1f},"
      " \"embedded\": {:.1f}}}\n}}\n",
      idle, wakes, median(commit), median(remote_p50), median(remote_p99), median(remote_p50) - median(commit),
      median(embedded_p50), median(remote_rate), median(embedded_rate), median(remote_rate) / median(embedded_rate),
      busy, each(server_cpu), each(worker_cpu), each(client_cpu), each(embedded_cpu));
  local = pawl::Error{pawl::ErrorCode::already_done, "closed"};  // its files are its own until then
  std::filesystem::remove_all(folder);
  return 0;
}
