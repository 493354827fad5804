#include "store/sqlite/reader.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/format.h"
#include "store/sqlite/limits.h"
#include "store/sqlite/work_rows.h"

namespace pawl::store::sqlite {

namespace {

constexpr const char* job_columns =
    "run, namespace, job_id, graph, version, fingerprint, created_at, rev, bundle, status, "
    "semaphore,"
    " threshold, completions, next_activity, closed_at, result, reason, priority, keep, remove_at, deadline,"
    " redrives, data, code, parent_run, parent_activity, parent_request, parent_awaits, secret, result_at";

// A result that is the output of one of the job's activities is stored there. A payload that is missing there reads as
// NULL.
constexpr const char* result_column =
    "CASE WHEN result_at IS NULL THEN result ELSE (SELECT o.output FROM activities o WHERE o.run = jobs.run"
    " AND o.seq = jobs.result_at) END";

// The columns of a job; `bare`: those that may be large are NULL under this condition.
std::string columns_of_job(const char* bare) {
  std::string columns = job_columns;
  for (const auto& [large, value] : {std::pair{" result,", result_column}, {" data,", "data"}}) {
    const std::string column = *bare == '\0' ? value : format("CASE WHEN {} THEN NULL ELSE {} END", bare, value);
    columns.replace(columns.find(large), std::strlen(large), format(" {},", column));
  }
  if (*bare != '\0')
    columns.replace(columns.rfind(" result_at"), std::string::npos,
                    format(" CASE WHEN {} THEN NULL ELSE result_at END", bare));
  return columns;
}

// The largest run id of a lane: its sequence part is all ones.
RunId last_run(core::LaneId lane) { return core::make_run(lane, (std::uint64_t{1} << core::run_sequence_bits) - 1); }

}  // namespace

Result<std::unique_ptr<Reader>> Reader::open(std::unique_ptr<Connection> connection) {
  std::unique_ptr<Reader> reader(new Reader(std::move(connection)));
  const auto prepared = reader->prepare();
  if (!prepared) return prepared.error();
  return reader;
}

Status Reader::prepare() {
  const auto layout = connection_->read_number("PRAGMA user_version");
  if (!layout) return layout.error();
  layout_ = *layout;
  const std::string job = format("SELECT {} FROM jobs WHERE run = ?1", columns_of_job(""));
  const std::string names = columns_of_job("?4");
  // The row of a running job, without the columns that may be large.
  const std::string bare_if_it_runs = format("status = {}", static_cast<int>(core::JobStatus::running));
  const std::string job_row = format("SELECT {} FROM jobs WHERE run = ?1", columns_of_job(bare_if_it_runs.c_str()));
  const struct {
    Statement* statement;
    const char* sql;
  } entries[] = {
      {&version_, "PRAGMA user_version"},
      {&begin_, "BEGIN"},
      {&end_, "COMMIT"},
      {&store_id_, "SELECT store_id FROM store_state WHERE id = 1"},
      {&last_commit_, "SELECT commits FROM store_state WHERE id = 1"},
      {&pool_, "SELECT first_lane, lanes FROM pools WHERE pool = ?1"},
      {&lane_, "SELECT epoch, owner FROM lanes WHERE lane = ?1"},
      {&part_below_, "SELECT max(part) FROM start_keys WHERE part < ?1"},
      {&run_, "SELECT run FROM start_keys WHERE part = ?1 AND namespace = ?2 AND job_id = ?3"},
      {&mailbox_of_key_, "SELECT run FROM mailboxes WHERE namespace = ?1 AND topic = ?2 AND key = ?3"},
      {&job_, job.c_str()},
      {&job_row_, job_row.c_str()},
      {&activities_,
       "SELECT seq, node, place, parent, ledger, status, code, opened_at, closed_at, output,"
       " closing_guid, closing_ledger, state FROM activities WHERE run = ?1 ORDER BY seq"},
      {&records_, "SELECT guid, activity, ledger, output FROM message_ledgers WHERE run = ?1"},
      {&work_of_, "SELECT " PAWL_WORK_COLUMNS ", seq FROM activities"
                  " INDEXED BY activities_by_run WHERE run = ?1 AND request IS NOT NULL"},
      {&inbox_, "SELECT guid, redeliveries, body, 0 FROM inbox WHERE run = ?1 ORDER BY id"},
      {&timers_, "SELECT guid, redeliveries, body, due FROM timers WHERE run = ?1 ORDER BY due, guid"},
      {&message_,
       "SELECT guid, redeliveries, body, 0 FROM inbox WHERE run = ?1 AND guid = ?2"
       " UNION ALL SELECT guid, redeliveries, body, due FROM timers WHERE run = ?1 AND guid = ?2"},
      {&paused_, "SELECT topic FROM paused_topics ORDER BY topic"},
      {&waiting_,
       "SELECT DISTINCT run, EXISTS (SELECT 1 FROM mailboxes m WHERE m.run = inbox.run) FROM inbox"
       " WHERE run > ?1 AND run <= ?2 AND typeof(run) = 'integer' ORDER BY run LIMIT ?3"},
      // Without a LIMIT: damaged rows do not count, and the caller stops when it has enough.
      {&work_, "SELECT " PAWL_WORK_COLUMNS ", its_run, its_seq FROM"
               " (SELECT run AS its_run, seq AS its_seq FROM work_list WHERE (run, seq) > (?1, ?2) AND run <= ?3)"
               " CROSS JOIN activities ON run = its_run AND seq = its_seq WHERE request IS NOT NULL UNION ALL"
               " SELECT " PAWL_WORK_COLUMNS ", run, seq FROM activities"
               " WHERE " PAWL_UNLISTED " AND request IS NOT NULL AND (run, seq) > (?1, ?2) AND run <= ?3"
               " ORDER BY its_run, its_seq"},
      {&work_item_, "SELECT " PAWL_WORK_COLUMNS " FROM activities WHERE run = ?1 AND seq = ?2 AND request IS NOT NULL"},
      {&work_places_,
       "SELECT run, seq, topic FROM work_list WHERE (run, seq) > (?1, ?2) AND run <= ?3 ORDER BY run, seq"},
      {&app_, "SELECT body FROM apps WHERE namespace = ?1 AND app = ?2 AND version = ?3"},
      {&apps_,
       "SELECT a.app, a.version, n.version IS NOT NULL, a.deployed_at FROM apps a LEFT JOIN active_apps n"
       " ON n.namespace = a.namespace AND n.app = a.app AND n.version = a.version"
       " WHERE a.namespace = ?1 ORDER BY a.app, a.version"},
  };
  for (const auto& entry : entries) {
    const int rc = entry.statement->prepare(connection_->handle(), entry.sql);
    if (rc != SQLITE_OK) return connection_->error(rc, "find the expected tables in");
  }
  const auto lists = prepare_lists(names);
  if (!lists) return lists;
  const auto counts = prepare_counts();
  if (!counts) return counts;
  const auto mailbox = prepare_mailbox();
  if (!mailbox) return mailbox;
  const auto due = prepare_due();
  if (!due) return due;
  const auto outbox = prepare_outbox();
  if (!outbox) return outbox;
  const auto labels = prepare_labels();
  if (!labels) return labels;
  return duplex_.prepare(*connection_);
}

Result<core::Guid> Reader::read_store_id() {
  Rows rows = store_id_.query();
  if (!rows.next()) {
    if (rows.failed()) return error(rows);
    return Error{ErrorCode::corrupt, "the store has no id"};
  }
  const core::Guid id = rows.guid(0);
  if (rows.malformed()) return Error{ErrorCode::corrupt, "the store's id is malformed"};
  return id;
}

// A newer program may have become the owner and migrated the file while this one has it open. SQLite then runs the old
// statements on the new tables, and what moved elsewhere looks as if it were empty.
Status Reader::check_layout() {
  Rows rows = version_.query();
  if (rows.next() && rows.number(0) == layout_) return {};
  if (rows.failed()) return error(rows);
  return connection_->error(SQLITE_SCHEMA, "read");
}

Result<std::int64_t> Reader::read_last_commit() {
  Rows rows = last_commit_.query();
  if (rows.next() && !rows.is_null(0)) return rows.number(0);
  if (rows.failed()) return error(rows);
  return Error{ErrorCode::corrupt, "the number of commits is missing"};
}

Result<std::optional<PoolInfo>> Reader::read_pool(const Pool& pool) {
  Rows rows = pool_.query(pool);
  if (!rows.next()) {
    if (rows.failed()) return error(rows);
    return std::optional<PoolInfo>();
  }
  const PoolInfo info{core::LaneId(rows.small(0)), rows.small(1), pool};
  if (rows.malformed()) return Error{ErrorCode::corrupt, format("the row of pool {} is malformed", pool.raw())};
  return std::optional<PoolInfo>(info);
}

Result<LaneInfo> Reader::read_lane(core::LaneId lane) {
  Rows rows = lane_.query(lane);
  if (!rows.next()) {
    if (rows.failed()) return error(rows);
    return Error{ErrorCode::not_found, format("there is no lane {}", lane.raw())};
  }
  LaneInfo info{lane, core::Epoch(rows.word(0)), std::string(rows.text(1)), std::nullopt};
  if (rows.malformed()) return Error{ErrorCode::corrupt, format("the row of lane {} is malformed", lane.raw())};
  return info;
}

Result<std::optional<RunId>> Reader::read_run(Rows rows) {
  if (!rows.next()) {
    if (rows.failed()) return error(rows);
    return std::optional<RunId>();
  }
  const RunId run(rows.word(0));
  if (rows.malformed()) return Error{ErrorCode::corrupt, "a stored run id is malformed"};
  return std::optional<RunId>(run);
}

Result<std::optional<RunId>> Reader::find_run(const Namespace& name_space, const JobId& id) {
  // Part by part, the newest first (start_keys.h). An id that is used again moves to another part meanwhile.
  const Snapshot snapshot(begin_, end_);
  if (snapshot.code() != SQLITE_OK) return connection_->error(snapshot.code(), "read");
  for (std::int64_t part = std::numeric_limits<std::int64_t>::max();;) {
    {
      Rows rows = part_below_.query(part);
      if (!rows.next()) return error(rows);
      if (rows.is_null(0)) return std::optional<RunId>();
      part = rows.number(0);
    }
    auto run = read_run(run_.query(part, name_space, id));
    if (!run || *run) return run;
  }
}

Result<std::optional<RunId>> Reader::find_mailbox(const core::MailboxKey& key) {
  return read_run(mailbox_of_key_.query(key.name_space, key.topic, key.key));
}

Result<std::vector<Waiting>> Reader::read_waiting(core::LaneId lane, RunId after, std::size_t rows_max) {
  std::vector<Waiting> found;
  const RunId from = std::max(after, core::make_run(lane, 0));
  Rows rows = waiting_.query(from, last_run(lane), rows_max);
  while (rows.next())
    found.push_back({RunId(rows.word(0)), rows.number(1) != 0 ? EntityKind::mailbox : EntityKind::job});
  if (rows.failed()) return error(rows);
  return found;
}

Result<Page<WorkPlace>> Reader::read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  const RunId first = core::make_run(lane, 0);
  if (after.run < first) after = WorkCursor{first, core::ActivitySeq(0)};
  Page<WorkPlace> places;
  Rows rows = work_places_.query(after.run, after.activity, last_run(lane));
  while (places.size() < rows_max && rows.next()) {
    WorkPlace place{RunId(rows.word(0)), core::ActivitySeq(rows.small(1)), Topic(std::string(rows.text(2)))};
    if (rows.malformed())
      name_damaged(places, place.run, format("run {}: a work item is malformed", place.run.raw()));
    else
      places.push_back(std::move(place));
  }
  if (rows.failed()) return error(rows);
  return places;
}

Result<Page<core::WorkItem>> Reader::read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  const RunId first = core::make_run(lane, 0);
  if (after.run < first) after = WorkCursor{first, core::ActivitySeq(0)};
  Page<core::WorkItem> items;
  constexpr auto last_activity = std::numeric_limits<std::uint32_t>::max();
  if (rows_max == 1 && after.activity.raw() < last_activity) {  // usually it is right behind this place
    const core::ActivitySeq next(after.activity.raw() + 1);
    Rows rows = work_item_.query(after.run, next);
    if (rows.next()) {
      core::WorkItem item = work_item(rows, after.run, next);
      if (!rows.malformed()) items.push_back(std::move(item));
    }
    if (rows.failed()) return error(rows);
    if (!items.empty()) return items;
  }
  Rows rows = work_.query(after.run, after.activity, last_run(lane));
  std::size_t bytes = 0;
  while (items.size() < rows_max && bytes < limits::page_of_work_bytes && rows.next()) {
    const RunId run(rows.word(work_columns));
    core::WorkItem item = work_item(rows, run, core::ActivitySeq(rows.small(work_columns + 1)));
    if (rows.malformed())
      name_damaged(items, run, format("run {}: work item {} is malformed", run.raw(), item.activity.raw()));
    else {
      bytes += item.input.size() + item.life.progress.size();
      items.push_back(std::move(item));
    }
  }
  if (rows.failed()) return error(rows);
  return items;
}

Status Reader::verify_work() {
  const auto wrong = connection_->read_number(
      "SELECT (SELECT count(*) FROM activities a WHERE request IS NOT NULL AND CASE WHEN unlisted"
      " THEN id < (SELECT unlisted_from FROM store_state)"
      " OR EXISTS (SELECT 1 FROM work_list l WHERE l.run = a.run AND l.seq = a.seq)"
      " ELSE NOT EXISTS (SELECT 1 FROM work_list l WHERE l.run = a.run AND l.seq = a.seq AND l.topic IS a.topic"
      " AND l.priority IS a.priority AND l.position IS a.position AND l.token IS a.token AND l.epoch IS a.epoch"
      " AND l.lease_until IS a.lease_until AND l.visible_at IS a.visible_at AND l.held IS a.held"
      " AND l.once IS a.once AND l.wake_at IS a.wake_at) END)"
      " + (SELECT count(*) FROM work_list l WHERE NOT EXISTS (SELECT 1 FROM activities a WHERE a.run = l.run"
      " AND a.seq = l.seq AND a.request IS NOT NULL AND a.unlisted = 0))");
  if (!wrong) return wrong.error();
  if (*wrong == 0) return {};
  return Error{ErrorCode::corrupt,
               format("{}: {} work items are not as the list of work has them; restore the file from a backup",
                      connection_->path(), *wrong)};
}

}  // namespace pawl::store::sqlite
