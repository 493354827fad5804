// WorkDesk: what the local workers are doing. Counts free slots, remembers what is running, and keeps what
// waits for a slot, in order. Bounded: beyond waiting_max it only remembers that the store holds more.
// Not thread-safe: the engine owns it.
//
// There are more slots than threads: what is handed out waits in front of these. Work that may act at most once is
// `started` with its claim, and a crash leaves it in doubt. So of it no more is claimed than threads could begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
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
  friend auto operator<=>(const WorkRef&, const WorkRef&) = default;
};

struct WorkRefHash {
  std::size_t operator()(const WorkRef& ref) const noexcept { return ref.run.raw() * 31 + ref.activity.raw(); }
};

// One run of an item. An item may run here twice, when the first run lost its claim and is not back yet.
struct WorkRun {
  WorkRef ref;
  core::WorkToken token{0};
  friend auto operator<=>(const WorkRun&, const WorkRun&) = default;
};

inline WorkRun run_of(const core::WorkItem& item) { return {WorkRef{item.run, item.activity}, item.token}; }

struct WorkRunHash {
  std::size_t operator()(const WorkRun& run) const noexcept { return WorkRefHash{}(run.ref) ^ run.token.raw(); }
};

// What a slot is taken for.
struct WorkNeed {
  std::size_t bytes = 0;  // that the claim brings into memory
  bool once = false;      // it may act at most once
};

// An item that waits: enough to claim it without reading it again.
struct WaitingWork {
  WorkRef ref;
  core::WorkToken before{0};     // 0, or the token of an owner that is gone
  std::uint32_t unanswered = 0;  // runs that nobody answered
  std::int32_t priority = 0;     // larger goes first
  WorkNeed need{};
  std::uint64_t place = 0;  // the desk's own: who came first
};

class WorkDesk {
 public:
  static constexpr std::size_t waiting_max = 1'000'000;

  // `bytes_max`: of the items with local workers; one is always let through.
  explicit WorkDesk(std::size_t bytes_max = limits::worker_queue_bytes_max) : bytes_max_(bytes_max) {}

  void serve(const Topic& topic) { topics_.insert(topic.raw()); }
  bool serves(const Topic& topic) const { return topics_.contains(topic.raw()); }
  std::vector<Topic> topics(std::size_t count_max) const;  // the first ones by name

  void add_slots(std::size_t count) { free_ += count; }
  // How many runs can begin at the same time; not said: as many as there are slots.
  void set_threads(std::size_t count) { threads_ = count; }
  // False: there is none, no room for its bytes, or no thread that could begin what may act at most once.
  bool take_slot(const WorkNeed& need);
  void give_slot(const WorkNeed& need);
  std::size_t free() const { return free_; }
  std::size_t bytes() const { return bytes_; }

  void begin(const WorkRef& ref, core::WorkToken token, const WorkNeed& need);  // the slot was taken
  // Ends what runs under `token`, and its slot is free. Unknown: that run is not with a local worker (any more).
  enum class Ended : std::uint8_t { valid, abandoned, unknown };
  Ended end(const WorkRef& ref, core::WorkToken token);
  // Its worker does not return: the slot is free, and its turn as a suspect. Should it answer after all, that counts.
  void write_off(const WorkRef& ref, core::WorkToken token);
  void forget_all();  // nobody here waits for any of them
  // An answer of this run was lost with its lane. Its later ones must not be taken either, for the activity would
  // conclude without the lost one; the item is run again under a new token.
  void abandon(const WorkRef& ref, core::WorkToken token);
  bool is_running(const WorkRef& ref, core::WorkToken token) const;
  bool is_in_hand(const WorkRef& ref, core::WorkToken token) const;  // likewise, and it is not written off
  std::size_t running() const { return in_hand_; }                   // of those that are not written off
  std::vector<WorkRun> runs_in(core::LaneId lane) const;             // whose answers still count
  bool is_busy(core::LaneId lane) const;  // something of it is in hand, and counts, or is being claimed

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

  // A claimed item that never began: its slot and its turn as a suspect are free again. What it was taken for.
  WorkNeed claim_failed(const WorkRef& ref);

 private:
  struct Running {
    bool counts = true;  // its answers are taken
    bool has_slot = true;
    WorkNeed need;
  };
  // By priority, then by place; no queue is empty.
  using Queues = std::map<std::int32_t, std::deque<WaitingWork>, std::greater<>>;
  static WaitingWork take_first(Queues& queues);
  Queues* first_queues();  // the ones whose first item may be claimed next; none: nothing may
  bool has_room(bool once) const;

  std::unordered_set<std::string> topics_;
  std::size_t free_ = 0;
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;  // of all slots that are taken
  std::size_t threads_ = std::numeric_limits<std::size_t>::max();
  std::size_t once_ = 0;  // slots taken for work that may act at most once
  std::unordered_map<WorkRun, Running, WorkRunHash> running_;
  std::size_t in_hand_ = 0;  // of these, with a slot
  Queues waiting_;
  Queues waiting_once_;
  std::size_t waiting_count_ = 0;
  std::uint64_t next_place_ = 0;
  std::deque<WaitingWork> suspects_;
  std::optional<WorkRef> suspect_out_;
  Duration suspect_until_{0};  // then it is no longer alone
  std::unordered_set<WorkRef, WorkRefHash> waiting_refs_;
  std::unordered_map<WorkRef, WorkNeed, WorkRefHash> claiming_;
  bool overflow_ = false;
};

}  // namespace pawl::runtime
