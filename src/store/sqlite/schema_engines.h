// A step of the layout: the rows in which engines that share the lanes of a pool report that they are alive. Published:
// never edited. Why: docs/decisions/029-shares-of-lanes.md.
#pragma once

namespace pawl::store::sqlite {

// Empty while one process owns all lanes of the file by a lock: then no other engine shares them.
inline constexpr const char* engines_schema = R"sql(
CREATE TABLE engines (
  pool TEXT NOT NULL,
  name TEXT NOT NULL,
  until INTEGER NOT NULL,                   -- then it is dead, unless it says again that it lives
  leaving INTEGER NOT NULL,                 -- 1: it stops
  holds TEXT NOT NULL,                      -- the lanes that it says it has, as "1,2,"
  serves TEXT NOT NULL,                     -- the topics of its workers, each ended by a newline
  PRIMARY KEY (pool, name)) WITHOUT ROWID;
)sql";

}  // namespace pawl::store::sqlite
