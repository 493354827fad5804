// What other programs do to the file while a runtime is on it: a second runtime in the same process, a worker that
// forks, a file that is moved, a damaged index, a reader that never ends.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "testing.h"

namespace pawl {
namespace {

using namespace testing;
namespace fs = std::filesystem;

// Checks until it is true; fails after 20 s.
template <class Condition>
bool comes_true(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

class Problems {
 public:
  void add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    texts_.push_back(text);
  }
  bool has(const std::string& part) const {
    const std::lock_guard lock(mutex_);
    for (const std::string& text : texts_)
      if (text.find(part) != std::string::npos) return true;
    return false;
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return texts_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;  // guarded by mutex_
};

std::unique_ptr<Runtime> start_with(const RuntimeOptions& options, Problems& problems) {
  auto runtime = open_runtime(options);
  if (!runtime) return nullptr;
  runtime->on_problem([&](const std::string& text) { problems.add(text); }).keep();
  EXPECT_TRUE(runtime->serve("work", echo).ok());
  EXPECT_TRUE(runtime->launch().ok());
  return runtime;
}

TEST(Files, two_runtimes_of_one_process_share_a_file_and_keep_its_log) {
  const TempDir dir;
  const std::string path = dir / "store.db";
  auto first = start_runtime({.store = path});
  ASSERT_NE(first, nullptr);
  expect_runs(*first, "a");
  {
    auto second = start_runtime({.store = path});
    ASSERT_NE(second, nullptr);
    expect_runs(*second, "b");
  }
  read_file(path);  // as a backup library in this process would
  // Another program opens and closes the file; it must see that the file is in use.
  EXPECT_EQ(shell("sqlite3 '" + path + "' 'SELECT count(*) FROM jobs'").output, "2\n");
  EXPECT_TRUE(fs::exists(path + "-wal"));
  expect_runs(*first, "c");
  first.reset();
  EXPECT_EQ(shell("sqlite3 '" + path + "' 'SELECT count(*) FROM jobs; PRAGMA integrity_check'").output, "3\nok\n");
}

TEST(Files, a_worker_that_forks_does_not_keep_the_lanes_when_its_process_is_killed) {
  const TempDir dir;
  const std::string path = dir / "store.db";
  int line[2];
  ASSERT_EQ(pipe(line), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    auto runtime = start_runtime({.store = path}, [&](Work& work) {
      const pid_t sleeper = fork();
      if (sleeper == 0)
        for (;;) pause();
      if (write(line[1], &sleeper, sizeof sleeper) != sizeof sleeper) _exit(1);
      return echo(work);
    });
    if (!runtime || !runtime->start("chain", Payload("x"), {.id = "a"})) _exit(1);
    for (;;) pause();
  }
  pid_t sleepers[2] = {};
  ASSERT_EQ(read(line[0], sleepers, sizeof sleepers[0]), static_cast<ssize_t>(sizeof sleepers[0]));
  ASSERT_EQ(read(line[0], &sleepers[1], sizeof sleepers[1]), static_cast<ssize_t>(sizeof sleepers[1]));
  auto next = start_runtime({.store = path});
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  ASSERT_NE(next, nullptr);
  EXPECT_TRUE(comes_true([&] { return next->owns(); }));
  expect_runs(*next, "later");
  for (const pid_t sleeper : sleepers) kill(sleeper, SIGKILL);
  close(line[0]);
  close(line[1]);
}

TEST(Files, a_file_that_is_moved_away_takes_no_jobs_says_so_and_goes_on_when_it_is_back) {
  const TempDir dir;
  const std::string path = dir / "store.db";
  Problems problems;
  auto runtime = start_with({.store = path}, problems);
  ASSERT_NE(runtime, nullptr);
  expect_runs(*runtime, "before");
  fs::rename(path, dir / "moved.db");
  const auto lost = runtime->start("chain", Payload("x"), {.id = "meanwhile"});
  EXPECT_TRUE(fails_with(lost, ErrorCode::outcome_unknown, {}));  // it was written to a file that no process will open
  EXPECT_TRUE(comes_true([&] { return problems.has("moved away"); }));
  EXPECT_TRUE(fails_with(runtime->start("chain", Payload("x"), {.id = "more"}), ErrorCode::retry_later,
                         {"moved away", "back in its place"}));
  fs::rename(dir / "moved.db", path);
  EXPECT_TRUE(comes_true([&] { return runtime->start("chain", Payload("x"), {.id = "after"}).ok(); }));
  const auto run = runtime->find("after");
  ASSERT_TRUE(run.ok() && run->has_value());
  EXPECT_TRUE((*run)->wait(20s).ok());
}

TEST(Files, a_damaged_index_is_built_again_and_is_no_flood_of_reports) {
  const TempDir dir;
  const std::string path = dir / "store.db";
  Problems problems;
  auto runtime = start_with({.store = path}, problems);
  ASSERT_NE(runtime, nullptr);
  expect_runs(*runtime, "before");
  {
    // Both copies of its header. SQLite trusts what is behind it.
    std::fstream index(path + "-shm", std::ios::binary | std::ios::in | std::ios::out);
    index.write(std::string(136, '\x5a').data(), 136);
  }
  for (int i = 0; i < 20; ++i) {
    const auto job = runtime->start("chain", Payload("x"), {.id = "j" + std::to_string(i)});
    EXPECT_TRUE(!job || job->wait(20s).ok());
  }
  expect_runs(*runtime, "after");
  EXPECT_LT(problems.size(), 10u);
  runtime.reset();
  EXPECT_EQ(shell("sqlite3 '" + path + "' 'PRAGMA integrity_check'").output, "ok\n");
}

TEST(Files, a_reader_that_never_ends_is_named_and_bounds_the_log) {
  const TempDir dir;
  const std::string path = dir / "store.db";
  { ASSERT_NE(start_runtime({.store = path}), nullptr); }
  // A shell with an open transaction, which this test ends by closing its input.
  Problems problems;
  auto runtime = start_with({.store = path, .log_bytes_max = 40u << 20}, problems);
  ASSERT_NE(runtime, nullptr);
  std::FILE* reader = popen(("exec sqlite3 '" + path + "' > '" + path + ".out'").c_str(), "w");
  ASSERT_NE(reader, nullptr);
  std::fputs("BEGIN; SELECT count(*) FROM jobs;\n", reader);
  std::fflush(reader);
  ASSERT_TRUE(comes_true([&] { return !read_file(path + ".out").empty(); }));
  Error refused{ErrorCode::invalid, ""};
  const std::string large(1u << 20, 'x');
  for (int i = 0; i < 200 && refused.detail.empty(); ++i) {
    const auto job = runtime->start("chain", Payload(large), {.id = "j" + std::to_string(i), .delay = 1h});
    if (!job) refused = job.error();
  }
  EXPECT_EQ(refused.code, ErrorCode::retry_later);
  EXPECT_NE(refused.detail.find("(sqlite3) keeps a transaction open"), std::string::npos) << refused.detail;
  EXPECT_LT(fs::file_size(path + "-wal"), 50u << 20);
  EXPECT_TRUE(comes_true([&] { return problems.has("(sqlite3)"); }));
  pclose(reader);
  EXPECT_TRUE(comes_true([&] { return runtime->start("chain", Payload("x"), {.id = "later"}).ok(); }));
  EXPECT_TRUE(comes_true([&] { return fs::file_size(path + "-wal") < 70u << 20; }));
}

}  // namespace
}  // namespace pawl
