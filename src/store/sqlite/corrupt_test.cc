// Rows that no store can have written are reported and never executed; the other jobs stay readable.
#include "base/format.h"
#include "store/sqlite/file_test.h"

namespace pawl::store::sqlite {

struct Damage {
  std::string name;
  std::string sql;  // on the job with id 'damaged'
  std::string says;
};

class CorruptTest : public FileTest, public testing::WithParamInterface<Damage> {};

TEST_P(CorruptTest, is_named_and_leaves_other_jobs_readable) {
  open_bench();
  const RunId whole = submit("whole");
  const RunId damaged = submit("damaged");
  enqueue(damaged, 2);
  core::Bundle bundle = bundle_with(
      damaged, {core::PutRecord{std::nullopt, core::MessageRecord{guid(1), core::ActivitySeq(0), message_ledger(1)}}});
  ASSERT_EQ(kind_of(std::move(bundle)), OutcomeKind::committed);
  raw(GetParam().sql);
  const auto read = store_->read_job(damaged);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::corrupt);
  EXPECT_NE(read.error().detail.find("default/damaged"), std::string::npos) << read.error().detail;
  EXPECT_NE(read.error().detail.find(GetParam().says), std::string::npos) << read.error().detail;
  EXPECT_EQ(job(whole).state.job.id, JobId("whole"));
  const auto list = store_->list_jobs({});
  ASSERT_TRUE(list);
  EXPECT_EQ(list->size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, CorruptTest,
    testing::Values(
        Damage{"ledger_digit", "UPDATE activities SET ledger = 2200000000000 WHERE seq = 1", "activity 1"},
        Damage{"ledger_too_long", "UPDATE activities SET ledger = 1000000000000000 WHERE seq = 1", "activity 1"},
        Damage{"ledger_negative", "UPDATE activities SET ledger = -1 WHERE seq = 1", "activity 1"},
        Damage{"ledger_text", "UPDATE activities SET ledger = 'many' WHERE seq = 1", "malformed"},
        Damage{"place", "UPDATE activities SET place = ',0,x' WHERE seq = 1", "activity 1"},
        Damage{"activity_status", "UPDATE activities SET status = 7 WHERE seq = 1", "status 7"},
        Damage{"gap", "DELETE FROM activities WHERE seq = 0", "activity 0 is missing"},
        Damage{"lost_tail", "DELETE FROM activities WHERE seq = 1", "its row says 2"},
        Damage{"record", "UPDATE message_ledgers SET ledger = 9000000001", "message"},
        Damage{"record_guid", "UPDATE message_ledgers SET guid = x'0102'", "malformed"},
        Damage{"status", "UPDATE jobs SET status = 9 WHERE job_id = 'damaged'", "status 9"},
        Damage{"semaphore", "UPDATE jobs SET semaphore = -3 WHERE job_id = 'damaged'", "default/damaged"},
        Damage{"body",
               "UPDATE inbox SET body = x'ff' WHERE run = (SELECT run FROM jobs WHERE job_id = "
               "'damaged')",
               "message"},
        Damage{"work", "UPDATE activities SET request = 'x' WHERE seq = 1", "work item 1"},
        Damage{"life", "UPDATE activities SET life = x'ff' WHERE seq = 1", "work item 1"},
        Damage{"life_of_another_kind", "UPDATE activities SET once = 1 WHERE seq = 1", "work item 1"},
        Damage{"priority", "UPDATE activities SET priority = 1 << 40 WHERE seq = 1", "work item 1"},
        Damage{"timer",
               "INSERT INTO timers (run, guid, due, redeliveries, body) SELECT run, zeroblob(16), 5, 0, x'ff' FROM"
               " jobs WHERE job_id = 'damaged'",
               "message"},
        Damage{"redrives", "UPDATE jobs SET redrives = -1 WHERE job_id = 'damaged'", "malformed"}),
    [](const auto& one) { return one.param.name; });

class PoisonTest : public FileTest {};

TEST_F(PoisonTest, one_operation_that_sqlite_refuses_does_not_stop_its_group) {
  // Claim: a constraint that only one operation breaks rejects only that operation. Checked with a trigger that refuses
  // one job's message after its other rows were written.
  open_bench();
  raw("CREATE TRIGGER poison BEFORE INSERT ON inbox WHEN instr(NEW.body, CAST('poison' AS BLOB)) > "
      "0"
      " BEGIN SELECT RAISE(ABORT, 'poisoned'); END");
  const auto outcomes = commit_all({a_submit(lane_, "a"), a_submit(lane_, "b", "poison"), a_submit(lane_, "c")});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::rejected);
  EXPECT_NE(outcomes[1].reason.find("poisoned"), std::string::npos) << outcomes[1].reason;
  EXPECT_EQ(outcomes[2].kind, OutcomeKind::committed);
  const auto absent = store_->find_run(Namespace("default"), JobId("b"));
  ASSERT_TRUE(absent);
  EXPECT_FALSE(*absent);
  EXPECT_EQ(job(outcomes[2].run()).inbox.size(), 1u);
}

TEST_F(PoisonTest, what_a_refused_bundle_wrote_is_undone_and_nothing_else) {
  open_bench();
  const RunId good = submit("good");
  const RunId bad = submit("bad");
  enqueue(bad, 1);
  core::Bundle wrong = bundle_with(bad, {core::PutActivity{std::nullopt, activity(1)},
                                         core::PutActivity{activity_ledger(2'100'000'000'000), activity(0)}});
  core::Bundle right = bundle_with(good, {core::PutActivity{std::nullopt, activity(0)}});
  const auto before = job(bad);
  const auto outcomes = commit_all({wrong, right});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::rejected);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::committed);
  EXPECT_EQ(job(bad).state, before.state);
  EXPECT_EQ(job(good).state.activities().size(), 1u);
}

TEST_F(PoisonTest, a_damaged_row_rejects_its_own_operation_and_says_which_it_is) {
  open_bench();
  const RunId damaged = submit("damaged");
  enqueue(damaged, 1);
  raw("UPDATE activities SET life = x'ff' WHERE seq = 0");
  const auto outcomes =
      commit_all({a_submit(lane_, "a"), ClaimItem{damaged, core::ActivitySeq(0), core::WorkToken(0), "w", epoch_},
                  a_submit(lane_, "c")});
  EXPECT_EQ(outcomes[0].kind, OutcomeKind::committed);
  EXPECT_EQ(outcomes[1].kind, OutcomeKind::rejected);
  EXPECT_NE(outcomes[1].reason.find("work item 0 is malformed"), std::string::npos) << outcomes[1].reason;
  EXPECT_EQ(outcomes[2].kind, OutcomeKind::committed);
}

TEST_F(PoisonTest, pages_step_over_a_damaged_row_and_name_it) {
  open_bench();
  std::vector<RunId> runs;
  for (const char* id : {"a", "b", "c"}) {
    runs.push_back(submit(id));
    enqueue(runs.back(), 1);
  }
  raw(format("UPDATE activities SET life = x'ff' WHERE run = {}", runs[1].raw()));
  const auto work = store_->read_work(lane_, {}, 2);
  ASSERT_TRUE(work);
  ASSERT_EQ(work->size(), 2u);
  EXPECT_EQ(work->back().run, runs[2]);
  ASSERT_EQ(work->damaged.size(), 1u);
  EXPECT_EQ(work->damaged[0].run, runs[1]);
  raw(format("UPDATE work_list SET topic = x'ff' WHERE run = {}", runs[0].raw()));
  const auto places = store_->read_work_places(lane_, {}, 1);
  ASSERT_TRUE(places);
  ASSERT_EQ(places->size(), 1u);
  EXPECT_EQ(places->front().run, runs[1]);
  ASSERT_EQ(places->damaged.size(), 1u);
  raw("INSERT INTO timers (run, guid, due, redeliveries, body) SELECT run, x'01', 5, 0, x'ff' FROM jobs");
  raw(format("INSERT INTO timers (run, guid, due, redeliveries, body) VALUES ({}, zeroblob(16), 6, 0, x'ff')",
             runs[0].raw()));
  const auto due = store_->read_due(lane_, std::nullopt, 1);
  ASSERT_TRUE(due);
  ASSERT_EQ(due->size(), 1u);
  EXPECT_EQ(due->front().at, Instant::from_micros(6));
  EXPECT_EQ(due->damaged.size(), 3u);
}

}  // namespace pawl::store::sqlite
