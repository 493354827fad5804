// How many: jobs by graph and status, work by topic; which engines are alive.
#include "store/postgres/engine_rows.h"
#include "store/postgres/reader.h"

namespace pawl::store::postgres {

namespace {

// The jobs of each combination are counted in the index; which combinations there are is found by leaping through it.
const Statement count_jobs_by{
    "count_jobs_by",
    "SELECT graph, status, count(*) FROM jobs WHERE graph >= '' GROUP BY graph, status ORDER BY graph, status"};
const Statement count_topic_work{
    "count_topic_work",
    "SELECT w.topic, count(*) FILTER (WHERE w.ready), count(*) FILTER (WHERE NOT w.held AND w.token <> 0),"
    " count(*) FILTER (WHERE NOT w.held AND w.token = 0 AND NOT w.ready), count(*) FILTER (WHERE w.held),"
    " min(greatest(a.opened_at, w.visible_at)) FILTER (WHERE w.ready)"
    " FROM (SELECT topic, run, seq, held, token, visible_at,"
    " NOT held AND token = 0 AND visible_at <= $1::bigint AS ready FROM work) w"
    " LEFT JOIN activities a ON w.ready AND a.run = w.run AND a.seq = w.seq GROUP BY w.topic ORDER BY w.topic"};
const Statement read_alive_engines{
    "read_alive_engines",
    "SELECT name, until, leaving, holds, serves FROM engines WHERE pool = $1::text AND until > $2::bigint"
    " ORDER BY name"};

}  // namespace

Result<std::vector<JobCount>> Reader::count_jobs() {
  Done done = connection_.run(count_jobs_by);
  if (!done) return error_of(done.failure());
  std::vector<JobCount> counts;
  Rows& rows = done[0];
  while (rows.next()) {
    const std::int64_t status = rows.number(1);
    if (status < 0 || status > static_cast<std::int64_t>(core::JobStatus::paused)) continue;  // a damaged job's
    counts.push_back({GraphName(std::string(rows.text(0))), static_cast<core::JobStatus>(status), rows.word(2)});
  }
  if (rows.malformed()) return Error{ErrorCode::corrupt, "the count of a graph's jobs is malformed"};
  return counts;
}

Result<std::vector<TopicWork>> Reader::count_work(Instant now) {
  Done done = connection_.run(count_topic_work, Params::of(now));
  if (!done) return error_of(done.failure());
  std::vector<TopicWork> topics;
  Rows& rows = done[0];
  while (rows.next()) {
    TopicWork work{Topic(std::string(rows.text(0))), rows.word(1), rows.word(2), rows.word(3), rows.word(4), {}};
    if (!rows.is_null(5)) work.since = rows.instant(5);
    topics.push_back(std::move(work));
  }
  if (rows.malformed()) return Error{ErrorCode::corrupt, "a work item is malformed"};
  return topics;
}

Result<std::vector<EngineInfo>> Reader::read_engines(const Pool& pool, Instant now) {
  Done done = connection_.run(read_alive_engines, Params::of(pool, now));
  if (!done) return error_of(done.failure());
  std::vector<EngineInfo> engines;
  while (done[0].next()) {
    auto engine = engine_row(done[0]);
    if (!engine) return engine.error();
    engines.push_back(std::move(*engine));
  }
  return engines;
}

}  // namespace pawl::store::postgres
