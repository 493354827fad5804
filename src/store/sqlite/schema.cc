#include "store/sqlite/schema.h"

#include "base/format.h"
#include "store/sqlite/schema_counts.h"
#include "store/sqlite/schema_cursors.h"
#include "store/sqlite/schema_engines.h"
#include "store/sqlite/schema_finding.h"
#include "store/sqlite/schema_graphs.h"
#include "store/sqlite/schema_labels.h"
#include "store/sqlite/schema_life.h"
#include "store/sqlite/schema_mailboxes.h"
#include "store/sqlite/schema_outbox.h"
#include "store/sqlite/schema_packed.h"
#include "store/sqlite/schema_payloads.h"
#include "store/sqlite/schema_secret.h"
#include "store/sqlite/schema_signal_ids.h"
#include "store/sqlite/schema_start_keys.h"
#include "store/sqlite/schema_streams.h"
#include "store/sqlite/schema_work_list.h"

namespace pawl::store::sqlite {

namespace {

// Published steps are never edited: files of that version exist.
//
// Tables that grow with time (activities, inbox) have a growing rowid, so that new rows go to the last page.
constexpr const char* first_schema = R"sql(
CREATE TABLE store_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  commits INTEGER NOT NULL,                 -- raised by every commit, with
  writer INTEGER NOT NULL,                  -- who made it: together they tell whether a commit happened
  store_id BLOB NOT NULL);                  -- no other store has it
INSERT INTO store_state VALUES (1, 0, 0, randomblob(16));

CREATE TABLE pools (
  pool TEXT PRIMARY KEY,
  first_lane INTEGER NOT NULL,
  lanes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE lanes (
  lane INTEGER PRIMARY KEY,
  pool TEXT NOT NULL,
  epoch INTEGER NOT NULL,                   -- rises with every owner
  owner TEXT NOT NULL,                      -- empty: free
  next_run INTEGER NOT NULL);               -- sequence part of the next run id
CREATE TABLE source_lanes (                 -- the last message taken from another lane's outbox
  lane INTEGER PRIMARY KEY,
  last_seq INTEGER NOT NULL);

CREATE TABLE start_keys (
  namespace TEXT NOT NULL,
  job_id TEXT NOT NULL,
  run INTEGER NOT NULL,
  PRIMARY KEY (namespace, job_id)) WITHOUT ROWID;
CREATE TABLE jobs (
  run INTEGER PRIMARY KEY,                  -- lane << 47 | sequence
  namespace TEXT NOT NULL,
  job_id TEXT NOT NULL,
  graph TEXT NOT NULL,
  version INTEGER NOT NULL,
  fingerprint INTEGER NOT NULL,
  created_at INTEGER NOT NULL,              -- microseconds since 1970, as all times
  rev INTEGER NOT NULL,
  bundle INTEGER NOT NULL,
  status INTEGER NOT NULL,                  -- 0 running, 1 completed, 2 failed, 3 interrupted, 4 parked
  semaphore INTEGER NOT NULL,
  threshold INTEGER NOT NULL,
  completions INTEGER NOT NULL,
  next_activity INTEGER NOT NULL,
  closed_at INTEGER NOT NULL,
  result BLOB,
  reason TEXT NOT NULL);
CREATE INDEX jobs_by_status ON jobs (status);

-- One row is the whole of an instance: itself, the message that concluded it, and, while it is open, its
-- work item. An answer takes the request's place, so the row hardly grows and its page is not split.
CREATE TABLE activities (
  id INTEGER PRIMARY KEY,                   -- order of creation
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  node INTEGER NOT NULL,
  place TEXT NOT NULL,                      -- dimensional address
  parent INTEGER,
  ledger INTEGER NOT NULL,
  status INTEGER NOT NULL,                  -- 0 open, 1 completed, 2 errored
  code INTEGER NOT NULL,
  opened_at INTEGER NOT NULL,
  closed_at INTEGER NOT NULL,
  output BLOB,
  closing_guid BLOB,                        -- the message that concluded it
  closing_ledger INTEGER,
  position INTEGER,                         -- the work item: NULL from here on when there is none
  topic TEXT,
  request BLOB,
  token INTEGER,                            -- 0: nobody holds it
  worker TEXT,
  epoch INTEGER,                            -- of the lane's owner that holds it; 0: a remote worker
  lease_until INTEGER,                      -- 0: no lease
  runs INTEGER,
  input BLOB);
CREATE UNIQUE INDEX activities_by_run ON activities (run, seq);
CREATE INDEX work_by_run ON activities (run, seq) WHERE request IS NOT NULL;
-- Most items are claimed as they are put and never enter these two.
CREATE INDEX work_free ON activities (topic, position) WHERE token = 0;
CREATE INDEX work_leased ON activities (topic, lease_until) WHERE token <> 0 AND epoch = 0;
CREATE TABLE message_ledgers (              -- of messages that did not conclude their activity
  run INTEGER NOT NULL,
  guid BLOB NOT NULL,
  activity INTEGER NOT NULL,
  ledger INTEGER NOT NULL,
  PRIMARY KEY (run, guid)) WITHOUT ROWID;

CREATE TABLE inbox (
  id INTEGER PRIMARY KEY,                   -- order of arrival
  run INTEGER NOT NULL,
  guid BLOB NOT NULL,
  redeliveries INTEGER NOT NULL,
  body BLOB NOT NULL);
CREATE UNIQUE INDEX inbox_by_run ON inbox (run, guid);

CREATE TABLE mailboxes (
  run INTEGER PRIMARY KEY,
  namespace TEXT NOT NULL,
  topic TEXT NOT NULL,
  key TEXT NOT NULL,
  rev INTEGER NOT NULL,
  bundle INTEGER NOT NULL,
  next_entry INTEGER NOT NULL);
CREATE UNIQUE INDEX mailboxes_by_key ON mailboxes (namespace, topic, key);
CREATE TABLE mailbox_entries (
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  guid BLOB NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (run, seq)) WITHOUT ROWID;

-- For people with the sqlite3 shell; the program does not read them.
CREATE VIEW job_view AS
  SELECT j.namespace, j.job_id, j.run, l.pool, j.run >> 47 AS lane, j.graph, j.version,
    CASE j.status WHEN 0 THEN 'running' WHEN 1 THEN 'completed' WHEN 2 THEN 'failed'
      WHEN 3 THEN 'interrupted' WHEN 4 THEN 'parked' ELSE 'impossible: ' || j.status END AS status,
    j.semaphore, j.completions, j.rev,
    strftime('%Y-%m-%d %H:%M:%f', j.created_at / 1e6, 'unixepoch') AS created,
    CASE j.closed_at WHEN 0 THEN NULL
      ELSE strftime('%Y-%m-%d %H:%M:%f', j.closed_at / 1e6, 'unixepoch') END AS closed,
    CAST(j.result AS TEXT) AS result, j.reason
  FROM jobs j LEFT JOIN lanes l ON l.lane = j.run >> 47;
CREATE VIEW activity_view AS
  SELECT j.namespace, j.job_id, a.run, a.seq, a.node, a.place, a.parent,
    printf('%015d', a.ledger) AS ledger,
    a.ledger / 1000000000000 AS leg1_attempts,
    a.ledger / 100000000000 % 10 AS leg1_complete,
    a.ledger / 10000000000 % 10 AS work_done,
    a.ledger / 1000000000 % 10 AS children_spawned,
    a.ledger / 100000000 % 10 AS completion_done,
    a.ledger % 100000000 AS leg2_entries,
    CASE a.status WHEN 0 THEN 'open' WHEN 1 THEN 'completed' WHEN 2 THEN 'errored'
      ELSE 'impossible: ' || a.status END AS status,
    a.code, CAST(a.output AS TEXT) AS output
  FROM activities a LEFT JOIN jobs j ON j.run = a.run;
CREATE VIEW message_view AS
  SELECT j.namespace, j.job_id, m.run, lower(hex(m.guid)) AS guid, m.activity,
    printf('%015d', m.ledger) AS ledger,
    m.ledger / 100000000000 % 10 AS closed_the_job,
    m.ledger / 10000000000 % 10 AS work_done,
    m.ledger / 1000000000 % 10 AS children_spawned,
    m.ledger / 100000000 % 10 AS completion_done,
    m.ledger % 100000000 AS ordinal
  FROM (SELECT run, guid, activity, ledger FROM message_ledgers
    UNION ALL SELECT run, closing_guid, seq, closing_ledger FROM activities WHERE closing_guid IS NOT NULL) m
  LEFT JOIN jobs j ON j.run = m.run;
CREATE VIEW inbox_view AS
  SELECT j.namespace, j.job_id, i.run, i.id, lower(hex(i.guid)) AS guid,
    CASE substr(i.body, 1, 1) WHEN x'00' THEN 'start' WHEN x'01' THEN 'transition'
      WHEN x'02' THEN 'response' WHEN x'03' THEN 'register' WHEN x'04' THEN 'signal'
      WHEN x'05' THEN 'resume' ELSE 'other' END AS kind,
    i.redeliveries, length(i.body) AS bytes
  FROM inbox i LEFT JOIN jobs j ON j.run = i.run;
CREATE VIEW work_view AS
  SELECT j.namespace, j.job_id, w.run, w.seq AS activity, w.topic, w.worker, w.token <> 0 AS claimed, w.runs,
    CASE w.lease_until WHEN 0 THEN NULL
      ELSE strftime('%Y-%m-%d %H:%M:%f', w.lease_until / 1e6, 'unixepoch') END AS lease_until,
    lower(hex(w.request)) AS request, CAST(w.input AS TEXT) AS input
  FROM activities w LEFT JOIN jobs j ON j.run = w.run WHERE w.request IS NOT NULL;
)sql";

// collation: duplex. Marks, addresses and messages are names that are kept while the job is open; its end deletes them.
constexpr const char* duplex_schema = R"sql(
CREATE TABLE duplex_jobs (run INTEGER PRIMARY KEY);
CREATE TABLE duplex_cells (
  id INTEGER PRIMARY KEY,                   -- order of creation
  run INTEGER NOT NULL,
  node INTEGER NOT NULL,
  place TEXT NOT NULL,                      -- dimensional address
  state INTEGER NOT NULL,                   -- 15 digits
  opened_at INTEGER NOT NULL,
  closer BLOB,                              -- the message that concluded it; what it said follows
  status INTEGER NOT NULL,                  -- 0 open, 1 completed, 2 errored
  code INTEGER NOT NULL,
  closed_at INTEGER NOT NULL,
  output BLOB);
CREATE UNIQUE INDEX duplex_cells_by_place ON duplex_cells (run, node, place);
CREATE TABLE duplex_marks (                 -- what was added to a cell, by name
  run INTEGER NOT NULL,
  mark BLOB NOT NULL,
  PRIMARY KEY (run, mark)) WITHOUT ROWID;
CREATE TABLE duplex_addresses (             -- the open obligations; open = 0: closed for good
  run INTEGER NOT NULL,
  node INTEGER NOT NULL,
  place TEXT NOT NULL,
  open INTEGER NOT NULL,
  PRIMARY KEY (run, node, place)) WITHOUT ROWID;
CREATE TABLE duplex_stream (
  id INTEGER PRIMARY KEY,                   -- order of arrival
  run INTEGER NOT NULL,
  guid BLOB NOT NULL,
  lane INTEGER NOT NULL,
  kind INTEGER NOT NULL,                    -- 0 start, 1 transition, 2 request, 3 reply, 4 cleanup
  node INTEGER NOT NULL,
  place TEXT NOT NULL,
  topic TEXT NOT NULL,                      -- empty: for the engine
  status INTEGER NOT NULL,                  -- 0 success, 1 pending, 2 error
  code INTEGER NOT NULL,
  number INTEGER NOT NULL,
  data BLOB,
  claim INTEGER NOT NULL,                   -- 0: nobody holds it
  epoch INTEGER NOT NULL,
  free_at INTEGER NOT NULL,
  claims INTEGER NOT NULL,
  given_back INTEGER NOT NULL,
  done INTEGER NOT NULL);                   -- 1: acknowledged, only its name is left
CREATE UNIQUE INDEX duplex_stream_by_guid ON duplex_stream (run, guid);
CREATE INDEX duplex_stream_waiting ON duplex_stream (lane, topic, id) WHERE done = 0;
CREATE VIEW duplex_view AS
  SELECT j.namespace, j.job_id, c.run, c.node, c.place, printf('%015d', c.state) AS state,
    CASE c.status WHEN 0 THEN 'open' WHEN 1 THEN 'completed' WHEN 2 THEN 'errored'
      ELSE 'impossible: ' || c.status END AS status,
    c.code, CAST(c.output AS TEXT) AS output
  FROM duplex_cells c LEFT JOIN jobs j ON j.run = c.run;
)sql";

constexpr const char* all_steps[] = {first_schema,      life_schema,      duplex_schema,  graphs_schema, labels_schema,
                                     secret_schema,     mailboxes_schema, streams_schema, outbox_schema, engines_schema,
                                     signal_ids_schema, cursors_schema,   counts_schema,  payloads_schema,
                                     finding_schema,    start_keys_schema, work_list_schema, packed_schema};

Status run_step(Connection& connection, Migrations steps, std::size_t version) {
  const auto current = connection.read_number("PRAGMA user_version");
  if (!current) return current.error();
  // Another process may have run the step while this one waited for the lock.
  if (*current != static_cast<std::int64_t>(version)) return {};
  auto done = connection.execute(steps[version]);
  if (!done) return done;
  return connection.execute(format("PRAGMA user_version = {}", version + 1).c_str());
}

Status run_steps(Connection& connection, Migrations steps) {
  const auto version = connection.read_number("PRAGMA user_version");
  if (!version) return version.error();
  if (*version < 0 || static_cast<std::size_t>(*version) > steps.size())
    return Error{ErrorCode::unsupported,
                 format("{} has version {}, this program knows versions up to {}; use a newer program",
                        connection.path(), *version, steps.size())};
  for (auto at = static_cast<std::size_t>(*version); at < steps.size(); ++at) {
    auto begun = connection.execute("BEGIN IMMEDIATE");
    if (!begun) return begun;
    auto done = run_step(connection, steps, at);
    if (done) done = connection.execute("COMMIT");
    if (!done) {
      // A failure may have ended the transaction already; the first error is the one to report.
      if (sqlite3_get_autocommit(connection.handle()) == 0) {
        const auto undone = connection.execute("ROLLBACK");
        if (!undone) return undone;
      }
      return done;
    }
  }
  return {};
}

}  // namespace

Migrations migrations() { return all_steps; }

// A step that renames a table would otherwise be refused because of a worker's own view or trigger that is about
// something that is gone.
Status migrate(Connection& connection, Migrations steps) {
  auto done = connection.execute("PRAGMA legacy_alter_table = ON");
  if (!done) return done;
  done = run_steps(connection, steps);
  const auto after = connection.execute("PRAGMA legacy_alter_table = OFF");
  return done ? after : done;
}

}  // namespace pawl::store::sqlite
