// A step of the layout: payloads of ended jobs may be compressed. Where such a payload was, there is the number of its
// row in packed_payloads: a payload is a BLOB or NULL, so an INTEGER says by itself that it is elsewhere, wherever it
// is read. Published: never edited. Why: docs/decisions/112-packed-payloads.md.
#pragma once

namespace pawl::store::sqlite {

// The shell cannot unpack: its views say how large a payload is, and who can show it.
#define PAWL_SHOWN(payload)                                                                                     \
  "CASE typeof(" payload ") WHEN 'integer' THEN (SELECT p.bytes || ' bytes, compressed: see pawl show'"         \
  " FROM packed_payloads p WHERE p.id = " payload ") ELSE CAST(" payload " AS TEXT) END"

inline constexpr const char* packed_schema = R"sql(
CREATE TABLE packed_payloads (
  id INTEGER PRIMARY KEY,                   -- what is in the payload's place (activities.output, jobs.data, result)
  run INTEGER NOT NULL,
  bytes INTEGER NOT NULL,                   -- of the payload
  body BLOB NOT NULL);                      -- a frame of zstd, with a checksum
CREATE INDEX packed_by_run ON packed_payloads (run);

DROP VIEW job_view;
CREATE VIEW job_view AS
  SELECT s.namespace, s.job_id, s.run, s.pool, s.lane, s.graph, s.version, s.status, s.semaphore, s.completions, s.rev,
    s.priority, s.redrives, s.created, s.closed, s.deadline, s.removed_at, s.parent, s.code,
    )sql" PAWL_SHOWN("s.data") R"sql( AS data,
    )sql" PAWL_SHOWN("s.result") R"sql( AS result,
    s.reason
  FROM (SELECT j.namespace, j.job_id, j.run, l.pool, j.run >> 47 AS lane, j.graph, j.version,
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
    j.parent_run AS parent, j.code, j.data AS data,
    CASE WHEN j.result_at IS NULL THEN j.result
      ELSE (SELECT a.output FROM activities a WHERE a.run = j.run AND a.seq = j.result_at) END AS result,
    j.reason
  FROM jobs j LEFT JOIN lanes l ON l.lane = j.run >> 47) s;
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
    a.code, )sql" PAWL_SHOWN("a.output") R"sql( AS output, length(a.state) AS state_bytes
  FROM activities a LEFT JOIN jobs j ON j.run = a.run;
)sql";

#undef PAWL_SHOWN

}  // namespace pawl::store::sqlite
