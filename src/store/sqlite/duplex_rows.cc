#include "store/sqlite/duplex_rows.h"

#include "base/format.h"

namespace pawl::store::sqlite {

namespace {

struct Entry {
  Statement* statement;
  std::string sql;
};

Status prepare_all(Connection& connection, const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    const int rc = entry.statement->prepare(connection.handle(), entry.sql.c_str());
    if (rc != SQLITE_OK) return connection.error(rc, "find the expected tables in");
  }
  return {};
}

Error malformed(const char* what) { return Error{ErrorCode::corrupt, format("{} of a duplex job is malformed", what)}; }

}  // namespace

Status DuplexStatements::prepare(Connection& connection) {
  const std::string here = " WHERE run = ?1 AND node = ?2 AND place = ?3";
  const std::string message = " WHERE run = ?1 AND guid = ?2";
  const std::string held = " WHERE lane = ?1 AND topic = ?2 AND done = 0 AND free_at > 0";
  return prepare_all(
      connection,
      {
          // Its semaphore counts the open addresses.
          {&new_job,
           "INSERT INTO jobs (run, namespace, job_id, graph, version, fingerprint, created_at, rev, bundle, status,"
           " semaphore, threshold, completions, next_activity, closed_at, result, reason, secret)"
           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, 0, 0, 0, 0, 0, 0, NULL, '', ?8)"},
          {&mark_job, "INSERT INTO duplex_jobs (run) VALUES (?1)"},
          {&read_job,
           "SELECT j.status, j.semaphore, j.job_id FROM duplex_jobs d JOIN jobs j ON j.run = d.run WHERE d.run = ?1"},
          {&end_job,
           "UPDATE jobs SET status = ?2, result = ?3, reason = ?4, closed_at = ?5, code = ?6, completions = 1, "
           "semaphore = 0"
           " WHERE run = ?1 AND status = 0"},
          {&park_job, "UPDATE jobs SET status = 4, reason = ?2 WHERE run = ?1 AND status = 0"},
          {&new_cell,
           "INSERT INTO duplex_cells (run, node, place, state, opened_at, status, code, closed_at)"
           " VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, 0) ON CONFLICT DO NOTHING"},
          {&read_cell, "SELECT state, closer FROM duplex_cells" + here},
          {&add_to_cell, "UPDATE duplex_cells SET state = state + ?4" + here},
          {&put_mark, "INSERT INTO duplex_marks (run, mark) VALUES (?1, ?2) ON CONFLICT DO NOTHING"},
          {&name_closer, "UPDATE duplex_cells SET closer = ?4, status = ?5, code = ?6, closed_at = ?7, output = ?8" +
                             here + " AND closer IS NULL"},
          {&open_address,
           "INSERT INTO duplex_addresses (run, node, place, open) VALUES (?1, ?2, ?3, 1) ON CONFLICT DO NOTHING"},
          {&close_address, "UPDATE duplex_addresses SET open = 0" + here + " AND open = 1"},
          {&has_address, "SELECT 1 FROM duplex_addresses" + here},
          {&move_count, "UPDATE jobs SET semaphore = semaphore + ?2 WHERE run = ?1"},
          {&put_message,
           "INSERT INTO duplex_stream (run, guid, lane, kind, node, place, topic, status, code, number, data, claim,"
           " epoch, free_at, claims, given_back, done)"
           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING"},
          {&renew_message,
           "UPDATE duplex_stream SET claim = 0, epoch = 0, free_at = 0" + message + " AND done = 0 AND claim <> 0"},
          {&read_message, "SELECT claim FROM duplex_stream" + message + " AND done <> 1"},
          {&free_orphans, "UPDATE duplex_stream SET free_at = 0" + held + " AND epoch > 0 AND epoch < ?3"},
          {&free_due, "UPDATE duplex_stream SET free_at = 0 WHERE id IN (SELECT id FROM duplex_stream" + held +
                          " AND epoch = ?3 AND free_at <= ?4 ORDER BY free_at LIMIT ?5)"},
          {&free_later_epochs, "UPDATE duplex_stream SET free_at = 0" + held + " AND epoch > ?3 AND free_at <= ?4"},
          {&claimed_by,
           format("SELECT {} FROM duplex_stream WHERE claim = ?3 AND claim > 0 AND done = 0 AND free_at > 0"
                  " AND lane = ?1 AND topic = ?2 ORDER BY id",
                  message_columns)},
          {&find_free,
           "SELECT id, coalesce(length(data), 0) FROM duplex_stream s WHERE lane = ?1 AND topic = ?2 AND done = 0"
           " AND free_at = 0 AND EXISTS (SELECT 1 FROM jobs j WHERE j.run = s.run) ORDER BY id LIMIT ?3"},
          {&claim, "UPDATE duplex_stream SET claim = ?2, epoch = ?3, free_at = ?4, claims = claims + 1 WHERE id = ?1"},
          {&next_held,
           "SELECT free_at FROM duplex_stream" + held + " AND epoch = ?3 AND claim <> ?4 ORDER BY free_at LIMIT 1"},
          {&next_of_later_epochs, "SELECT min(free_at) FROM duplex_stream" + held + " AND epoch > ?3 AND claim <> ?4"},
          {&ack, "UPDATE duplex_stream SET done = 1, data = NULL" + message + " AND claim = ?3 AND done <> 1"},
          {&drop_message, "DELETE FROM duplex_stream" + message + " AND claim = ?3"},
          {&give_back, "UPDATE duplex_stream SET claim = 0, epoch = 0, free_at = ?4, given_back = given_back + 1" +
                           message + " AND claim = ?3 AND done = 0"},
          {&hold_messages, "UPDATE duplex_stream SET done = 2 WHERE run = ?1 AND done = 0"},
          {&sweep_marks, "DELETE FROM duplex_marks WHERE run = ?1"},
          {&sweep_addresses, "DELETE FROM duplex_addresses WHERE run = ?1"},
          {&sweep_stream, "DELETE FROM duplex_stream WHERE run = ?1 AND guid <> ?2"},
      });
}

Status DuplexReads::prepare(Connection& connection) {
  return prepare_all(
      connection,
      {
          {&is_duplex, "SELECT 1 FROM duplex_jobs WHERE run = ?1"},
          {&cells, format("SELECT {} FROM duplex_cells WHERE run = ?1 ORDER BY id", cell_columns)},
          {&cell, format("SELECT {} FROM duplex_cells WHERE run = ?1 AND node = ?2 AND place = ?3", cell_columns)},
          {&addresses, "SELECT node, place FROM duplex_addresses WHERE run = ?1 AND open = 1"},
          {&stream, format("SELECT {} FROM duplex_stream WHERE run = ?1 AND done <> 1 ORDER BY id", message_columns)},
      });
}

Result<ClaimedMessage> claimed_message(Rows& rows) {
  ClaimedMessage out;
  out.message.run = RunId(rows.word(0));
  out.message.guid = rows.guid(1);
  const std::int64_t kind = rows.number(2);
  Place place;
  place.node = rows.small(3);
  auto at = ledger::Dimensions::parse(rows.text(4));
  Topic topic{std::string(rows.text(5))};
  const std::int64_t status = rows.number(6);
  const auto code = static_cast<std::int32_t>(rows.number(7));
  const std::uint32_t number = rows.small(8);
  Payload data = rows.payload(9);
  out.claim = ClaimId(rows.word(10));
  out.given_back = rows.small(12);
  out.deliveries = rows.small(11) - out.given_back;
  if (rows.malformed() || !at || status < 0 || status > static_cast<std::int64_t>(core::ReplyStatus::error))
    return malformed("a message");
  place.at = std::move(*at);
  auto body = body_of(kind, std::move(place), std::move(topic), static_cast<core::ReplyStatus>(status), code, number,
                      std::move(data));
  if (!body) return malformed("a message");
  out.message.body = std::move(*body);
  return out;
}

Result<DuplexCell> duplex_cell(Rows& rows) {
  DuplexCell cell;
  cell.place.node = rows.small(0);
  auto at = ledger::Dimensions::parse(rows.text(1));
  cell.value = rows.number(2);
  cell.opened_at = Instant::from_micros(rows.number(3));
  if (!rows.is_null(4)) cell.closer = rows.guid(4);
  const std::int64_t status = rows.number(5);
  cell.code = static_cast<std::int32_t>(rows.number(6));
  cell.closed_at = Instant::from_micros(rows.number(7));
  cell.output = rows.payload(8);
  if (rows.malformed() || !at || status < 0 || status > static_cast<std::int64_t>(core::ActivityStatus::errored))
    return malformed("a cell");
  cell.status = static_cast<core::ActivityStatus>(status);
  cell.place.at = std::move(*at);
  return cell;
}

}  // namespace pawl::store::sqlite
