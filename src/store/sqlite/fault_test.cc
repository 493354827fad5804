// Faults below the store: what fails, what is reported, and what the file holds afterwards.
#include <fcntl.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "store/sqlite/child_process_test.h"
#include "store/sqlite/fault_vfs.h"
#include "store/sqlite/file_test.h"

namespace pawl::store::sqlite {

class FaultTest : public FileTest {
 protected:
  void SetUp() override {
    test::FaultVfs::install();
    open_bench(options());
    await_checkpoint();
  }
  void TearDown() override { test::set_fault_plan(nullptr); }

  Options options() {
    Options options;
    options.vfs = test::FaultVfs::name;
    options.on_fatal = [this](const std::string& message) {
      const std::lock_guard lock(mutex_);
      fatal_ = message;
    };
    return options;
  }
  std::string fatal() {
    const std::lock_guard lock(mutex_);
    return fatal_;
  }
  // A thread of the store makes the first one when the store becomes the owner.
  void await_checkpoint() {
    while (sqlite().stats().checkpoints == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  // Fails the nth such call of this thread from now on, once, with `code`.
  void fail(test::Call which, int nth, int code) {
    fired_ = false;
    test::set_fault_plan([this, which, nth, code, left = nth, self = std::this_thread::get_id()](
                             test::Call call, std::string_view) mutable {
      if (call != which || std::this_thread::get_id() != self || left-- != 0) return SQLITE_OK;
      fired_ = true;
      return code;
    });
  }
  bool heal() {  // whether it fired
    test::set_fault_plan(nullptr);
    return fired_;
  }

  bool exists(const std::string& id) {
    const auto found = store_->find_run(Namespace("default"), JobId(id));
    EXPECT_TRUE(found);
    return found && found->has_value();
  }

 private:
  std::atomic<bool> fired_{false};
  std::mutex mutex_;
  std::string fatal_;  // guarded by mutex_
};

class WriteFaultTest : public FaultTest, public testing::WithParamInterface<int> {};

TEST_P(WriteFaultTest, at_any_write_of_a_commit_leaves_all_or_nothing) {
  // Claim: whichever write of a commit fails, the group is retry_later and leaves no trace, and the same group commits
  // afterwards. Checked by failing the nth write for every n until none is left to fail. The inputs are large: the log
  // is written in pieces (log_vfs.h), and this takes several.
  const Payload large = '"' + std::string(300'000, 'x') + '"';
  int rounds = 0;
  for (bool fired = true; fired; ++rounds) {
    ASSERT_LT(rounds, 1000);
    const std::string id = "job-" + std::to_string(rounds);
    const std::vector<Operation> group{a_submit(lane_, id, large), a_submit(lane_, id + "-too", large)};
    fail(test::Call::write, rounds, GetParam());
    const auto outcomes = store_->commit(group);
    fired = heal();
    if (!fired) {
      EXPECT_TRUE(outcomes) << to_string(outcomes.error());
      break;
    }
    ASSERT_FALSE(outcomes) << "write " << rounds;
    EXPECT_EQ(outcomes.error().code, ErrorCode::retry_later) << outcomes.error().detail;
    EXPECT_FALSE(exists(id));
    for (const Outcome& outcome : commit_all(group)) EXPECT_EQ(outcome.kind, OutcomeKind::committed);
    EXPECT_TRUE(exists(id));
  }
  EXPECT_GT(rounds, 3);
  EXPECT_TRUE(sqlite().verify());
  EXPECT_EQ(fatal(), "");
}
INSTANTIATE_TEST_SUITE_P(Codes, WriteFaultTest, testing::Values(SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_NOMEM),
                         [](const auto& one) { return "code_" + std::to_string(one.param); });

class OpenFaultTest : public FaultTest, public testing::WithParamInterface<std::pair<test::Call, int>> {};

TEST_P(OpenFaultTest, at_any_call_of_an_open_is_said_and_leaves_the_file_whole) {
  // Claim: whichever call of an open fails, the open is refused or succeeds, and the next open finds everything.
  // Checked by failing the nth call for every n until none is left to fail.
  const auto [call, code] = GetParam();
  submit("before");
  int rounds = 0;
  for (bool fired = true; fired; ++rounds) {
    ASSERT_LT(rounds, 1000);
    store_.reset();
    fail(call, rounds, code);
    auto opened = Store::open(path(), options());
    fired = heal();
    EXPECT_TRUE(opened || opened.error().detail.find(path()) != std::string::npos);
    if (opened) opened->reset();
    store_ = make(options());
    ASSERT_NE(store_, nullptr) << "call " << rounds;
    EXPECT_TRUE(exists("before"));
  }
  EXPECT_GT(rounds, 3);
  EXPECT_TRUE(sqlite().verify());
}
INSTANTIATE_TEST_SUITE_P(Calls, OpenFaultTest,
                         testing::Values(std::pair{test::Call::open, SQLITE_CANTOPEN},
                                         std::pair{test::Call::read, SQLITE_IOERR_READ}),
                         [](const auto& one) {
                           return one.param.first == test::Call::read ? std::string("read") : std::string("open");
                         });

TEST_F(FaultTest, at_any_read_of_a_commit_or_a_look_gives_an_error_or_the_truth) {
  // Claim: a failed read of the disk makes a call fail and never gives a wrong answer. Checked with a store whose pages
  // are not in memory yet, by failing the nth read for every n until none is left to fail.
  for (int i = 0; i < 300; ++i) submit("job-" + std::to_string(i));
  int rounds = 0, failed = 0;
  for (bool fired = true; fired; ++rounds) {
    ASSERT_LT(rounds, 1000);
    store_.reset();
    store_ = make(options());
    ASSERT_NE(store_, nullptr);
    const std::string id = "new-" + std::to_string(rounds);
    const std::vector<Operation> group{a_submit(lane_, id), a_submit(lane_, id + "-too")};
    fail(test::Call::read, rounds, SQLITE_IOERR_READ);
    const auto found = store_->find_run(Namespace("default"), JobId("job-7"));
    const auto list = store_->list_jobs({.rows_max = 1000});
    const auto outcomes = store_->commit(group);
    fired = heal();
    failed += (!found || !list || !outcomes) ? 1 : 0;
    EXPECT_TRUE(!found || found->has_value());
    EXPECT_TRUE(!list || list->size() >= 300);
    EXPECT_TRUE(outcomes || outcomes.error().code == ErrorCode::retry_later);
    EXPECT_EQ(exists(id), outcomes.ok());
    EXPECT_EQ(exists(id + "-too"), outcomes.ok());
    if (outcomes) continue;
    for (const Outcome& outcome : commit_all(group)) EXPECT_EQ(outcome.kind, OutcomeKind::committed);
  }
  EXPECT_GT(failed, 5);
  EXPECT_TRUE(sqlite().verify());
}

// Sectors of the database file that cannot be read, and what is read from it meanwhile.
class BadSectorTest : public FaultTest {
 protected:
  using Places = std::set<sqlite3_int64>;
  // No page is in memory.
  void open_cold() {
    store_.reset();
    store_ = make(options());
    ASSERT_NE(store_, nullptr);
  }
  void break_at(std::function<bool(sqlite3_int64)> is_bad) {
    test::set_fault_plan(
        [this, is_bad = std::move(is_bad), self = std::this_thread::get_id()](test::Call call, std::string_view file) {
          if (call != test::Call::read || file != path() || std::this_thread::get_id() != self) return SQLITE_OK;
          const sqlite3_int64 at = test::fault_plan_holder().at;
          read_.insert(at);
          return is_bad(at) ? SQLITE_IOERR_READ : SQLITE_OK;
        });
  }
  // What a commit of these reads from the file.
  Places read_by(const std::vector<Operation>& group) {
    open_cold();
    read_.clear();
    break_at([](sqlite3_int64) { return false; });
    EXPECT_TRUE(store_->commit(group));
    heal();
    return read_;
  }

  Places read_;
};

TEST_F(BadSectorTest, stops_the_operation_that_needs_it_and_no_other) {
  // Claim: a page that the disk does not return refuses the operations that need it, with the error that was seen; the
  // rest of the group is committed. Checked with every page that one job's bundle reads and a submit does not.
  const Payload input(std::string(3000, 'x'));
  std::vector<RunId> runs;
  for (int i = 0; i < 300; ++i) runs.push_back(submit("job-" + std::to_string(i)));
  const Operation bundle = bundle_with(runs[7], {core::PutActivity{std::nullopt, activity(0)}});
  Places only_its;
  {
    const Places others = read_by({a_submit(lane_, "other-1", input)});
    for (const sqlite3_int64 at : read_by({bundle}))
      if (at != 0 && !others.contains(at)) only_its.insert(at);
  }
  ASSERT_FALSE(only_its.empty());
  int refused = 0, number = 0;
  std::uint32_t next = 1;  // of its activities
  for (const sqlite3_int64 bad : only_its) {
    open_cold();
    const std::string id = "new-" + std::to_string(++number);
    const Operation again = bundle_with(runs[7], {core::PutActivity{std::nullopt, activity(next)}});
    break_at([&](sqlite3_int64 at) { return at == bad; });
    const auto outcomes =
        store_->commit(std::vector<Operation>{a_submit(lane_, id), again, a_submit(lane_, id + "-too")});
    heal();
    ASSERT_TRUE(outcomes) << to_string(outcomes.error());
    EXPECT_EQ((*outcomes)[0].kind, OutcomeKind::committed);
    EXPECT_EQ((*outcomes)[2].kind, OutcomeKind::committed);
    EXPECT_TRUE(exists(id) && exists(id + "-too"));
    if ((*outcomes)[1].done()) ++next;
    if ((*outcomes)[1].kind != OutcomeKind::rejected) continue;
    ++refused;
    EXPECT_NE((*outcomes)[1].reason.find("disk I/O error"), std::string::npos) << (*outcomes)[1].reason;
  }
  EXPECT_GT(refused, 0);
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(BadSectorTest, a_disk_that_gives_nothing_back_delays_the_whole_group) {
  std::vector<RunId> runs;
  for (int i = 0; i < 300; ++i) runs.push_back(submit("job-" + std::to_string(i)));
  const std::vector<Operation> group{a_submit(lane_, "new"),
                                     bundle_with(runs[7], {core::PutActivity{std::nullopt, activity(0)}})};
  // From the nth page on: what was read before is cached, the rest of the disk is gone.
  int delayed = 0;
  for (std::size_t good = 0; good < 50; ++good) {
    open_cold();
    read_.clear();
    break_at([&](sqlite3_int64) { return read_.size() > good; });
    const auto outcomes = store_->commit(group);
    const bool broken = read_.size() > good;
    heal();
    if (!broken) {
      ASSERT_TRUE(outcomes) << "nothing was broken any more";
      for (const Outcome& outcome : *outcomes) EXPECT_EQ(outcome.kind, OutcomeKind::committed);
      break;
    }
    ASSERT_FALSE(outcomes) << good << " pages could be read";
    EXPECT_EQ(outcomes.error().code, ErrorCode::retry_later);
    EXPECT_FALSE(exists("new"));
    ++delayed;
  }
  EXPECT_GT(delayed, 3);
  EXPECT_TRUE(exists("new"));
}

TEST_F(BadSectorTest, a_read_that_fails_twice_refuses_nobody) {
  // Claim: an error that passes within a few tries is not reported. Pages that are read first concern all operations:
  // there the group waits.
  for (int i = 0; i < 300; ++i) submit("job-" + std::to_string(i));
  int committed = 0, number = 0;
  for (const sqlite3_int64 bad : read_by({a_submit(lane_, "other")})) {
    open_cold();
    int left = 2;
    break_at([&](sqlite3_int64 at) { return at == bad && left-- > 0; });
    const auto outcomes = store_->commit(std::vector<Operation>{a_submit(lane_, "new-" + std::to_string(++number))});
    heal();
    if (!outcomes) {
      EXPECT_EQ(outcomes.error().code, ErrorCode::retry_later);
      continue;
    }
    EXPECT_EQ(outcomes->front().kind, OutcomeKind::committed) << outcomes->front().reason;
    if (left < 0) ++committed;
  }
  EXPECT_GT(committed, 0);
}

TEST_F(FaultTest, at_any_sync_ends_the_process_and_the_next_one_finds_what_was_acknowledged) {
  // Claim: whichever sync fails, of a commit or of a copy of the log, the process is ended, nothing is acknowledged
  // after it, and what was acknowledged before is there for the next process.
  std::vector<std::string> acknowledged;
  for (int nth = 0; nth < 12; ++nth) {
    store_.reset();
    Options often = options();
    often.checkpoint_pages = 20;
    auto opened = Store::open(path(), often);
    ASSERT_TRUE(opened) << to_string(opened.error());
    store_ = std::move(*opened);
    std::atomic<int> left = nth;
    test::set_fault_plan([&](test::Call call, std::string_view) {
      return call == test::Call::sync && left-- <= 0 ? SQLITE_IOERR_FSYNC : SQLITE_OK;
    });
    for (int i = 0; fatal().empty(); ++i) {
      ASSERT_LT(i, 1000);
      const std::string id = std::to_string(nth) + "-" + std::to_string(i);
      const std::vector<Operation> group{a_submit(lane_, id, Payload(std::string(9000, 'x')))};
      if (store_->commit(group)) acknowledged.push_back(id);
    }
    const std::vector<Operation> late{a_submit(lane_, std::to_string(nth) + "-late")};
    EXPECT_FALSE(store_->commit(late));
    store_.reset();
    heal();
    options().on_fatal("");
  }
  store_ = make(options());
  ASSERT_NE(store_, nullptr);
  EXPECT_GT(acknowledged.size(), 20u);
  for (const std::string& id : acknowledged) EXPECT_TRUE(exists(id)) << id;
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(FaultTest, a_failed_sync_ends_the_process) {
  test::set_fault_plan(
      [](test::Call call, std::string_view) { return call == test::Call::sync ? SQLITE_IOERR_FSYNC : SQLITE_OK; });
  const std::vector<Operation> group{a_submit(lane_, "a")};
  const auto outcomes = store_->commit(group);
  heal();
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().code, ErrorCode::outcome_unknown);
  EXPECT_NE(fatal().find("sync"), std::string::npos) << fatal();
  EXPECT_NE(fatal().find(path()), std::string::npos) << fatal();
  // If the embedding program continues anyway, nothing more is written.
  const auto later = store_->commit(group);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, ErrorCode::retry_later);
}

TEST_F(FaultTest, a_failed_sync_aborts_when_nobody_asked_for_anything_else) {
  store_.reset();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        test::FaultVfs::install();
        Options options;
        options.vfs = test::FaultVfs::name;
        auto opened = Store::open(path(), options);
        test::set_fault_plan([](test::Call call, std::string_view) {
          return call == test::Call::sync ? SQLITE_IOERR_FSYNC : SQLITE_OK;
        });
        const std::vector<Operation> group{a_submit(lane_, "a")};
        const auto outcomes = (*opened)->commit(group);
      },
      "a sync of .* failed");
}

class BusyTest : public FileTest {};

TEST_F(BusyTest, a_file_that_stays_locked_delays_the_group) {
  Options options;
  options.busy_wait = std::chrono::milliseconds(20);
  open_bench(options);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  sqlite3_busy_timeout(other, 20'000);  // the checkpointer may be working
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  const std::vector<Operation> group{a_submit(lane_, "a")};
  const auto outcomes = store_->commit(group);
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().code, ErrorCode::retry_later);
  EXPECT_NE(outcomes.error().detail.find("another program"), std::string::npos);
  sqlite3_close(other);
  EXPECT_EQ(commit_all(group).front().kind, OutcomeKind::committed);
}

class LogTest : public FileTest {};

TEST_F(LogTest, stays_bounded_while_commits_go_on) {
  Options options;
  options.checkpoint_pages = 200;
  open_bench(options);
  const Payload input(std::string(20'000, 'x'));
  for (int i = 0; i < 4000; ++i)
    ASSERT_EQ(kind_of(a_submit(lane_, "job-" + std::to_string(i), input)), OutcomeKind::committed);
  const Stats stats = sqlite().stats();
  EXPECT_GT(stats.checkpoints, 3u);
  EXPECT_GT(stats.log_bytes, 30'000'000u);
  EXPECT_LT(std::filesystem::file_size(path() + "-wal"), stats.log_bytes / 4);
}

TEST_F(LogTest, is_bounded_beside_a_reader_and_shrinks_when_it_is_gone) {
  // Claim: while another program keeps a transaction open, the report names that program, the log stops at its limit
  // with retry_later, and the log is cut once the reader is gone.
  { ASSERT_TRUE(Store::open(path(), {})); }
  Child reader([&](int out) {
    sqlite3* database = nullptr;
    while (!std::filesystem::exists(path() + "-read")) usleep(500);
    if (sqlite3_open(path().c_str(), &database) != SQLITE_OK) _exit(7);
    if (sqlite3_exec(database, "BEGIN; SELECT count(*) FROM jobs", nullptr, nullptr, nullptr) != SQLITE_OK) _exit(8);
    send(out, 1);
    while (true) pause();
  });
  Options options;
  options.checkpoint_pages = 200;
  options.log_bytes_max = 8 << 20;
  open_bench(options);
  std::mutex mutex;
  std::string problem;
  sqlite().on_problem([&](const std::string& text) {
    const std::lock_guard lock(mutex);
    problem = text;
  });
  const Payload input(std::string(20'000, 'x'));
  int number = 0;
  const auto commit_one = [&] {
    const std::vector<Operation> group{a_submit(lane_, "job-" + std::to_string(++number), input)};
    return store_->commit(group);
  };
  ASSERT_TRUE(commit_one());
  std::ofstream(path() + "-read").close();
  ASSERT_TRUE(reader.read());
  const auto log_bytes = [&] { return std::filesystem::file_size(path() + "-wal"); };
  auto refused = commit_one();
  while (refused && log_bytes() < 2 * options.log_bytes_max) refused = commit_one();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::retry_later);
  const std::string name = "process " + std::to_string(reader.id());
  EXPECT_NE(refused.error().detail.find(name), std::string::npos) << refused.error().detail;
  {
    const std::lock_guard lock(mutex);
    EXPECT_NE(problem.find(name), std::string::npos) << problem;
  }
  EXPECT_GT(log_bytes(), options.log_bytes_max / 2);
  EXPECT_LT(log_bytes(), options.log_bytes_max + (1 << 20));
  reader.kill_now();
  while (log_bytes() > options.log_bytes_max / 4) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  // A refused caller tries again, as an engine does.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  auto later = commit_one();
  while (!later && std::chrono::steady_clock::now() < until) later = commit_one();
  EXPECT_TRUE(later);
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(LogTest, that_grows_beside_a_reader_nobody_can_name_is_reported_all_the_same) {
  // Claim: a reader that the kernel does not list (its process is in another container) is reported without a name.
  // Checked with locks that have no process: those of an open file description.
  { ASSERT_TRUE(Store::open(path(), {})); }
  Child reader([&](int out) {
    sqlite3* database = nullptr;
    while (!std::filesystem::exists(path() + "-read")) usleep(500);
    if (sqlite3_open(path().c_str(), &database) != SQLITE_OK) _exit(7);
    if (sqlite3_exec(database, "BEGIN; SELECT count(*) FROM jobs", nullptr, nullptr, nullptr) != SQLITE_OK) _exit(8);
    struct flock marks {};
    marks.l_type = F_RDLCK;
    marks.l_whence = SEEK_SET;
    marks.l_start = 124;  // the readers' bytes of the index, except the one that reads no log
    marks.l_len = 4;
    if (fcntl(open((path() + "-shm").c_str(), O_RDWR), F_OFD_SETLK, &marks) != 0) _exit(9);
    if (sqlite3_exec(database, "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) _exit(10);
    send(out, 1);
    while (true) pause();
  });
  Options options;
  options.checkpoint_pages = 50;
  open_bench(options);
  std::mutex mutex;
  std::vector<std::string> problems;
  sqlite().on_problem([&](const std::string& text) {
    const std::lock_guard lock(mutex);
    problems.push_back(text);
  });
  const auto said = [&] {
    const std::lock_guard lock(mutex);
    return problems.size();
  };
  submit("first");
  std::ofstream(path() + "-read").close();
  ASSERT_TRUE(reader.read());
  const Payload input(std::string(20'000, 'x'));
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(kind_of(a_submit(lane_, "job-" + std::to_string(i), input)), OutcomeKind::committed);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (said() == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // a few more rounds
  const std::lock_guard lock(mutex);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("not to be seen from here"), std::string::npos) << problems[0];
  EXPECT_NE(problems[0].find("keeps a transaction open"), std::string::npos) << problems[0];
}

TEST_F(LogTest, stats_count_row_writes) {
  open_bench();
  const RunId run = submit("a");
  const Stats before = sqlite().stats();
  core::WorkItem item = work_item(run, 0);
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(0)}, core::PutWork{item}})),
            OutcomeKind::committed);
  const Stats after = sqlite().stats();
  EXPECT_EQ(after.commits, before.commits + 1);
  EXPECT_EQ(after.operations, before.operations + 1);
  // The job, the activity with its work item, its place in the list of work, and the group's commit counter.
  EXPECT_EQ(after.row_writes, before.row_writes + 4);
}

}  // namespace pawl::store::sqlite
