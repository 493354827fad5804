#include "raw_loop.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace pawl::bench {

namespace {

using Clock = std::chrono::steady_clock;

class Database {
 public:
  explicit Database(const std::string& path) {
    for (const char* suffix : {"", "-wal", "-shm"}) std::remove((path + suffix).c_str());
    check(sqlite3_open(path.c_str(), &db_));
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=FULL");
    run("PRAGMA wal_autocheckpoint=20000");
    run("PRAGMA cache_size=-65536");
  }
  ~Database() { sqlite3_close(db_); }
  void run(const char* sql) { check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
    return statement;
  }
  std::int64_t log_bytes() {
    int pages = 0;
    int high = 0;
    sqlite3_db_status(db_, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &high, 0);
    return std::int64_t{pages} * 4096;
  }

 private:
  void check(int code) {
    if (code == SQLITE_OK) return;
    fmt::print(stderr, "raw loop: {}\n", sqlite3_errmsg(db_));
    std::abort();
  }
  sqlite3* db_ = nullptr;
};

void step(sqlite3_stmt* statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) std::abort();
  sqlite3_reset(statement);
}

void bind(sqlite3_stmt* statement, int index, std::int64_t value) { sqlite3_bind_int64(statement, index, value); }
void bind(sqlite3_stmt* statement, int index, const std::string& text) {
  sqlite3_bind_blob(statement, index, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

}  // namespace

RawFigure row_layout_loop(const std::string& path, std::uint32_t jobs, std::uint32_t activities, std::uint32_t group,
                          Legs legs, std::uint32_t output_bytes) {
  Database db(path);
  db.run("CREATE TABLE job(id INTEGER PRIMARY KEY, rev INTEGER, semaphore INTEGER)");
  db.run("CREATE TABLE activity(id INTEGER PRIMARY KEY, job INTEGER, ledger INTEGER, output BLOB)");
  db.run("CREATE TABLE message_ledger(id INTEGER PRIMARY KEY, job INTEGER, activity INTEGER, ledger INTEGER)");
  db.run("CREATE TABLE work(id INTEGER PRIMARY KEY, job INTEGER, activity INTEGER, input BLOB)");
  db.run("CREATE TABLE message(id INTEGER PRIMARY KEY, job INTEGER, activity INTEGER)");
  sqlite3_stmt* put_message = db.prepare("INSERT INTO message VALUES(?1, ?2, ?1)");
  sqlite3_stmt* drop_message = db.prepare("DELETE FROM message WHERE id = ?1");
  sqlite3_stmt* enter_activity = db.prepare("UPDATE activity SET ledger = 1100000000000 WHERE id = ?1");
  sqlite3_stmt* put_job = db.prepare("INSERT INTO job VALUES(?1, 0, 1)");
  sqlite3_stmt* move_job = db.prepare("UPDATE job SET rev = rev + 1, semaphore = semaphore + ?2 WHERE id = ?1");
  sqlite3_stmt* put_activity = db.prepare("INSERT INTO activity VALUES(?1, ?2, 1100000000000, NULL)");
  sqlite3_stmt* close_activity = db.prepare("UPDATE activity SET ledger = 1111000000001, output = ?2 WHERE id = ?1");
  sqlite3_stmt* put_ledger = db.prepare("INSERT INTO message_ledger VALUES(?1, ?2, ?3, 11000000001)");
  sqlite3_stmt* put_work = db.prepare("INSERT INTO work VALUES(?1, ?2, ?3, ?4)");
  sqlite3_stmt* drop_work = db.prepare("DELETE FROM work WHERE id = ?1");
  const std::string output(output_bytes, 'x');

  std::int64_t next_row = 1;
  std::vector<std::int64_t> open_activity(jobs);  // each job's open activity; its work has the same id
  const auto open = [&](std::uint32_t job) {
    open_activity[job] = next_row++;
    bind(put_activity, 1, open_activity[job]);
    bind(put_activity, 2, job);
    step(put_activity);
    if (legs == Legs::both) {
      bind(put_message, 1, open_activity[job]);
      bind(put_message, 2, job);
      step(put_message);
      bind(drop_message, 1, open_activity[job]);
      step(drop_message);
      bind(enter_activity, 1, open_activity[job]);
      step(enter_activity);
    }
    bind(put_work, 1, open_activity[job]);
    bind(put_work, 2, job);
    bind(put_work, 3, open_activity[job]);
    bind(put_work, 4, output);
    step(put_work);
  };
  db.run("BEGIN");
  for (std::uint32_t job = 0; job < jobs; ++job) {
    bind(put_job, 1, job);
    step(put_job);
    open(job);
  }
  db.run("COMMIT");

  const std::int64_t bytes_before = db.log_bytes();
  const auto begin = Clock::now();
  std::uint32_t in_group = 0;
  std::uint64_t done = 0;
  for (std::uint32_t round = 0; round < activities; ++round) {
    for (std::uint32_t job = 0; job < jobs; ++job) {
      if (in_group == 0) db.run("BEGIN IMMEDIATE");
      bind(move_job, 1, job);
      bind(move_job, 2, 0);
      step(move_job);
      bind(close_activity, 1, open_activity[job]);
      bind(close_activity, 2, output);
      step(close_activity);
      bind(put_ledger, 1, open_activity[job]);
      bind(put_ledger, 2, job);
      bind(put_ledger, 3, open_activity[job]);
      step(put_ledger);
      bind(drop_work, 1, open_activity[job]);
      step(drop_work);
      open(job);
      ++done;
      if (++in_group == group) {
        db.run("COMMIT");
        in_group = 0;
      }
    }
  }
  if (in_group > 0) db.run("COMMIT");
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const double bytes = static_cast<double>(db.log_bytes() - bytes_before);
  for (sqlite3_stmt* statement : {put_message, drop_message, enter_activity, put_job, move_job, put_activity,
                                  close_activity, put_ledger, put_work, drop_work})
    sqlite3_finalize(statement);
  return {static_cast<double>(done) / seconds, legs == Legs::both ? 9.0 : 6.0, bytes / static_cast<double>(done)};
}

std::vector<double> bare_commits(const std::string& path, std::uint32_t count) {
  Database db(path);
  db.run("CREATE TABLE one(id INTEGER PRIMARY KEY, value INTEGER)");
  db.run("INSERT INTO one VALUES(1, 0)");
  sqlite3_stmt* move = db.prepare("UPDATE one SET value = value + 1 WHERE id = 1");
  std::vector<double> micros;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    db.run("BEGIN IMMEDIATE");
    step(move);
    db.run("COMMIT");
    micros.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  sqlite3_finalize(move);
  std::sort(micros.begin(), micros.end());
  return micros;
}

}  // namespace pawl::bench
