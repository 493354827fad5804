// Faults below the store: what fails, what is said, and what the file holds afterwards.
#include <atomic>

#include "store/sqlite/fault_vfs.h"
#include "store/sqlite/file_test.h"

namespace pawl::store::sqlite {

class FaultTest : public FileTest {
 protected:
  void SetUp() override {
    test::FaultVfs::install();
    Options options;
    options.vfs = test::FaultVfs::name;
    options.on_fatal = [this](const std::string& message) { fatal_ = message; };
    open_bench(options);
  }
  void TearDown() override { test::fault_plan() = nullptr; }

  bool exists(const std::string& id) {
    const auto found = store_->find_run(Namespace("default"), JobId(id));
    EXPECT_TRUE(found);
    return found && found->has_value();
  }

  std::string fatal_;
};

class WriteFaultTest : public FaultTest, public testing::WithParamInterface<int> {};

TEST_P(WriteFaultTest, at_any_write_of_a_commit_leaves_all_or_nothing) {
  // Claim: whichever write of a commit fails, the group is retry_later and leaves no trace, and the
  // same group commits afterwards. Checked by failing the nth write for every n until none is left
  // to fail.
  int rounds = 0;
  for (bool fired = true; fired; ++rounds) {
    ASSERT_LT(rounds, 1000);
    const std::string id = "job-" + std::to_string(rounds);
    const std::vector<Operation> group{a_submit(lane_, id), a_submit(lane_, id + "-too")};
    int left = rounds;
    fired = false;
    test::fault_plan() = [&](test::Call call, std::string_view) {
      if (call != test::Call::write || left-- != 0) return SQLITE_OK;
      fired = true;
      return GetParam();
    };
    const auto outcomes = store_->commit(group);
    test::fault_plan() = nullptr;
    if (!fired) {
      EXPECT_TRUE(outcomes) << to_string(outcomes.error());
      break;
    }
    ASSERT_FALSE(outcomes) << "write " << rounds;
    EXPECT_EQ(outcomes.error().code, ErrorCode::retry_later) << outcomes.error().detail;
    EXPECT_FALSE(exists(id));
    for (const Outcome& outcome : commit_all(group))
      EXPECT_EQ(outcome.kind, OutcomeKind::committed);
    EXPECT_TRUE(exists(id));
  }
  EXPECT_GT(rounds, 3);
  EXPECT_TRUE(sqlite().verify());
  EXPECT_EQ(fatal_, "");
}
INSTANTIATE_TEST_SUITE_P(Codes, WriteFaultTest,
                         testing::Values(SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_NOMEM),
                         [](const auto& one) { return "code_" + std::to_string(one.param); });

TEST_F(FaultTest, a_failed_sync_ends_the_process) {
  test::fault_plan() = [](test::Call call, std::string_view) {
    return call == test::Call::sync ? SQLITE_IOERR_FSYNC : SQLITE_OK;
  };
  const std::vector<Operation> group{a_submit(lane_, "a")};
  const auto outcomes = store_->commit(group);
  test::fault_plan() = nullptr;
  ASSERT_FALSE(outcomes);
  EXPECT_EQ(outcomes.error().code, ErrorCode::outcome_unknown);
  EXPECT_NE(fatal_.find("sync"), std::string::npos) << fatal_;
  EXPECT_NE(fatal_.find(path()), std::string::npos) << fatal_;
  // A caller that lives on regardless gets nothing written any more.
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
        test::fault_plan() = [](test::Call call, std::string_view) {
          return call == test::Call::sync ? SQLITE_IOERR_FSYNC : SQLITE_OK;
        };
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

TEST_F(LogTest, stats_count_row_writes) {
  open_bench();
  const RunId run = submit("a");
  const Stats before = sqlite().stats();
  core::WorkItem item = work_item(run, 0);
  ASSERT_EQ(kind_of(bundle_with(
                run, {core::PutActivity{std::nullopt, activity(0)}, core::PutWork{item}})),
            OutcomeKind::committed);
  const Stats after = sqlite().stats();
  EXPECT_EQ(after.commits, before.commits + 1);
  EXPECT_EQ(after.operations, before.operations + 1);
  // The job, the activity with its work item, and the group's own commit counter.
  EXPECT_EQ(after.row_writes, before.row_writes + 3);
}

}  // namespace pawl::store::sqlite
