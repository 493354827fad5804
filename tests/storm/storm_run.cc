#include "storm_run.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

namespace storm {

namespace {

constexpr int busy_kills_min = 20;
constexpr std::uint64_t answered_percent_min = 70;
constexpr int kills_factor_max = 4;  // a storm that hit too little continues, up to this many times the requested kills

struct Requests {
  std::uint64_t made = 0, answered = 0;
};

// The clients' log of their submits.
Requests requests_in(const std::string& dir) {
  Requests requests;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    if (entry.path().filename().string().rfind("client-", 0) != 0) continue;
    std::ifstream log(entry.path());
    std::string line;
    while (std::getline(log, line)) {
      const std::string what = line.substr(0, line.find(' '));
      if (what == "submit") ++requests.made;
      if (what == "accepted" || what == "exists") ++requests.answered;
    }
  }
  return requests;
}

}  // namespace

Problem StormRun::run() {
  if (auto problem = storm_until_over()) return problem;
  if (auto problem = stop_all()) return problem;
  if (auto problem = drain()) return problem;
  if (auto problem = enough()) return problem;
  report();
  return std::nullopt;
}

bool StormRun::over() const {
  if (options_.seconds > 0) return Clock::now() - begin_ >= std::chrono::seconds(options_.seconds);
  // A kill often finds its node waiting for a lane whose owner was killed before: such a kill proves little.
  const bool hit_enough = figures_.busy_kills >= busy_kills_wanted();
  return figures_.kills >= options_.kills && (hit_enough || figures_.kills >= options_.kills * kills_factor_max);
}

int StormRun::busy_kills_wanted() const {
  const int aimed = options_.seconds > 0 ? figures_.kills - figures_.opening_kills : options_.kills;
  return std::min(busy_kills_min, aimed / 2);
}

std::unique_ptr<NodeProcess> StormRun::start(const std::string& slot, std::vector<std::string> flags) {
  if (flags.empty() && chance(25)) flags.push_back("--no-fusion");
  if (options_.app) flags.push_back("--app");
  const int clients = options_.on == "sqlite" ? clients_on_file : clients_on_server;
  flags.insert(flags.end(), {"--store", store_.address(), "--lease-ms", std::to_string(options_.lease.count()),
                             "--clients", std::to_string(clients)});
  return std::make_unique<NodeProcess>(
      NodeProcess::Setup{options_.node, options_.dir, slot, ++incarnation_, std::move(flags)});
}

std::unique_ptr<NodeProcess> StormRun::start_and_hear(const std::string& slot, const std::string& word) {
  const auto begin = Clock::now();
  auto node = start(slot);
  if (!node->wait_for(word, start_time_max)) return nullptr;
  figures_.slowest_start =
      std::max(figures_.slowest_start, std::chrono::duration_cast<milliseconds>(Clock::now() - begin));
  return node;
}

void StormRun::kill_while_opening(const std::string& slot) {
  const auto node = start(slot);
  std::this_thread::sleep_for(std::chrono::microseconds(between(500, 40'000)));
  strike(*node);
  ++figures_.opening_kills;
}

void StormRun::strike(NodeProcess& node) {
  node.kill();
  ++figures_.kills;
  if (node.was_busy()) ++figures_.busy_kills;
}

Problem StormRun::stop(NodeProcess& node) {
  node.send(SIGCONT);
  node.send(SIGTERM);
  if (node.wait(stop_time_max) != 0) return "a node did not stop gracefully";
  return std::nullopt;
}

Problem StormRun::crash_server() {
  ++figures_.crashes;
  return store_.crash();
}

Problem StormRun::drain() {
  const auto last = start("drain", {"--drain"});
  if (last->wait(drain_time_max) != 0) return "the last node did not finish all jobs";
  if (auto problem = store_.dump(options_.dir)) return problem;
  const std::string check = "'" + options_.checker + "' '" + options_.dir + "'";
  if (std::system(check.c_str()) != 0) return "the checker found violations";
  return std::nullopt;
}

Problem StormRun::enough() const {
  if (figures_.busy_kills < busy_kills_wanted())
    return "only " + std::to_string(figures_.busy_kills) + " kills hit work in flight";
  const Requests requests = requests_in(options_.dir);
  if (requests.answered * 100 < requests.made * answered_percent_min)
    return "only " + std::to_string(requests.answered) + " of " + std::to_string(requests.made) +
           " requests succeeded; at least " + std::to_string(answered_percent_min) + " % must";
  return std::nullopt;
}

void StormRun::show() const {
  if (isatty(STDERR_FILENO) != 1) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin_).count();
  std::cerr << "\rstorm: " << figures_.kills << " kills, " << figures_.busy_kills << " in flight, "
            << figures_.takeovers << " takeovers, " << seconds << " s " << std::flush;
}

void StormRun::report() const {
  const auto ms = std::chrono::duration_cast<milliseconds>(Clock::now() - begin_).count();
  const Requests requests = requests_in(options_.dir);
  std::cout << "storm on " << options_.on << ": " << figures_.kills << " kills (" << figures_.busy_kills
            << " with work in flight, " << figures_.opening_kills << " while opening), ";
  if (figures_.takeovers > 0)
    std::cout << figures_.takeovers << " takeovers (slowest " << figures_.slowest_takeover.count() << " ms), ";
  std::cout << figures_.pauses << " pauses (" << figures_.long_pauses << " longer than the lease), " << figures_.stops
            << " graceful stops, " << figures_.crashes << " crashes of the server, slowest start "
            << figures_.slowest_start.count() << " ms, "
            << requests.answered * 100 / std::max<std::uint64_t>(requests.made, 1) << " % of " << requests.made
            << " requests succeeded, " << static_cast<double>(ms) / 1000 << " s, seed " << options_.seed << "\n";
}

}  // namespace storm
