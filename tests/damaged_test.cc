// A row that no store can have written: its own job stops, this is reported once, and all other jobs continue. Every
// column of the tables of jobs, one at a time.
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "testing.h"

namespace pawl {
namespace {

using namespace testing;
namespace fs = std::filesystem;

std::string query(const std::string& path, const std::string& sql) {
  const Ran ran = shell("sqlite3 -cmd '.timeout 5000' '" + path + "' \"" + sql + "\"");  // while an owner runs
  EXPECT_EQ(ran.exit_code, 0) << sql << ": " << ran.output;
  return ran.output;
}

// Nine jobs: three wait for a worker, three for their time, three have a start message that was not taken yet.
const std::vector<std::string> all_jobs = {"w0", "w1", "w2", "d0", "d1", "d2", "i0", "i1", "i2"};

class Damaged : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto runtime = open_runtime({.store = template_path()});
    ASSERT_NE(runtime, nullptr);
    ASSERT_TRUE(runtime->launch().ok());
    for (const std::string& id : all_jobs) {
      const Duration delay = id[0] != 'w' ? Duration(10min) : Duration(0);
      ASSERT_TRUE(runtime->start("chain", Payload("x"), {.id = id, .delay = delay}).ok());
    }
    const auto waits = [&] {
      return query(template_path(), "SELECT count(*) FROM activities WHERE request IS NOT NULL") == "3\n";
    };
    while (!waits()) continue;
    runtime.reset();
    query(template_path(),
          "INSERT INTO inbox (run, guid, redeliveries, body) SELECT t.run, t.guid, 0, t.body FROM timers t JOIN jobs j"
          " ON j.run = t.run WHERE j.job_id LIKE 'i_'; DELETE FROM timers WHERE run IN (SELECT run FROM inbox);"
          " UPDATE timers SET due = 1000");
  }
  std::string template_path() const { return dir_ / "template.db"; }

  // The damaged one may end in any way, or never.
  void expect_others_end(const std::string& damaged, const std::string& what) {
    SCOPED_TRACE(what);
    const std::string path = dir_ / "case.db";
    fs::copy_file(template_path(), path, fs::copy_options::overwrite_existing);
    for (const char* left : {"-wal", "-shm", "-owner"}) fs::remove(path + left);
    if (shell("sqlite3 '" + path + "' \"" + what + "\"").exit_code != 0) return;  // SQLite itself refuses it
    ++cases_;
    std::mutex mutex;
    std::map<std::string, int> problems;
    auto runtime = open_runtime({.store = path});
    ASSERT_NE(runtime, nullptr);
    runtime
        ->on_problem([&](const std::string& text) {
          const std::lock_guard lock(mutex);
          ++problems[text];
        })
        .keep();
    ASSERT_TRUE(runtime->serve("work", echo).ok());
    ASSERT_TRUE(runtime->launch().ok());
    for (const std::string& id : all_jobs) {
      if (id == damaged) continue;
      const auto run = runtime->find(id);
      ASSERT_TRUE(run.ok() && run->has_value()) << id;
      const auto end = (*run)->wait(20s);
      ASSERT_TRUE(end.ok()) << id << ": " << to_string(end.error());
      EXPECT_EQ(end->status, JobStatus::completed) << id << ": " << end->reason;
    }
    expect_runs(*runtime, "later");
    runtime->stop();
    for (const auto& [text, count] : problems) EXPECT_EQ(count, 1) << text;
    if (!problems.empty()) ++reported_;
  }

  TempDir dir_;
  int cases_ = 0;
  int reported_ = 0;
};

TEST_P(Damaged, every_column) {
  const std::string table = GetParam();
  const std::string damaged = table == "timers" ? "d0" : table == "inbox" ? "i0" : "w0";
  std::istringstream columns(query(template_path(), "SELECT name, type FROM pragma_table_info('" + table + "')"));
  std::string line;
  while (std::getline(columns, line)) {
    const std::string name = line.substr(0, line.find('|'));
    const std::string type = line.substr(line.find('|') + 1);
    std::vector<std::string> values = {type == "TEXT" ? "x'ff'" : "'x'"};
    if (type == "INTEGER") values.push_back("-7");
    for (const std::string& value : values) {
      std::string where = "run = (SELECT run FROM jobs WHERE job_id = '" + damaged + "')";
      if (table == "activities") where += " AND seq = 1";
      expect_others_end(damaged, "UPDATE " + table + " SET " + name + " = " + value + " WHERE " + where);
      if (HasFatalFailure()) return;
    }
  }
  std::printf("%s: %d cases, %d of them reported\n", table.c_str(), cases_, reported_);
  EXPECT_GE(cases_, 5);
  EXPECT_GE(reported_, 3);
}

INSTANTIATE_TEST_SUITE_P(tables, Damaged, ::testing::Values("jobs", "activities", "inbox", "timers"),
                         [](const auto& one) { return one.param; });

TEST(DamagedJob, is_parked_and_says_why) {
  const TempDir dir;
  const std::string path = dir / "pawl.db";
  {
    auto runtime = open_runtime({.store = path});
    ASSERT_NE(runtime, nullptr);
    ASSERT_TRUE(runtime->launch().ok());
    ASSERT_TRUE(runtime->start("chain", Payload("x"), {.id = "bad"}).ok());
    while (query(path, "SELECT count(*) FROM activities WHERE request IS NOT NULL") != "1\n") continue;
  }
  query(path, "UPDATE activities SET life = x'ff' WHERE seq = 1");
  auto runtime = start_runtime({.store = path});
  ASSERT_NE(runtime, nullptr);
  const auto parked = [&] {
    JobFilter filter;
    const auto jobs = runtime->list(filter);
    return jobs.ok() && jobs->size() == 1 && jobs->front().status == JobStatus::parked ? jobs->front().reason : "";
  };
  while (parked().empty()) continue;
  EXPECT_NE(parked().find("work item 1 is malformed"), std::string::npos) << parked();
  // After the row is repaired, the job continues.
  query(path, "UPDATE activities SET life = NULL WHERE seq = 1");
  const auto run = runtime->find("bad");
  ASSERT_TRUE((*run)->redrive().ok());
  const auto end = (*run)->wait(20s);
  ASSERT_TRUE(end.ok()) << to_string(end.error());
  EXPECT_EQ(end->status, JobStatus::completed);
}

TEST(DamagedJob, under_duplex_is_parked_once_and_the_others_end) {
  // Claim: a job with an unreadable row stops and reports why, as under the other collation. Checked with a row of its
  // activity and with its own row, before the worker and before its reply.
  for (const std::string& damage : {std::string("UPDATE duplex_cells SET state = 'x' WHERE node = 1 AND run ="),
                                    std::string("UPDATE jobs SET created_at = 'x' WHERE run =")}) {
    SCOPED_TRACE(damage);
    const TempDir dir;
    const std::string path = dir / "pawl.db";
    const auto open = [&] {
      auto opened = pawl::open({.store = path});
      EXPECT_TRUE(opened.ok());
      auto graph =
          GraphBuilder("double").trigger("t").worker("act", "work").after("t").collation(Collation::duplex).build();
      EXPECT_TRUE(opened->deploy(std::move(*graph)).ok());
      return std::make_unique<Runtime>(std::move(*opened));
    };
    {
      auto runtime = open();
      ASSERT_TRUE(runtime->launch().ok());
      for (const char* id : {"bad", "good"}) ASSERT_TRUE(runtime->start("double", Payload("x"), {.id = id}).ok());
      while (query(path, "SELECT count(*) FROM duplex_stream WHERE topic = 'work' AND done = 0") != "2\n") continue;
    }
    query(path, damage + " (SELECT run FROM jobs WHERE job_id = 'bad')");
    std::mutex mutex;
    std::map<std::string, int> problems;
    auto runtime = open();
    runtime
        ->on_problem([&](const std::string& text) {
          const std::lock_guard lock(mutex);
          ++problems[text];
        })
        .keep();
    ASSERT_TRUE(runtime->serve("work", echo).ok());
    ASSERT_TRUE(runtime->launch().ok());
    EXPECT_EQ((*runtime->find("good"))->wait(20s)->status, JobStatus::completed);
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (query(path, "SELECT status FROM jobs WHERE job_id = 'bad'") != "4\n" &&
           std::chrono::steady_clock::now() < until)
      continue;
    const std::string reason = query(path, "SELECT reason FROM jobs WHERE job_id = 'bad'");
    EXPECT_TRUE(reason.starts_with("corrupt: ")) << reason;
    std::this_thread::sleep_for(2500ms);  // it would be given back every second
    runtime->stop();
    EXPECT_EQ(problems.size(), 1u);
    for (const auto& [text, count] : problems) EXPECT_EQ(count, 1) << text;
  }
}

}  // namespace
}  // namespace pawl
