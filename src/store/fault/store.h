// The fault store: wraps any store and makes it fail on plan. The simulator, the conformance suite and the storms over
// real stores use this one class, so a fault means the same everywhere.
//
// The fault model. Every commit call has a number, from 1; the plan is asked once for each and answers:
//
//   none           the call goes through.
//   error_before   nothing is applied; the group fails with retry_later: a refused connection, a full disk.
//   error_after    all is applied and the reply is lost: the group fails with outcome_unknown.
//   drop_midway    the first `applied` operations are applied in a separate inner commit, then the connection is lost:
//                  outcome_unknown. The caller of a store whose group is one transaction sees what the caller of a
//                  server sees that made several transactions of it.
//   fence          all operations that an epoch guards (bundles, ClaimItem, DropOutbox, RenewLane, ReleaseLane) answer
//                  fenced and are not applied; the rest of the group goes through. Another owner came.
//   delay          `wait` is called with the fault's duration before the inner call: time passes, leases run out, other
//                  engines act meanwhile (the callback may itself commit to the inner store).
//   duplicate      the inner commit is called twice and the second outcomes are returned: a request that was sent again
//                  because its first reply was late.
//
// Reads fail with retry_later, at a rate in thousandths, drawn from the seed and the read's number; a failed read never
// reaches the inner store. Reads are never stale, because no store of Pawl serves old rows. The data of a damaged run
// cannot be read at all (`corrupt`), except its row in a list of jobs; it can still be written.
//
// Notifications are lost when `loses_ring` returns true, for one listener at a time. The provider of `loses_ring` must
// make sure that the listener looks everywhere within `ring_late_max`, as a store does that notices the loss.
//
// An error of the inner store is passed on unchanged. Threads: as for the inner store; the counters may be read from
// any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "store/duplex_store.h"
#include "store/store.h"

namespace pawl::store::fault {

enum class Kind : std::uint8_t {
  none,
  error_before,
  error_after,
  drop_midway,
  fence,
  delay,
  duplicate,
};
inline constexpr Kind all_kinds[] = {Kind::error_before, Kind::error_after, Kind::drop_midway,
                                     Kind::fence,        Kind::delay,       Kind::duplicate};
std::string_view name_of(Kind kind);

struct Fault {
  Kind kind = Kind::none;
  std::size_t applied = 0;  // drop_midway: how many operations are applied
  Duration by{0};           // delay
};
struct Call {
  std::uint64_t number;  // of this store, from 1
  std::span<const Operation> group;
  std::span<const DuplexOperation> duplex{};  // used instead under collation duplex
};
using Plan = std::function<Fault(const Call&)>;

// Makes one call fail, or every call from that number on.
Plan at_call(std::uint64_t number, Fault fault);
Plan from_call(std::uint64_t number, Fault fault);

struct Options {
  Plan plan;                           // none: no commit fails
  std::function<void(Duration)> wait;  // REQUIRED for Kind::delay
  std::uint32_t read_faults_per_thousand = 0;
  std::uint64_t seed = 0;
  std::function<bool(RunId)> is_damaged;      // none: no run is damaged
  ErrorCode damaged_as = ErrorCode::corrupt;  // the error of its reads; retry_later: a disk that does not return it
  std::function<bool(const OutboxRow&)> is_damaged_row{};  // in an outbox: rows behind it are left out
  std::function<bool(Listener&)> loses_ring{};             // none: no notification is lost
  Duration ring_late_max{0};                               // for lost notifications
};

class Store final : public pawl::store::Store {
 public:
  // `inner` must outlive this store.
  Store(pawl::store::Store& inner, Options options);
  Store(std::unique_ptr<pawl::store::Store> inner, Options options);
  ~Store() override;

  std::uint64_t calls() const { return calls_; }  // commit calls so far
  std::uint64_t fired() const { return fired_; }  // commit calls that failed on plan
  std::uint64_t reads() const { return reads_; }
  std::uint64_t jobs_read() const { return jobs_read_; }  // reads of whole jobs
  std::uint64_t reads_failed() const { return reads_failed_; }
  void heal();  // from now on nothing fails; not while another thread is inside

  Result<std::vector<Outcome>> commit(std::span<const Operation> group) override;
  core::Guid id() const override { return inner_.id(); }
  Instant now() const override { return inner_.now(); }
  bool sends_directly() const override { return inner_.sends_directly(); }
  bool spans_lanes() const override { return inner_.spans_lanes(); }
  bool takes_first_steps() const override { return inner_.takes_first_steps(); }

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

  void listen(Listener& listener) override;
  void stop_listening(Listener& listener) override;
  void ring(core::LaneId lane, const Change& change) override { inner_.ring(lane, change); }
  Duration ring_late_max() const override { return std::max(options_.ring_late_max, inner_.ring_late_max()); }
  std::uint64_t rings_lost() const { return rings_lost_; }

  // The fault of a commit that does not come through commit(): it is numbered like the others.
  Fault fault_for(std::span<const Operation> group) { return next_fault(group, {}); }

  // Also wraps the DuplexStore of the inner store: same plan, same numbers. `inner` must outlive this store.
  pawl::store::DuplexStore& wrap(pawl::store::DuplexStore& inner);
  pawl::store::DuplexStore* duplex();  // null: nothing was wrapped

 private:
  class Duplex;
  class Ear;
  Fault next_fault(std::span<const Operation> group, std::span<const DuplexOperation> duplex);
  // The result of a group; `commit` commits to the inner store.
  template <class Answer, class Any>
  Result<std::vector<Answer>> commit_with(
      const Fault& fault, std::span<const Any> group,
      const std::function<Result<std::vector<Answer>>(std::span<const Any>)>& commit);
  Result<std::vector<Outcome>> commit_fenced(std::span<const Operation> group);
  bool read_fails();
  bool is_damaged(RunId run) const { return options_.is_damaged && options_.is_damaged(run); }
  Result<Page<core::WorkItem>> without_damaged(Result<Page<core::WorkItem>> page) const;

  std::unique_ptr<Duplex> duplex_;
  std::unique_ptr<pawl::store::Store> owned_;  // may be empty: the caller keeps the inner store
  pawl::store::Store& inner_;
  Options options_;
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<std::uint64_t> fired_ = 0;
  std::atomic<std::uint64_t> reads_ = 0;
  std::atomic<std::uint64_t> jobs_read_ = 0;
  std::atomic<std::uint64_t> reads_failed_ = 0;
  std::atomic<std::uint64_t> rings_lost_ = 0;
  std::mutex ears_mutex_;  // guards what is below
  std::map<Listener*, std::unique_ptr<Ear>> ears_;
};

}  // namespace pawl::store::fault
