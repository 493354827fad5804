// Workshop: the work of local workers. An item is claimed in the commit that puts it, or waits at the desk for a slot.
// When it is handed out, its clocks start. It ends with a reply, without one, given back or written off.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/engine_types.h"
#include "runtime/owned_lane.h"
#include "runtime/run_clocks.h"
#include "runtime/unserved_topics.h"
#include "runtime/work_desk.h"
#include "store/read.h"

namespace pawl::runtime {

struct Parts;

class Workshop {
 public:
  Workshop(Parts& parts, const EngineOptions& options) : parts_(parts), desk_(options.bytes_max.worker_queue) {}

  // --- topics and workers
  void serve(const Topic& topic);
  void offer_probe(const Topic& topic);
  bool cares_for(const Topic& topic) const;  // it has a worker or a probe here
  void add_slots(std::size_t count) { desk_.add_slots(count); }
  void set_threads(std::size_t count) { desk_.set_threads(count); }
  std::size_t free_slots() const { return desk_.free(); }
  std::size_t bytes() const { return desk_.bytes(); }
  std::size_t running() const { return desk_.running(); }
  std::vector<Topic> topics(std::size_t count_max) const { return desk_.topics(count_max); }  // by name
  bool is_busy(core::LaneId lane) const;  // a worker has work of it, or a worker's message is on its way to the store

  // --- messages of workers
  void answer(WorkReply answer);
  void begun(const WorkRun& run);
  void heartbeat(const WorkRun& run, Payload progress);
  void detach(const WorkRun& run, Duration lease);
  void probed(ProbeAnswer answer);
  void give_back(const core::WorkItem& item, core::Began began);
  void write_off(const WorkRun& run);
  void undone(const WorkRun& run);
  void leave_runs() { desk_.forget_all(); }

  // --- items of jobs
  // Claims what the bundle puts: for workers of this process as far as there are slots, else for somebody outside who
  // waits for it.
  void claim_for_workers(core::Bundle& bundle);
  void give_back_slots(const core::Bundle& bundle);       // it was not committed, or this engine does not hand it out
  void put(OwnedLane* lane, const core::WorkItem& item);  // just committed
  // Committed, but its job was forgotten meanwhile: what it claimed for others is theirs all the same.
  void put_for_others(const core::Bundle& bundle);
  void free_room(const core::WorkItem& item);  // it does not exist after all
  // An item of an owned lane that is not claimed here: hand it out, queue it, or leave it to the worker that has it.
  void adopt(OwnedLane& lane, const core::WorkItem& item);
  // An item that a scan found and whose topic is not served here: perhaps a worker elsewhere has it.
  void seen(const store::WorkPlace& place);
  // This engine's own claim, whose reply was lost: the attempt has not begun, here or elsewhere.
  void go_on_with_claim(OwnedLane& lane, const core::WorkItem& item);
  // Whether its final reply waits here, not committed yet: then it need not be attempted again.
  bool is_answered(const OwnedLane& lane, const core::WorkItem& item) const;
  // Attempts that a bundle takes from their local workers: their results are not needed any more.
  std::vector<WorkRun> runs_ended_by(const core::JobState& before, const core::Bundle& bundle) const;
  void cancel_run(const WorkRun& run);  // its result is not needed any more
  void cancel_runs(core::LaneId lane);
  void doubt(const std::vector<WorkRun>& runs);  // only the store knows whether they are still needed
  void doubt_runs(core::LaneId lane) { doubt(desk_.runs_in(lane)); }
  void forget_probes(OwnedLane& lane, const core::Bundle& bundle);
  // These deliveries are lost when their job is dropped from memory.
  void abandon(RunId run, const std::vector<core::Delivery>& deliveries);
  void withdrawn(const store::Operation& operation);  // it is not sent to the store after all

  // --- turns
  void look_at_runs();  // those whose claim is uncertain
  void park_overrun();  // jobs of items that were handed out too often
  void claim_waiting();
  void end_clocks();
  void look_for_overflow();  // the desk had to drop waiting items: the store has them
  void topics_changed();     // perhaps: the paused ones are read
  void look_at_unserved();   // topics that work has waited for too long
  void tick();
  std::optional<Duration> next_wake() const;
  bool must_try_again() const { return topics_unread_ || !overrun_.empty() || !runs_in_doubt_.empty(); }

  // --- outcomes of operations
  void settle_claim(const store::ClaimItem& claim, store::Outcome outcome);
  void settle_release(const store::ReleaseWork& release, const store::Outcome& outcome);
  void settle_extend(const store::ExtendWork& extend, const store::Outcome& outcome);
  void taken_elsewhere(const std::vector<core::WorkItem>& items);  // by workers of other processes, under a lease

 private:
  // Whether a worker of this process could begin it: its topic is served, and no attempt of it is here or on its way
  // here.
  bool may_begin(const core::WorkItem& item) const;
  void hand_out(const core::WorkItem& item);  // its claim is committed, its slot taken
  void claim_for_others(core::WorkItem& item);
  void give_to_others(const core::WorkItem& item);
  bool is_over_time(OwnedLane& lane, const core::WorkItem& item);
  void say_no_answer(OwnedLane& lane, const core::WorkItem& item, core::NoReply::Why why);
  void ask_probe(OwnedLane& lane, const core::WorkItem& item);
  void claimed(OwnedLane& lane, const core::WorkItem& item);
  void claim_if_wanted(OwnedLane& lane, const core::WorkItem& item, core::WorkToken before);
  void look_again(OwnedLane& lane, const WorkRef& ref, core::WorkToken before, const WorkNeed& need);
  void found(OwnedLane& lane, const core::WorkItem& item, core::WorkToken before);
  void topics_read(const store::AnswerTo<store::ReadPausedTopics>& topics);
  void release(const OwnedLane& lane, const core::WorkItem& item, core::Began began);
  void say_if_unserved(const Topic& topic, const WorkRef& ref, const store::AnswerTo<store::ReadItem>& item);
  std::uint32_t handouts_max(RunId run) const;

  Parts& parts_;
  WorkDesk desk_;
  RunClocks clocks_;
  UnservedTopics unserved_;
  std::unordered_set<std::string> probes_;  // topics whose lost attempts can be probed
  std::unordered_set<std::string> paused_topics_;
  bool topics_unread_ = false;          // could not be read: tick() retries
  bool topics_asked_ = false;           // they are being read
  bool topics_again_ = false;           // and may have changed since
  std::deque<core::WorkItem> overrun_;  // handed out too often: their jobs are parked
  std::vector<WorkRun> runs_in_doubt_;
  std::unordered_map<WorkRun, std::uint64_t, WorkRunHash> far_rooms_;  // claimed for others, not known to be committed
  // a heartbeat is on its way; what to send next
  std::unordered_map<WorkRun, std::optional<Payload>, WorkRunHash> beats_;
  std::unordered_set<WorkRef, WorkRefHash>
      looked_at_;  // a claim of it did not go as expected: the store is asked who has it
  std::unordered_set<WorkRef, WorkRefHash> detaching_;  // no worker here has it, but it is not lost
  std::unordered_set<WorkRef, WorkRefHash> releasing_;  // no worker here has it, because it is being given back
};

}  // namespace pawl::runtime
