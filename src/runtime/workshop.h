// Workshop: what is handed to local workers, and what becomes of it. An item is claimed in the commit that puts it, or
// waits at the desk for a slot; handed out, its clocks run; it ends with an answer, without one, given back or written
// off.
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

  // --- who works here
  void serve(const Topic& topic);
  void offer_probe(const Topic& topic);
  bool cares_for(const Topic& topic) const;  // a worker or a probe of it is here
  void add_slots(std::size_t count) { desk_.add_slots(count); }
  void set_threads(std::size_t count) { desk_.set_threads(count); }
  std::size_t free_slots() const { return desk_.free(); }
  std::size_t bytes() const { return desk_.bytes(); }
  std::size_t running() const { return desk_.running(); }
  std::vector<Topic> topics(std::size_t count_max) const { return desk_.topics(count_max); }  // by name
  bool is_busy(core::LaneId lane) const;  // a worker has work of it, or a word of one is on its way to the store

  // --- what workers say
  void answer(WorkAnswer answer);
  void begun(const WorkRun& run);
  void heartbeat(const WorkRun& run, Payload progress);
  void detach(const WorkRun& run, Duration lease);
  void probed(ProbeAnswer answer);
  void give_back(const core::WorkItem& item, core::Began began);
  void write_off(const WorkRun& run);
  void undone(const WorkRun& run);
  void leave_runs() { desk_.forget_all(); }

  // --- items of jobs
  // Claims what the bundle puts for workers of this process, as far as there are slots.
  void claim_for_local_workers(core::Bundle& bundle);
  void give_back_slots(const core::Bundle& bundle);       // it was not committed, or nobody here hands it out
  void put(OwnedLane* lane, const core::WorkItem& item);  // just committed
  // An item of an owned lane that nobody here has claimed: run it, queue it, or leave it to who has it.
  void adopt(OwnedLane& lane, const core::WorkItem& item);
  // An item whose topic nobody here serves, as a scan found it: perhaps somebody has it.
  void seen(const store::WorkPlace& place);
  // Our own claim whose reply was lost: the run has not begun, here or anywhere.
  void go_on_with_claim(OwnedLane& lane, const core::WorkItem& item);
  // Whether its final answer waits here, not committed yet: then nobody needs to run it again.
  bool is_answered(const OwnedLane& lane, const core::WorkItem& item) const;
  // Runs that a bundle takes from under their local workers: nobody waits for them any more.
  std::vector<WorkRun> runs_ended_by(const core::JobState& before, const core::Bundle& bundle) const;
  void cancel_run(const WorkRun& run);  // whoever works on it does so for nobody
  void cancel_runs(core::LaneId lane);
  void doubt(const std::vector<WorkRun>& runs);  // only the store knows whether they are still wanted
  void doubt_runs(core::LaneId lane) { doubt(desk_.runs_in(lane)); }
  void forget_probes(OwnedLane& lane, const core::Bundle& bundle);
  // These deliveries are lost with their job's place in memory.
  void abandon(RunId run, const std::vector<core::Delivery>& deliveries);
  void withdrawn(const store::Operation& operation);  // it is not sent to the store after all

  // --- turns
  void look_at_runs();  // those in doubt
  void park_overrun();  // jobs of items that were handed out too often
  void claim_waiting();
  void end_clocks();
  void look_for_overflow();  // the desk had to drop what waited: the store has it
  void topics_changed();     // perhaps: those that are paused are read
  void look_at_unserved();   // topics that work has waited for too long
  void tick();
  std::optional<Duration> next_wake() const;
  bool must_try_again() const { return topics_unread_ || !overrun_.empty() || !runs_in_doubt_.empty(); }

  // --- what became of an operation
  void settle_claim(const store::ClaimItem& claim, store::Outcome outcome);
  void settle_release(const store::ReleaseWork& release, const store::Outcome& outcome);
  void settle_extend(const store::ExtendWork& extend, const store::Outcome& outcome);

 private:
  // Whether a worker of this process could begin it: its topic is served, and no run of it is here or on its way here.
  bool may_begin(const core::WorkItem& item) const;
  void hand_out(const core::WorkItem& item);  // its claim is committed, its slot taken
  bool is_over_time(OwnedLane& lane, const core::WorkItem& item);
  void say_no_answer(OwnedLane& lane, const core::WorkItem& item, core::NoAnswer::Why why);
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
  std::unordered_set<std::string> probes_;  // topics whose lost runs can be asked about
  std::unordered_set<std::string> paused_topics_;
  bool topics_unread_ = false;          // could not be read: tick() tries again
  bool topics_asked_ = false;           // they are being read
  bool topics_again_ = false;           // and may have changed since
  std::deque<core::WorkItem> overrun_;  // handed out too often: their jobs are parked
  std::vector<WorkRun> runs_in_doubt_;
  std::unordered_map<WorkRun, std::optional<Payload>, WorkRunHash> beats_;  // a heartbeat is out; what to say next
  std::unordered_set<WorkRef, WorkRefHash>
      looked_at_;  // a claim of it did not go as expected: the store is asked who has it
  std::unordered_set<WorkRef, WorkRefHash> detaching_;  // nobody works on it here, but it is not lost
  std::unordered_set<WorkRef, WorkRefHash> releasing_;  // likewise, since it is given back
};

}  // namespace pawl::runtime
