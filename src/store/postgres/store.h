// The PostgreSQL store: one database for many nodes. Each lane has an owner by a lease, and only the owner commits to
// it.
//
// docs/decisions/035-postgres.md explains it. All lanes are one atomic domain, so sends go directly into the target's
// inbox, and a group over all lanes is one transaction. Time is the server's.
//
// Threads: as many threads as there are connections may call commit() at once. Reads come from any thread meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/duplex_store.h"
#include "store/postgres/limits.h"
#include "store/postgres/steps.h"
#include "store/store.h"
#include "store/transaction.h"

namespace pawl::store::postgres {

// What a commit survives. `full` is the promise of docs/GUARANTEES.md; a caller must ask for the weaker one.
enum class Durability : std::uint8_t {
  full,           // power loss, as far as the server's settings allow: they are checked
  as_configured,  // any settings of the server: fsync, synchronous_commit or full_page_writes may be off
};
// Whether open() creates a missing schema and migrates an older one, if the role may do that (init.h).
enum class Migrate : std::uint8_t { yes, no };

struct Options {
  std::string schema = "pawl";
  Durability durability = Durability::full;
  Migrate migrate = Migrate::yes;
  Migrations steps = migrations();  // tests set the steps of other versions
  const Clock* clock = nullptr;     // none: the server's clock; for tests, must outlive the store
  std::size_t connections = limits::connections;
  std::size_t readers = limits::readers;
  // Jobs and mailboxes send directly into the inbox. False: through the outbox, as in stores without direct sends.
  bool sends_directly = true;
  bool despite_moves = false;  // opens a store that was moved, or is not complete: used by the move itself
  std::chrono::milliseconds statement_wait = limits::statement_wait;
  std::chrono::milliseconds lock_wait = limits::lock_wait;
  std::chrono::milliseconds transaction_idle_max = limits::transaction_idle_max;
};

struct Stats {
  std::uint64_t commits = 0;
  std::uint64_t operations = 0;
  std::uint64_t round_trips = 0;  // of connections that are not in use
  std::uint64_t statements = 0;   // of connections that are not in use
};

class Store final : public pawl::store::Store {
 public:
  // `address`: postgres://user@host:port/database?..., or key = value, as libpq accepts it, with its environment and
  // files. A server that cannot keep the promise is refused; no error contains a password.
  static Result<std::unique_ptr<Store>> open(const std::string& address, const Options& options);
  ~Store() override;

  Result<std::vector<Outcome>> commit(std::span<const Operation> group) override;
  core::Guid id() const override;
  Instant now() const override;
  bool sends_directly() const override;
  std::size_t connections() const override;

  std::vector<ReadAnswer> read(std::span<const Read> reads) override;
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
  void ring(core::LaneId, const Change&) override {}  // the commit has sent the notification
  Duration ring_late_max() const override { return limits::ring_late_max; }

  // The jobs of collation duplex.
  DuplexStore& duplex();
  // Transactions of workers, each on its own session and limited to this time.
  std::shared_ptr<TransactionStore> transactions(Duration time);

  Stats stats() const;
  // `report` is called once, from any thread, when the server has lost commits that it had acknowledged. Then this
  // store does nothing more.
  void on_problem(std::function<void(const std::string&)> report);
  // What may be lost by which setting of the server, if the caller accepted that.
  const std::vector<std::string>& weaknesses() const;

 private:
  class Parts;
  class Duplex;
  explicit Store(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
  std::unique_ptr<Duplex> duplex_;
};

}  // namespace pawl::store::postgres
