// Step 1 of the layout: all tables except those of collation duplex. Published: never edited. Reasons:
// docs/decisions/035-postgres.md.
#pragma once

namespace pawl::store::postgres {

// Text is compared byte by byte, as in every store. Times are microseconds since 1970; 0 means none.
//
// Where two indexes begin with the same column, the second one has it as an expression (run + 0), and only a statement
// that writes the same expression uses it. While that column alone identifies a row, the planner cannot tell the two
// indexes apart, and would scan the wrong one once it does not.
//
// Queues (inbox, work, outbox) and rows that change with every step (jobs) are vacuumed after a fixed number of
// changes, not after a share of the table. Pages of jobs keep free space, so that a step does not change their indexes.
inline constexpr const char* tables_schema = R"sql(
CREATE TABLE store_state (
  id smallint PRIMARY KEY CHECK (id = 1),
  store_id bytea NOT NULL);                 -- no other store has it
INSERT INTO store_state VALUES (1, uuid_send(gen_random_uuid()));

CREATE TABLE pools (
  pool text COLLATE "C" PRIMARY KEY,
  first_lane bigint NOT NULL,
  lanes bigint NOT NULL);
CREATE TABLE lanes (
  lane bigint PRIMARY KEY,
  epoch bigint NOT NULL,                    -- rises with every owner
  owner text COLLATE "C" NOT NULL,          -- empty: free
  lease_until bigint,                       -- NULL: until it is given back
  pool text COLLATE "C" NOT NULL,
  UNIQUE (lane, epoch))                     -- so that a takeover waits for commits, and a renewal does not
  WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
CREATE TABLE lane_numbers (                 -- apart from the lanes: whoever numbers holds the row until its commit
  lane bigint PRIMARY KEY,
  next_run bigint NOT NULL,
  next_announcement bigint NOT NULL,
  next_signal bigint NOT NULL)              -- of the signals that it remembers
  WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
CREATE TABLE engines (
  pool text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  until bigint NOT NULL,                    -- then it is dead, unless it says again that it lives
  leaving boolean NOT NULL,
  holds bigint[] NOT NULL,                  -- the lanes that it says it has
  serves text[] NOT NULL,                   -- the topics of its workers
  PRIMARY KEY (pool, name));
CREATE TABLE paused_topics (
  lane bigint NOT NULL,                     -- 0: in all of them
  topic text COLLATE "C" NOT NULL,
  PRIMARY KEY (topic, lane));

CREATE TABLE start_keys (
  namespace text COLLATE "C" NOT NULL,
  job_id text COLLATE "C" NOT NULL,
  run bigint NOT NULL,
  expires_at bigint NOT NULL DEFAULT 0,     -- 0: its job is there
  PRIMARY KEY (namespace, job_id));
CREATE INDEX start_keys_due ON start_keys ((run >> 47), expires_at, run) WHERE expires_at <> 0;
CREATE INDEX start_keys_over ON start_keys (expires_at, run) WHERE expires_at <> 0;

CREATE TABLE jobs (
  run bigint PRIMARY KEY,                   -- lane << 47 | number
  rev bigint NOT NULL DEFAULT 0,
  bundle bigint NOT NULL DEFAULT 0,
  semaphore bigint NOT NULL,
  threshold bigint NOT NULL DEFAULT 0,
  completions bigint NOT NULL DEFAULT 0,
  next_activity bigint NOT NULL DEFAULT 0,
  fingerprint bigint NOT NULL,
  version bigint NOT NULL,
  created_at bigint NOT NULL,
  closed_at bigint NOT NULL DEFAULT 0,
  keep bigint,                              -- NULL: for ever
  remove_at bigint NOT NULL DEFAULT 0,
  deadline bigint NOT NULL,
  redrives bigint NOT NULL DEFAULT 0,
  priority integer NOT NULL,
  code integer NOT NULL DEFAULT 0,          -- of the error that ends it
  status smallint NOT NULL DEFAULT 0,       -- 0 running, 1 completed, 2 failed, 3 interrupted, 4 parked, 5 paused
  namespace text COLLATE "C" NOT NULL,
  job_id text COLLATE "C" NOT NULL,
  graph text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL DEFAULT '',
  secret bytea,
  parent_run bigint,                        -- who started it: NULL from here on when nobody did
  parent_activity bigint,
  parent_request bytea,
  parent_awaits boolean,
  result bytea,
  data bytea)                               -- what its activities share
  WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX jobs_by_status ON jobs (status, run);
CREATE INDEX jobs_by_namespace ON jobs (namespace, run);
CREATE INDEX jobs_by_namespace_and_status ON jobs (namespace, status, run);
CREATE INDEX jobs_removal ON jobs ((run >> 47), remove_at, run) WHERE remove_at <> 0;

-- One row is an instance and the message that concluded it.
CREATE TABLE activities (
  run bigint NOT NULL,
  seq bigint NOT NULL,
  node bigint NOT NULL,
  parent bigint,
  ledger bigint NOT NULL,                   -- 15 digits
  closing_ledger bigint,
  opened_at bigint NOT NULL,
  closed_at bigint NOT NULL,
  code integer NOT NULL,
  status smallint NOT NULL,                 -- 0 open, 1 completed, 2 errored, 3 skipped
  place text COLLATE "C" NOT NULL,          -- dimensional address
  closing_guid bytea,                       -- the message that concluded it
  output bytea,
  state bytea,                              -- what its kind remembers between messages
  PRIMARY KEY (run, seq))
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE TABLE message_ledgers (              -- of messages that did not conclude their activity
  run bigint NOT NULL,
  guid bytea NOT NULL,
  activity bigint NOT NULL,
  ledger bigint NOT NULL,
  output bytea,                             -- of the plane that the message entered
  PRIMARY KEY (run, guid));

CREATE SEQUENCE work_positions;
CREATE TABLE work (
  run bigint NOT NULL,
  seq bigint NOT NULL,
  position bigint NOT NULL DEFAULT nextval('work_positions'),
  token bigint NOT NULL,                    -- 0: nobody holds it
  epoch bigint NOT NULL,                    -- of the lane's owner that holds it; 0: a remote worker
  lease_until bigint NOT NULL,
  visible_at bigint NOT NULL,               -- handed to nobody before then
  wake_at bigint NOT NULL,                  -- the engine looks at it then
  runs bigint NOT NULL,
  priority integer NOT NULL,
  held boolean NOT NULL,                    -- its job is paused or parked
  once boolean NOT NULL,                    -- at most once: a lost run is not repeated
  plain_key boolean NOT NULL,
  topic text COLLATE "C" NOT NULL,
  worker text COLLATE "C" NOT NULL,
  request bytea NOT NULL,
  life bytea,                               -- times, tries, doubts; NULL: none
  input bytea,
  PRIMARY KEY (run, seq))
  WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
-- Most items are claimed as they are put and enter none of these.
CREATE INDEX work_free ON work (topic, priority DESC, position) WHERE token = 0 AND NOT held AND visible_at = 0;
CREATE INDEX work_later ON work (topic, visible_at) WHERE token = 0 AND NOT held AND visible_at <> 0;
CREATE INDEX work_leased ON work (topic, lease_until) WHERE token <> 0 AND epoch = 0 AND NOT held AND NOT once;
CREATE INDEX work_due ON work ((run >> 47), wake_at, run, seq) WHERE wake_at <> 0;

CREATE SEQUENCE inbox_positions;
CREATE TABLE inbox (
  run bigint NOT NULL,
  guid bytea NOT NULL,
  position bigint NOT NULL DEFAULT nextval('inbox_positions'),  -- order of arrival
  redeliveries bigint NOT NULL DEFAULT 0,
  body bytea NOT NULL,
  PRIMARY KEY (run, guid))
  WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX inbox_in_order ON inbox ((run + 0), position);
CREATE TABLE timers (                       -- messages that wait for their time
  run bigint NOT NULL,
  guid bytea NOT NULL,                      -- in one of inbox and timers, never in both
  due bigint NOT NULL,
  redeliveries bigint NOT NULL DEFAULT 0,
  body bytea NOT NULL,
  PRIMARY KEY (run, guid))
  WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX timers_due ON timers ((run >> 47), due, run, guid);

CREATE TABLE mailboxes (
  run bigint PRIMARY KEY,
  rev bigint NOT NULL,
  bundle bigint NOT NULL,
  next_entry bigint NOT NULL,
  signals bigint NOT NULL,                  -- that no hook has taken: in the inbox, and entries
  signal_bytes bigint NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  key bytea NOT NULL,                       -- any bytes
  UNIQUE (namespace, topic, key))
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE TABLE mailbox_entries (
  run bigint NOT NULL,
  seq bigint NOT NULL,
  kind smallint NOT NULL,                   -- 0 registration, 1 signal
  expires_at bigint NOT NULL,               -- of a signal
  guid bytea NOT NULL,
  taker bytea,                              -- the registration that a signal is out to; NULL: it waits
  meeting bytea,                            -- then: the name of the message that tells it
  body bytea NOT NULL,
  PRIMARY KEY (run, seq))
  WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);
CREATE INDEX mailbox_waiting ON mailbox_entries ((run + 0), kind, seq) WHERE taker IS NULL;
CREATE INDEX mailbox_registrations ON mailbox_entries ((run + 0), guid) WHERE kind = 0;
CREATE INDEX mailbox_offers ON mailbox_entries ((run + 0), taker, meeting, seq) WHERE taker IS NOT NULL;
CREATE TABLE signal_ids (                   -- of signals from outside: told again, they count once
  lane bigint NOT NULL,
  seq bigint NOT NULL,                      -- order of arrival: the oldest go first
  until bigint NOT NULL,                    -- it is remembered so long
  guid bytea NOT NULL,
  PRIMARY KEY (lane, guid));
CREATE INDEX signal_ids_in_order ON signal_ids ((lane + 0), seq);

CREATE TABLE outbox_taken (                 -- the last row that a lane took of what another one sent to it
  target bigint NOT NULL,
  source bigint NOT NULL,
  last_seq bigint NOT NULL,
  PRIMARY KEY (target, source)) WITH (fillfactor = 50);
CREATE TABLE outbox_routes (
  source bigint NOT NULL,
  target bigint NOT NULL,
  last_seq bigint NOT NULL,                 -- of the rows that were put
  dropped bigint NOT NULL,                  -- the rows up to this one are gone
  PRIMARY KEY (source, target)) WITH (fillfactor = 50);
CREATE TABLE outbox (                       -- empty where sends go straight into their inbox
  source bigint NOT NULL,
  target bigint NOT NULL,
  seq bigint NOT NULL,                      -- from 1, without gaps, for each source and target
  envelope bytea NOT NULL,
  PRIMARY KEY (source, target, seq))
  WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE labels (
  namespace text COLLATE "C" NOT NULL,
  graph text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  run bigint NOT NULL,
  PRIMARY KEY (run, name, value, key));
CREATE INDEX labels_by_key ON labels (namespace, graph, name, value, key, run);
CREATE INDEX labels_by_value ON labels (namespace, graph, name, value, run);
CREATE TABLE measures (
  namespace text COLLATE "C" NOT NULL,
  graph text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  slice text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,         -- empty: the jobs themselves
  counted boolean NOT NULL,                 -- jobs by value; else numbers, added up
  value text COLLATE "C" NOT NULL,
  lane bigint NOT NULL,                     -- each adds to a row of its own; a reader adds them up
  count bigint NOT NULL,
  sum double precision NOT NULL,
  least double precision NOT NULL,
  most double precision NOT NULL,
  PRIMARY KEY (namespace, graph, key, slice, target, counted, value, lane)) WITH (fillfactor = 50);
CREATE TABLE announcements (
  id bigint PRIMARY KEY,                    -- lane << 47 | number within the lane, never used twice
  run bigint NOT NULL,
  at bigint NOT NULL,
  code integer NOT NULL,
  what smallint NOT NULL,                   -- 0 progress, 1 end
  status smallint NOT NULL,                 -- 0 success, 1 pending, 2 error
  topic text COLLATE "C" NOT NULL,
  data bytea);
CREATE INDEX announcements_by_run ON announcements (run, id);
CREATE INDEX announcements_by_topic ON announcements (topic, id);

CREATE TABLE apps (
  namespace text COLLATE "C" NOT NULL,
  app text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  deployed_at bigint NOT NULL,
  body bytea NOT NULL,                      -- the graph language's own
  PRIMARY KEY (namespace, app, version));
CREATE TABLE active_apps (
  namespace text COLLATE "C" NOT NULL,
  app text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  PRIMARY KEY (namespace, app));
)sql";

}  // namespace pawl::store::postgres
