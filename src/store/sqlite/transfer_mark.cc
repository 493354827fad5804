#include "store/sqlite/transfer_mark.h"

#include "base/format.h"
#include "store/sqlite/statement.h"

namespace pawl::store::sqlite {

Result<std::optional<transfer::Mark>> read_mark(Connection& connection) {
  const auto there =
      connection.read_number("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'moves'");
  if (!there) return there.error();
  if (*there == 0) return std::optional<transfer::Mark>();
  const auto state = connection.read_text("SELECT state FROM moves");
  const auto other = connection.read_text("SELECT other FROM moves");
  if (!state) return state.error();
  if (!other) return other.error();
  if (state->empty()) return std::optional<transfer::Mark>();
  const auto known = transfer::state_named(*state);
  if (!known) return Error{ErrorCode::corrupt, format("{}: its word on moves is malformed", connection.path())};
  return std::optional(transfer::Mark{*known, *other});
}

Status write_mark(Connection& connection, const transfer::Mark& mark) {
  auto done = drop_mark(connection);
  if (done)
    done = connection.execute(
        "CREATE TABLE IF NOT EXISTS moves (id INTEGER PRIMARY KEY CHECK (id = 1), state TEXT NOT NULL, other TEXT NOT "
        "NULL)");
  if (!done) return done;
  Statement put;
  int rc = put.prepare(connection.handle(), "INSERT INTO moves (id, state, other) VALUES (1, ?1, ?2)");
  if (rc == SQLITE_OK && put.run(transfer::name_of(mark.state), mark.other) == Statement::failed) rc = put.code();
  if (rc != SQLITE_OK) return connection.error(rc, "write");
  if (mark.state != transfer::Mark::State::moved) return {};
  return connection.execute(
      "CREATE TRIGGER moved_store BEFORE UPDATE ON store_state BEGIN SELECT RAISE(ABORT, 'this store was moved'); END");
}

Status drop_mark(Connection& connection) {
  auto done = connection.execute("DROP TRIGGER IF EXISTS moved_store");
  return done ? connection.execute("DROP TABLE IF EXISTS moves") : done;
}

Status check_mark(Connection& connection) {
  const auto mark = read_mark(connection);
  if (!mark) return mark.error();
  if (!*mark) return {};
  return transfer::refusal_of(**mark, connection.path());
}

}  // namespace pawl::store::sqlite
