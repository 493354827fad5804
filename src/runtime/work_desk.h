// WorkDesk: what the local workers are doing. Counts free slots, remembers what is running, and keeps what
// waits for a slot, in order. Bounded: beyond waiting_max it only remembers that the store holds more.
// Not thread-safe: the engine owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/limits.h"
#include "core/job_state.h"

namespace pawl::runtime {

struct WorkRef {
  RunId run{0};
  core::ActivitySeq activity{0};
  friend bool operator==(const WorkRef&, const WorkRef&) = default;
};

struct WorkRefHash {
  std::size_t operator()(const WorkRef& ref) const noexcept { return ref.run.raw() * 31 + ref.activity.raw(); }
};

// One run of an item. An item may run here twice, when the first run lost its claim and is not back yet.
struct WorkRun {
  WorkRef ref;
  core::WorkToken token{0};
  friend bool operator==(const WorkRun&, const WorkRun&) = default;
};

inline WorkRun run_of(const core::WorkItem& item) { return {WorkRef{item.run, item.activity}, item.token}; }

struct WorkRunHash {
  std::size_t operator()(const WorkRun& run) const noexcept { return WorkRefHash{}(run.ref) ^ run.token.raw(); }
};

// An item that waits: enough to claim it without reading it again.
struct WaitingWork {
  WorkRef ref;
  core::WorkToken before{0};     // 0, or the token of an owner that is gone
  std::uint32_t unanswered = 0;  // runs that nobody answered
  std::int32_t priority = 0;     // larger goes first
  std::size_t bytes = 0;         // that its claim brings into memory
};

class WorkDesk {
 public:
  static constexpr std::size_t waiting_max = 1'000'000;

  // `bytes_max`: of the items with local workers; one is always let through.
  explicit WorkDesk(std::size_t bytes_max = limits::worker_queue_bytes_max) : bytes_max_(bytes_max) {}

  void serve(const Topic& topic) { topics_.insert(topic.raw()); }
  bool serves(const Topic& topic) const { return topics_.contains(topic.raw()); }

  void add_slots(std::size_t count) { free_ += count; }
  // For an item of so many bytes; false: there is none, or no room for its bytes.
  bool take_slot(std::size_t bytes);
  void give_slot() { ++free_; }                // of a run that ended
  void give_up_slot(std::size_t bytes);        // of one that never began
  std::size_t free() const { return free_; }
  std::size_t bytes() const { return bytes_; }

  void begin(const WorkRef& ref, core::WorkToken token, std::size_t bytes);
  // Ends what runs under `token`. Unknown: that run is not with a local worker (any more).
  enum class Ended : std::uint8_t { valid, abandoned, unknown };
  Ended end(const WorkRef& ref, core::WorkToken token);
  // An answer of this run was lost with its lane. Its later ones must not be taken either, for the activity would
  // conclude without the lost one; the item is run again under a new token.
  void abandon(const WorkRef& ref, core::WorkToken token);
  bool is_running(const WorkRef& ref, core::WorkToken token) const;
  std::size_t running() const { return running_.size(); }
  std::vector<WorkRun> runs_in(core::LaneId lane) const;  // whose answers still count

  // An item that was handed out limits::reentries_in_groups_max times without an answer is suspect: perhaps
  // the worker's code killed those processes. Suspects begin one at a time, so that only the guilty one is
  // counted again; one that has run for limits::suspect_alone_max and killed nobody does not keep the next waiting.
  void wait(const WaitingWork& work);
  // The next item to claim, if a slot is free for it. `now` is monotonic.
  std::optional<WaitingWork> next_waiting(Duration now);
  // When a suspect that waits may begin although another one is out; none: nobody waits for that.
  std::optional<Duration> next_suspect_at() const;
  // Its claim is on its way: the store may show it as ours before the reply is here.
  bool is_claiming(const WorkRef& ref) const { return claiming_.contains(ref); }
  // True once after `wait` had to drop something: the queue must be read again from the store.
  bool take_overflow();

  // A claimed item that never began: its slot and its turn as a suspect are free again.
  void claim_failed(const WorkRef& ref);

 private:
  std::unordered_set<std::string> topics_;
  std::size_t free_ = 0;
  bool has_room() const { return free_ > 0 && (bytes_ == 0 || bytes_ < bytes_max_); }

  struct Running {
    bool counts = true;  // its answers are still taken
    std::size_t bytes = 0;
  };
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;  // of all slots that are taken
  std::unordered_map<WorkRun, Running, WorkRunHash> running_;
  std::map<std::int32_t, std::deque<WaitingWork>, std::greater<>> waiting_;  // by priority; no queue is empty
  std::size_t waiting_count_ = 0;
  std::deque<WaitingWork> suspects_;
  std::optional<WorkRef> suspect_out_;
  Duration suspect_until_{0};  // then it is no longer alone
  std::unordered_set<WorkRef, WorkRefHash> waiting_refs_;
  std::unordered_map<WorkRef, std::size_t, WorkRefHash> claiming_;  // to the bytes of its slot
  bool overflow_ = false;
};

}  // namespace pawl::runtime
