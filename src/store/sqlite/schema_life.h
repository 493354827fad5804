// Step 2 of the layout: timers, and the whole life cycle of a work item, a job and a start key. Published: never
// edited. Why: docs/decisions/011-sqlite-timers-and-life.md.
#pragma once

namespace pawl::store::sqlite {

// A column that most rows do not need is 0 or NULL there, and such a row is in none of the new indexes.
inline constexpr const char* life_schema = R"sql(
-- Messages that wait for their time. Apart from the inbox: who looks for something to do must not step over them.
CREATE TABLE timers (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  guid BLOB NOT NULL,                       -- in one of inbox and timers, never in both
  due INTEGER NOT NULL,
  redeliveries INTEGER NOT NULL,
  body BLOB NOT NULL);
CREATE UNIQUE INDEX timers_by_run ON timers (run, guid);
CREATE INDEX timers_due ON timers (run >> 47, due, run, guid);

ALTER TABLE activities ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;    -- of the work item, as all of these
ALTER TABLE activities ADD COLUMN visible_at INTEGER NOT NULL DEFAULT 0;  -- handed to nobody before then
ALTER TABLE activities ADD COLUMN held INTEGER NOT NULL DEFAULT 0;        -- its job is paused or parked
ALTER TABLE activities ADD COLUMN once INTEGER NOT NULL DEFAULT 0;        -- at most once: a lost run is not repeated
ALTER TABLE activities ADD COLUMN wake_at INTEGER NOT NULL DEFAULT 0;     -- the engine looks at it then
ALTER TABLE activities ADD COLUMN life BLOB;                              -- times, tries, doubts; NULL: none
UPDATE activities SET wake_at = lease_until WHERE token <> 0 AND epoch = 0;
DROP INDEX work_free;
DROP INDEX work_leased;
CREATE INDEX work_free ON activities (topic, priority DESC, position) WHERE token = 0 AND held = 0 AND visible_at = 0;
CREATE INDEX work_later ON activities (topic, visible_at) WHERE token = 0 AND held = 0 AND visible_at <> 0;
CREATE INDEX work_leased ON activities (topic, lease_until) WHERE token <> 0 AND epoch = 0 AND held = 0 AND once = 0;
CREATE INDEX work_due ON activities (run >> 47, wake_at, run, seq) WHERE wake_at <> 0;

ALTER TABLE jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN keep INTEGER;                                 -- microseconds; NULL: for ever
ALTER TABLE jobs ADD COLUMN remove_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN deadline INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN redrives INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_removal ON jobs (run >> 47, remove_at) WHERE remove_at <> 0;

ALTER TABLE start_keys ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 0;  -- 0: its job is there
CREATE INDEX start_keys_due ON start_keys (run >> 47, expires_at, run) WHERE expires_at <> 0;
CREATE INDEX start_keys_over ON start_keys (expires_at, run) WHERE expires_at <> 0;

CREATE TABLE paused_topics (topic TEXT PRIMARY KEY) WITHOUT ROWID;

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
    CAST(j.result AS TEXT) AS result, j.reason
  FROM jobs j LEFT JOIN lanes l ON l.lane = j.run >> 47;
DROP VIEW inbox_view;
CREATE VIEW inbox_view AS
  SELECT j.namespace, j.job_id, i.run, i.id, lower(hex(i.guid)) AS guid,
    CASE substr(i.body, 1, 1) WHEN x'00' THEN 'start' WHEN x'01' THEN 'transition'
      WHEN x'02' THEN 'response' WHEN x'03' THEN 'register' WHEN x'04' THEN 'signal'
      WHEN x'05' THEN 'resume' WHEN x'06' THEN 'no answer' WHEN x'07' THEN 'interrupt'
      WHEN x'08' THEN 'pause' WHEN x'09' THEN 'proceed' WHEN x'0a' THEN 'redrive'
      WHEN x'0b' THEN 'verdict' ELSE 'other' END AS kind,
    i.redeliveries, length(i.body) AS bytes
  FROM inbox i LEFT JOIN jobs j ON j.run = i.run;
CREATE VIEW timer_view AS
  SELECT j.namespace, j.job_id, t.run, lower(hex(t.guid)) AS guid,
    strftime('%Y-%m-%d %H:%M:%f', t.due / 1e6, 'unixepoch') AS due,
    CASE substr(t.body, 1, 1) WHEN x'00' THEN 'start' WHEN x'07' THEN 'interrupt' ELSE 'other' END AS kind,
    t.redeliveries, length(t.body) AS bytes
  FROM timers t LEFT JOIN jobs j ON j.run = t.run;
DROP VIEW work_view;
CREATE VIEW work_view AS
  SELECT j.namespace, j.job_id, w.run, w.seq AS activity, w.topic, w.worker, w.token <> 0 AS claimed, w.runs,
    w.priority, w.held, w.once AS at_most_once,
    CASE w.lease_until WHEN 0 THEN NULL WHEN 9223372036854775807 THEN 'until the job decides'
      ELSE strftime('%Y-%m-%d %H:%M:%f', w.lease_until / 1e6, 'unixepoch') END AS lease_until,
    CASE w.visible_at WHEN 0 THEN NULL
      ELSE strftime('%Y-%m-%d %H:%M:%f', w.visible_at / 1e6, 'unixepoch') END AS next_try,
    lower(hex(w.request)) AS request, CAST(w.input AS TEXT) AS input
  FROM activities w LEFT JOIN jobs j ON j.run = w.run WHERE w.request IS NOT NULL;
)sql";

}  // namespace pawl::store::sqlite
