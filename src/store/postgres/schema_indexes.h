// Step 4 of the layout: indexes that the planner uses only for the statements that mean them. Published: never edited.
#pragma once

namespace pawl::store::postgres {

// A column that is the key of a table appears in its other indexes as an expression, at any position. Otherwise the
// planner may look for a key in an index where it comes last, and scan all of it, when the statistics report an empty
// table. Each list of jobs has its own expression for the same reason.
inline constexpr const char* indexes_schema = R"sql(
DROP INDEX jobs_by_status, jobs_by_namespace, jobs_by_namespace_and_status, timers_due, start_keys_over,
  announcements_by_run, announcements_by_topic;
CREATE INDEX jobs_by_status ON jobs (status, (run + 0));
CREATE INDEX jobs_by_namespace ON jobs (namespace, (0 + run));
CREATE INDEX jobs_by_namespace_and_status ON jobs ((namespace || ''), (status + 0), (run - 0));
CREATE INDEX timers_due ON timers ((run >> 47), due, (run + 0), (guid || ''::bytea));
CREATE INDEX start_keys_over ON start_keys ((expires_at + 0), run) WHERE expires_at <> 0;
CREATE INDEX announcements_by_run ON announcements (run, (id + 0));
CREATE INDEX announcements_by_topic ON announcements (topic, (id + 0));
)sql";

}  // namespace pawl::store::postgres
