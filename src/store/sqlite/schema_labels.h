// Step 5 of the layout: labels by which jobs are found, their measures and announcements. Published: never edited. Why:
// docs/decisions/015-labels-measures-announcements.md.
#pragma once

namespace pawl::store::sqlite {

inline constexpr const char* labels_schema = R"sql(
CREATE TABLE labels (
  namespace TEXT NOT NULL,
  graph TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  key TEXT NOT NULL,
  run INTEGER NOT NULL,
  PRIMARY KEY (namespace, graph, name, value, key, run)) WITHOUT ROWID;
CREATE INDEX labels_by_run ON labels (run);
CREATE TABLE measures (
  namespace TEXT NOT NULL,
  graph TEXT NOT NULL,
  key TEXT NOT NULL,
  slice TEXT NOT NULL,
  target TEXT NOT NULL,                     -- empty: the jobs themselves
  counted INTEGER NOT NULL,                 -- 1: jobs by value; 0: numbers, added up
  value TEXT NOT NULL,
  count INTEGER NOT NULL,
  sum REAL NOT NULL,
  least REAL NOT NULL,
  most REAL NOT NULL,
  PRIMARY KEY (namespace, graph, key, slice, target, counted, value)) WITHOUT ROWID;
CREATE TABLE announcements (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,    -- never used twice: readers go on behind the last one they saw
  run INTEGER NOT NULL,
  topic TEXT NOT NULL,
  what INTEGER NOT NULL,                    -- 0 progress, 1 end
  status INTEGER NOT NULL,                  -- 0 success, 1 pending, 2 error
  code INTEGER NOT NULL,
  at INTEGER NOT NULL,
  data BLOB);
CREATE INDEX announcements_by_run ON announcements (run);
CREATE INDEX announcements_by_topic ON announcements (topic, seq);

-- From now on a mailbox goes when nothing is left in it.
DELETE FROM mailboxes WHERE run NOT IN (SELECT run FROM mailbox_entries) AND run NOT IN (SELECT run FROM inbox)
  AND run NOT IN (SELECT run FROM timers);

DROP VIEW message_kinds;
CREATE VIEW message_kinds AS
  WITH kinds (first_byte, kind) AS (VALUES (x'00', 'start'), (x'01', 'transition'), (x'02', 'response'),
    (x'03', 'register'), (x'04', 'signal'), (x'05', 'resume'), (x'06', 'no answer'), (x'07', 'interrupt'),
    (x'08', 'pause'), (x'09', 'proceed'), (x'0a', 'redrive'), (x'0b', 'verdict'), (x'0c', 'time up'),
    (x'0d', 'reenter'), (x'0e', 'arrive'), (x'0f', 'item'), (x'10', 'start child'), (x'11', 'child done'),
    (x'12', 'end job'), (x'13', 'withdraw'), (x'14', 'expire'), (x'15', 'expand'), (x'16', 'unlabel'))
  SELECT first_byte, kind FROM kinds;
CREATE VIEW label_view AS
  SELECT l.namespace, j.job_id, l.graph, l.key, l.name, l.value, l.run
  FROM labels l LEFT JOIN jobs j ON j.run = l.run;
CREATE VIEW announcement_view AS
  SELECT a.seq, j.namespace, j.job_id, a.run, a.topic, CASE a.what WHEN 0 THEN 'progress' ELSE 'end' END AS what,
    a.status, a.code, strftime('%Y-%m-%d %H:%M:%f', a.at / 1e6, 'unixepoch') AS at, CAST(a.data AS TEXT) AS data
  FROM announcements a LEFT JOIN jobs j ON j.run = a.run;
)sql";

}  // namespace pawl::store::sqlite
