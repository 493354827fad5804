// The Redis store: one server or a cluster, any number of processes.
//
// See docs/decisions/036-redis.md: everything of a lane has one hash tag; a group is one script per lane, which checks
// before it writes; messages to other lanes go through the outbox; the server's clock is the only one.
//
// Threads: any; as many at a time as there are connections.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/duplex_store.h"
#include "store/redis/health.h"
#include "store/redis/limits.h"
#include "store/redis/transport.h"
#include "store/store.h"

namespace pawl::store::redis {

struct Options {
  std::string prefix = "pawl";  // in front of every key: several stores may share a server
  // Servers that are less durable than required are refused, unless this is set. Weak settings are reported in both
  // cases.
  bool accept_weaker = false;
  std::function<void(const Weakness&)> on_weakness;
  TlsOptions tls;
  std::size_t connections = limits::connections;
  std::chrono::milliseconds connect_timeout = limits::connect_timeout;
  std::chrono::milliseconds reply_timeout = limits::reply_timeout;
  const Clock* clock = nullptr;  // for tests; none: the server's. Must outlive the store
  bool despite_moves = false;    // opens a store that was moved, or is not complete: for the move itself
};

struct Stats {
  std::uint64_t round_trips = 0;
  std::uint64_t groups = 0;      // of one lane each
  std::uint64_t operations = 0;  // in these
};

class Store final : public pawl::store::Store {
 public:
  // Creates the store when the server has none under this prefix.
  static Result<std::unique_ptr<Store>> open(const std::string& url, const Options& options);
  ~Store() override;

  Result<std::vector<Outcome>> commit(std::span<const Operation> group) override;
  core::Guid id() const override;
  Instant now() const override;
  bool sends_directly() const override { return false; }
  bool spans_lanes() const override { return false; }
  std::size_t connections() const override;
  // Of a new pool. The fewer lanes, the more operations go into one call; each process needs one, each master several.
  std::uint32_t usual_lanes() const;

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
  std::vector<ReadAnswer> read(std::span<const Read> reads) override;

  void listen(Listener& listener) override;
  void stop_listening(Listener& listener) override;
  void ring(core::LaneId lane, const Change& change) override;
  Duration ring_late_max() const override { return limits::bell_late_max; }

  // The jobs of collation duplex: the same ids, rows and lanes.
  pawl::store::DuplexStore& duplex();

  // The settings that were too weak when the store was opened.
  const std::vector<Weakness>& weaknesses() const;
  Stats stats() const;

 private:
  class Parts;
  explicit Store(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace pawl::store::redis
