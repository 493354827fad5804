// A step of the layout: a lane remembers the signals that it took from outside. Published: never edited. Why:
// docs/decisions/033-signals-told-once.md.
#pragma once

namespace pawl::store::sqlite {

inline constexpr const char* signal_ids_schema = R"sql(
CREATE TABLE signal_ids (
  lane INTEGER NOT NULL,
  seq INTEGER NOT NULL,                     -- order of arrival: the oldest go first
  guid BLOB NOT NULL,
  until INTEGER NOT NULL,                   -- it is remembered so long
  PRIMARY KEY (lane, seq)) WITHOUT ROWID;
CREATE UNIQUE INDEX signal_ids_by_guid ON signal_ids (lane, guid);
)sql";

}  // namespace pawl::store::sqlite
