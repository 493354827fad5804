#include "store/postgres/transfer_mark.h"

#include "base/format.h"

namespace pawl::store::postgres {

std::string quoted_text(const std::string& text) {
  std::string quoted = " E'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted.push_back(c);
    quoted.push_back(c);
  }
  return quoted + '\'';
}

std::string for_each_table(const std::string& schema, const std::string& what) {
  return format(
      "DO $do$ DECLARE one text; BEGIN FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = {} AND tablename"
      " NOT IN ('schema_version', 'moves') ORDER BY 1 LOOP EXECUTE format({}, one); END LOOP; END $do$",
      quoted_text(schema), quoted_text(what));
}

Result<std::optional<transfer::Mark>> read_mark(Connection& connection, const std::string& schema) {
  const auto there = connection.ask(
      format("SELECT count(*) FROM pg_tables WHERE tablename = 'moves' AND schemaname = {}", quoted_text(schema)));
  if (!there) return there.error();
  if (*there == "0") return std::optional<transfer::Mark>();
  const auto state = connection.ask("SELECT state FROM moves");
  const auto other = connection.ask("SELECT other FROM moves");
  if (!state) return state.error();
  if (!other) return other.error();
  if (state->empty()) return std::optional<transfer::Mark>();
  const auto known = transfer::state_named(*state);
  if (!known) return Error{ErrorCode::corrupt, format("the schema {}: its word on moves is malformed", schema)};
  return std::optional(transfer::Mark{*known, *other});
}

Status write_mark(Connection& connection, const std::string& schema, const transfer::Mark& mark) {
  auto done = drop_mark(connection, schema);
  if (done)
    done = connection.execute(
        format("CREATE TABLE moves (id smallint PRIMARY KEY CHECK (id = 1), state text NOT NULL, other text NOT NULL);"
               " INSERT INTO moves VALUES (1, {}, {})",
               quoted_text(std::string(transfer::name_of(mark.state))), quoted_text(mark.other)));
  if (!done || mark.state != transfer::Mark::State::moved) return done;
  done = connection.execute(
      "CREATE FUNCTION refuse_moved() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " RAISE EXCEPTION 'this store was moved; work goes on in its copy' USING ERRCODE = '55000'; END $$");
  if (!done) return done;
  return connection.execute(for_each_table(
      schema, "CREATE TRIGGER refuse_moved BEFORE INSERT OR UPDATE OR DELETE ON %I EXECUTE FUNCTION refuse_moved()"));
}

Status drop_mark(Connection& connection, const std::string& schema) {
  auto done = connection.execute(for_each_table(schema, "DROP TRIGGER IF EXISTS refuse_moved ON %I"));
  return done ? connection.execute("DROP FUNCTION IF EXISTS refuse_moved(); DROP TABLE IF EXISTS moves") : done;
}

Status check_mark(Connection& connection, const std::string& schema) {
  const auto mark = read_mark(connection, schema);
  if (!mark) return mark.error();
  if (!*mark) return {};
  return transfer::refusal_of(**mark, format("this store (schema {})", schema));
}

}  // namespace pawl::store::postgres
