// A step of the layout: a payload is stored once. An input that is the output of another activity refers to it, any
// other large input has a row of its own, and a result that is an activity's output refers to that. Published: never
// edited. Why: docs/decisions/104-a-payload-once.md.
#pragma once

namespace pawl::store::sqlite {

// Rows from before have their payloads in them, as small payloads still do: both are read.
inline constexpr const char* payloads_schema = R"sql(
ALTER TABLE activities ADD COLUMN input_at INTEGER;   -- NULL: in input; -1: in large_inputs; otherwise the seq of the
                                                      -- activity whose output it is
ALTER TABLE jobs ADD COLUMN result_at INTEGER;        -- NULL: in result; otherwise the seq of the activity
CREATE TABLE large_inputs (
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (run, seq)) WITHOUT ROWID;

DROP VIEW job_view;
CREATE VIEW job_view AS
  SELECT j.namespace, j.job_id, j.run, l.pool, j.run >> 47 AS lane, j.graph, j.version,
    CASE j.status WHEN 0 THEN 'running' WHEN 1 THEN 'completed' WHEN 2 THEN 'failed'
      WHEN 3 THEN 'interrupted' WHEN 4 THEN 'parked' WHEN 5 THEN 'paused'
      ELSE 'impossible: ' || j.status END AS status,
    j.semaphore, j.completions, j.rev, j.priority, j.redrives,
    strftime('%Y-%m-%d %H:%M:%f', j.created_at / 1e6, 'unixepoch') AS created,
    CASE j.closed_at WHEN 0 THEN NULL
      ELSE strftime('%Y-%m-%d %H:%M:%f', j.closed_at / 1e6, 'unixepoch') END AS closed,
    CASE j.deadline WHEN 0 THEN NULL
      ELSE strftime('%Y-%m-%d %H:%M:%f', j.deadline / 1e6, 'unixepoch') END AS deadline,
    CASE j.remove_at WHEN 0 THEN NULL
      ELSE strftime('%Y-%m-%d %H:%M:%f', j.remove_at / 1e6, 'unixepoch') END AS removed_at,
    j.parent_run AS parent, j.code, CAST(j.data AS TEXT) AS data,
    CAST(CASE WHEN j.result_at IS NULL THEN j.result
      ELSE (SELECT a.output FROM activities a WHERE a.run = j.run AND a.seq = j.result_at) END AS TEXT) AS result,
    j.reason
  FROM jobs j LEFT JOIN lanes l ON l.lane = j.run >> 47;
DROP VIEW work_view;
CREATE VIEW work_view AS
  SELECT j.namespace, j.job_id, w.run, w.seq AS activity, w.topic, w.worker, w.token <> 0 AS claimed, w.runs,
    w.priority, w.held, w.once AS at_most_once,
    CASE w.lease_until WHEN 0 THEN NULL WHEN 9223372036854775807 THEN 'until the job decides'
      ELSE strftime('%Y-%m-%d %H:%M:%f', w.lease_until / 1e6, 'unixepoch') END AS lease_until,
    CASE w.visible_at WHEN 0 THEN NULL
      ELSE strftime('%Y-%m-%d %H:%M:%f', w.visible_at / 1e6, 'unixepoch') END AS next_try,
    lower(hex(w.request)) AS request,
    CAST(CASE WHEN w.input_at IS NULL THEN w.input
      WHEN w.input_at >= 0 THEN (SELECT o.output FROM activities o WHERE o.run = w.run AND o.seq = w.input_at)
      ELSE (SELECT l.body FROM large_inputs l WHERE l.run = w.run AND l.seq = w.seq) END AS TEXT) AS input
  FROM activities w LEFT JOIN jobs j ON j.run = w.run WHERE w.request IS NOT NULL;
)sql";

}  // namespace pawl::store::sqlite
