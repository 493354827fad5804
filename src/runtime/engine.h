// Engine: owns lanes, turns messages into bundles and delivers what was committed. No thread, no clock of
// its own, no I/O but reads: the runtime drives it from one thread, the simulator drives many of them with
// virtual time. A driver's loop is
//
//   give it input (submit, answer, changed, tick)  ->  pump()  ->  take_group()
//     ->  store.commit(group)  ->  finished(group, result)  ->  pump() ...
//
// Invariants:
// 1. A job has at most one bundle in a group that is not finished.
// 2. Nothing leaves (dispatch, submitted, closed) before the commit that caused it is known to be durable.
// 3. After an outcome that is not known, the job is forgotten and read again; nothing is added twice.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "core/decide.h"
#include "core/job_state.h"
#include "runtime/due_table.h"
#include "runtime/graph_catalog.h"
#include "runtime/hot_jobs.h"
#include "runtime/lane_table.h"
#include "runtime/run_clocks.h"
#include "runtime/turns.h"
#include "runtime/work_desk.h"
#include "store/change.h"
#include "store/store.h"

namespace pawl::runtime {

using Ticket = std::uint64_t;  // names a caller that waits for an answer; 0 is nobody

struct SubmitRequest {
  Namespace name_space;
  JobId id;
  GraphName graph;
  Payload input;
  core::JobSecret secret;                 // drawn for this submit
  store::Reuse reuse = store::Reuse::never;
  Duration delay{0};
  Duration end_within{0};
  std::optional<Duration> keep;
  std::int32_t priority = 0;
  std::optional<core::GraphRef> version;  // none: the newest of its name
};

struct Submitted {
  RunId run{0};
  bool created = false;  // false: the id was taken, `run` is the job that has it
};

// A local worker's answer. Pending answers are numbered from 0 within one run of the work.
struct WorkAnswer {
  RunId run{0};
  core::ActivitySeq activity{0};
  core::WorkToken token{0};
  core::Guid request;
  core::ReplyStatus status = core::ReplyStatus::success;
  std::int32_t code = 200;
  Payload data;
  std::uint64_t pending_index = 0;
};

// What a probe found out about a run whose effect is unknown. `cannot_tell` leaves it to a person.
struct ProbeAnswer {
  enum class Kind : std::uint8_t { done, failed, not_done, cannot_tell };
  RunId run{0};
  core::ActivitySeq activity{0};
  core::WorkToken token{0};
  core::Guid request;
  std::uint32_t runs = 0;
  Kind kind = Kind::cannot_tell;
  std::int32_t code = 200;
  Payload data;
};

// What the engine tells its driver, always after the commit that made it true.
class EngineEvents {
 public:
  virtual ~EngineEvents() = default;
  virtual void dispatch(const core::WorkItem& item) = 0;
  // Nobody waits for this run any more: tell the worker, or do not begin it. Its answer still gives the slot back.
  virtual void cancel(const WorkRun& run) = 0;
  // The time to wait for a thread is over: if none has begun it, give it back.
  virtual void withdraw(const WorkRun&) {}
  virtual void probe(const core::WorkItem& item) = 0;
  // What became of a request().
  virtual void answered(Ticket ticket, Result<store::Outcome> outcome) = 0;
  virtual void submitted(Ticket ticket, Result<Submitted> result) = 0;
  virtual void committed(const core::JobState& after, const core::Bundle& bundle) = 0;
  virtual void closed(const core::JobRow& job) = 0;
  virtual void problem(const std::string& text) = 0;
  // Something was sent to a lane that this engine does not own.
  virtual void ring(core::LaneId) {}
};

// Operations that are committed together, and who waits for them.
struct Group {
  std::vector<store::Operation> operations;
  std::vector<Ticket> tickets;  // one for each operation
  Duration asked_at{0};
  std::size_t bytes = 0;        // of its operations

  void add(store::Operation operation, Ticket ticket);
};

// What an engine may hold in memory (bytes.h). Each lets one more in, however large that is.
struct EngineBytes {
  std::size_t waiting = limits::bytes_waiting_max;            // groups, and jobs that are being served
  std::size_t hot_jobs = limits::hot_job_bytes_max;           // jobs at rest
  std::size_t worker_queue = limits::worker_queue_bytes_max;  // inputs with local workers
  std::size_t group = limits::group_bytes_max;                // bundles decided for one group
};

std::string no_room(std::size_t bytes_max);

struct EngineOptions {
  std::string name;
  Duration lease{0};  // 0: lanes are held for as long as the process lives
  core::Fusion fusion = core::Fusion::on;
  std::uint64_t seed = 1;
  std::size_t hot_jobs_max = limits::hot_jobs_max;
  EngineBytes bytes_max;
  std::size_t bundles_per_group_max = limits::bundles_per_group_max;
  std::uint32_t reentries_max = limits::reentries_max;
  std::size_t signal_page_jobs = limits::signal_page_jobs;
  store::MailboxPageSize mailbox_page{};
  Duration keep_keys = limits::start_key_keep;
};

class Engine {
 public:
  // The references must outlive the engine.
  Engine(EngineOptions options, store::PoolInfo pool, store::Store& store, const Clock& clock,
         const GraphCatalog& graphs, EngineEvents& events);

  // --- input
  void serve(const Topic& topic);
  void add_slots(std::size_t count) { desk_.add_slots(count); }
  // How many of the runs that are handed out can begin at once; the others wait for a thread.
  void set_threads(std::size_t count) { desk_.set_threads(count); }
  void submit(SubmitRequest request, Ticket ticket);
  void answer(WorkAnswer answer);
  // A thread begins what was handed out: its times run from now on. Needed only if RunClocks::watches it.
  void begun(const WorkRun& run) { clocks_.begin(run, clock_.monotonic()); }
  void heartbeat(const WorkRun& run, Payload progress);
  // The worker returned without an answer: whoever has the token gives it within `lease`.
  void detach(const WorkRun& run, Duration lease);
  void probed(ProbeAnswer answer);
  void offer_probe(const Topic& topic);  // this process can ask about the topic's lost runs
  // Commits one operation that a caller waits for: Deliver, Respond, ExtendWork, RemoveJob, PauseTopic, or
  // what is asked of a duplex job: Enqueue, EndDuplex, Ack.
  void request(store::Operation operation, Ticket ticket);
  // Handed out, and not run to its end: no worker began it, or this process stops and told the worker so. It counts as
  // if it had not been handed out. A run that began and may act at most once is left in doubt.
  void give_back(const core::WorkItem& item, core::Began began);
  // Its worker was told to stop and does not return: others may have its slot. Its answer, if it comes, still counts.
  void write_off(const WorkRun& run);
  void leave_runs() { desk_.forget_all(); }  // nobody here waits for any worker: as after a crash
  void changed(const store::Change& change);  // others committed this: look there
  void inbox_changed() { changed(store::Change::everything()); }  // others may have committed anything
  void graphs_changed();  // jobs may have waited for one
  void ownership_changed();  // lanes may have become free: ask for them
  void tick();           // time passed
  void stop();           // take nothing new; finish what runs
  void release_lanes();  // once drained: others may take over at once

  // --- commits
  void pump();
  std::optional<Group> take_group();
  void finished(Group group, Result<std::vector<store::Outcome>> result);

  // When tick() has something to do; none: not before the next input.
  std::optional<Duration> next_wake() const;
  bool drained() const;
  bool store_refuses() const { return retry_.has_value(); }  // what was decided waits for the store
  bool owns_anything() const { return !lanes_.owned(clock_.monotonic()).empty(); }
  // The lanes it owns now, and under which epoch.
  std::vector<std::pair<core::LaneId, core::Epoch>> owned_lanes() const {
    std::vector<std::pair<core::LaneId, core::Epoch>> owned;
    for (const core::LaneId lane : lanes_.owned(clock_.monotonic())) owned.emplace_back(lane, lanes_.epoch(lane));
    return owned;
  }
  std::size_t hot_jobs() const { return jobs_.size(); }
  // What it holds at the moment, in bytes: what moves on by itself, and jobs at rest.
  std::size_t waiting_bytes() const {
    return pending_.bytes + bytes_out_ + (retry_ ? retry_->bytes : 0) + jobs_.busy_bytes();
  }
  std::size_t idle_bytes() const { return jobs_.idle_bytes(); }
  std::size_t worker_bytes() const { return desk_.bytes(); }
  std::size_t free_slots() const { return desk_.free(); }
  core::LaneId lane_for(const Namespace& name_space, std::string_view id) const {
    return lanes_.lane_for(name_space, id);
  }

 private:
  struct Scan {  // of a lane that was just acquired, or that others wrote to; a page at each pump
    core::LaneId lane;
    bool inboxes = true;
    bool work = true;  // false: inboxes only
    RunId after_run{0};
    store::WorkCursor after_work;
  };

  // engine.cc: deciding
  void push(store::Operation operation, Ticket ticket = 0);
  void stamp_ends(Group& group);
  bool has_room() const { return waiting_bytes() < options_.bytes_max.waiting; }
  void make_ready(HotJob& job) { turns_.stand(job, clock_.monotonic()); }
  void decide_job(HotJob& job);
  bool read_pages(HotJob& job);
  void set_aside(HotJob& job);
  void launch(HotJob& job, core::Bundle bundle);
  void claim_for_local_workers(core::Bundle& bundle);
  void claim_waiting();
  core::DecideOptions decide_options(RunId run);  // of a job or a mailbox
  core::BundleId next_bundle_id();

  // engine_settle.cc: what became of a group
  void settle(store::Operation& operation, store::Outcome outcome, Ticket ticket, Duration asked_at);
  void settle_bundle(core::Bundle& bundle, const store::Outcome& outcome);
  void settle_submit(const store::Submit& submit, const store::Outcome& outcome, Ticket ticket);
  void settle_claim(const store::ClaimItem& claim, store::Outcome outcome);
  void settle_release(const store::ReleaseWork& release, const store::Outcome& outcome);
  void settle_lane(core::LaneId lane, const store::Outcome& outcome, bool acquired, Duration asked_at);
  void retry_later(Group group, const Error& error);
  void refuse_pending(const Error& error);
  void absorb(HotJob& job, const core::Bundle& bundle);
  void reject(HotJob& job, const std::string& reason);
  void give_back_slots(const core::Bundle& bundle);
  void withdraw(Group& group, core::LaneId lane);
  void rest(HotJob& job);  // nothing in flight: ready again, idle, or out of memory

  void settle_request(const store::Operation& operation, const store::Outcome& outcome);
  void refuse(store::Operation& operation, Ticket ticket, const Error& error);
  void after_commit(HotJob& job, const core::Bundle& bundle);
  std::vector<WorkRun> runs_ended_by(const core::JobState& before, const core::Bundle& bundle) const;

  // engine_due.cc: what the clock sets going, and work items as they stand
  DueTable& due_of(core::LaneId lane);
  void arm(const store::Due& due);
  void arm(const core::WorkItem& item);
  void arm_changed(const core::WorkItem& item);
  void fire_due();
  void fire(const store::Due& due);
  void fire_message(const store::Due& due);
  void fire_work(const store::Due& due);
  core::Origin origin_of_timer(RunId run, Instant due);
  enum class Slot : std::uint8_t { taken, wanted };
  void adopt(const core::WorkItem& item, Slot slot);
  void hand_out(const core::WorkItem& item);       // its claim is committed, its slot taken
  void go_on_with_claim(const core::WorkItem& item);  // ours, and nobody began it
  void end_clocks();
  bool is_over_time(const core::WorkItem& item);
  void say_no_answer(const core::WorkItem& item, core::NoAnswer::Why why);
  void ask_probe(const core::WorkItem& item);
  void forget_probes(const core::Bundle& bundle);
  std::uint32_t unanswered(const core::WorkItem& item) const;
  std::uint32_t handouts_max(RunId run) const;

  // engine_request.cc: what callers and workers ask beyond answers
  void settle_extend(const store::ExtendWork& extend, const store::Outcome& outcome);
  void hand_over(RunId run, const core::Message& message, store::OutcomeKind kind);
  void look(RunId run);
  bool read_paused_topics();  // true: one that was paused is not any more
  void topics_changed();

  // engine_send.cc: what jobs and mailboxes send each other
  void address(core::Bundle& bundle);
  void sent(const core::Bundle& bundle, store::OutcomeKind kind);
  void arrived(const core::Target& to, RunId run, const core::Message& message, store::OutcomeKind kind);
  void look_for_refusal(const core::ParentLink& parent);
  void deliver_outboxes();
  void settle_outbox(const store::DropOutbox& drop, const store::Outcome& outcome);
  void serve_mailbox(RunId run);
  void decide_mailboxes();
  bool settle_mailbox(const core::Bundle& bundle, const store::Outcome& outcome);
  bool signal_goes_first(const core::JobState& state, const core::Message& timer);

  // engine_load.cc: what is read
  HotJob* hot(RunId run);
  void deliver(RunId run, core::Delivery delivery);
  HotJob* load(RunId run, std::vector<core::Delivery> unstored, const core::Bundle* uncertain = nullptr);
  static std::vector<core::Delivery> take_unstored(HotJob& job);
  void reload(const core::Bundle& uncertain);
  void abandon(RunId run, const std::vector<core::Delivery>& deliveries);
  bool merge_inbox(HotJob& job);
  void look_again(const WorkRef& ref, core::WorkToken before, const WorkNeed& need);
  void adopt_work(HotJob& job, const core::Bundle* uncertain);
  Result<std::optional<core::WorkItem>> read_item(const WorkRef& ref);
  void adopt_scanned(const store::WorkPlace& place);
  bool is_answered(const core::WorkItem& item);
  void park_overrun();
  void scan(core::LaneId lane, bool work);
  void scan_work();  // of all owned lanes
  void look_around();
  std::optional<std::size_t> scan_some(Scan& scan, std::size_t rows_max);
  std::optional<std::size_t> cannot_scan(const Error& error);
  void damaged(RunId run, const std::string& what);
  void park_damaged(RunId run, const std::string& what);
  void lane_lost(core::LaneId lane);
  void lane_taken(core::LaneId lane);  // lost, and somebody else has it
  void look_at_runs();
  void forget(RunId run);

  const EngineOptions options_;
  store::Store& store_;
  const Clock& clock_;
  const GraphCatalog& graphs_;
  EngineEvents& events_;

  LaneTable lanes_;
  WorkDesk desk_;
  HotJobs jobs_;
  Turns turns_{jobs_};
  std::deque<Scan> scans_;
  std::deque<RunId> looks_;   // something may be new there
  bool scan_failed_ = false;  // the last page could not be read: tried again after a while
  std::optional<Duration> failing_since_;
  bool failing_said_ = false;
  std::unordered_set<RunId> damaged_;  // what was said about them is not said again
  std::set<core::LaneId> rescans_;      // an inbox could not be read: tick() begins a scan
  std::deque<core::WorkItem> overrun_;  // handed out too often: their jobs are parked
  std::unordered_map<RunId, std::vector<core::Delivery>> unread_;  // loads that failed: tried again by tick()
  std::unordered_map<RunId, core::GraphRef> blocked_;              // their graph is not deployed here
  std::map<core::LaneId, DueTable> due_;
  std::vector<store::Due> due_unread_;  // could not be read: tick() tries again
  std::vector<WorkRun> runs_in_doubt_;  // with local workers; only the store knows whether they are still wanted
  std::unordered_set<std::string> paused_topics_;
  bool topics_unread_ = false;  // could not be read: tick() tries again
  std::unordered_set<std::string> probes_;                         // topics whose lost runs can be asked about
  std::map<WorkRef, core::WorkToken> probed_;                      // runs in doubt that were asked about already
  RunClocks clocks_;
  std::unordered_map<WorkRun, std::optional<Payload>, WorkRunHash> beats_;  // a heartbeat is out; what to say next
  std::unordered_set<WorkRef, WorkRefHash> detaching_;             // nobody works on it here, but it is not lost
  std::set<core::LaneId> outboxes_;      // something waits in them
  std::set<core::LaneId> outboxes_out_;  // a page of them is on its way
  std::set<RunId> mailboxes_;            // something waits in their inboxes
  std::unordered_set<RunId> mailboxes_out_;
  std::unordered_map<core::Guid, int> timers_held_;  // a signal may be there for the hook: how often they were put off
  Group pending_;
  std::size_t bundles_pending_ = 0;
  std::size_t bundle_bytes_pending_ = 0;
  std::size_t bytes_out_ = 0;  // of the group that is being committed
  std::optional<Group> retry_;
  Duration retry_at_{0};
  std::string retry_reason_;
  Duration retry_backoff_{0};
  bool group_out_ = false;
  bool stopping_ = false;
  std::uint64_t bundle_counter_ = 0;
};

}  // namespace pawl::runtime
