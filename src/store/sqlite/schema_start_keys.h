// A step of the layout: the ids that are taken are in parts, in the order of their runs, and a full part has a filter.
// So a new random id costs no page of the others. Published: never edited. Why: docs/decisions/106-flat.md.
#pragma once

namespace pawl::store::sqlite {

inline constexpr const char* start_keys_schema = R"sql(
ALTER TABLE start_keys RENAME TO old_start_keys;
DROP INDEX start_keys_due;
DROP INDEX start_keys_over;
CREATE TABLE start_keys (
  part INTEGER NOT NULL,                    -- run >> 17: new keys go to the last part
  namespace TEXT NOT NULL,
  job_id TEXT NOT NULL,
  run INTEGER NOT NULL,
  expires_at INTEGER NOT NULL DEFAULT 0,    -- 0: its job is there
  PRIMARY KEY (part, namespace, job_id)) WITHOUT ROWID;
INSERT INTO start_keys SELECT run >> 17, namespace, job_id, run, expires_at FROM old_start_keys ORDER BY 1, 2, 3;
DROP TABLE old_start_keys;
CREATE INDEX start_keys_due ON start_keys (run >> 47, expires_at, run) WHERE expires_at <> 0;
CREATE INDEX start_keys_over ON start_keys (expires_at, run) WHERE expires_at <> 0;
CREATE TABLE key_filters (                  -- of full parts; a part without one is searched
  part INTEGER PRIMARY KEY,
  filter BLOB NOT NULL);
)sql";

}  // namespace pawl::store::sqlite
