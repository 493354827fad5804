#include "store/postgres/transfer.h"

#include <chrono>

#include "base/format.h"
#include "store/postgres/transfer_database.h"
#include "store/postgres/transfer_mark.h"
#include "store/transfer/sql_source.h"

namespace pawl::store::postgres {

namespace {

using transfer::Mark;

// A store, and another session beside it.
struct Opened {
  std::string address;
  Options options;
  std::unique_ptr<Store> store;
  std::unique_ptr<Connection> connection;
  const std::string& schema() const { return options.schema; }
};

// A move reads whole tables and waits for the other store inside of a transaction, so it needs other settings.
constexpr const char* session_of_a_move =
    "SET enable_seqscan TO on; SET enable_hashjoin TO on; SET enable_mergejoin TO on; SET statement_timeout TO 0;"
    " SET idle_in_transaction_session_timeout TO 0";

Result<Opened> open(const std::string& address, Options options) {
  options.despite_moves = true;
  auto store = Store::open(address, options);
  if (!store) return store.error();
  auto connection = Connection::open(
      Address{address, options.schema, options.statement_wait, options.lock_wait, options.transaction_idle_max});
  if (!connection) return connection.error();
  if (const auto set = (*connection)->execute(session_of_a_move); !set) return set.error();
  return Opened{address, options, std::move(*store), std::move(*connection)};
}

Result<std::uint64_t> count(Connection& connection) {
  const auto jobs = connection.ask("SELECT count(*) FROM jobs");
  if (!jobs) return jobs.error();
  return static_cast<std::uint64_t>(std::stoull(*jobs));
}

Error in_use(const std::string& by, Instant until, Instant now) {
  const auto seconds = (until - now).count() / 1'000'000 + 1;
  return Error{
      ErrorCode::retry_later,
      format(
          "{} runs on the store; stop it, then move. One that was killed counts as running until its lease is over, in"
          " {} s",
          by, seconds)};
}

class SchemaSource final : public transfer::Source {
 public:
  explicit SchemaSource(Opened opened) : opened_(std::move(opened)), database_(*opened_.connection) {}

  // The locks let others read and not write. They end with the session, however it ends.
  Status fence(const Mark& leaving) override {
    Connection& connection = *opened_.connection;
    const auto tables = connection.ask(format(
        "SELECT string_agg(quote_ident(tablename), ', ' ORDER BY tablename) FROM pg_tables WHERE schemaname = {}",
        quoted_text(opened_.schema())));
    if (!tables) return tables.error();
    // The snapshot is taken by the first query after the locks.
    auto done =
        connection.execute(format("BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE {} IN EXCLUSIVE MODE", *tables));
    if (!done)
      return Error{done.error().code,
                   format("{}; somebody writes to the store: stop that, then move", done.error().detail)};
    const auto mark = read_mark(connection, opened_.schema());
    if (!mark) return mark.error();
    if (*mark && **mark != Mark{Mark::State::moved, leaving.other})
      return transfer::refusal_of(**mark, format("the source (schema {})", opened_.schema()));
    return check_idle();
  }
  Status finish(const Mark& moved) override {
    auto done = write_mark(*opened_.connection, opened_.schema(), moved);
    return done ? opened_.connection->execute("COMMIT") : done;
  }
  Result<std::uint64_t> count_jobs() override { return count(*opened_.connection); }
  Status read(const transfer::See& see) override { return transfer::SqlReader(database_, *opened_.store, see).read(); }
  Store& store() override { return *opened_.store; }

 private:
  Status check_idle() {
    const Instant now = opened_.store->now();
    const auto refuse = [&](auto& rows) -> Status {
      const Instant until = rows.is_null(1) ? now + std::chrono::hours(24) : Instant::from_micros(rows.number(1));
      return until > now ? Status{in_use(std::string(rows.text(0)), until, now)} : Status{};
    };
    auto done = database_.scan("SELECT owner, lease_until FROM lanes WHERE owner <> ''", refuse);
    return done ? database_.scan("SELECT name, until FROM engines", refuse) : done;
  }

  Opened opened_;
  TransferDatabase database_;
};

class SchemaTarget final : public transfer::Target {
 public:
  explicit SchemaTarget(Opened opened) : opened_(std::move(opened)), database_(connection()), writer_(database_) {}

  Status begin(const Mark& incoming) override {
    const auto mark = read_mark(connection(), opened_.schema());
    if (!mark) return mark.error();
    if (*mark && (*mark)->state != Mark::State::incoming)
      return transfer::refusal_of(**mark, format("the target (schema {})", opened_.schema()));
    if (!*mark) {
      const auto used = connection().ask("SELECT EXISTS (SELECT 1 FROM pools) OR EXISTS (SELECT 1 FROM apps)");
      if (!used) return used.error();
      if (*used != "f")
        return Error{ErrorCode::invalid, format("the target holds a store already; name another database, or drop its "
                                                "schema first: DROP SCHEMA {} CASCADE",
                                                opened_.schema())};
    }
    // A power loss before finish() may lose rows. Then the move is not complete, and this is noticed.
    auto done = connection().execute("SET synchronous_commit TO off; BEGIN");
    for (const auto& list : {std::span<const transfer::SqlTable>(transfer::tables::common),
                             std::span<const transfer::SqlTable>(tables::own)})
      for (const transfer::SqlTable& table : list)
        if (done && !table.columns.empty()) done = connection().execute(format("TRUNCATE {}", table.name));
    if (done) done = write_mark(connection(), opened_.schema(), incoming);
    return done ? connection().execute("COMMIT") : done;
  }
  Status put(std::span<const transfer::Record> records) override {
    for (const transfer::Record& record : records)
      if (auto done = writer_.put(record); !done) return done;
    return database_.flush();
  }
  // New rows get higher numbers than the moved ones.
  Status end_of_records() override {
    auto done = connection().execute(
        "SELECT setval('work_positions', (SELECT coalesce(max(position), 0) + 1 FROM work), false);"
        " SELECT setval('duplex_positions', greatest((SELECT coalesce(max(position), 0) + 1 FROM duplex_stream),"
        " (SELECT coalesce(max(position), 0) + 1 FROM duplex_cells)), false);"
        " UPDATE lane_numbers n SET next_signal = 1 + (SELECT coalesce(max(seq), 0) FROM signal_ids s WHERE s.lane = "
        "n.lane);"
        " ANALYZE jobs, activities, work, inbox, timers, start_keys");
    if (!done) return done;
    auto store = Store::open(opened_.address, opened_.options);  // it has another id now
    if (!store) return store.error();
    opened_.store = std::move(*store);
    return {};
  }
  // This commit waits for its log, and everything before it is in the same log.
  Status finish() override {
    auto done = connection().execute("SET synchronous_commit TO on; BEGIN");
    if (done) done = drop_mark(connection(), opened_.schema());
    return done ? connection().execute("COMMIT") : done;
  }
  Result<std::uint64_t> count_jobs() override { return count(connection()); }
  Status read(const transfer::See& see) override {
    auto done = connection().execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    if (!done) return done;
    done = transfer::SqlReader(database_, *opened_.store, see).read();
    const auto ended = connection().execute("ROLLBACK");
    return done ? ended : done;
  }
  Store& store() override { return *opened_.store; }

 private:
  Connection& connection() { return *opened_.connection; }

  Opened opened_;
  TransferDatabase database_;
  transfer::SqlWriter<TransferDatabase> writer_;
};

}  // namespace

Result<std::unique_ptr<transfer::Source>> open_source(const std::string& address, Options options) {
  options.migrate = Migrate::no;  // creates no store where there is none
  auto opened = open(address, std::move(options));
  if (!opened) return opened.error();
  return std::unique_ptr<transfer::Source>(std::make_unique<SchemaSource>(std::move(*opened)));
}

Result<std::unique_ptr<transfer::Target>> open_target(const std::string& address, Options options) {
  auto opened = open(address, std::move(options));
  if (!opened) return opened.error();
  return std::unique_ptr<transfer::Target>(std::make_unique<SchemaTarget>(std::move(*opened)));
}

Status undo_move(const std::string& address, Options options) {
  options.migrate = Migrate::no;
  auto opened = open(address, std::move(options));
  if (!opened) return opened.error();
  const auto mark = read_mark(*opened->connection, opened->schema());
  if (!mark) return mark.error();
  if (!*mark || (*mark)->state == Mark::State::incoming)
    return Error{ErrorCode::invalid, "this store was not moved; there is nothing to take back"};
  auto done = opened->connection->execute("BEGIN");
  if (done) done = drop_mark(*opened->connection, opened->schema());
  return done ? opened->connection->execute("COMMIT") : done;
}

}  // namespace pawl::store::postgres
