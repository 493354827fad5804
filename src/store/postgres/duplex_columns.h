// The rows of collation duplex. The writer and the readers use one order of columns.
#pragma once

#include "pawl/result.h"
#include "store/duplex_operation.h"
#include "store/postgres/rows.h"

namespace pawl::store::postgres {

#define PAWL_STREAM_COLUMNS "run, guid, kind, node, place, topic, status, code, number, data, claim, claims, given_back"
Result<ClaimedMessage> claimed_message(Rows& rows);

#define PAWL_CELL_COLUMNS "node, place, state, opened_at, closer, status, code, closed_at, output"
Result<DuplexCell> duplex_cell(Rows& rows);

}  // namespace pawl::store::postgres
