// Committer: applies groups of operations: one script call for each lane that they touch, and one for the catalogue.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "core/guid.h"
#include "store/operation.h"
#include "store/redis/encoder.h"
#include "store/redis/keys.h"
#include "store/redis/lane_watch.h"
#include "store/redis/plain_commits.h"
#include "store/redis/server_clock.h"
#include "store/redis/servers.h"

namespace pawl::store::redis {

class Committer {
 public:
  // The references must outlive it. One of the clocks is null: a test's clock, or the server's clock as this process
  // knows it. `sender` names this store in its notifications.
  Committer(Servers& servers, const Keys& keys, core::Guid store, const Clock* clock, ServerClock* server_clock,
            std::string sender)
      : servers_(servers),
        keys_(keys),
        store_(store),
        clock_(clock),
        server_clock_(server_clock),
        sender_(std::move(sender)),
        watch_(servers, keys, store) {}

  Result<std::vector<Outcome>> commit(std::span<const Operation> group);

  // Whether the lane exists; the catalogue is asked only about an unknown lane.
  Result<bool> has_lane(core::LaneId lane);
  Result<std::uint32_t> lanes();

  const std::string& sender() const { return sender_; }
  std::string now_text() const { return clock_ == nullptr ? std::string() : format("{}", clock_->now().micros()); }
  // The last run that was created there, as far as is known.
  RunId last_run(core::LaneId lane);
  void saw_run(RunId run);
  LaneWatch& watch() { return watch_; }
  // For a server without scripts: call before anything is committed.
  void do_without_scripts() { plain_.emplace(servers_, keys_, store_, clock_, watch_, sender_); }
  bool has_scripts() const { return !plain_; }
  // Refuses after a newer program has raised the layout of the store, as far as is known (layout.h).
  Status check_known_layout();
  // The lane belongs to this store: it acquired the lane and has not learned otherwise.
  bool holds(core::LaneId lane);

  // Of lanes, so far.
  std::uint64_t groups() const { return groups_; }
  std::uint64_t operations() const { return operations_; }

 private:
  using Indices = std::vector<std::size_t>;  // of operations in their group
  struct LaneMemory {
    RunId last_run{0};
    bool held = false;
    std::unordered_map<std::string, RunId> runs;  // by name, possibly outdated: a hint that saves a round trip
  };
  Status commit_lane(core::LaneId lane, std::span<const Operation> group, const Indices& indices,
                     std::vector<Outcome>& outcomes);
  Result<std::vector<Outcome>> commit_plainly(std::span<const Operation> group);
  Result<std::vector<Outcome>> commit_by_scripts(std::span<const Operation> group);
  Status look_at_layout(std::span<const Operation> group);
  Status learn_layout(Status status);
  // The reason, if the script reports that it did nothing.
  std::optional<Error> refusal_of(const Reply& reply, core::LaneId lane);
  Status commit_catalogue(std::span<const Operation> group, const Indices& indices, std::vector<Outcome>& outcomes);
  void note(const Operation& operation, const std::string& name, const Outcome& outcome);

  Servers& servers_;
  const Keys& keys_;
  const core::Guid store_;
  const Clock* const clock_;
  ServerClock* const server_clock_;
  const std::string sender_;
  LaneWatch watch_;
  std::optional<PlainCommits> plain_;  // if the server has no scripts
  std::atomic<std::uint64_t> groups_{0};
  std::atomic<std::uint64_t> operations_{0};

  std::mutex mutex_;  // guards what is below
  std::uint32_t lanes_ = 0;
  std::optional<Error> newer_layout_;
  std::map<core::LaneId, LaneMemory> memory_;
};

}  // namespace pawl::store::redis
