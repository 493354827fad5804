// The statements and row readers of `collation: duplex`, shared by the writer and the readers.
#pragma once

#include "pawl/result.h"
#include "store/duplex_operation.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/statement.h"

namespace pawl::store::sqlite {

struct DuplexStatements {
  Status prepare(Connection& connection);

  Statement new_job, mark_job, read_job, end_job, park_job;
  Statement new_cell, read_cell, add_to_cell, put_mark, name_closer;
  Statement open_address, close_address, has_address, move_count;
  Statement put_message, renew_message, read_message, ack, drop_message, give_back, hold_messages;
  Statement free_orphans, free_due, free_later_epochs, claimed_by, find_free, claim, next_held, next_of_later_epochs;
  Statement sweep_marks, sweep_addresses, sweep_stream;
};

struct DuplexReads {
  Status prepare(Connection& connection);

  Statement is_duplex, cells, cell, addresses, stream;
};

// Columns: run, guid, kind, node, place, topic, status, code, number, data, claim, claims, given_back. The caller
// checks rows.malformed() afterwards. A place that cannot be read does not mark the row, so it is checked here.
Result<ClaimedMessage> claimed_message(Rows& rows);
inline constexpr const char* message_columns =
    "run, guid, kind, node, place, topic, status, code, number, data, claim, claims, given_back";

// Columns: node, place, state, opened_at, closer, status, code, closed_at, output.
Result<DuplexCell> duplex_cell(Rows& rows);
inline constexpr const char* cell_columns = "node, place, state, opened_at, closer, status, code, closed_at, output";

}  // namespace pawl::store::sqlite
