// The SQLite store: one file, one process that owns its lanes, and any number of processes that read it and deliver
// messages.
//
// docs/decisions/010-sqlite.md explains: write-ahead log, every commit synced, one transaction per group, sends
// straight into the target's inbox.
//
// A process may have several stores on one file. Only SQLite opens and closes the file.
//
// Threads: commit() one at a time; reads from any thread meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "store/change.h"
#include "store/duplex_store.h"
#include "store/sqlite/limits.h"
#include "store/store.h"
#include "store/transaction.h"

namespace pawl::store::sqlite {

// What a commit survives. `full` is what docs/GUARANTEES.md promises; the weaker one must be requested.
enum class Durability : std::uint8_t {
  full,           // power loss
  process_death,  // kill -9, but a power loss may lose the last commits
};

struct Options {
  Durability durability = Durability::full;
  const Clock* clock = nullptr;                      // none: the machine's; must outlive the store
  std::function<void(const std::string&)> on_fatal;  // none: print and abort; called when written data may be lost
  std::chrono::milliseconds busy_wait = limits::busy_wait;
  std::uint32_t page_bytes = limits::page_bytes;  // of a new file
  int checkpoint_pages = limits::checkpoint_pages;
  std::uint64_t log_bytes_max = limits::log_bytes_max;  // then commits are refused: retry_later
  int cache_kib = limits::cache_kib;                    // of the writer
  int reader_cache_kib = limits::reader_cache_kib;      // of each reader
  std::string vfs;                                      // none: SQLite's own; tests inject faults here
  // Sends between jobs and mailboxes go straight into the inbox, in the sender's transaction: one file has all lanes.
  // False: through the outbox, as in stores that cannot.
  bool sends_directly = true;
  std::size_t payload_in_row_bytes = limits::payload_in_row_bytes;  // of an input; tests keep all of them apart
  std::int64_t unlisted_rows_max = limits::unlisted_rows_max;       // work_list.h; tests have every item listed soon
  std::size_t compress_payloads = 0;  // of ended jobs, from this size on (PackLimits); 0: none
  bool compress_all = false;          // also if they get larger; for tests
  bool rings = true;           // notify the owner after a commit; tests play processes that die before that
  bool despite_moves = false;  // opens a file that was moved or is incomplete: for the move itself
};

struct Stats {
  std::uint64_t commits = 0;
  std::uint64_t operations = 0;
  std::uint64_t row_writes = 0;  // rows inserted, updated or deleted; index entries do not count
  std::uint64_t log_bytes = 0;   // written to the write-ahead log
  std::uint64_t checkpoints = 0;
};

class Store final : public pawl::store::Store {
 public:
  // Creates the file when it is missing. A file that cannot be used is left as it is; the error says what is wrong with
  // it and what to do.
  static Result<std::unique_ptr<Store>> open(const std::string& path, const Options& options);
  ~Store() override;

  Result<std::vector<Outcome>> commit(std::span<const Operation> group) override;
  core::Guid id() const override;
  Instant now() const override;
  bool sends_directly() const override;

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

  // The jobs of collation duplex: the same file and the same writer, so one thread at a time calls commit() of either.
  DuplexStore& duplex();
  // Transactions of workers: the thread that calls commit() begins and commits them, and commits nothing else
  // meanwhile.
  std::shared_ptr<TransactionStore> transactions();

  // Takes the ownership of the lanes for this process, unless another living process has it. Kept until this store is
  // closed. AcquireLane does the same by itself.
  Result<bool> try_own();
  // One listener, set before the first AcquireLane or try_own(). A thread of the store notifies it when another process
  // committed something, and, once, when this process has become the owner because the other one is gone: AcquireLane
  // will succeed now.
  void listen(Listener& listener) override;
  void stop_listening(Listener& listener) override;
  // Nothing to do: a process that does not own the lanes notifies with its commit.
  void ring(core::LaneId, const Change&) override {}
  Duration ring_late_max() const override { return limits::ring_late_max; }

  // Calls `report` from any thread with problems that a person should solve, e.g. a process that keeps the log from
  // shrinking.
  void on_problem(std::function<void(const std::string&)> report);

  Stats stats() const;
  // Reads the whole file and checks every page, row and index entry: slow. `corrupt` lists what it found.
  Status verify();
  // A copy of the whole file at one moment, made beside all that goes on. There must be nothing at the path.
  Status copy_to(const std::string& path);

 private:
  class Parts;
  class Duplex;
  explicit Store(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
  std::unique_ptr<Duplex> duplex_;
};

}  // namespace pawl::store::sqlite
