#include "store/sqlite/log_vfs.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>

#include "store/conformance/conformance.h"
#include "store/sqlite/fault_vfs.h"

namespace pawl::store::sqlite {
namespace {

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, Close>;

class LogVfsTest : public testing::Test {
 protected:
  void SetUp() override { test::FaultVfs::install(); }
  void TearDown() override { test::set_fault_plan(nullptr); }

  std::string path(const std::string& name = "a.db") const { return (folder_.path() / name).string(); }

  static Database open(const std::string& path, const std::string& vfs) {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs.c_str()),
              SQLITE_OK);
    return Database(database);
  }
  Database open_layered() const {
    Database database = open(path(), log_vfs_over(test::FaultVfs::name));
    run(database, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
                  " CREATE TABLE IF NOT EXISTS t(k INTEGER PRIMARY KEY, v)");
    return database;
  }
  static int try_run(const Database& database, const std::string& sql) {
    return sqlite3_exec(database.get(), sql.c_str(), nullptr, nullptr, nullptr);
  }
  static void run(const Database& database, const std::string& sql) {
    EXPECT_EQ(try_run(database, sql), SQLITE_OK) << sqlite3_errmsg(database.get());
  }
  static std::string ask(const Database& database, const std::string& sql) {
    std::string answer;
    const auto keep = [](void* out, int, char** values, char**) {
      *static_cast<std::string*>(out) = values[0] != nullptr ? values[0] : "";
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database.get(), sql.c_str(), keep, &answer, nullptr), SQLITE_OK);
    return answer;
  }
  // What is left when the process ends here: the two files, without a close.
  Database as_after_a_kill() {
    const std::string copy = path("copy" + std::to_string(++copies_) + ".db");
    std::filesystem::copy_file(path(), copy);
    std::filesystem::copy_file(path() + "-wal", copy + "-wal");
    return open(copy, "unix");
  }
  // From now on: how often the log is written, and which write fails (none: -1).
  void count_log_writes(int failing = -1) {
    writes_ = 0;
    test::set_fault_plan([this, failing](test::Call call, std::string_view file) {
      if (call != test::Call::write || !file.ends_with("-wal")) return SQLITE_OK;
      return writes_++ == failing ? SQLITE_IOERR_WRITE : SQLITE_OK;
    });
  }

  TemporaryFolder folder_;
  int copies_ = 0;
  int writes_ = 0;
};

const std::string ten_pages = "WITH n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<20) "
                              "INSERT INTO t(v) SELECT randomblob(2000) FROM n";

TEST_F(LogVfsTest, writes_a_transaction_of_many_pages_with_one_call) {
  const Database database = open_layered();
  run(database, ten_pages);
  for (int i = 0; i < 3; ++i) {
    count_log_writes();
    run(database, ten_pages);
    EXPECT_EQ(writes_, 1);
  }
  EXPECT_EQ(ask(as_after_a_kill(), "SELECT count(*) FROM t"), "80");
}

TEST_F(LogVfsTest, leaves_nothing_behind_when_a_commit_returns) {
  // Claim: without a sync, too, a commit is in the file when it returns, also if its pages left the cache before and
  // were written twice. Then SQLite computes the checksums of all later headers again, which recovery reads.
  const Database database = open_layered();
  run(database, "PRAGMA synchronous=OFF; PRAGMA cache_size=10");
  run(database, ten_pages);
  for (int i = 1; i <= 3; ++i) {
    run(database, "BEGIN");
    for (int n = 0; n < 8; ++n) run(database, ten_pages);
    run(database, "UPDATE t SET v=randomblob(2000) WHERE k<100");
    EXPECT_EQ(ask(database, "SELECT count(*) FROM t"), std::to_string(20 + 160 * i));
    run(database, "UPDATE t SET v=randomblob(2000) WHERE k<30; COMMIT");
    const Database killed = as_after_a_kill();  // before a read of this connection writes the rest
    const std::string all = "SELECT group_concat(hex(v)) FROM t";
    EXPECT_TRUE(ask(killed, all) == ask(open(path(), "unix"), all));
    EXPECT_TRUE(ask(killed, all) == ask(database, all));
  }
  EXPECT_EQ(ask(as_after_a_kill(), "PRAGMA integrity_check"), "ok");
}

TEST_F(LogVfsTest, a_transaction_whose_write_fails_leaves_nothing_and_can_be_repeated) {
  const Database database = open_layered();
  const std::string large = "BEGIN; " + ten_pages + "; UPDATE t SET v=randomblob(400000) WHERE k=3; COMMIT";
  run(database, large);
  int failed = 0, rows = 20;
  for (;; ++failed) {
    count_log_writes(failed);
    const int rc = try_run(database, large);
    test::set_fault_plan(nullptr);
    if (rc == SQLITE_OK) break;
    if (sqlite3_get_autocommit(database.get()) == 0) run(database, "ROLLBACK");
    EXPECT_EQ(ask(database, "SELECT count(*) FROM t"), std::to_string(rows));
    EXPECT_EQ(ask(as_after_a_kill(), "SELECT count(*) FROM t"), std::to_string(rows));
    run(database, large);
    rows += 20;
    EXPECT_EQ(ask(as_after_a_kill(), "SELECT count(*) FROM t"), std::to_string(rows));
  }
  EXPECT_GE(failed, 3);  // a piece has a largest size
  EXPECT_EQ(ask(as_after_a_kill(), "PRAGMA integrity_check"), "ok");
}

TEST_F(LogVfsTest, a_transaction_that_is_rolled_back_never_writes_over_a_later_one) {
  // Claim: what left the cache before the rollback is not written once another connection may have written there,
  // whether the first one reads, writes or closes next. The log is empty, so that no read writes it before.
  for (const char* next : {"SELECT sum(length(v)) FROM other", "INSERT INTO t(v) VALUES (1)", "close"}) {
    SCOPED_TRACE(next);
    Database first = open_layered();
    const Database second = open(path(), log_vfs_over(test::FaultVfs::name));
    run(second, "PRAGMA wal_autocheckpoint=0; CREATE TABLE other(v); PRAGMA wal_checkpoint(FULL)");
    run(first, "PRAGMA cache_size=10; BEGIN; " + ten_pages + "; ROLLBACK");
    for (int i = 0; i < 30; ++i) run(second, "INSERT INTO other VALUES (randomblob(1500))");
    if (std::string(next) == "close")
      first.reset();
    else
      run(first, next);
    EXPECT_EQ(ask(as_after_a_kill(), "SELECT count(*) FROM other"), "30");
    EXPECT_EQ(ask(open(path(), "unix"), "PRAGMA integrity_check"), "ok");
    run(second, "DROP TABLE other; DROP TABLE t");
  }
}

TEST_F(LogVfsTest, pages_that_could_not_be_written_are_not_lost_for_the_rest_of_their_transaction) {
  // Claim: a full disk that fails one statement, which SQLite undoes alone, takes nothing from the statements before.
  const Database database = open_layered();
  run(database, ten_pages + "; CREATE TABLE other(v UNIQUE); PRAGMA wal_checkpoint(FULL); PRAGMA cache_size=10");
  run(database, "BEGIN; UPDATE t SET v=zeroblob(2000)");
  test::set_fault_plan([](test::Call call, std::string_view file) {
    return call == test::Call::write && file.ends_with("-wal") ? SQLITE_FULL : SQLITE_OK;
  });
  const int failed = try_run(database, "INSERT INTO other SELECT k || substr(v, 1, 10) FROM t");
  test::set_fault_plan(nullptr);
  EXPECT_EQ(failed, SQLITE_FULL);
  run(database, "COMMIT");
  const std::string all = "SELECT count(*) FROM t WHERE v = zeroblob(2000)";
  EXPECT_EQ(ask(database, all), "20");
  EXPECT_EQ(ask(as_after_a_kill(), all), "20");
  EXPECT_EQ(ask(database, "PRAGMA integrity_check"), "ok");
}

TEST_F(LogVfsTest, starts_a_new_log_at_its_beginning) {
  const Database database = open_layered();
  for (int i = 1; i <= 3; ++i) {
    run(database, ten_pages);
    EXPECT_EQ(ask(as_after_a_kill(), "SELECT count(*) FROM t"), std::to_string(20 * i));
    run(database, "PRAGMA wal_checkpoint(RESTART)");
  }
  run(database, ten_pages);
  EXPECT_EQ(ask(as_after_a_kill(), "SELECT count(*) FROM t"), "80");
}

TEST_F(LogVfsTest, an_unknown_file_system_stays_unknown) { EXPECT_EQ(log_vfs_over("no-such-vfs"), "no-such-vfs"); }

}  // namespace
}  // namespace pawl::store::sqlite
