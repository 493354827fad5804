// How many: jobs by graph and status, work by topic; which engines share the file.
#include "store/sqlite/engine_rows.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/work_rows.h"

namespace pawl::store::sqlite {

Status Reader::prepare_counts() {
  const struct {
    Statement* statement;
    const char* sql;
  } entries[] = {
      {&job_counts_, "SELECT graph, status, jobs FROM job_counts WHERE jobs > 0 ORDER BY graph, status"},
      // ?1: now. Read through the list of work items and the newest rows: what has ended costs nothing.
      {&topic_work_,
       "SELECT topic, sum(ready), sum(NOT held AND token <> 0), sum(NOT held AND token = 0 AND NOT ready), sum(held),"
       " min(CASE WHEN ready THEN max(opened_at, visible_at) END)"
       " FROM (SELECT topic, held, token, opened_at, visible_at, (NOT held AND token = 0 AND visible_at <= ?1) AS ready"
       " FROM " PAWL_OPEN_WORK " CROSS JOIN activities ON id = item WHERE request IS NOT NULL)"
       " GROUP BY topic ORDER BY topic"},
      {&engines_,
       "SELECT name, until, leaving, holds, serves FROM engines WHERE pool = ?1 AND until > ?2 ORDER BY name"},
  };
  for (const auto& entry : entries) {
    const int rc = entry.statement->prepare(connection_->handle(), entry.sql);
    if (rc != SQLITE_OK) return connection_->error(rc, "find the expected tables in");
  }
  return {};
}

Result<std::vector<JobCount>> Reader::count_jobs() {
  std::vector<JobCount> counts;
  Rows rows = job_counts_.query();
  while (rows.next()) {
    const std::int64_t status = rows.number(1);
    if (status < 0 || status > static_cast<std::int64_t>(core::JobStatus::paused)) continue;  // a damaged job's
    counts.push_back({GraphName(std::string(rows.text(0))), static_cast<core::JobStatus>(status), rows.word(2)});
    if (rows.malformed()) return Error{ErrorCode::corrupt, "the count of a graph's jobs is malformed"};
  }
  if (rows.failed()) return error(rows);
  return counts;
}

Result<std::vector<TopicWork>> Reader::count_work(Instant now) {
  std::vector<TopicWork> topics;
  Rows rows = topic_work_.query(now);
  while (rows.next()) {
    TopicWork work{Topic(std::string(rows.text(0))), rows.word(1), rows.word(2), rows.word(3), rows.word(4), {}};
    if (!rows.is_null(5)) work.since = Instant::from_micros(rows.number(5));
    if (rows.malformed()) return Error{ErrorCode::corrupt, "a work item is malformed"};
    topics.push_back(std::move(work));
  }
  if (rows.failed()) return error(rows);
  return topics;
}

Result<std::vector<EngineInfo>> Reader::read_engines(const Pool& pool, Instant now) {
  std::vector<EngineInfo> engines;
  Rows rows = engines_.query(pool, now);
  while (rows.next()) {
    auto engine = engine_row(rows);
    if (!engine) return engine.error();
    engines.push_back(std::move(*engine));
  }
  if (rows.failed()) return error(rows);
  return engines;
}

}  // namespace pawl::store::sqlite
