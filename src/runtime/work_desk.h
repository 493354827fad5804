// WorkDesk: what the local workers are doing. Counts free slots, remembers running attempts, and keeps the work that
// waits for a slot, in order. Bounded: beyond waiting_max it only remembers that the store has more. Not thread-safe:
// the engine owns it.
//
// There are more slots than threads: what is handed out waits for a thread. At-most-once work counts as `started` with
// its claim, and after a crash its effect is unknown. So no more of it is claimed than threads can begin.
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

// One attempt of an item. An item may have two attempts here, when the first one lost its claim and has not returned
// yet.
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
  std::uint32_t unanswered = 0;  // attempts without a reply
  std::int32_t priority = 0;     // larger goes first
  WorkNeed need{};
  std::uint64_t place = 0;  // assigned by the desk: the order of arrival
};

class WorkDesk {
 public:
  static constexpr std::size_t waiting_max = 1'000'000;

  // `bytes_max`: of the items with local workers; one is always admitted.
  explicit WorkDesk(std::size_t bytes_max = limits::worker_queue_bytes_max) : bytes_max_(bytes_max) {}

  void serve(const Topic& topic) { topics_.insert(topic.raw()); }
  bool serves(const Topic& topic) const { return topics_.contains(topic.raw()); }
  std::vector<Topic> topics(std::size_t count_max) const;  // the first ones by name

  void add_slots(std::size_t count) { free_ += count; }
  // How many attempts can begin at the same time; not set: as many as there are slots.
  void set_threads(std::size_t count) { threads_ = count; }
  // False: there is none, no room for its bytes, or no thread that could begin at-most-once work.
  bool take_slot(const WorkNeed& need);
  void give_slot(const WorkNeed& need);
  std::size_t free() const { return free_; }
  std::size_t bytes() const { return bytes_; }

  void begin(const WorkRef& ref, core::WorkToken token, const WorkNeed& need);  // the slot was taken
  // Ends the attempt under `token`, and frees its slot. Unknown: that attempt is not with a local worker (any more).
  enum class Ended : std::uint8_t { valid, abandoned, unknown };
  Ended end(const WorkRef& ref, core::WorkToken token);
  // Its worker does not return: frees the slot, and its turn as a suspect. If it replies after all, the reply counts.
  void write_off(const WorkRef& ref, core::WorkToken token);
  void forget_all();  // this process waits for none of them any more
  // A reply of this attempt was lost with its lane. Its later replies must not be taken either, because the activity
  // would conclude without the lost one; the item is attempted again under a new token.
  void abandon(const WorkRef& ref, core::WorkToken token);
  bool is_running(const WorkRef& ref, core::WorkToken token) const;
  bool is_in_hand(const WorkRef& ref, core::WorkToken token) const;  // running, and not written off
  std::size_t running() const { return in_hand_; }                   // those that are not written off
  std::vector<WorkRun> runs_in(core::LaneId lane) const;             // whose replies still count
  bool is_busy(core::LaneId lane) const;  // an attempt of it runs and counts, or is being claimed

  // An item that was handed out limits::reentries_in_groups_max times without a reply is suspect: perhaps the worker's
  // code crashed those processes. Suspects begin one at a time, so that only the one that crashes is counted again. One
  // that has run for limits::suspect_alone_max without a crash does not delay the next.
  void wait(const WaitingWork& work);
  // The next item to claim, if a slot is free for it. `now` is monotonic.
  std::optional<WaitingWork> next_waiting(Duration now);
  // When a waiting suspect may begin although another one is running; none: no suspect waits.
  std::optional<Duration> next_suspect_at() const;
  // Its claim is on its way: the store may show it as claimed by this engine before the reply is here.
  bool is_claiming(const WorkRef& ref) const { return claiming_.contains(ref); }
  // True once after `wait` had to drop something: the queue must be read again from the store.
  bool take_overflow();

  // A claimed item that never began: its slot and its turn as a suspect are free again. Returns its need.
  WorkNeed claim_failed(const WorkRef& ref);

 private:
  struct Running {
    bool counts = true;  // its replies are taken
    bool has_slot = true;
    WorkNeed need;
  };
  // By priority, then by place; no queue is empty.
  using Queues = std::map<std::int32_t, std::deque<WaitingWork>, std::greater<>>;
  static WaitingWork take_first(Queues& queues);
  Queues* first_queues();  // those whose first item may be claimed next; none: nothing may be claimed
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
  Duration suspect_until_{0};  // until then it runs alone
  std::unordered_set<WorkRef, WorkRefHash> waiting_refs_;
  std::unordered_map<WorkRef, WorkNeed, WorkRefHash> claiming_;
  bool overflow_ = false;
};

}  // namespace pawl::runtime
