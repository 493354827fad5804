// What step 4 of the layout promises: files of version 3 still work, everything survives a reopening, and a job without
// data pays nothing for jobs that have data.
#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/schema.h"

namespace pawl::store::sqlite {

class GraphsTest : public FileTest {
 protected:
  // A file as the program of version 3 left it: a job with a concluded and an open activity, a message ledger in a
  // separate row, and a mailbox.
  void make_version_3() {
    { ASSERT_TRUE(open_file(path(), {}, migrations().first(3))); }
    raw("INSERT INTO pools VALUES ('graphs', 1, 2);"
        "INSERT INTO lanes VALUES (1, 'graphs', 4, 'engine-a', 9), (2, 'graphs', 2, '', 1);"
        "INSERT INTO start_keys (namespace, job_id, run) VALUES ('default', 'old', (1 << 47) + 1);"
        "INSERT INTO jobs (run, namespace, job_id, graph, version, fingerprint, created_at, rev, bundle, status,"
        " semaphore, threshold, completions, next_activity, closed_at, reason) VALUES"
        " ((1 << 47) + 1, 'default', 'old', 'graph', 1, 7, 5, 3, 30, 0, 3, 0, 0, 2, 0, '');"
        "INSERT INTO activities (run, seq, node, place, ledger, status, code, opened_at, closed_at, closing_guid,"
        " closing_ledger) VALUES"
        " ((1 << 47) + 1, 0, 0, ',0', 1111000000001, 1, 200, 5, 6, zeroblob(16), 11000000001),"
        " ((1 << 47) + 1, 1, 1, ',0', 1100000000000, 0, 0, 6, 0, NULL, NULL);"
        "INSERT INTO message_ledgers VALUES ((1 << 47) + 1, x'00000000000000010000000000000002', 1, 10000000001);"
        "INSERT INTO mailboxes VALUES ((1 << 47) + 2, 'default', 't', 'k', 0, 0, 1),"
        " ((1 << 47) + 3, 'default', 't', 'empty', 0, 0, 0);"
        "INSERT INTO mailbox_entries VALUES ((1 << 47) + 2, 0, zeroblob(16), x'030501');");  // a hook waits
  }
  void reopen() {
    store_.reset();
    store_ = make({.clock = &clock_});
    ASSERT_NE(store_, nullptr);
  }
  std::uint64_t rows_written(const Operation& operation) {
    const std::uint64_t before = sqlite().stats().row_writes;
    EXPECT_EQ(kind_of(operation), OutcomeKind::committed);
    return sqlite().stats().row_writes - before;
  }
  core::StartChild start(RunId parent) const {
    core::StartChild made;
    made.graph = {GraphName("child"), 1, 7};
    made.parent = {parent, core::ActivitySeq(1), guid(900), false};
    return made;
  }
  static constexpr RunId old_run = core::make_run(core::LaneId(1), 1);
  static constexpr RunId old_mailbox = core::make_run(core::LaneId(1), 2);
};

TEST_F(GraphsTest, a_file_of_version_3_opens_and_says_what_it_said) {
  make_version_3();
  store_ = make({.clock = &clock_});
  ASSERT_NE(store_, nullptr);
  EXPECT_EQ(raw("PRAGMA user_version"), std::to_string(migrations().size()));
  const StoredJob read = job(old_run);
  EXPECT_TRUE(read.state.job.data.empty());
  EXPECT_EQ(read.state.job.code, 0);
  EXPECT_FALSE(read.state.job.parent.has_value());
  ASSERT_EQ(read.state.activities().size(), 2u);
  EXPECT_TRUE(read.state.activities()[0].state.empty());
  ASSERT_EQ(read.state.messages().size(), 2u);
  for (const auto& [guid, record] : read.state.messages()) EXPECT_TRUE(record.output.empty());
  EXPECT_TRUE(mailbox(old_mailbox).timers.empty());
  EXPECT_EQ(mailbox(old_mailbox).state.entries.size(), 1u);
  EXPECT_FALSE(store_->find_mailbox({Namespace("default"), Topic("t"), "empty"})->has_value()) << "nothing was in it";
  EXPECT_TRUE(store_->list_apps(Namespace("default"))->empty());
}

TEST_F(GraphsTest, a_file_of_version_3_takes_everything_that_is_new) {
  make_version_3();
  store_ = make({.clock = &clock_});
  lane_ = core::LaneId(1);
  epoch_ = acquire(lane_, "engine-b");
  core::Activity open = job(old_run).state.activities()[1];
  open.state = "state";
  const core::MessageRecord record{core::Guid{1, 2}, core::ActivitySeq(1), message_ledger(11'000'000'001), "output"};
  core::Bundle bundle = bundle_with(
      old_run, {core::PutActivity{open.ledger, open}, core::PutRecord{message_ledger(10'000'000'001), record},
                core::Send{{core::JobKey{Namespace("default"), JobId("child")}, {guid(1), start(old_run)}}, lane_}});
  std::get<core::JobHead>(bundle.head).data = Payload("data");
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  core::Bundle timed = bundle_for_mailbox(old_mailbox);
  timed.writes = {core::PutMessage{{guid(2), core::Expire{guid(1)}}, clock_.now() + lease}};
  ASSERT_EQ(kind_of(timed), OutcomeKind::committed);
  ASSERT_EQ(kind_of(PutApp{Namespace("default"), "shop", "1", "graphs"}), OutcomeKind::committed);
  reopen();
  EXPECT_EQ(job(old_run).state.job.data, Payload("data"));
  EXPECT_EQ(job(old_run).state.activities()[1], open);
  EXPECT_EQ(*job(old_run).state.find_message(record.guid), record);
  EXPECT_TRUE(store_->find_run(Namespace("default"), JobId("child"))->has_value());
  EXPECT_EQ(mailbox(old_mailbox).timers.size(), 1u);
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(GraphsTest, everything_survives_a_reopening) {
  open_bench();
  const RunId run = submit("parent");
  const RunId child = commit(to_job({Namespace("default"), JobId("child")}, {guid(1), start(run)}, lane_)).run();
  core::Activity skipped = activity(0);
  skipped.status = core::ActivityStatus::skipped;
  skipped.state = "state";
  const core::MessageRecord record{guid(3), core::ActivitySeq(0), message_ledger(1), "output"};
  core::Bundle bundle =
      bundle_with(run, {core::PutActivity{std::nullopt, skipped}, core::PutRecord{std::nullopt, record}});
  std::get<core::JobHead>(bundle.head).data = Payload("data");
  std::get<core::JobHead>(bundle.head).code = 404;
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  ASSERT_EQ(kind_of(PutApp{Namespace("default"), "shop", "1", "graphs"}), OutcomeKind::committed);
  ASSERT_EQ(kind_of(ActivateApp{Namespace("default"), "shop", "1"}), OutcomeKind::committed);
  const StoredJob before = job(run);
  const StoredJob child_before = job(child);
  const auto apps = *store_->list_apps(Namespace("default"));
  reopen();
  EXPECT_TRUE(job(run).state == before.state);
  EXPECT_TRUE(job(child).state == child_before.state);
  EXPECT_EQ(job(child).state.job.parent, start(run).parent);
  EXPECT_EQ(*store_->list_apps(Namespace("default")), apps);
  EXPECT_EQ(*store_->read_app(Namespace("default"), "shop", "1"), "graphs");
  EXPECT_EQ(kind_of(bundle), OutcomeKind::already_done);
}

TEST_F(GraphsTest, data_and_state_cost_no_row_of_their_own) {
  // Claim: the written rows are those of the same bundle without them. Checked by counting both.
  open_bench();
  for (const bool with : {false, true}) {
    const RunId run = submit(with ? "with" : "without");
    core::Activity one = activity(0);
    if (with) one.state = "state";
    const auto bundle = [&](std::vector<core::Write> writes) {
      core::Bundle made = bundle_with(run, std::move(writes));
      if (with) std::get<core::JobHead>(made.head).data = Payload("data");
      return made;
    };
    // The job's row and the group's counter, and the activity's row where there is one.
    EXPECT_EQ(rows_written(bundle({})), 2u);
    EXPECT_EQ(rows_written(bundle({core::PutActivity{std::nullopt, one}})), 3u);
    core::Activity after = one;
    after.ledger = activity_ledger(1'110'000'000'001);
    const core::MessageRecord record{guid(1), core::ActivitySeq(0), message_ledger(10'000'000'001), {}};
    EXPECT_EQ(rows_written(bundle({core::PutActivity{one.ledger, after}, core::PutRecord{std::nullopt, record}})), 3u)
        << "the record that concludes an activity stands in its row";
  }
}

TEST_F(GraphsTest, an_output_of_its_own_is_a_row_and_moves_out_of_the_activitys) {
  open_bench();
  const RunId run = submit("a");
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(0)}})), OutcomeKind::committed);
  const core::Activity after = activity(0, 1'110'000'000'001);
  core::MessageRecord record{guid(1), core::ActivitySeq(0), message_ledger(10'000'000'001), {}};
  ASSERT_EQ(
      kind_of(bundle_with(run, {core::PutActivity{activity(0).ledger, after}, core::PutRecord{std::nullopt, record}})),
      OutcomeKind::committed);
  EXPECT_EQ(raw("SELECT count(*) FROM message_ledgers"), "0");
  record.output = "output";
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutRecord{record.ledger, record}})), OutcomeKind::committed);
  EXPECT_EQ(raw("SELECT count(*) FROM message_ledgers"), "1");
  EXPECT_EQ(raw("SELECT count(*) FROM activities WHERE closing_guid IS NOT NULL"), "0");
  EXPECT_EQ(raw("SELECT output FROM message_view"), "output");
}

TEST_F(GraphsTest, the_views_show_what_is_new) {
  open_bench();
  const RunId run = submit("parent");
  commit(to_job({Namespace("default"), JobId("child")}, {guid(1), start(run)}, lane_));
  core::Activity skipped = activity(0);
  skipped.status = core::ActivityStatus::skipped;
  core::Bundle bundle =
      bundle_with(run, {core::PutActivity{std::nullopt, skipped},
                        core::PutMessage{{guid(2), core::TimeUp{core::ActivitySeq(0)}}, clock_.now() + lease}});
  std::get<core::JobHead>(bundle.head).data = Payload("data");
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  commit(to_mailbox({Namespace("default"), Topic("t"), "k"}, {guid(3), core::Withdraw{guid(1)}}, lane_));
  commit(PutApp{Namespace("default"), "shop", "1", "graphs"});
  EXPECT_EQ(raw("SELECT parent FROM job_view WHERE job_id = 'child'"), std::to_string(run.raw()));
  EXPECT_EQ(raw("SELECT data FROM job_view WHERE job_id = 'parent'"), "data");
  EXPECT_EQ(raw("SELECT status FROM activity_view"), "skipped");
  EXPECT_EQ(raw("SELECT kind FROM timer_view"), "time up");
  EXPECT_EQ(raw("SELECT key || ' ' || kind FROM inbox_view WHERE topic = 't'"), "k withdraw");
  EXPECT_EQ(raw("SELECT app || active || bytes FROM app_view"), "shop06");
}

TEST_F(GraphsTest, a_parent_that_is_half_there_is_corrupt) {
  open_bench();
  const RunId run = submit("parent");
  const RunId child = commit(to_job({Namespace("default"), JobId("child")}, {guid(1), start(run)}, lane_)).run();
  raw("UPDATE jobs SET parent_request = NULL WHERE job_id = 'child'");
  const auto read = store_->read_job(child);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::corrupt);
  EXPECT_TRUE(store_->read_job(run)) << "the others are not hurt";
}

TEST_F(GraphsTest, a_status_beyond_skipped_is_corrupt) {
  open_bench();
  const RunId run = submit("a");
  ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(0)}})), OutcomeKind::committed);
  raw("UPDATE activities SET status = 4");
  EXPECT_FALSE(store_->read_job(run));
}

}  // namespace pawl::store::sqlite
