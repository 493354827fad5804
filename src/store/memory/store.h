// The memory store: the reference for every other store, and the base of the simulator. It keeps the whole contract of
// store.h except durability.
//
// What store.h leaves open is defined here and tested for all stores by conformance/:
// 1. Lanes are numbered from 1, so a lane that was left at 0 by mistake is refused. Run ids count from 1 in each lane,
//    jobs and mailboxes together.
// 2. A guarded operation needs the lane's epoch and an owner: a lane that was given back accepts none.
// 3. Guards are checked in the order epoch, entity, bundle id, rev, work tokens, before-values.
// 4. Consume and CountRedelivery of a missing message do nothing: a Sweep may have deleted it while an engine had it in
//    memory. PutMessage of a guid that already waits does nothing.
// 5. Sends go to the outbox of the sender's lane, numbered from 1 for each target lane; the target lane keeps the last
//    number that it accepted from each source. A send to a run whose lane does not exist has no receiver.
//
// Lanes::islands: as if every lane were on a separate node with a separate clock. What an operation touches outside its
// domain (store/domain.h) is recorded as a violation; an operation on all lanes is rejected.
//
// Threads: any; one mutex. Only the caller's data bounds the memory: the store has no limit. Everything is checked
// before the first write, so no operation is ever half applied.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "store/memory/due_list.h"
#include "store/memory/dump.h"
#include "store/memory/duplex.h"
#include "store/memory/inbox.h"
#include "store/memory/labels.h"
#include "store/memory/mailbox.h"
#include "store/memory/signal_ids.h"
#include "store/memory/work_queue.h"
#include "store/store.h"

namespace pawl::store::memory {

enum class Lanes : std::uint8_t { one_domain, islands };

class Store final : public pawl::store::Store, private SharedJobs {
 public:
  // How far a lane's clock is ahead of the store's.
  using ClockError = std::function<Duration(core::LaneId)>;

  // `clock` must outlive the store.
  explicit Store(const Clock& clock, Lanes lanes = Lanes::one_domain, ClockError error = nullptr)
      : clock_(clock),
        id_(core::Guid::of_run(RunId(static_cast<std::uint64_t>(clock.now().micros())))),
        mode_(lanes),
        error_(std::move(error)) {}
  // A fork of the history so far, on the same clock: an explorer tries what else could follow.
  Store(const Store& other);

  Result<std::vector<Outcome>> commit(std::span<const Operation> group) override;
  core::Guid id() const override { return id_; }
  Instant now() const override { return clock_.now(); }
  bool sends_directly() const override { return false; }
  bool spans_lanes() const override { return mode_ == Lanes::one_domain; }
  // With islands: the first operation that touched something outside its domain.
  std::optional<std::string> violation() const;

  Result<std::optional<PoolInfo>> read_pool(const Pool& pool) override;
  Result<LaneInfo> read_lane(core::LaneId lane) override;
  Result<std::optional<RunId>> find_run(const Namespace& name_space, const JobId& id) override;
  Result<std::optional<StoredJob>> read_job(RunId run) override;
  Result<std::optional<core::JobRow>> read_job_row(RunId run) override;
  Result<std::optional<RunId>> find_mailbox(const core::MailboxKey& key) override;
  Result<std::optional<StoredMailbox>> read_mailbox(RunId run) override;
  Result<std::optional<MailboxPage>> read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now) override;
  Result<std::vector<Waiting>> read_waiting(core::LaneId lane, RunId after, std::size_t rows_max) override;
  Result<Page<WorkPlace>> read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max) override;
  Result<Page<core::WorkItem>> read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max) override;
  Result<Page<OutboxRow>> read_outbox(core::LaneId lane, std::size_t rows_max) override;
  Result<Page<Due>> read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max) override;
  Result<std::optional<core::InboxMessage>> read_message(RunId run, const core::Guid& guid) override;
  Result<std::vector<Topic>> read_paused_topics() override;
  Result<std::vector<LaneEnd>> read_lane_ends() override;
  Result<std::vector<core::JobRow>> list_jobs(const ListQuery& query) override;
  Result<std::vector<JobCount>> count_jobs() override;
  Result<std::vector<TopicWork>> count_work(Instant now) override;
  Result<std::vector<EngineInfo>> read_engines(const Pool& pool, Instant now) override;
  Result<std::vector<MailboxInfo>> list_mailboxes(const MailboxQuery& query) override;
  Result<std::optional<KeptSignals>> read_kept(const KeptQuery& query) override;
  Result<std::vector<MeasureRow>> read_measures(const MeasureQuery& query) override;
  Result<std::vector<AnnouncementRow>> read_announcements(const AnnouncementQuery& query) override;
  Result<std::optional<std::string>> read_app(const Namespace& name_space, const std::string& app,
                                              const std::string& version) override;
  Result<std::vector<AppInfo>> list_apps(const Namespace& name_space) override;

  // ring() calls all listeners in its own thread: no notification is lost.
  void listen(Listener& listener) override;
  void stop_listening(Listener& listener) override;
  void ring(core::LaneId lane, const Change& change) override;
  Duration ring_late_max() const override { return Duration{0}; }

  DuplexStore& duplex() { return duplex_; }

  Dump dump() const;

 private:
  struct Job {
    core::JobState state;
    Inbox inbox;
    std::set<core::Label> labels;
  };
  using JobName = std::pair<Namespace, JobId>;
  struct StartKey {
    RunId run{0};
    Instant expires_at;  // 0: its job exists
  };
  struct App {
    std::string body;
    Instant deployed_at;
  };
  struct Outbox {  // for one target
    std::uint64_t next = 1;
    std::deque<OutboxRow> rows;
  };
  struct Lane {
    core::Epoch epoch{0};
    std::string owner;  // empty: free
    std::optional<Instant> lease_until;
    std::uint64_t next_run = 1;
    std::uint64_t next_announcement = 1;
    std::map<core::LaneId, Outbox> outboxes;         // by target
    std::map<core::LaneId, std::uint64_t> accepted;  // the last row, by source
    std::set<Topic> paused;
    SignalIds signal_ids;
  };

  // One per operation; each returns its own answer and changes nothing unless it commits.
  Outcome run(const core::Bundle& bundle);
  Outcome run(const Submit& submit);
  Outcome run(const Deliver& deliver);
  Outcome run(const DeliverReply& delivery);
  Outcome run(const ClaimWork& claim);
  Outcome run(const ClaimItem& claim);
  Outcome run(const ExtendWork& extend);
  Outcome run(const ReleaseWork& release);
  Outcome run(const DropOutbox& drop);
  Outcome run(const OpenPool& open);
  Outcome run(const AcquireLane& acquire);
  Outcome run(const RenewLane& renew);
  Outcome run(const ReleaseLane& release);
  Outcome run(const BeatEngine& beat);
  Outcome run(const LeaveEngine& leave);
  Outcome run(const RemoveJob& remove);
  Outcome run(const DropKeys& drop);
  Outcome run(const PauseTopic& pause);
  Outcome run(const PutApp& put);
  Outcome run(const ActivateApp& activate);

  // SharedJobs, for the jobs of the other collation. REQUIRES: mutex_ is held.
  Outcome begin_duplex(const StartDuplex& start) override;
  core::JobRow* find_row(RunId run) override;

  Outcome run_on(Job& job, const core::Bundle& bundle);
  std::optional<Outcome> check_topics(const core::Bundle& bundle);
  bool is_paused(const Topic& topic, core::LaneId lane);
  Outcome run_on(Mailbox& mailbox, const core::Bundle& bundle);
  void put_label(Job& job, const core::Label& label);
  void drop_label(Job& job, const core::Label& label);
  void add_measure(const core::JobRow& row, const core::Measure& measure);
  void announce(const core::JobRow& row, const core::Announce& said);
  void drop_labels(const Job& job);
  void apply_write(Job& job, const core::Write& write);
  void apply_write(Mailbox& mailbox, const core::Write& write);
  void consume(RunId run, Inbox& inbox, const core::Guid& guid);
  void send(RunId from, const core::Send& one);
  void put_into_outbox(core::LaneId from, const core::Envelope& envelope, core::LaneId to);
  void put_timer(RunId run, Inbox& inbox, core::Message message, Instant due);
  void drop_timers(RunId run, const Inbox& inbox, const std::optional<core::Guid>& keep);
  Outcome insert(Job& job, const core::Message& message);
  Outcome deliver(const core::Envelope& envelope, core::LaneId lane);
  Outcome deliver_once(const Deliver& deliver, core::LaneId lane);
  Outcome deliver_to(Mailbox& mailbox, const core::Message& message);
  Outcome start_child(const core::JobKey& key, const core::StartChild& start, core::LaneId lane);
  Outcome refuse_child(const core::Envelope& refusal, core::LaneId lane);
  std::optional<Outcome> check_sends(const core::Bundle& bundle);
  Outcome begin_job(const Submit& submit);
  RunId make_job(const Submit& submit);
  static JobName key_of(const Namespace& name_space, const JobId& id);
  void put_work(core::WorkItem item);
  RunId mailbox_for(const core::MailboxKey& key, core::LaneId lane);

  Outcome run_one(const Operation& operation);
  void touch(core::LaneId lane);
  Instant now_in(core::LaneId lane) const { return error_ ? clock_.now() + error_(lane) : clock_.now(); }
  bool has_lane(core::LaneId lane) const { return lane.raw() != 0 && lane.raw() <= lanes_.size(); }
  Lane* find_lane(core::LaneId lane);
  bool owns(core::LaneId lane, core::Epoch epoch);
  Job* find_job(RunId run);
  RunId next_run(core::LaneId lane);
  void note_waiting(RunId run, const Inbox& inbox);

  const Clock& clock_;
  const core::Guid id_;  // from the time of construction: nothing of it outlives the process
  const Lanes mode_;
  const ClockError error_;

  mutable std::mutex mutex_;  // guards everything below
  std::map<Pool, PoolInfo> pools_;
  std::map<std::pair<Pool, std::string>, EngineInfo> engines_;  // by pool and name
  std::deque<Lane> lanes_;                                      // lane n is at n - 1
  std::map<RunId, Job> jobs_;
  std::map<RunId, Mailbox> mailboxes_;
  std::map<JobName, StartKey> start_keys_;
  std::map<core::MailboxKey, RunId> mailbox_keys_;
  std::set<RunId> waiting_;  // entities with messages in their inbox
  WorkQueue queue_;
  std::map<std::pair<Instant, RunId>, JobName> expiring_;                 // keys whose job is gone
  DueList due_;                                                           // all except work items, which the queue has
  std::set<Topic> paused_;                                                // in all lanes at once
  std::map<std::tuple<Namespace, std::string, std::string>, App> apps_;   // by app and version
  std::map<std::pair<Namespace, std::string>, std::string> active_apps_;  // the version
  DuplexStore duplex_{clock_, mutex_, *this};
  LabelTables labels_;
  std::optional<core::LaneId> at_;  // with islands: the lane of the current operation
  std::optional<std::string> violation_;

  std::mutex listeners_mutex_;  // guards what is below
  std::vector<Listener*> listeners_;
};

}  // namespace pawl::store::memory
