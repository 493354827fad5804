// Step 4 of the layout: what jobs of the graph language keep, children, and deployed apps. Published: never edited.
// Why: docs/decisions/012-graphs-in-the-store.md.
#pragma once

namespace pawl::store::sqlite {

// As in step 2: a row that does not need these columns has NULL or 0 there, and is in no new index.
inline constexpr const char* graphs_schema = R"sql(
ALTER TABLE jobs ADD COLUMN data BLOB;                            -- what its activities share
ALTER TABLE jobs ADD COLUMN code INTEGER NOT NULL DEFAULT 0;      -- of the error that ends it
ALTER TABLE jobs ADD COLUMN parent_run INTEGER;                   -- who started it: NULL from here on when nobody did
ALTER TABLE jobs ADD COLUMN parent_activity INTEGER;
ALTER TABLE jobs ADD COLUMN parent_request BLOB;
ALTER TABLE jobs ADD COLUMN parent_awaits INTEGER;                -- 1: it waits for the end

ALTER TABLE activities ADD COLUMN state BLOB;                     -- what its kind remembers between messages
ALTER TABLE message_ledgers ADD COLUMN output BLOB;               -- of the plane that the message entered

CREATE TABLE apps (
  namespace TEXT NOT NULL,
  app TEXT NOT NULL,
  version TEXT NOT NULL,
  deployed_at INTEGER NOT NULL,
  body BLOB NOT NULL,                                             -- the graph language's own
  PRIMARY KEY (namespace, app, version));
CREATE TABLE active_apps (
  namespace TEXT NOT NULL,
  app TEXT NOT NULL,
  version TEXT NOT NULL,
  PRIMARY KEY (namespace, app)) WITHOUT ROWID;

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
    j.parent_run AS parent, j.code, CAST(j.data AS TEXT) AS data, CAST(j.result AS TEXT) AS result, j.reason
  FROM jobs j LEFT JOIN lanes l ON l.lane = j.run >> 47;
DROP VIEW activity_view;
CREATE VIEW activity_view AS
  SELECT j.namespace, j.job_id, a.run, a.seq, a.node, a.place, a.parent,
    printf('%015d', a.ledger) AS ledger,
    a.ledger / 1000000000000 AS leg1_attempts,
    a.ledger / 100000000000 % 10 AS leg1_complete,
    a.ledger / 10000000000 % 10 AS work_done,
    a.ledger / 1000000000 % 10 AS children_spawned,
    a.ledger / 100000000 % 10 AS completion_done,
    a.ledger % 100000000 AS leg2_entries,
    CASE a.status WHEN 0 THEN 'open' WHEN 1 THEN 'completed' WHEN 2 THEN 'errored' WHEN 3 THEN 'skipped'
      ELSE 'impossible: ' || a.status END AS status,
    a.code, CAST(a.output AS TEXT) AS output, length(a.state) AS state_bytes
  FROM activities a LEFT JOIN jobs j ON j.run = a.run;
DROP VIEW message_view;
CREATE VIEW message_view AS
  SELECT j.namespace, j.job_id, m.run, lower(hex(m.guid)) AS guid, m.activity,
    printf('%015d', m.ledger) AS ledger,
    m.ledger / 100000000000 % 10 AS closed_the_job,
    m.ledger / 10000000000 % 10 AS work_done,
    m.ledger / 1000000000 % 10 AS children_spawned,
    m.ledger / 100000000 % 10 AS completion_done,
    m.ledger % 100000000 AS ordinal,
    CAST(m.output AS TEXT) AS output
  FROM (SELECT run, guid, activity, ledger, output FROM message_ledgers
    UNION ALL SELECT run, closing_guid, seq, closing_ledger, NULL FROM activities WHERE closing_guid IS NOT NULL) m
  LEFT JOIN jobs j ON j.run = m.run;
DROP VIEW inbox_view;
DROP VIEW timer_view;
CREATE VIEW inbox_view AS
  SELECT coalesce(j.namespace, b.namespace) AS namespace, j.job_id, b.topic, b.key, i.run, i.id,
    lower(hex(i.guid)) AS guid, k.kind, i.redeliveries, length(i.body) AS bytes
  FROM inbox i LEFT JOIN jobs j ON j.run = i.run LEFT JOIN mailboxes b ON b.run = i.run
  LEFT JOIN message_kinds k ON k.first_byte = substr(i.body, 1, 1);
CREATE VIEW timer_view AS
  SELECT coalesce(j.namespace, b.namespace) AS namespace, j.job_id, b.topic, b.key, t.run,
    lower(hex(t.guid)) AS guid, strftime('%Y-%m-%d %H:%M:%f', t.due / 1e6, 'unixepoch') AS due,
    k.kind, t.redeliveries, length(t.body) AS bytes
  FROM timers t LEFT JOIN jobs j ON j.run = t.run LEFT JOIN mailboxes b ON b.run = t.run
  LEFT JOIN message_kinds k ON k.first_byte = substr(t.body, 1, 1);
CREATE VIEW message_kinds AS
  WITH kinds (first_byte, kind) AS (VALUES (x'00', 'start'), (x'01', 'transition'), (x'02', 'response'),
    (x'03', 'register'), (x'04', 'signal'), (x'05', 'resume'), (x'06', 'no answer'), (x'07', 'interrupt'),
    (x'08', 'pause'), (x'09', 'proceed'), (x'0a', 'redrive'), (x'0b', 'verdict'), (x'0c', 'time up'),
    (x'0d', 'reenter'), (x'0e', 'arrive'), (x'0f', 'item'), (x'10', 'start child'), (x'11', 'child done'),
    (x'12', 'end job'), (x'13', 'withdraw'), (x'14', 'expire'))
  SELECT first_byte, kind FROM kinds;
CREATE VIEW app_view AS
  SELECT a.namespace, a.app, a.version, n.version IS NOT NULL AS active,
    strftime('%Y-%m-%d %H:%M:%f', a.deployed_at / 1e6, 'unixepoch') AS deployed, length(a.body) AS bytes
  FROM apps a LEFT JOIN active_apps n
    ON n.namespace = a.namespace AND n.app = a.app AND n.version = a.version;
)sql";

}  // namespace pawl::store::sqlite
