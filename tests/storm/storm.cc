// The storm: kills the engine with SIGKILL while jobs run, starts it again, some hundred times,
// then lets it finish everything and has the evidence checked by a program that knows no engine
// code.
//
//   storm --node PROGRAM --checker PROGRAM [--dir DIR] [--kills N] [--seconds S] [--seed N]
//   [--keep] [--app]
//
// With --app the jobs are of the graph language: they start, await and signal to each other.
//
// Sometimes two nodes run on the same file: the second one submits, and takes over within a second
// when the first is killed. Sometimes a node is stopped for a while (SIGSTOP), as a machine under
// load would. The run fails as well when it proves too little: see `enough`.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "node_process.h"

namespace storm {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds start_time_max{10'000};
constexpr milliseconds takeover_time_max{1'000};
constexpr milliseconds stop_time_max{30'000};
constexpr milliseconds drain_time_max{150'000};
constexpr int busy_kills_min = 20;
constexpr int kills_while_made = 12;  // before the first node lives long enough to make the file

struct Options {
  std::string node, checker, dir;
  int kills = 200;
  int seconds = 0;  // 0: as long as the kills take
  std::uint64_t seed = 0;
  bool keep = false;
  bool app = false;
};

struct Figures {
  int kills = 0, busy_kills = 0, opening_kills = 0, takeovers = 0, pauses = 0;
  milliseconds slowest_start{0}, slowest_takeover{0};
};

class Storm {
 public:
  explicit Storm(Options options) : options_(std::move(options)), random_(options_.seed) {}

  // What went wrong; none: nothing did.
  std::optional<std::string> run() {
    const auto begin = Clock::now();
    for (int i = 0; i < kills_while_made; ++i) kill_while_opening();
    while (!over(begin)) {
      if (auto problem = one_kill()) return problem;
      show(begin);
    }
    if (auto problem = stop_all()) return problem;
    if (auto problem = drain()) return problem;
    if (auto problem = enough()) return problem;
    report(begin);
    return std::nullopt;
  }

 private:
  bool chance(int percent) { return between(1, 100) <= percent; }
  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  bool over(Clock::time_point begin) const {
    const bool time_over = Clock::now() - begin >= std::chrono::seconds(options_.seconds);
    return options_.seconds > 0 ? time_over : figures_.kills >= options_.kills;
  }

  std::unique_ptr<NodeProcess> start(const std::string& slot, std::vector<std::string> flags = {}) {
    if (flags.empty() && chance(25)) flags.push_back("--no-fusion");
    if (options_.app) flags.push_back("--app");
    return std::make_unique<NodeProcess>(
        NodeProcess::Setup{options_.node, options_.dir, slot, ++incarnation_, std::move(flags)});
  }

  std::optional<std::string> one_kill() {
    if (!first_ && chance(10)) {
      kill_while_opening();
      return std::nullopt;
    }
    if (!first_) {
      const auto begin = Clock::now();
      first_ = start("a");
      if (!first_->heard("owns", start_time_max)) return "a node did not start";
      figures_.slowest_start = std::max(
          figures_.slowest_start, std::chrono::duration_cast<milliseconds>(Clock::now() - begin));
    }
    if (!second_ && chance(25)) {
      second_ = start(first_->slot() == "a" ? "b" : "a");
      if (!second_->heard("ready", start_time_max)) return "a second node did not start";
    }
    std::this_thread::sleep_for(milliseconds(between(20, 150)));
    if (chance(10)) {
      ++figures_.pauses;
      first_->send(SIGSTOP);
      std::this_thread::sleep_for(milliseconds(between(5, 60)));
      if (chance(50)) first_->send(SIGCONT);  // otherwise it is killed while it stands still
    }
    if (second_ && chance(25)) {
      strike(*second_);
      second_.reset();
      first_->send(SIGCONT);
      return std::nullopt;
    }
    strike(*first_);
    first_ = std::move(second_);
    return first_ ? await_takeover() : std::nullopt;
  }

  // Hits the making of the file, or recovery.
  void kill_while_opening() {
    const auto node = start("a");
    std::this_thread::sleep_for(std::chrono::microseconds(between(500, 40'000)));
    strike(*node);
    ++figures_.opening_kills;
  }

  void strike(NodeProcess& node) {
    node.kill();
    ++figures_.kills;
    if (node.was_busy()) ++figures_.busy_kills;
  }

  std::optional<std::string> await_takeover() {
    const auto begin = Clock::now();
    if (!first_->heard("owns", takeover_time_max))
      return "the second node did not take over within a second";
    ++figures_.takeovers;
    figures_.slowest_takeover = std::max(
        figures_.slowest_takeover, std::chrono::duration_cast<milliseconds>(Clock::now() - begin));
    return std::nullopt;
  }

  std::optional<std::string> stop_all() {
    for (auto* node : {&first_, &second_}) {
      if (!*node) continue;
      (*node)->send(SIGCONT);
      (*node)->send(SIGTERM);
      if ((*node)->wait(stop_time_max) != 0) return "a node did not stop gracefully";
      node->reset();
    }
    return std::nullopt;
  }

  std::optional<std::string> drain() {
    const auto last = start("drain", {"--drain"});
    if (last->wait(drain_time_max) != 0) return "the last node did not finish all jobs";
    const std::string dump = "sqlite3 -batch '" + options_.dir + "/store.db' < '" + options_.dir +
                             "/dump.sql' > '" + options_.dir + "/dump.txt'";
    write_dump_script();
    if (std::system(dump.c_str()) != 0) return "the sqlite3 shell could not dump the store";
    const std::string check = "'" + options_.checker + "' '" + options_.dir + "'";
    if (std::system(check.c_str()) != 0) return "the checker found violations";
    return std::nullopt;
  }

  void write_dump_script() const;

  std::optional<std::string> enough() const {
    const int wanted = std::min(busy_kills_min, figures_.kills / 2);
    if (figures_.busy_kills < wanted)
      return "only " + std::to_string(figures_.busy_kills) + " kills hit work in flight";
    return std::nullopt;
  }

  void show(Clock::time_point begin) const {
    if (isatty(STDERR_FILENO) != 1) return;
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count();
    std::cerr << "\rstorm: " << figures_.kills << " kills, " << figures_.busy_kills
              << " in flight, " << figures_.takeovers << " takeovers, " << seconds << " s "
              << std::flush;
  }

  void report(Clock::time_point begin) const {
    const auto ms = std::chrono::duration_cast<milliseconds>(Clock::now() - begin).count();
    std::cout << "storm: " << figures_.kills << " kills (" << figures_.busy_kills
              << " with work in flight, " << figures_.opening_kills << " while opening), "
              << figures_.takeovers << " takeovers (slowest " << figures_.slowest_takeover.count()
              << " ms), " << figures_.pauses << " pauses, slowest start "
              << figures_.slowest_start.count() << " ms, " << static_cast<double>(ms) / 1000
              << " s, seed " << options_.seed << "\n";
  }

  const Options options_;
  std::mt19937_64 random_;
  Figures figures_;
  int incarnation_ = 0;
  std::unique_ptr<NodeProcess> first_, second_;  // first: owns the lanes
};

void Storm::write_dump_script() const {
  std::FILE* file = std::fopen((options_.dir + "/dump.sql").c_str(), "w");
  if (file == nullptr) std::abort();
  std::fputs(
      "SELECT 'job|'||run||'|'||job_id||'|'||graph||'|'||status||'|'||semaphore||'|'||completions\n"
      "  ||'|'||coalesce(CAST(result AS TEXT), '')||'|'||reason FROM jobs;\n"
      "SELECT 'activity|'||run||'|'||seq||'|'||node||'|'||place||'|'||printf('%015d', ledger)\n"
      "  ||'|'||status||'|'||code||'|'||coalesce(CAST(output AS TEXT), '') FROM activities;\n"
      "SELECT 'message|'||run||'|'||activity||'|'||ledger FROM message_view;\n"
      "SELECT 'inbox|'||count(*) FROM inbox_view;\n"
      "SELECT 'work|'||count(*) FROM work_view;\n"
      "SELECT 'mailbox|'||count(*) FROM mailbox_entries;\n"
      "SELECT 'integrity|'||integrity_check FROM pragma_integrity_check;\n",
      file);
  std::fclose(file);
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--keep" || name == "--app") {
      (name == "--keep" ? options.keep : options.app) = true;
      continue;
    }
    if (++i >= argc) return false;
    const std::string value = argv[i];
    if (name == "--node")
      options.node = value;
    else if (name == "--checker")
      options.checker = value;
    else if (name == "--dir")
      options.dir = value;
    else if (name == "--kills")
      options.kills = std::atoi(value.c_str());
    else if (name == "--seconds")
      options.seconds = std::atoi(value.c_str());
    else if (name == "--seed")
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    else
      return false;
  }
  return !options.node.empty() && !options.checker.empty() && options.kills > 0;
}

}  // namespace

}  // namespace storm

int main(int argc, char** argv) {
  storm::Options options;
  options.seed = std::random_device{}();
  if (!storm::parse(argc, argv, options)) {
    std::cerr << "usage: storm --node PROGRAM --checker PROGRAM [--dir DIR] [--kills N]"
                 " [--seconds S] [--seed N] [--keep] [--app]\n";
    return 2;
  }
  namespace fs = std::filesystem;
  if (options.dir.empty())
    options.dir = (fs::temp_directory_path() / ("pawl-storm-" + std::to_string(getpid()))).string();
  fs::remove_all(options.dir);
  fs::create_directories(options.dir);
  const auto problem = storm::Storm(options).run();
  if (problem) {
    std::cerr << "storm: " << *problem << "; seed " << options.seed << ", evidence in "
              << options.dir << "\n";
    return 1;
  }
  if (!options.keep) fs::remove_all(options.dir);
  return 0;
}
