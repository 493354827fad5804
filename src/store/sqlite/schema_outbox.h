// A step of the layout: what lanes send each other is numbered by source and target, and the target keeps the count.
// Published: never edited. Why: docs/decisions/025-lanes-are-islands.md.
#pragma once

namespace pawl::store::sqlite {

// The old table had one count for all targets, and no row was ever numbered by it: sends in these files went straight
// into the inbox.
inline constexpr const char* outbox_schema = R"sql(
DROP TABLE source_lanes;
CREATE TABLE outbox_taken (                 -- the last row that a lane took of what another one sent to it
  target INTEGER NOT NULL,
  source INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  PRIMARY KEY (target, source)) WITHOUT ROWID;
CREATE TABLE outbox_routes (
  source INTEGER NOT NULL,
  target INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,                -- of the rows that were put
  dropped INTEGER NOT NULL,                 -- the rows up to this one are gone
  PRIMARY KEY (source, target)) WITHOUT ROWID;
CREATE TABLE outbox (                       -- empty where sends go straight into their inbox
  source INTEGER NOT NULL,
  target INTEGER NOT NULL,
  seq INTEGER NOT NULL,                     -- from 1, without gaps, for each source and target
  envelope BLOB NOT NULL,
  PRIMARY KEY (source, target, seq)) WITHOUT ROWID;
)sql";

}  // namespace pawl::store::sqlite
