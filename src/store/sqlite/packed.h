// Packed payloads: those of ended jobs, compressed in rows of their own (schema_packed.h). Reading needs no setting: a
// payload's place in its row tells where it is.
#pragma once

#include <cstdint>

#include "pawl/payload.h"
#include "pawl/result.h"
#include "store/sqlite/connection.h"

namespace pawl::store::sqlite {

struct Unpacked {
  int code = SQLITE_OK;  // SQLITE_CORRUPT: there is no such payload, or it is not what was packed
  Payload payload;
};
// REQUIRES: a statement of this connection is at a row that names it, so both are of the same moment.
Unpacked unpack(sqlite3* database, std::int64_t number);

// Reads all of them: `corrupt` names the first jobs whose payloads are damaged or missing.
Status check_packed(Connection& connection);

}  // namespace pawl::store::sqlite
