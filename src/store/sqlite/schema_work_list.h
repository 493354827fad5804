// A step of the layout: what waits for a worker is in a list of its own, with the four indexes of the queue. Most items
// are claimed as they are put and never enter it, so the rows of activities have five indexes less. Published: never
// edited. Why: docs/decisions/107-work-list.md.
#pragma once

namespace pawl::store::sqlite {

// The copy is as long as the work that is open, not as the file: its old index finds it.
inline constexpr const char* work_list_schema = R"sql(
CREATE TABLE work_list (                    -- what the queue asks for; the item is in its activity's row
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  topic TEXT,                               -- NULL from here on, or anything else, only where the item is damaged
  priority INTEGER,
  position INTEGER,
  token INTEGER,
  epoch INTEGER,
  lease_until INTEGER,
  visible_at INTEGER,
  held INTEGER,
  once INTEGER,
  wake_at INTEGER,
  PRIMARY KEY (run, seq)) WITHOUT ROWID;
INSERT INTO work_list SELECT run, seq, topic, priority, position, token, epoch, lease_until, visible_at, held, once,
  wake_at FROM activities INDEXED BY work_by_run WHERE request IS NOT NULL ORDER BY run, seq;
DROP INDEX work_by_run;
DROP INDEX work_free;
DROP INDEX work_later;
DROP INDEX work_leased;
DROP INDEX work_due;
CREATE INDEX work_free ON work_list (topic, priority DESC, position) WHERE token = 0 AND held = 0 AND visible_at = 0;
CREATE INDEX work_later ON work_list (topic, visible_at) WHERE token = 0 AND held = 0 AND visible_at <> 0;
CREATE INDEX work_leased ON work_list (topic, lease_until) WHERE token <> 0 AND epoch = 0 AND held = 0 AND once = 0;
CREATE INDEX work_due ON work_list (run >> 47, wake_at, run, seq) WHERE wake_at <> 0;

-- 1: the item is not in the list. Its owner claimed it as it put it, and its row is one of the newest.
ALTER TABLE activities ADD COLUMN unlisted INTEGER NOT NULL DEFAULT 0;
-- From this row on there may be such items.
ALTER TABLE store_state ADD COLUMN unlisted_from INTEGER NOT NULL DEFAULT 1;
UPDATE store_state SET unlisted_from = 1 + coalesce((SELECT max(id) FROM activities), 0);

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
  FROM (SELECT a.id AS item FROM work_list l CROSS JOIN activities a ON a.run = l.run AND a.seq = l.seq
    UNION ALL SELECT id FROM activities WHERE id >= (SELECT unlisted_from FROM store_state) AND unlisted = 1)
  CROSS JOIN activities w ON w.id = item LEFT JOIN jobs j ON j.run = w.run WHERE w.request IS NOT NULL;
)sql";

}  // namespace pawl::store::sqlite
