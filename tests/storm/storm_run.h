// StormRun: the common part of every storm: it starts and kills nodes, counts, lets all jobs finish, and has the
// evidence checked.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "node_process.h"
#include "storm_store.h"

namespace storm {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Problem = std::optional<std::string>;  // none: no problem

// For one node. On a server many of them wait for lanes whose owner was killed: there must be others.
inline constexpr int clients_on_file = 6, clients_on_server = 40;
inline constexpr milliseconds start_time_max{10'000};
inline constexpr milliseconds stop_time_max{30'000};
inline constexpr milliseconds drain_time_max{150'000};

struct Options {
  std::string node, checker, dir;
  std::string on = "sqlite";  // or postgres, redis
  int kills = 200;
  int seconds = 0;           // 0: as long as the kills take
  milliseconds lease{1000};  // of nodes on a server
  std::uint64_t seed = 0;
  bool keep = false;
  bool app = false;
  bool crashes = false;  // of the server too
};

struct Figures {
  int kills = 0, busy_kills = 0, opening_kills = 0, takeovers = 0, pauses = 0, long_pauses = 0, stops = 0, crashes = 0;
  milliseconds slowest_start{0}, slowest_takeover{0};
};

class StormRun {
 public:
  StormRun(const Options& options, StormStore& store) : options_(options), store_(store), random_(options.seed) {}
  virtual ~StormRun() = default;

  Problem run();

 protected:
  virtual Problem storm_until_over() = 0;
  virtual Problem stop_all() = 0;

  bool chance(int percent) { return between(1, 100) <= percent; }
  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool over() const;

  std::unique_ptr<NodeProcess> start(const std::string& slot, std::vector<std::string> flags = {});
  // A node that must print the word in time; null: it did not.
  std::unique_ptr<NodeProcess> start_and_hear(const std::string& slot, const std::string& word);
  void kill_while_opening(const std::string& slot);  // kills while the store is made, or during recovery
  void strike(NodeProcess& node);
  Problem stop(NodeProcess& node);  // gracefully
  Problem crash_server();
  void show() const;

  const Options& options_;
  Figures figures_;

 private:
  Problem drain();
  int busy_kills_wanted() const;
  Problem enough() const;  // whether the storm proves something
  void report() const;

  StormStore& store_;
  std::mt19937_64 random_;
  int incarnation_ = 0;
  const Clock::time_point begin_ = Clock::now();
};

// One node or two on one file; of two the second one submits, and takes over within a second when the first is killed.
std::unique_ptr<StormRun> file_storm(const Options& options, StormStore& store);
// Three nodes that share the lanes of a server.
std::unique_ptr<StormRun> server_storm(const Options& options, StormStore& store);

}  // namespace storm
