// A worker with a transaction that takes too long, never returns, is cancelled, or loses its store.
#include <condition_variable>
#include <mutex>

#include "transactions/fixture.h"

namespace pawl::testing {
namespace {

using TransactionTimes = TransactionTest;

// Releases the workers that wait for it.
class Gate {
 public:
  ~Gate() { open(); }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    waiting = true;
    opened_.wait(lock, [this] { return open_; });
  }
  std::atomic<bool> waiting{false};

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

// Ends the hanging worker and the runtime, so that later tests are not affected.
void leave(std::unique_ptr<Runtime>& runtime, Gate& gate) {
  gate.open();
  runtime.reset();
}

TEST_P(TransactionTimes, one_that_takes_too_long_is_undone_and_the_others_go_on) {
  Gate gate;
  start([&](Work& work, Transaction& sql) {
    const Reply noted = note_once(work, sql);
    if (work.input().view() == "\"slow\"") gate.wait();
    return noted;
  });
  const RunId slow = submit("slow");
  ASSERT_TRUE(comes_true([&] { return gate.waiting.load(); }));
  // While it hangs: another worker, and another transaction.
  EXPECT_EQ(end_of(submit("b", "other")).status, JobStatus::completed);
  EXPECT_EQ(end_of(submit("c")).status, JobStatus::completed);
  std::this_thread::sleep_for(time_max() + 200ms);
  gate.open();
  const JobView end = end_of(slow);
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_NE(end.reason.find("longer than"), std::string::npos) << end.reason;
  EXPECT_EQ(notes(), "1");
}

TEST_P(TransactionTimes, a_statement_that_takes_too_long_is_ended) {
  const std::string sql_text =
      is_postgres() ? "SELECT pg_sleep(3600)"
                    : "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
  start([&](Work& work, Transaction& sql) {
    note_once(work, sql);
    EXPECT_FALSE(sql.execute(sql_text).ok());
    return Reply::success("1");
  });
  EXPECT_EQ(end_of(submit("a")).status, JobStatus::failed);
  EXPECT_EQ(notes(), "0");
  EXPECT_EQ(end_of(submit("b", "other")).status, JobStatus::completed);
}

TEST_P(TransactionTimes, one_that_never_returns_holds_up_nobody) {
  Gate gate;
  options_.stop_within = 100ms;
  options_.worker_grace = 100ms;
  start([&](Work& work, Transaction& sql) {
    note_once(work, sql);
    gate.wait();
    EXPECT_FALSE(sql.execute("INSERT INTO note VALUES ('late', 0)").ok());
    return Reply::success("1");
  });
  submit("stuck");
  ASSERT_TRUE(comes_true([&] { return gate.waiting.load(); }));
  EXPECT_EQ(end_of(submit("b", "other")).status, JobStatus::completed);
  runtime_->stop();
  std::this_thread::sleep_for(is_postgres() ? time_max() : Duration(0));
  leave(runtime_, gate);
  EXPECT_EQ(notes(), "0");
}

TEST_P(TransactionTimes, a_job_that_is_interrupted_meanwhile_keeps_nothing) {
  Gate gate;
  start([&](Work& work, Transaction& sql) {
    const Reply noted = note_once(work, sql);
    gate.wait();
    return noted;
  });
  const RunId run = submit("a");
  ASSERT_TRUE(comes_true([&] { return gate.waiting.load(); }));
  if (is_postgres()) {
    ASSERT_TRUE(runtime_->job(run).interrupt().ok());
    EXPECT_EQ(end_of(run).status, JobStatus::interrupted);
    gate.open();
    ASSERT_TRUE(
        comes_true([&] { return look("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'") == "0"; }));
    EXPECT_EQ(notes(), "0");
  } else {  // a file accepts no other write meanwhile: the request waits, and finds the work done or undone
    std::thread asks([&] { EXPECT_TRUE(runtime_->job(run).interrupt().ok()); });
    std::this_thread::sleep_for(50ms);
    gate.open();
    asks.join();
    const JobView end = end_of(run);
    EXPECT_EQ(notes(), end.status == JobStatus::completed ? "1" : "0");
  }
}

TEST_P(TransactionTimes, a_job_that_is_paused_meanwhile_runs_it_again) {
  if (!is_postgres()) GTEST_SKIP() << "a file takes no word while the transaction is open";
  Gate gate;
  start([&](Work& work, Transaction& sql) {
    const Reply noted = note_once(work, sql);
    gate.wait();
    return noted;
  });
  const RunId run = submit("a");
  ASSERT_TRUE(comes_true([&] { return gate.waiting.load(); }));
  ASSERT_TRUE(runtime_->job(run).pause().ok());
  ASSERT_TRUE(comes_true([&] { return runtime_->job(run).inspect()->job.status == JobStatus::paused; }));
  gate.open();
  ASSERT_TRUE(
      comes_true([&] { return look("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'") == "0"; }));
  EXPECT_EQ(notes(), "0");
  ASSERT_TRUE(runtime_->job(run).resume().ok());
  EXPECT_EQ(end_of(run).status, JobStatus::completed);
  EXPECT_EQ(notes(), "1");
}

TEST_P(TransactionTimes, a_session_that_is_lost_meanwhile_is_no_failed_try) {
  if (!is_postgres()) GTEST_SKIP() << "a file has no server";
  Gate gate;
  start([&](Work& work, Transaction& sql) {
    Reply noted = note_once(work, sql);
    if (!gate.waiting) gate.wait();
    const auto last = sql.execute("SELECT 1");
    return last ? noted : Reply::error("\"" + last.error().detail + "\"");
  });
  const RunId run = submit("a");
  ASSERT_TRUE(comes_true([&] { return gate.waiting.load(); }));
  look(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state LIKE 'idle in%' AND datname = "
      "current_database()");
  gate.open();
  EXPECT_EQ(end_of(run).status, JobStatus::completed);
  EXPECT_EQ(notes(), "1");
}

// The worker may use the server again afterwards or only return, at once or after the time of its transaction. In each
// case the work that was lost with the server runs again.
TEST_P(TransactionTimes, a_server_that_is_restarted_meanwhile_is_no_failed_try) {
  if (!is_postgres()) GTEST_SKIP() << "a file has no server";
  struct Way {
    const char* mode;
    bool asks_afterwards;
    bool late;
  };
  const Way ways[] = {{"fast", true, false},    {"fast", false, false}, {"immediate", true, false},
                      {"fast", true, true},     {"fast", false, true},  {"immediate", false, true},
                      {"immediate", true, true}};
  std::atomic<Gate*> gate{nullptr};
  std::atomic<bool> asks{false};
  start([&](Work& work, Transaction& sql) {
    Reply noted = note_once(work, sql);
    if (Gate* first = gate.exchange(nullptr)) {
      first->wait();
      if (asks) {
        const auto last = sql.execute("SELECT 1");
        if (!last) return Reply::error("\"" + last.error().detail + "\"");
      }
    }
    return noted;
  });
  int done = 0;
  for (const Way& way : ways) {
    SCOPED_TRACE(std::string(way.mode) + (way.asks_afterwards ? ", asks" : "") + (way.late ? ", late" : ""));
    Gate one;
    asks = way.asks_afterwards;
    gate = &one;
    const RunId run = submit("a" + std::to_string(done));
    ASSERT_TRUE(comes_true([&] { return one.waiting.load(); }));
    Databases::all().restart(way.mode);
    if (way.late) std::this_thread::sleep_for(time_max());
    one.open();
    const JobView end = end_of(run);
    EXPECT_EQ(end.status, JobStatus::completed) << end.reason;
    EXPECT_EQ(notes(), std::to_string(++done));
  }
}

TEST_P(TransactionTimes, the_tables_of_the_store_are_its_own) {
  if (is_postgres()) GTEST_SKIP() << "who may do what is the server's to say";
  std::string seen;
  std::mutex mutex;
  start([&](Work& work, Transaction& sql) {
    if (work.input().view() == "\"view\"") {
      const auto view = sql.execute("SELECT count(*) FROM job_view");
      return view ? Reply::success("1") : Reply::error("\"" + view.error().detail + "\"");
    }
    const std::vector<std::string> texts{"SELECT * FROM jobs",
                                         "DELETE FROM jobs",
                                         "DROP TABLE jobs",
                                         "CREATE TEMP TABLE jobs (a)",
                                         "CREATE TRIGGER x AFTER INSERT ON jobs BEGIN SELECT 1; END",
                                         "PRAGMA user_version = 7",
                                         "ATTACH 'x.db' AS x"};
    const std::string& text = texts[std::stoul(work.input().str().substr(1))];
    const auto done = sql.execute(text);
    const std::lock_guard lock(mutex);
    if (done || (done.error().detail.find("own") == std::string::npos &&
                 done.error().detail.find("refused") == std::string::npos))
      seen += "taken: " + text;
    return Reply::success("1");
  });
  const JobView view = end_of(submit("view"));
  EXPECT_EQ(view.status, JobStatus::completed) << view.reason;
  for (int i = 0; i < 7; ++i) EXPECT_EQ(end_of(submit(std::to_string(i))).status, JobStatus::failed) << i;
  EXPECT_EQ(seen, "");
}

INSTANTIATE_TEST_SUITE_P(stores, TransactionTimes, ::testing::Values("sqlite", "postgres"),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace pawl::testing
