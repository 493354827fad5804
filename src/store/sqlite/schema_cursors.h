// A step of the layout: each lane numbers its own announcements, and a page of jobs is found by namespace, status and
// label without reading the others. Published: never edited. Why: docs/decisions/034-cursors.md.
#pragma once

namespace pawl::store::sqlite {

// Existing numbers stay: they grew over all lanes, so they also grow within each lane.
inline constexpr const char* cursors_schema = R"sql(
ALTER TABLE lanes ADD COLUMN next_announcement INTEGER NOT NULL DEFAULT 1;
UPDATE lanes SET next_announcement =
  1 + coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'announcements'), 0);
CREATE TABLE new_announcements (
  id INTEGER PRIMARY KEY,                   -- lane << 47 | number within the lane, never used twice
  run INTEGER NOT NULL,
  topic TEXT NOT NULL,
  what INTEGER NOT NULL,                    -- 0 progress, 1 end
  status INTEGER NOT NULL,                  -- 0 success, 1 pending, 2 error
  code INTEGER NOT NULL,
  at INTEGER NOT NULL,
  data BLOB);
INSERT INTO new_announcements (id, run, topic, what, status, code, at, data)
  SELECT (run >> 47 << 47) + seq, run, topic, what, status, code, at, data FROM announcements;
DROP VIEW announcement_view;
DROP TABLE announcements;
ALTER TABLE new_announcements RENAME TO announcements;
CREATE INDEX announcements_by_run ON announcements (run);
CREATE INDEX announcements_by_topic ON announcements (topic);
CREATE VIEW announcement_view AS
  SELECT a.id >> 47 AS lane, a.id & ((1 << 47) - 1) AS number, j.namespace, j.job_id, a.run, a.topic,
    CASE a.what WHEN 0 THEN 'progress' ELSE 'end' END AS what,
    a.status, a.code, strftime('%Y-%m-%d %H:%M:%f', a.at / 1e6, 'unixepoch') AS at, CAST(a.data AS TEXT) AS data
  FROM announcements a LEFT JOIN jobs j ON j.run = a.run;

CREATE INDEX jobs_by_namespace ON jobs (namespace);
CREATE INDEX jobs_by_namespace_and_status ON jobs (namespace, status);
CREATE INDEX labels_by_value ON labels (namespace, graph, name, value, run);
)sql";

}  // namespace pawl::store::sqlite
