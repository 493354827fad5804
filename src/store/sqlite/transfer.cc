#include "store/sqlite/transfer.h"

#include <filesystem>

#include "base/format.h"
#include "store/sqlite/owner_lock.h"
#include "store/sqlite/owner_record.h"
#include "store/sqlite/transfer_database.h"
#include "store/sqlite/transfer_mark.h"
#include "store/transfer/sql_source.h"

namespace pawl::store::sqlite {

namespace {

using transfer::Mark;

constexpr int position_bits = 24;               // of an item's place in line: the commit's number is above these bits
constexpr int import_checkpoint_pages = 4'000;  // keeps the log short while a file is being written

// A store, and a separate connection beside it.
struct Opened {
  Options options;
  std::unique_ptr<Store> store;
  std::unique_ptr<Connection> connection;
};

Result<Opened> open(const std::string& path, Options options) {
  options.despite_moves = true;
  auto store = Store::open(path, options);
  if (!store) return store.error();
  std::error_code ignored;
  std::string canonical = std::filesystem::weakly_canonical(path, ignored).string();
  if (canonical.empty()) canonical = path;
  auto connection = Connection::open({canonical, Connection::Mode::existing, options.vfs, options.busy_wait});
  if (!connection) return connection.error();
  sqlite3_wal_autocheckpoint((*connection)->handle(), 0);
  return Opened{options, std::move(*store), std::move(*connection)};
}

Status own(Opened& opened) {
  const auto owned = opened.store->try_own();
  if (!owned) return owned.error();
  if (*owned) return {};
  const auto record = OwnerRecord::read(owner_path(opened.connection->path()));
  return Error{ErrorCode::retry_later,
               format("{} is in use{}: a move needs a store that nobody runs on; stop that process, then try again",
                      opened.connection->path(), record ? format(" by process {}", record->process) : std::string())};
}

Result<std::uint64_t> count(Connection& connection) {
  const auto jobs = connection.read_number("SELECT count(*) FROM jobs");
  if (!jobs) return jobs.error();
  return static_cast<std::uint64_t>(*jobs);
}

class FileSource final : public transfer::Source {
 public:
  explicit FileSource(Opened opened) : opened_(std::move(opened)) {}

  // The owner's lock keeps engines out, the write lock all others. Both end with the process, however that ends.
  Status fence(const Mark& leaving) override {
    if (auto owned = own(opened_); !owned) return owned;
    auto done = opened_.connection->execute("BEGIN IMMEDIATE");
    if (!done)
      return Error{done.error().code,
                   format("{}; another process writes to it: stop that one, then try again", done.error().detail)};
    const auto mark = read_mark(*opened_.connection);
    if (!mark) return mark.error();
    if (!*mark || (**mark == Mark{Mark::State::moved, leaving.other})) return {};
    return transfer::refusal_of(**mark, opened_.connection->path());
  }
  Status finish(const Mark& moved) override {
    auto done = write_mark(*opened_.connection, moved);
    return done ? opened_.connection->execute("COMMIT") : done;
  }
  Result<std::uint64_t> count_jobs() override { return count(*opened_.connection); }
  Status read(const transfer::See& see) override {
    TransferDatabase database(*opened_.connection);
    return transfer::SqlReader(database, *opened_.store, see).read();
  }
  Store& store() override { return *opened_.store; }

 private:
  Opened opened_;
};

class FileTarget final : public transfer::Target {
 public:
  explicit FileTarget(Opened opened) : opened_(std::move(opened)), database_(*opened_.connection), writer_(database_) {}

  Status begin(const Mark& incoming) override {
    if (auto owned = own(opened_); !owned) return owned;
    const auto mark = read_mark(connection());
    if (!mark) return mark.error();
    if (*mark && (*mark)->state != Mark::State::incoming) return transfer::refusal_of(**mark, connection().path());
    if (!*mark) {
      const auto used = connection().read_number("SELECT EXISTS (SELECT 1 FROM pools) OR EXISTS (SELECT 1 FROM apps)");
      if (!used) return used.error();
      if (*used != 0)
        return Error{ErrorCode::invalid,
                     format("{} holds a store already; name a file that does not exist yet", connection().path())};
    }
    // After a power loss the file is as it was at some moment of the move, and its mark says that it is not complete.
    auto done = connection().execute("PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY");
    sqlite3_wal_autocheckpoint(connection().handle(), import_checkpoint_pages);
    return done ? in_transaction([&] {
      auto wiped = wipe();
      return wiped ? write_mark(connection(), incoming) : wiped;
    })
                : done;
  }
  Status put(std::span<const transfer::Record> records) override {
    return in_transaction([&]() -> Status {
      for (const transfer::Record& record : records)
        if (auto done = writer_.put(record); !done) return done;
      return {};
    });
  }
  Status end_of_records() override {
    auto done = connection().execute(
        format("UPDATE store_state SET commits = max(commits, {}),"
               " unlisted_from = 1 + coalesce((SELECT max(id) FROM activities), 0)",
               (database_.last_place() >> position_bits) + 1)
            .c_str());
    if (!done) return done;
    opened_.store.reset();  // it has another id now
    auto store = Store::open(connection().path(), opened_.options);
    if (!store) return store.error();
    opened_.store = std::move(*store);
    return own(opened_);
  }
  // All pages are on the disk before the mark is removed.
  Status finish() override {
    auto done = connection().execute("PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(FULL)");
    return done ? in_transaction([&] { return drop_mark(connection()); }) : done;
  }
  Result<std::uint64_t> count_jobs() override { return count(connection()); }
  Status read(const transfer::See& see) override { return transfer::SqlReader(database_, *opened_.store, see).read(); }
  Store& store() override { return *opened_.store; }

 private:
  Connection& connection() { return *opened_.connection; }

  template <class Do>
  Status in_transaction(const Do& act) {
    auto done = connection().execute("BEGIN IMMEDIATE");
    if (!done) return done;
    done = act();
    if (done) return connection().execute("COMMIT");
    // The first error is the one to report.
    if (sqlite3_get_autocommit(connection().handle()) == 0)
      if (const auto undone = connection().execute("ROLLBACK"); !undone) return undone;
    return done;
  }
  Status wipe() {
    for (const auto& list : {std::span<const transfer::SqlTable>(transfer::tables::common),
                             std::span<const transfer::SqlTable>(tables::own)})
      for (const transfer::SqlTable& table : list)
        if (!table.columns.empty())
          if (auto done = connection().execute(format("DELETE FROM {}", table.name).c_str()); !done) return done;
    return {};
  }

  Opened opened_;
  TransferDatabase database_;
  transfer::SqlWriter<TransferDatabase> writer_;
};

}  // namespace

Result<std::unique_ptr<transfer::Source>> open_source(const std::string& path, Options options) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return Error{ErrorCode::not_found, format("there is no store {}", path)};
  auto opened = open(path, std::move(options));
  if (!opened) return opened.error();
  return std::unique_ptr<transfer::Source>(std::make_unique<FileSource>(std::move(*opened)));
}

Result<std::unique_ptr<transfer::Target>> open_target(const std::string& path, Options options) {
  auto opened = open(path, std::move(options));
  if (!opened) return opened.error();
  return std::unique_ptr<transfer::Target>(std::make_unique<FileTarget>(std::move(*opened)));
}

Status undo_move(const std::string& path, Options options) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return Error{ErrorCode::not_found, format("there is no store {}", path)};
  auto opened = open(path, std::move(options));
  if (!opened) return opened.error();
  const auto mark = read_mark(*opened->connection);
  if (!mark) return mark.error();
  if (!*mark || (*mark)->state == Mark::State::incoming)
    return Error{ErrorCode::invalid, format("{} was not moved; there is nothing to take back", path)};
  auto done = opened->connection->execute("BEGIN IMMEDIATE");
  if (done) done = drop_mark(*opened->connection);
  return done ? opened->connection->execute("COMMIT") : done;
}

}  // namespace pawl::store::sqlite
