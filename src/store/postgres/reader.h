// Reader: all reads of a store, over one connection. It checks each row while decoding: a row that no store writes is
// `corrupt`, and the error names its job; nothing is guessed. A read of several parts sees one snapshot.
//
// It has no state: a new one is made for each read.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/limits.h"
#include "store/duplex_operation.h"
#include "store/postgres/connection.h"
#include "store/store.h"

namespace pawl::store::postgres {

class Reader {
 public:
  explicit Reader(Connection& connection) : connection_(connection) {}

  Result<std::optional<PoolInfo>> read_pool(const Pool& pool);
  Result<LaneInfo> read_lane(core::LaneId lane);
  Result<std::optional<RunId>> find_run(const Namespace& name_space, const JobId& id);
  Result<std::optional<RunId>> find_mailbox(const core::MailboxKey& key);
  Result<std::vector<Waiting>> read_waiting(core::LaneId lane, RunId after, std::size_t rows_max);
  Result<Page<WorkPlace>> read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max);
  Result<Page<core::WorkItem>> read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max);
  Result<std::vector<Topic>> read_paused_topics();
  // read_jobs.cc: one answer for each run, in order.
  std::vector<Result<std::optional<StoredJob>>> read_jobs(std::span<const RunId> runs);
  Result<std::optional<core::JobRow>> read_job_row(RunId run);
  // read_due.cc
  Result<Page<Due>> read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max);
  Result<std::optional<core::InboxMessage>> read_message(RunId run, const core::Guid& guid);
  // read_mailbox.cc
  Result<std::optional<StoredMailbox>> read_mailbox(RunId run);
  Result<std::optional<MailboxPage>> read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now);
  Result<std::vector<MailboxInfo>> list_mailboxes(const MailboxQuery& query);
  Result<std::optional<KeptSignals>> read_kept(const KeptQuery& query);
  // read_list.cc
  Result<std::vector<LaneEnd>> read_lane_ends();
  Result<std::vector<core::JobRow>> list_jobs(const ListQuery& query);
  Result<std::vector<JobCount>> count_jobs();
  Result<std::vector<TopicWork>> count_work(Instant now);
  Result<std::vector<EngineInfo>> read_engines(const Pool& pool, Instant now);
  Result<std::vector<MeasureRow>> read_measures(const MeasureQuery& query);
  Result<std::vector<AnnouncementRow>> read_announcements(const AnnouncementQuery& query);
  Result<Page<OutboxRow>> read_outbox(core::LaneId lane, std::size_t rows_max);
  Result<std::optional<std::string>> read_app(const Namespace& name_space, const std::string& app,
                                              const std::string& version);
  Result<std::vector<AppInfo>> list_apps(const Namespace& name_space);
  // read_duplex.cc
  Result<std::optional<DuplexJob>> read_duplex(RunId run);
  Result<std::optional<DuplexJob>> read_duplex_under_way(RunId run);
  Result<std::optional<DuplexView>> view_duplex(RunId run, const Place& place);

 private:
  class MailboxSource;
  // All reads of the script see one snapshot, in one round trip.
  Done read_together(Script& script);
  Result<std::optional<RunId>> read_run(Done done);

  Connection& connection_;
};

// Starts a script whose reads share a snapshot, between a begin and a commit: the nth read has index n + 1.
Script reading();

// Names a damaged row that a page skips.
template <class Row>
void name_damaged(Page<Row>& page, RunId run, std::string what) {
  if (page.damaged.size() < pawl::limits::damaged_per_page_max) page.damaged.push_back({run, std::move(what)});
}

// Columns as in PAWL_JOB_COLUMNS.
Result<core::JobRow> job_row(Rows& rows);
// "job default/order-17 (run 140737488355329)": how errors name a job.
std::string name_of_job(const core::JobRow& job);
// Columns: guid, redeliveries, body, due.
Result<core::InboxMessage> inbox_message(Rows& rows, int first = 0);

#define PAWL_JOB_COLUMNS_WITH(result, data)                                                                      \
  "run, namespace, job_id, graph, version, fingerprint, created_at, rev, bundle, status, semaphore, threshold, " \
  "completions,"                                                                                                 \
  " next_activity, closed_at, " result ", reason, priority, keep, remove_at, deadline, redrives, " data          \
  ", code, parent_run,"                                                                                          \
  " parent_activity, parent_request, parent_awaits, secret"
#define PAWL_JOB_COLUMNS PAWL_JOB_COLUMNS_WITH("result", "data")

// The runs of a lane. Lane 0: all runs.
struct RunRange {
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};
inline RunRange runs_of(core::LaneId lane) {
  if (lane == core::LaneId(0)) return {};
  constexpr std::uint64_t sequence_max = (std::uint64_t{1} << core::run_sequence_bits) - 1;
  return {static_cast<std::int64_t>(core::make_run(lane, 0).raw()),
          static_cast<std::int64_t>(core::make_run(lane, sequence_max).raw())};
}

}  // namespace pawl::store::postgres
