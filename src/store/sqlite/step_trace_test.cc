// Which statements a step 2 executes, in which order, as reported by SQLite. The writer is tested without the store.
#include <algorithm>
#include <string>
#include <vector>

#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

class StepTrace : public FileTest {
 protected:
  void SetUp() override {
    open_bench();
    run_ = submit("a");
    ASSERT_EQ(kind_of(bundle_with(run_, {core::PutActivity{std::nullopt, activity(0, 1'110'000'000'001)},
                                         core::PutRecord{std::nullopt, record(10'000'000'001)}})),
              OutcomeKind::committed);
    ASSERT_EQ(kind_of(to_run(run_, start_message(1))), OutcomeKind::committed);
  }
  core::MessageRecord record(std::uint64_t digits) const {
    return {guid(1), core::ActivitySeq(0), message_ledger(digits), {}};
  }
  core::Bundle step_2(std::int64_t delta, bool hit) {
    core::Bundle bundle = bundle_with(
        run_, {core::PutActivity{activity_ledger(1'110'000'000'001), activity(0, 1'111'000'000'001)},
               core::PutRecord{message_ledger(10'000'000'001), record(hit ? 111'000'000'001 : 11'000'000'001)},
               core::Consume{guid(1)}});
    auto& head = std::get<core::JobHead>(bundle.head);
    head.semaphore = core::SemaphoreStep{1, delta, 0, hit};
    if (hit) head.status = core::JobStatus::completed;
    if (hit) head.closed_at = clock_.now();
    return bundle;
  }
  // Commits the bundle with a separate writer and returns the statements that it ran, each by its first words.
  std::vector<std::string> trace(const core::Bundle& bundle) { return trace(std::vector<Operation>{bundle}); }
  std::vector<std::string> trace(const std::vector<Operation>& group) {
    store_.reset();
    auto file = open_file(path(), {}, migrations());
    if (!file) return {to_string(file.error())};
    AlwaysOwner owner;
    auto writer = Writer::open(std::move(*file), clock_, owner);
    if (!writer) return {to_string(writer.error())};
    std::vector<std::string> seen;
    const auto note = [](unsigned, void* out, void* statement, void* text) {
      if (std::string_view(static_cast<const char*>(text)).starts_with("--")) return 0;  // a trigger's, within another
      static_cast<std::vector<std::string>*>(out)->push_back(sqlite3_sql(static_cast<sqlite3_stmt*>(statement)));
      return 0;
    };
    sqlite3_trace_v2((*writer)->connection().handle(), SQLITE_TRACE_STMT, note, &seen);
    const auto outcomes = (*writer)->commit(group);
    sqlite3_trace_v2((*writer)->connection().handle(), 0, nullptr, nullptr);
    if (!outcomes) return {to_string(outcomes.error())};
    for (const Outcome& outcome : *outcomes)
      if (outcome.kind != OutcomeKind::committed) return {outcome.reason};
    sql_ = seen;
    for (std::string& one : seen) {
      std::size_t end = 0;
      for (int words = one.starts_with("SELECT") ? 9 : 3; words > 0 && end != std::string::npos; --words)
        end = one.find(' ', end + 1);
      one = one.substr(0, end);
    }
    return seen;
  }
  static bool has(const std::string& sql, const char* part) { return sql.find(part) != std::string::npos; }

  RunId run_{0};
  std::vector<std::string> sql_;  // whole
};

TEST_F(StepTrace, a_closing_step_2_decides_the_hit_with_the_delta_and_adds_the_digit_with_the_marks) {
  const std::vector<std::string> expected = {
      "BEGIN IMMEDIATE",
      "SELECT commits, writer, unlisted_from FROM store_state WHERE id =",
      "PRAGMA user_version",
      "SELECT epoch, owner, next_run, next_announcement FROM lanes WHERE lane",
      "UPDATE jobs SET",  // the semaphore, and the hit
      "SELECT ledger FROM message_ledgers WHERE run = ?1 AND",
      "SELECT 1 FROM activities WHERE run = ?1 AND",  // whether an output changes that others refer to
      "UPDATE activities SET",  // the marks of both ledgers, and the snapshot
      "DELETE FROM inbox",
      "UPDATE store_state SET",
      "COMMIT",
  };
  EXPECT_EQ(trace(step_2(-1, true)), expected);
  ASSERT_EQ(sql_.size(), expected.size());
  EXPECT_TRUE(has(sql_[4], "semaphore + ?6") && has(sql_[4], "RETURNING ?5 IS NOT NULL AND semaphore = ?9")) << sql_[4];
  EXPECT_TRUE(has(sql_[7], "closing_ledger = coalesce(?15 + ?17 * 100000000000, closing_ledger)")) << sql_[7];
  EXPECT_EQ(raw("SELECT printf('%015d', closing_ledger) FROM activities"), "000111000000001");
  EXPECT_EQ(raw("SELECT semaphore || ' ' || status FROM jobs"), "0 1");
}

TEST_F(StepTrace, a_step_2_that_leaves_the_job_open_makes_the_same_statements_and_asks_for_no_answer) {
  const auto seen = trace(step_2(1, false));
  ASSERT_EQ(seen.size(), 11u);
  EXPECT_EQ(seen[4], "UPDATE jobs SET");
  EXPECT_TRUE(has(sql_[4], "semaphore + ?6 <> ?9") && !has(sql_[4], "RETURNING")) << sql_[4];
  EXPECT_EQ(raw("SELECT printf('%015d', closing_ledger) FROM activities"), "000011000000001");
  EXPECT_EQ(raw("SELECT semaphore || ' ' || status FROM jobs"), "2 0");
}

TEST_F(StepTrace, what_a_closing_leaves_open_is_forgiven_by_one_statement_more) {
  core::Bundle bundle = step_2(3, true);
  std::get<core::JobHead>(bundle.head).semaphore->threshold = 4;
  const auto seen = trace(bundle);
  ASSERT_EQ(seen.size(), 12u);
  EXPECT_EQ(sql_[5], "UPDATE jobs SET semaphore = 0 WHERE run = ?1");
  EXPECT_EQ(raw("SELECT printf('%015d', closing_ledger) FROM activities"), "000111000000001");
  EXPECT_EQ(raw("SELECT semaphore || ' ' || status FROM jobs"), "0 1");
}

TEST_F(StepTrace, a_start_message_that_the_first_step_consumes_in_the_same_group_is_never_written) {
  const RunId run(run_.raw() + 1);
  core::Bundle first = bundle_with(run_, {core::PutActivity{std::nullopt, activity(0, 1'110'000'000'001)},
                                          core::Consume{core::start_message(run, "{}").guid}});
  first.entity = run;
  first.rev_before = core::Rev(0);
  first.with_submit = true;
  std::get<core::JobHead>(first.head).next_activity = 1;
  const auto seen = trace({a_submit(lane_, "b"), first});
  for (const std::string& one : sql_) EXPECT_FALSE(has(one, "inbox")) << one;
  EXPECT_GT(seen.size(), 5u) << seen.front();
  EXPECT_EQ(raw("SELECT count(*) FROM inbox WHERE run = " + format("{}", run.raw())), "0");
  // Without such a step it is there at the end of the group.
  const auto alone = trace({a_submit(lane_, "c"), a_submit(lane_, "d")});
  EXPECT_EQ(std::count(alone.begin(), alone.end(), "INSERT INTO inbox"), 2);
  EXPECT_EQ(raw("SELECT count(*) FROM inbox JOIN jobs USING (run) WHERE job_id IN ('c', 'd')"), "2");
}

}  // namespace pawl::store::sqlite
