// WatchStore: wraps the real store and checks every applied operation against its own shadow. It checks at each commit:
//
//   lease         a lane changes owners only after its lease; an epoch rises by one; only the lane owner commits
//   rev           each bundle raises its job's rev by one: nothing is applied twice
//   marks         a digit that is set stays set, counters never fall, an ordinal never changes
//   completion    the completion tasks run at most once, in a closed job
//   semaphore     equals the number of open obligations; 0 once closed
//   carrier       everything open in a running job has a message or a work item that will continue it
//   messages      nothing is consumed that was never sent, nothing is sent twice, nothing is dropped unserved
//   invented      every reply on a ledger was produced by a worker, a person or a timeout, with exactly these bytes
//   token         only the worker that holds the item replies to it, gives it back or loses it
//   identity      an id names one job of one tenant, and goes to another run only as its reuse allows
//   control       a job becomes what was requested
//   tries         an attempt is counted when it failed, once, and only then
//   at most once  work that may act at most once is not handed out again unless this was allowed
//   held, topic   nothing of a stopped job or a paused topic is handed out
//   timer         nothing happens before its time
//   progress      the next attempt reads what the last one stored
//   priority      claims from the queue take the largest priority first
//   removal       a removed job leaves only its key, and the key is removed at its time
//   sends         what is sent is accepted by its target once, in the order of its lane's outbox, and unchanged
//   mailbox       registrations and signals meet in their order, each registration is concluded once; the two kinds
//                 never wait at the same time; a hook that no longer waits withdraws, and a signal that it did not take
//                 goes to the next one or continues to wait
//   signals       an accepted signal does its work in one hook, or is in its mailbox, or has expired
//   children      one run per start that was sent and not refused; its parent gets one end, and does not complete
//                 before; a child that is no longer awaited is ended
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph_catalog.h"
#include "sim/journal.h"
#include "sim/trace.h"
#include "sim/verdict.h"
#include "store/forward_store.h"

namespace pawl::sim {

using core::Graph;

struct WatchFigures {
  std::uint64_t operations = 0;
  std::uint64_t bundles = 0;
  std::uint64_t first_steps = 0;     // of these, in the group of their submit
  std::uint64_t rows_max = 0;        // of one bundle
  std::uint64_t sent_across = 0;     // to an entity of another lane
  std::uint64_t start_wait_max = 0;  // bundles of all jobs between a job's submit and its own first one
};

class WatchStore final : public store::ForwardStore {
 public:
  // The references must outlive this store. `clock_error`: how far ahead of the store's clock an engine's may be.
  WatchStore(store::Store& inner, const Journal& journal, Verdict& verdict, TraceHash& trace,
             const runtime::GraphCatalog* graphs = nullptr, Duration clock_error = Duration{0},
             std::int64_t drift_ppm = 0)
      : store::ForwardStore(inner),
        journal_(journal),
        verdict_(verdict),
        trace_(trace),
        graphs_(graphs),
        clock_error_(clock_error),
        drift_ppm_(drift_ppm) {}

  std::size_t open_jobs() const { return open_; }  // not parked, completion tasks not done
  std::size_t parked_jobs() const { return parked_; }
  std::size_t to_remove() const { return to_remove_ + keys_expiring_; }  // jobs and keys whose time will come
  const WatchFigures& figures() const { return figures_; }
  // Whether a commit gave this attempt of a request to a worker: before that no worker may see it.
  // A worker was told that its final answer is committed.
  void check_acknowledged(const core::WorkItem& item, core::ReplyStatus status);
  bool handed_out(const core::WorkItem& item) const { return handed_out_.contains({item.request, item.token}); }
  // How often a request that may act at most once was allowed to begin.
  std::uint32_t begins_allowed(const core::Guid& request) const {
    const auto found = allowed_again_.find(request);
    return 1 + (found == allowed_again_.end() ? 0 : found->second);
  }
  // Attempts of a request that began and were given back because their process stopped.
  std::uint32_t given_back(const core::Guid& request) const {
    const auto found = given_back_.find(request);
    return found == given_back_.end() ? 0 : found->second;
  }
  // Prints every operation as it is applied.
  void print_operations() { prints_ = true; }
  // How far a lane's clock is ahead of the store's.
  void set_lane_clocks(std::function<Duration(core::LaneId)> error) { lane_error_ = std::move(error); }
  // The owner of a lane, as the store reports it: empty when it is given back.
  void on_owner(std::function<void(core::LaneId, const std::string&)> told) { on_owner_ = std::move(told); }
  // Adds every byte of every bundle to the trace: expensive, and only needed to compare traces.
  void trace_bundles() { traces_bundles_ = true; }
  // What people see of a job.
  std::optional<RunId> run_of(const std::string& name_space, const std::string& id) const;
  std::optional<core::JobStatus> status_of(RunId run) const;
  bool follows(RunId run) const { return followers_.contains(run); }  // a run that failed
  std::vector<core::WorkItem> unknown_work(RunId run) const;
  bool is_paused(const std::string& topic) const {  // in some lane
    return std::any_of(paused_.begin(), paused_.end(), [&](const auto& one) { return one.second == topic; });
  }
  bool was_removed(RunId run) const { return removed_.contains(run); }
  std::string input_of(RunId run) const;
  // Messages that were sent and not accepted, or wait at a mailbox.
  std::size_t in_transit() const;
  // REQUIRES: nothing changes any more.
  void check_sends_at_end();

  Result<std::vector<store::Outcome>> commit(std::span<const store::Operation> group) override;

 private:
  struct ShadowLane {
    std::uint64_t epoch = 0;
    std::string owner;
    std::optional<Instant> lease_until;
  };
  struct ShadowActivity {
    std::uint32_t node = 0;
    std::string at;
    std::uint64_t ledger = 0;
    core::Guid request;              // of its work, once enqueued
    std::set<std::string> findings;  // outputs that no attempt produced: from a person or a timeout
    // Of graphs of the graph language:
    std::optional<core::ActivitySeq> parent;
    bool skipped = false;
    bool opened_by_arrival = false;    // a join
    bool owes = false;                 // a join that holds an obligation
    std::optional<core::Guid> closer;  // the arrival that satisfied a join
    bool waits = false;                // for an event from outside: of a worker, a signal, a child, the clock
    bool timed_out = false;
  };
  struct ShadowRegistration {
    core::MailboxKey at;
    std::uint32_t activity = 0;
    bool ended = false;  // withdrawn, or its last signal was taken
  };
  struct ShadowRecord {
    std::uint32_t activity = 0;
    std::uint64_t ledger = 0;
  };
  struct ShadowMessage {
    core::Message message;
    Instant due;  // of a timer
  };
  struct ShadowJob {
    RunId run{0};
    std::string name_space;
    std::string id;
    std::string input;
    std::set<std::pair<std::uint32_t, std::string>> carried;  // by node and place: what an earlier run was answered
    core::GraphRef graph{GraphName(""), 0, 0};
    std::optional<Duration> keep;
    Instant remove_at;
    std::uint64_t rev = 0;
    std::optional<std::uint64_t> submitted_after;  // number of bundles, if it starts at once
    core::JobStatus status = core::JobStatus::running;
    bool undoes = false;       // what it did, before it ends as failed, or as interrupted if it was cancelled
    bool cancelled = false;    // before it began to undo, or it ended at once
    bool begins_undo = false;  // with the bundle that is being looked at
    std::int64_t semaphore = 1;
    std::uint32_t completions = 0;
    std::uint32_t redrives = 0;
    std::map<std::uint32_t, ShadowActivity> activities;
    std::map<core::Guid, ShadowRecord> records;
    std::map<core::Guid, ShadowMessage> inbox;  // and timers
    std::set<core::Guid> sent;                  // transitions, ever
    std::set<core::Guid> received;              // requests and timeouts, ever
    std::map<std::uint32_t, core::WorkItem> work;
    std::shared_ptr<const Graph> shape;  // of the graph language; null: no such graph
    std::optional<core::ParentLink> parent;
    std::map<core::Guid, ShadowRegistration> registrations;
    std::uint32_t words = 0;  // it reported its end to its parent
    std::uint32_t ends_announced = 0;
    std::set<core::Label> labels;
    std::set<std::pair<std::string, std::optional<std::string>>> measured;  // targets and values
    std::set<core::Guid> waited;           // signals and answers to hooks that were in the inbox when it last continued
    std::set<std::uint32_t> known_before;  // the work whose effect was known before the current bundle
    bool counted_open = false;
    bool counted_parked = false;
    bool counted_removal = false;
  };
  struct ShadowOutbox {  // of one lane, for another one
    std::uint64_t delivered = 0;
    std::deque<core::Envelope> rows;  // not accepted yet
  };
  struct ShadowMailbox {
    core::MailboxKey key;
    std::uint64_t rev = 0;
    std::vector<core::Message> inbox;            // in order of arrival
    std::map<core::Guid, ShadowMessage> timers;  // of early signals
    std::vector<core::MailboxEntry> entries;
  };
  struct ShadowMeeting {
    core::Guid signal;
    core::Guid registration;
    bool concludes = true;
  };
  struct ShadowChild {  // by the run and the activity that started it
    core::StartChild start;
    core::JobKey key;
    RunId run{0};
    bool refused = false;
    std::uint32_t ends_received = 0;
    bool told_to_end = false;
  };
  struct ShadowKey {
    RunId run{0};
    Instant expires_at;  // 0: as long as its job
  };

  void note(const core::Bundle& bundle, const store::Outcome& outcome);
  void note(const store::Submit& submit, const store::Outcome& outcome);
  void note(const store::Deliver& deliver, const store::Outcome& outcome);
  void note(const store::DeliverReply& delivery, const store::Outcome& outcome);
  void note(const store::ClaimWork& claim, const store::Outcome& outcome);
  void note(const store::ClaimItem& claim, const store::Outcome& outcome);
  void note(const store::ExtendWork& extend, const store::Outcome& outcome);
  void note(const store::ReleaseWork& release, const store::Outcome& outcome);
  void note(const store::AcquireLane& acquire, const store::Outcome& outcome);
  void note(const store::RenewLane& renew, const store::Outcome& outcome);
  void note(const store::ReleaseLane& release, const store::Outcome& outcome);
  void note(const store::RemoveJob& remove, const store::Outcome& outcome);
  void note(const store::DropKeys& drop, const store::Outcome& outcome);
  void note(const store::PauseTopic& pause, const store::Outcome& outcome);
  void note(const store::DropOutbox& drop, const store::Outcome& outcome);
  void check_first_step(std::span<const store::Operation> group, const std::vector<store::Outcome>& outcomes);
  void note(const store::OpenPool&, const store::Outcome&) {}
  void note(const store::BeatEngine&, const store::Outcome&) {}
  void note(const store::LeaveEngine&, const store::Outcome&) {}
  void note(const store::PutApp&, const store::Outcome&) {}
  void note(const store::ActivateApp&, const store::Outcome&) {}

  // watch_bundle.cc
  void write(ShadowJob& job, const core::Bundle& bundle, const core::PutActivity& put);
  void write(ShadowJob& job, const core::Bundle& bundle, const core::PutRecord& put);
  void write(ShadowJob& job, const core::Bundle& bundle, const core::PutMessage& put);
  void write(ShadowJob& job, const core::Bundle& bundle, const core::PutWork& put);
  void write(ShadowJob& job, const core::Bundle& bundle, const core::DropWork& drop);
  void write(ShadowJob& job, const core::Bundle& bundle, const core::Sweep& sweep);
  void write(ShadowJob&, const core::Bundle&, const core::Consume&) {}  // after all other writes
  template <class Other>
  void write(ShadowJob&, const core::Bundle&, const Other&) {}
  void check_ordinal(const ShadowJob& job, const core::PutRecord& put);
  void consume(ShadowJob& job, const core::Guid& guid);
  void check_obligations(const ShadowJob& job);
  void check_carriers(const ShadowJob& job);
  bool served(const ShadowJob& job, const core::Message& message) const;

  // watch_graphs.cc: jobs of the graph language
  void read_state(ShadowJob& job, ShadowActivity& activity, const core::Activity& after);
  bool is_undone(const ShadowJob& job, const core::Body& body) const;
  bool may_be_called_off(const ShadowJob& job, const ShadowActivity& activity) const;
  bool is_hook(const ShadowJob& job, core::ActivitySeq seq) const {
    const auto activity = job.activities.find(seq.raw());
    return job.shape != nullptr && activity != job.activities.end() &&
           kind_of(job, activity->second) == Graph::Kind::hook;
  }
  Graph::Kind kind_of(const ShadowJob& job, const ShadowActivity& activity) const {
    return job.shape->nodes()[activity.node].kind;
  }
  // What the bundle keeps of an answer that the job could not take; null: it takes it.
  static const core::Refused* refuses(const core::Bundle& bundle, std::uint32_t seq);
  void note_carried(ShadowJob& job, const store::Submit& submit);
  void check_conclusion(const ShadowJob& job, std::uint32_t seq, const ShadowActivity& activity);
  bool served_in_graph(const ShadowJob& job, const core::Message& message) const;
  std::int64_t open_in_graph(const ShadowJob& job) const;
  bool is_carried(const ShadowJob& job, std::uint32_t seq, const ShadowActivity& activity) const;

  // watch_sends.cc: what jobs and mailboxes send each other
  void send(ShadowJob& job, const core::Send& send);
  void accept(const core::Envelope& envelope, core::LaneId lane, const store::Outcome& outcome);
  void accept(ShadowJob* job, const core::Message& message, const store::Outcome& outcome);
  void accept_child(const core::JobKey& key, core::LaneId lane, const core::StartChild& start,
                    const store::Outcome& outcome);
  void put_in_outbox(RunId from, const core::Send& send);
  ShadowOutbox& outbox_of(core::LaneId from, core::LaneId to) { return outboxes_[{from, to}]; }
  // watch_mailboxes.cc
  void note_mailbox(const core::Bundle& bundle);
  void note_meetings(const ShadowMailbox& box, const std::vector<core::Envelope>& sends, std::size_t count,
                     const std::function<std::pair<core::Envelope, ShadowMeeting>(std::size_t)>& wanted);
  void note_work(const ShadowJob& job, const core::Guid& message);
  void check_lines(const ShadowMailbox& box);
  void check_signals_at_end();
  void check_waits(const ShadowJob& job, const core::Bundle& bundle, core::JobStatus before);
  void fail(const ShadowMailbox& box, const std::string& what);
  ShadowChild* child_of(RunId run, std::uint32_t activity);
  const ShadowChild* child_of(RunId run, std::uint32_t activity) const;

  // watch_life.cc
  void write(ShadowJob& job, const core::Bundle& bundle, const core::ChangeWork& change);
  void write(ShadowJob& job, const core::Bundle& bundle, const core::HoldWork& hold);
  void write(ShadowJob& job, const core::Bundle&, const core::PutLabel& put) { job.labels.insert(put.label); }
  void write(ShadowJob& job, const core::Bundle&, const core::DropLabel& drop) { job.labels.erase(drop.label); }
  void write(ShadowJob& job, const core::Bundle& bundle, const core::AddMeasure& add);
  void write(ShadowJob& job, const core::Bundle& bundle, const core::Announce& said);
  void write(ShadowJob& job, const core::Bundle& bundle, const core::CountRedelivery& count);
  void hear_timeouts(ShadowJob& job, const core::Bundle& bundle);
  void check_control(ShadowJob& job, const core::Bundle& bundle);
  void check_not_overtaken(ShadowJob& job, const core::Bundle& bundle);
  void check_held(const ShadowJob& job);
  void check_hand_out(const ShadowJob& job, const core::WorkItem& before, const core::WorkItem& after);
  void check_due(const ShadowJob& job, const ShadowMessage& message);
  bool is_over(Instant at) const { return at != Instant() && at <= inner_.now() + clock_error_; }
  bool attempt_is_over(const core::WorkItem& item) const;
  bool heartbeat_is_over(const core::WorkItem& item) const;
  bool is_past(Instant since, Duration time) const;
  bool run_is_over(const core::WorkItem& item) const { return attempt_is_over(item) || heartbeat_is_over(item); }
  WhenUnknown when_unknown(const ShadowJob& job, std::uint32_t activity) const;

  std::shared_ptr<const Graph> shape_of(const core::GraphRef& ref) const;
  Instant now_in(core::LaneId lane) const { return lane_error_ ? inner_.now() + lane_error_(lane) : inner_.now(); }
  void check_owner(core::LaneId lane, core::Epoch epoch, const char* what);
  ShadowJob* find(RunId run);
  const ShadowJob* find(RunId run) const;
  void fail(const ShadowJob& job, const char* oracle, const std::string& what);
  void count(ShadowJob& job);
  void put_message(ShadowJob& job, const core::Message& message, Instant due = {});

  const Journal& journal_;
  Verdict& verdict_;
  TraceHash& trace_;
  const runtime::GraphCatalog* graphs_;
  const Duration clock_error_;
  const std::int64_t drift_ppm_;  // of an engine's monotonic clock, at the most
  std::function<Duration(core::LaneId)> lane_error_;
  std::function<void(core::LaneId, const std::string&)> on_owner_;
  bool prints_ = false;
  bool traces_bundles_ = false;
  std::map<core::LaneId, ShadowLane> lanes_;
  std::map<RunId, ShadowJob> jobs_;
  std::map<std::pair<std::string, std::string>, ShadowKey> keys_;
  std::set<std::pair<core::Guid, core::WorkToken>> handed_out_;
  std::set<std::pair<core::Guid, core::WorkToken>> counted_failures_;
  std::set<std::pair<core::Guid, core::WorkToken>> late_beats_;  // taken after their time
  std::map<core::Guid, std::uint32_t> allowed_again_;
  std::map<core::Guid, std::uint32_t> given_back_;
  std::map<core::Guid, core::WorkToken> ended_by_;  // the attempt whose success concluded it
  bool is_paused(const Topic& topic, core::LaneId lane) const {
    return paused_.contains({core::LaneId(0), topic.raw()}) || paused_.contains({lane, topic.raw()});
  }
  std::set<std::pair<core::LaneId, std::string>> paused_;                   // lane 0: in all of them
  std::set<RunId> followers_;                                               // of runs that failed
  std::map<RunId, std::string> removed_;                                    // to its input
  std::map<std::pair<core::LaneId, core::LaneId>, ShadowOutbox> outboxes_;  // by source and target
  std::map<RunId, ShadowMailbox> mailboxes_;
  std::map<core::MailboxKey, RunId> mailbox_runs_;
  std::map<std::pair<RunId, std::uint32_t>, ShadowChild> children_;
  std::set<core::Guid> sent_;                     // to others, by any bundle
  std::set<core::Guid> told_;                     // signals that a mailbox accepted
  std::set<core::Guid> used_;                     // signals that did their work in a hook
  std::set<core::Guid> expired_;                  // signals that no hook took in time
  std::map<core::Guid, ShadowMeeting> meetings_;  // by the resume that reports it
  std::set<core::Guid> worked_;                   // resumes that did their work in a job
  std::map<core::Guid, RunId> registered_by_;
  std::map<core::Guid, core::Guid> concluded_;  // registrations, to the resume that may conclude them
  std::size_t open_ = 0;
  std::size_t parked_ = 0;
  std::size_t to_remove_ = 0;
  std::size_t keys_expiring_ = 0;
  WatchFigures figures_;
};

}  // namespace pawl::sim
