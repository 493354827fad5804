// Step 2 of the layout: collation duplex. Published: never edited.
#pragma once

namespace pawl::store::postgres {

// Marks, addresses and messages are names that are kept while the job is open; its end deletes them. A waiting message
// is free (free_at = 0), with a consumer (its epoch and claim), or given back with a delay (epoch and claim are 0).
inline constexpr const char* duplex_schema = R"sql(
CREATE TABLE duplex_jobs (run bigint PRIMARY KEY);
CREATE SEQUENCE duplex_positions;
CREATE TABLE duplex_cells (
  run bigint NOT NULL,
  node bigint NOT NULL,
  place text COLLATE "C" NOT NULL,          -- dimensional address
  position bigint NOT NULL DEFAULT nextval('duplex_positions'),
  state bigint NOT NULL,                    -- 15 digits
  opened_at bigint NOT NULL,
  closed_at bigint NOT NULL DEFAULT 0,
  code integer NOT NULL DEFAULT 0,
  status smallint NOT NULL DEFAULT 0,       -- 0 open, 1 completed, 2 errored
  closer bytea,                             -- the message that concluded it; what it said follows
  output bytea,
  PRIMARY KEY (run, node, place)) WITH (fillfactor = 70);
CREATE TABLE duplex_marks (                 -- what was added to a cell, by name
  run bigint NOT NULL,
  mark bytea NOT NULL,
  PRIMARY KEY (run, mark));
CREATE TABLE duplex_addresses (             -- the open obligations
  run bigint NOT NULL,
  node bigint NOT NULL,
  place text COLLATE "C" NOT NULL,
  open boolean NOT NULL,                    -- false: closed for good
  PRIMARY KEY (run, node, place));
CREATE TABLE duplex_stream (
  run bigint NOT NULL,
  guid bytea NOT NULL,
  position bigint NOT NULL DEFAULT nextval('duplex_positions'),  -- order of arrival
  lane bigint NOT NULL,
  node bigint NOT NULL,
  number bigint NOT NULL,
  claim bigint NOT NULL DEFAULT 0,          -- 0: nobody holds it
  epoch bigint NOT NULL DEFAULT 0,
  free_at bigint NOT NULL DEFAULT 0,
  claims bigint NOT NULL DEFAULT 0,
  given_back bigint NOT NULL DEFAULT 0,
  code integer NOT NULL,
  kind smallint NOT NULL,                   -- 0 start, 1 transition, 2 request, 3 reply, 4 cleanup
  status smallint NOT NULL,                 -- 0 success, 1 pending, 2 error
  done smallint NOT NULL DEFAULT 0,         -- 0 it waits, 1 only its name is left, 2 its job is parked
  place text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,          -- empty: for the engine
  data bytea,
  PRIMARY KEY (run, guid))
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX duplex_stream_free ON duplex_stream (lane, topic, position) WHERE done = 0 AND free_at = 0;
CREATE INDEX duplex_stream_held ON duplex_stream (lane, topic, epoch, free_at) WHERE done = 0 AND free_at > 0;
CREATE INDEX duplex_stream_claim ON duplex_stream (claim) WHERE done = 0 AND claim <> 0;
)sql";

}  // namespace pawl::store::postgres
