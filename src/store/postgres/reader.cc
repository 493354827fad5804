#include "store/postgres/reader.h"

#include <algorithm>

#include "base/format.h"
#include "store/postgres/limits.h"
#include "store/postgres/work_columns.h"

namespace pawl::store::postgres {

namespace {

const Statement read_pool_row{"read_pool_row", "SELECT first_lane, lanes FROM pools WHERE pool = $1::text"};
const Statement read_lane_row{"read_lane_row", "SELECT epoch, owner, lease_until FROM lanes WHERE lane = $1::bigint"};
const Statement find_run_row{"find_run_row",
                             "SELECT run FROM start_keys WHERE namespace = $1::text AND job_id = $2::text"};
const Statement find_mailbox_row{
    "find_mailbox_row",
    "SELECT run FROM mailboxes WHERE namespace = $1::text AND topic = $2::text AND key = $3::bytea"};
// Finds each run by the one before it: one seek for each run, however many messages it has.
const Statement read_waiting_runs{"read_waiting_runs",
                                  "WITH RECURSIVE runs AS ("
                                  " (SELECT i.run, 1::bigint AS n FROM inbox i WHERE i.run > $1::bigint AND i.run <= "
                                  "$2::bigint ORDER BY i.run LIMIT 1)"
                                  " UNION ALL SELECT (SELECT i.run FROM inbox i WHERE i.run > r.run AND i.run <= "
                                  "$2::bigint ORDER BY i.run LIMIT 1), r.n + 1"
                                  " FROM runs r WHERE r.run IS NOT NULL AND r.n < $3::bigint)"
                                  " SELECT r.run, EXISTS (SELECT 1 FROM mailboxes m WHERE m.run = ANY(ARRAY[r.run])) "
                                  "FROM runs r WHERE r.run IS NOT NULL ORDER BY r.n"};
const Statement read_work_page{
    "read_work_page",
    "SELECT " PAWL_ITEM_COLUMNS("w") ", w.input FROM work w"
    " WHERE (w.run, w.seq) > ($1::bigint, $2::bigint) AND w.run <= $3::bigint ORDER BY w.run, w.seq LIMIT $4::bigint"};
const Statement read_work_places_page{
    "read_work_places_page",
    "SELECT run, seq, topic FROM work WHERE (run, seq) > ($1::bigint, $2::bigint) AND run <= $3::bigint"
    " ORDER BY run, seq LIMIT $4::bigint"};
const Statement read_pauses{"read_pauses", "SELECT DISTINCT topic FROM paused_topics ORDER BY topic"};

}  // namespace

Script reading() {
  Script script;
  script.add(begin_reading_statement);
  return script;
}

Done Reader::read_together(Script& script) {
  script.add(commit_statement);
  Done done = connection_.run(script);
  if (!done && !connection_.is_lost()) connection_.run(rollback_statement);
  return done;
}

Result<std::optional<PoolInfo>> Reader::read_pool(const Pool& pool) {
  Done done = connection_.run(read_pool_row, Params::of(pool));
  if (!done) return error_of(done.failure());
  Rows& rows = done[0];
  if (!rows.next()) return std::optional<PoolInfo>();
  const PoolInfo info{core::LaneId(rows.small(0)), rows.small(1), pool};
  if (rows.malformed()) return Error{ErrorCode::corrupt, format("the row of pool {} is malformed", pool.raw())};
  return std::optional<PoolInfo>(info);
}

Result<LaneInfo> Reader::read_lane(core::LaneId lane) {
  Done done = connection_.run(read_lane_row, Params::of(lane));
  if (!done) return error_of(done.failure());
  Rows& rows = done[0];
  if (!rows.next()) return Error{ErrorCode::not_found, format("there is no lane {}", lane.raw())};
  LaneInfo info{lane, core::Epoch(rows.word(0)), std::string(rows.text(1)), std::nullopt};
  if (!rows.is_null(2)) info.lease_until = rows.instant(2);
  if (rows.malformed()) return Error{ErrorCode::corrupt, format("the row of lane {} is malformed", lane.raw())};
  return info;
}

Result<std::optional<RunId>> Reader::read_run(Done done) {
  if (!done) return error_of(done.failure());
  Rows& rows = done[0];
  if (!rows.next()) return std::optional<RunId>();
  const RunId run(rows.word(0));
  if (rows.malformed()) return Error{ErrorCode::corrupt, "a stored run id is malformed"};
  return std::optional<RunId>(run);
}

Result<std::optional<RunId>> Reader::find_run(const Namespace& name_space, const JobId& id) {
  return read_run(connection_.run(find_run_row, Params::of(name_space, id)));
}

Result<std::optional<RunId>> Reader::find_mailbox(const core::MailboxKey& key) {
  return read_run(connection_.run(find_mailbox_row, Params::of(key.name_space, key.topic, Blob{key.key})));
}

Result<std::vector<Waiting>> Reader::read_waiting(core::LaneId lane, RunId after, std::size_t rows_max) {
  std::vector<Waiting> found;
  if (rows_max == 0) return found;
  const RunId from = std::max(after, core::make_run(lane, 0));
  Done done = connection_.run(read_waiting_runs, Params::of(from, runs_of(lane).last, rows_max));
  if (!done) return error_of(done.failure());
  Rows& rows = done[0];
  while (rows.next()) found.push_back({RunId(rows.word(0)), rows.flag(1) ? EntityKind::mailbox : EntityKind::job});
  return found;
}

Result<Page<WorkPlace>> Reader::read_work_places(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  const RunId first = core::make_run(lane, 0);
  if (after.run < first) after = WorkCursor{first, core::ActivitySeq(0)};
  Done done =
      connection_.run(read_work_places_page, Params::of(after.run, after.activity, runs_of(lane).last, rows_max));
  if (!done) return error_of(done.failure());
  Page<WorkPlace> places;
  Rows& rows = done[0];
  while (rows.next())
    places.push_back({RunId(rows.word(0)), core::ActivitySeq(rows.small(1)), Topic(std::string(rows.text(2)))});
  return places;
}

// Inputs may be large, so rows are read a few at a time. Damaged rows do not count.
Result<Page<core::WorkItem>> Reader::read_work(core::LaneId lane, WorkCursor after, std::size_t rows_max) {
  const RunId first = core::make_run(lane, 0);
  if (after.run < first) after = WorkCursor{first, core::ActivitySeq(0)};
  Page<core::WorkItem> items;
  std::size_t bytes = 0;
  while (items.size() < rows_max && bytes < limits::page_of_work_bytes) {
    const std::size_t most = std::min(rows_max - items.size(), limits::work_rows_per_read);
    Done done = connection_.run(read_work_page, Params::of(after.run, after.activity, runs_of(lane).last, most));
    if (!done) return error_of(done.failure());
    Rows& rows = done[0];
    while (rows.next()) {
      rows.forget_damage();
      core::WorkItem item = work_item(rows);
      item.input = rows.payload(work_columns);
      after = WorkCursor{item.run, item.activity};
      if (rows.malformed()) {
        name_damaged(items, item.run, format("run {}: work item {} is malformed", item.run.raw(), item.activity.raw()));
        continue;
      }
      bytes += item.input.size() + item.life.progress.size();
      items.push_back(std::move(item));
    }
    if (static_cast<std::size_t>(rows.count()) < most) break;
  }
  return items;
}

Result<std::vector<Topic>> Reader::read_paused_topics() {
  Done done = connection_.run(read_pauses);
  if (!done) return error_of(done.failure());
  std::vector<Topic> topics;
  while (done[0].next()) topics.emplace_back(std::string(done[0].text(0)));
  return topics;
}

}  // namespace pawl::store::postgres
