// Reader: a read-only connection with its statements. Rows are checked while they are decoded: a row that no store can
// have written is `corrupt` and names its job; nothing is guessed.
//
// Threads: any; one mutex per reader. There are several readers, so that a long list does not delay the engine.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/duplex_rows.h"
#include "store/sqlite/statement.h"
#include "store/store.h"

namespace pawl::store::sqlite {

// Ends the snapshot however the read ends.
class Snapshot {
 public:
  Snapshot(Statement& begin, Statement& end) : end_(end) { code_ = begin.run() < 0 ? begin.code() : SQLITE_OK; }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() { end_.run(); }
  int code() const { return code_; }

 private:
  Statement& end_;
  int code_;
};

class Reader {
 public:
  static Result<std::unique_ptr<Reader>> open(std::unique_ptr<Connection> connection);

  // Lock it first; every read below needs it.
  std::mutex& mutex() { return mutex_; }
  Connection& connection() { return *connection_; }

  // Whether the file has the layout that it had when it was opened. Asked after a read: layouts only move forward.
  Status check_layout();
  Result<core::Guid> read_store_id();
  Result<std::int64_t> read_last_commit();
  Result<std::optional<PoolInfo>> read_pool(const Pool& pool);
  Result<LaneInfo> read_lane(core::LaneId lane);
  Result<std::optional<RunId>> find_run(const Namespace& name_space, const JobId& id);
  Result<std::optional<RunId>> find_mailbox(const core::MailboxKey& key);
  Result<std::optional<StoredJob>> read_job(RunId run);
  Result<std::optional<core::JobRow>> read_job_row(RunId run);
  // read_mailbox.cc
  Result<std::optional<StoredMailbox>> read_mailbox(RunId run);
  Result<std::optional<MailboxPage>> read_mailbox_page(RunId run, const MailboxPageSize& size, Instant now);
  Result<std::vector<MailboxInfo>> list_mailboxes(const MailboxQuery& query);
  Result<std::optional<KeptSignals>> read_kept(const KeptQuery& query);
  Result<std::vector<Waiting>> read_waiting(core::LaneId lane, RunId after, std::size_t rows_max);
  Result<Page<WorkPlace>> read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max);
  Result<Page<core::WorkItem>> read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max);
  Result<Page<Due>> read_due(core::LaneId lane, const std::optional<Due>& after, std::size_t rows_max);
  Result<std::optional<core::InboxMessage>> read_message(RunId run, const core::Guid& guid);
  Result<std::vector<Topic>> read_paused_topics();
  Status verify_work();  // reads all activities: whether the list of work agrees with them
  // read_list.cc
  Result<std::vector<LaneEnd>> read_lane_ends();
  Result<std::vector<core::JobRow>> list_jobs(const ListQuery& query);
  // read_counts.cc
  Result<std::vector<JobCount>> count_jobs();
  Result<std::vector<TopicWork>> count_work(Instant now);
  Result<std::vector<EngineInfo>> read_engines(const Pool& pool, Instant now);
  // read_label.cc
  Result<std::vector<MeasureRow>> read_measures(const MeasureQuery& query);
  Result<std::vector<AnnouncementRow>> read_announcements(const AnnouncementQuery& query);
  // read_outbox.cc
  Result<Page<OutboxRow>> read_outbox(core::LaneId lane, std::size_t rows_max);
  // read_app.cc
  Result<std::optional<std::string>> read_app(const Namespace& name_space, const std::string& app,
                                              const std::string& version);
  Result<std::vector<AppInfo>> list_apps(const Namespace& name_space);
  // read_duplex.cc
  Result<std::optional<DuplexJob>> read_duplex(RunId run);
  Result<std::optional<DuplexJob>> read_duplex_under_way(RunId run);
  Result<std::optional<DuplexView>> view_duplex(RunId run, const Place& place);

 private:
  explicit Reader(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
  Status prepare();

  // read_job.cc: the parts of one job, within one snapshot.
  Result<std::optional<StoredJob>> read_job_rows(RunId run);
  Status read_activities(core::JobState& state);
  Status read_records(core::JobState& state);
  Status read_work_of(core::JobState& state);
  Result<std::vector<core::InboxMessage>> read_inbox(RunId run);
  Result<std::vector<core::InboxMessage>> read_timers(RunId run);
  Result<std::vector<core::InboxMessage>> read_messages(Rows rows);
  static Result<core::InboxMessage> take_message(Rows& rows);
  // read_mailbox.cc
  class MailboxSource;
  Status prepare_mailbox();
  Result<std::optional<core::MailboxState>> read_mailbox_row(RunId run);
  Result<std::optional<StoredMailbox>> read_mailbox_rows(RunId run);

  // read_list.cc: the columns of a job's row; ?4: without those that may be large.
  Status prepare_lists(const std::string& columns);
  struct Lists;
  Rows find_jobs(Lists& lists, const ListQuery& query, std::int64_t first, std::int64_t last);
  bool are_few(Rows rows);
  // read_counts.cc
  Status prepare_counts();
  // read_label.cc
  Status prepare_labels();
  // read_outbox.cc
  Status prepare_outbox();
  // read_due.cc
  Status prepare_due();
  // read_duplex.cc
  Result<std::optional<core::JobRow>> read_duplex_row(RunId run);
  Status read_stream(RunId run, std::vector<ClaimedMessage>& out);

  Result<std::optional<RunId>> read_run(Rows rows);
  Error error(const Rows& rows) const { return connection_->error(rows.rc(), "read"); }

  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;
  std::int64_t layout_ = 0;
  Statement version_, store_id_, last_commit_, begin_, end_;
  Statement pool_, lane_, part_below_, run_, mailbox_of_key_;
  Statement job_, job_row_, activities_, records_, work_of_, inbox_, timers_;
  Statement due_timers_, due_work_, due_removals_, due_keys_, message_, paused_;
  Statement mailbox_, entries_;
  Statement waiting_, work_, work_item_, work_places_;
  Statement page_inbox_, page_registrations_, page_heads_, page_signals_, page_offers_, page_registration_, page_offer_;
  Statement mailbox_list_;
  Statement app_, apps_;
  Statement outbox_;
  struct Lists {
    Statement all, of_namespace, of_status, of_both, of_graph, labelled, labelled_key;
    Statement errored, ended, labelled_of_graph, few_of_both;
  };
  std::array<Lists, 2> lists_;  // by direction
  Statement lane_ends_, few_end_, few_of_graph_, few_of_both_;
  Statement job_counts_, topic_work_, engines_;
  Statement measures_, announcements_, announcements_of_topic_, announcements_of_run_;
  DuplexReads duplex_;
};

// Names a row that a page skips.
template <class Row>
void name_damaged(Page<Row>& page, RunId run, std::string what) {
  if (page.damaged.size() < pawl::limits::damaged_per_page_max) page.damaged.push_back({run, std::move(what)});
}

// Columns as in the list statements: run, namespace, job_id, graph, version, fingerprint,
// created_at, rev, bundle, status, semaphore, threshold, completions, next_activity, closed_at,
// result, reason, priority, keep, remove_at, deadline, redrives, data, code, parent_run, parent_activity,
// parent_request, parent_awaits, secret, result_at. The caller checks rows.failed() first: a payload that was not read
// is empty.
Result<core::JobRow> job_row(Rows& rows);

// "job default/order-17 (run 140737488355329)": how errors name a job.
std::string name_of_job(const core::JobRow& job);

}  // namespace pawl::store::sqlite
