#include "flat_fill.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <memory>
#include <vector>

#include "flat_jobs.h"
#include "jobs.h"
#include "pawl/pawl.h"

namespace pawl::bench {

namespace {

constexpr std::uint64_t jobs_per_copy = 50'000;

class Database {
 public:
  explicit Database(const std::string& path) {
    if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK) fail("open");
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { sqlite3_close(handle_); }

  void run(const std::string& sql) {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(sql);
  }
  std::vector<std::vector<std::string>> rows(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) fail(sql);
    std::vector<std::vector<std::string>> found;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      std::vector<std::string> row;
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        row.emplace_back(text == nullptr ? "" : text);
      }
      found.push_back(std::move(row));
    }
    if (sqlite3_finalize(statement) != SQLITE_OK) fail(sql);
    return found;
  }

 private:
  [[noreturn]] void fail(const std::string& what) {
    fmt::print(stderr, "{}: {}\n", what, sqlite3_errmsg(handle_));
    std::exit(1);
  }
  sqlite3* handle_ = nullptr;
};

void run_job(Runtime& runtime, const std::string& graph, const std::string& input, StartOptions options,
             JobStatus expected) {
  const auto job = must(runtime.start(graph, Payload(input), std::move(options)));
  const auto end = must(job.wait(std::chrono::seconds(30)));
  if (end.status == expected) return;
  fmt::print(stderr, "a job of {} ended as {}: {}\n", graph, name_of(end.status), end.reason);
  std::exit(1);
}

// The jobs that are copied. Their ids say how often: "often", "tenth", or "rare-".
void run_originals(const std::string& path) {
  auto runtime = open_flat(path);
  must(runtime->launch());
  run_job(*runtime, "one", "{}", {.id = "often"}, JobStatus::completed);
  run_job(*runtime, "sells", R"({"id":"a","shop":"north"})", {.id = "tenth"}, JobStatus::completed);
  run_job(*runtime, "one", R"("refuse")", {.id = "rare-failed"}, JobStatus::failed);
  run_job(*runtime, "mends", R"("refuse")", {.id = "rare-mended"}, JobStatus::completed);
  run_job(*runtime, "one", "{}", {.id = "rare-aside", .name_space = "aside"}, JobStatus::completed);
  run_job(*runtime, "sells", R"({"id":"a","shop":"south"})", {.id = "rare-south"}, JobStatus::completed);
  runtime->stop();
}

// One statement for each table that has rows of a job: the copies of what "batch" names.
std::vector<std::string> copies_of_tables(Database& database) {
  std::vector<std::string> statements;
  for (const auto& table : database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")) {
    std::string columns;
    std::string values;
    bool of_job = false;
    for (const auto& column : database.rows(fmt::format("PRAGMA table_info({})", table[0]))) {
      const std::string& name = column[1];
      std::string value = "t." + name;
      of_job = of_job || name == "run";
      if (name == "run") value = "b.run";
      if (name == "job_id") value = "b.id";
      if (name == "id" && column[5] == "1") continue;  // a growing number
      if (name == "closing_guid") value = "CASE WHEN t.closing_guid IS NULL THEN NULL ELSE randomblob(16) END";
      if (name.ends_with("_at") && name != "remove_at" && name != "visible_at" && name != "wake_at")
        value = fmt::format("CASE t.{0} WHEN 0 THEN 0 ELSE t.{0} + b.later END", name);
      columns += (columns.empty() ? "" : ", ") + name;
      values += (values.empty() ? "" : ", ") + value;
    }
    if (!of_job || table[0] == "announcements" || table[0] == "start_keys") continue;
    if (database.rows(fmt::format("SELECT 1 FROM {} LIMIT 1", table[0])).empty()) continue;
    statements.push_back(fmt::format("INSERT INTO {0} ({1}) SELECT {2} FROM batch b CROSS JOIN {0} t"
                                     " ON t.run = b.original ORDER BY b.run",
                                     table[0], columns, values));
  }
  // In their order, which is quick: the next batch comes between them, so the pages are as full as usual.
  statements.push_back("INSERT INTO start_keys (part, namespace, job_id, run)"
                       " SELECT b.run >> 17, j.namespace, b.id, b.run"
                       " FROM batch b CROSS JOIN jobs j ON j.run = b.original ORDER BY 1, 2, b.id");
  return statements;
}

void copy(Database& database, const std::vector<std::string>& tables) {
  for (const std::string& statement : tables) database.run(statement);
  database.run("DELETE FROM batch");
}

// The store makes the filters of its full parts a few rows in each commit: a file that grew by running jobs has them.
void make_filters(Database& database, const std::string& path) {
  auto runtime = open_flat(path);
  must(runtime->launch());
  int made = 0;
  // Two selects: SQLite finds the least or the greatest key by the tree, but not both at once.
  while (database.rows("SELECT 1 WHERE (SELECT count(*) FROM key_filters) <"
                       " (SELECT max(part) FROM start_keys) - (SELECT min(part) FROM start_keys)")
             .size() == 1)
    run_job(*runtime, "one", "{}", {.id = fmt::format("filter-{}", made++)}, JobStatus::completed);
  runtime->stop();
}

}  // namespace

std::uint64_t bytes_of(std::uint64_t jobs) { return jobs * 900 + (std::uint64_t{2} << 30); }

void fill(const std::string& path, std::uint64_t jobs) {
  remove_store(path);
  run_originals(path);
  Database database(path);
  database.run("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; PRAGMA temp_store = MEMORY;"
               " CREATE TEMP TABLE batch (run INTEGER PRIMARY KEY, id TEXT, original INTEGER, later INTEGER)");
  const auto lanes = database.rows("SELECT DISTINCT run >> 47 FROM jobs");
  if (lanes.size() != 1) {
    fmt::print(stderr, "the jobs are in {} lanes\n", lanes.size());
    std::exit(1);
  }
  // A millisecond apart, and all of them in the past.
  database.run(fmt::format("UPDATE jobs SET created_at = created_at - {0}, closed_at = closed_at - {0};"
                           " UPDATE activities SET opened_at = opened_at - {0}, closed_at = closed_at - {0}",
                           (jobs + 1000) * 1000));
  const auto tables = copies_of_tables(database);
  const std::string& lane = lanes[0][0];
  const auto first = std::stoull(database.rows("SELECT next_run FROM lanes WHERE lane = " + lane)[0][0]);
  std::uint64_t made = 0;
  const auto add = [&](std::uint64_t count, const std::string& original) {
    database.run(fmt::format("WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {0} - 1)"
                             " INSERT INTO batch SELECT ({1} << 47) + {2} + i, lower(hex(randomblob(16))), {3},"
                             " 1000 * ({4} + i) FROM n",
                             count, lane, first + made, original, made));
    made += count;
  };
  const auto begun = std::chrono::steady_clock::now();
  bool rare = false;
  while (made < jobs) {
    database.run("BEGIN");
    if (!rare && made >= jobs / 2) {
      for (const auto& row : database.rows("SELECT run FROM jobs WHERE job_id LIKE 'rare-%'")) add(rare_jobs, row[0]);
      database.run("UPDATE batch SET id = printf('rare-%d', run)");
      rare = true;
    }
    add(std::min(jobs_per_copy, jobs - made),
        "CASE i % 10 WHEN 9 THEN (SELECT run FROM jobs WHERE job_id = 'tenth')"
        " ELSE (SELECT run FROM jobs WHERE job_id = 'often') END");
    copy(database, tables);
    database.run(fmt::format("UPDATE lanes SET next_run = {} WHERE lane = {}", first + made, lane));
    database.run("COMMIT");
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    fmt::print(stderr, "\rfilled {} of {} jobs, {:.0f} s", made, jobs, seconds);
  }
  fmt::print(stderr, "\n");
  // None of these rows has work: nobody need look.
  database.run("UPDATE store_state SET unlisted_from = 1 + (SELECT max(id) FROM activities);"
               " PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)");
  make_filters(database, path);
}

}  // namespace pawl::bench
