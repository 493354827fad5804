// What is in the list of work, what is not, and that a new owner of the lane finds both.
#include "store/sqlite/work_list.h"

#include <set>
#include <thread>

#include "store/sqlite/fault_vfs.h"
#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/schema.h"

namespace pawl::store::sqlite {

class WorkListTest : public FileTest {
 protected:
  // As the lane's owner puts it for a worker of its own.
  core::WorkItem claimed() const {
    core::WorkItem item;
    item.token = core::WorkToken(5);
    item.worker = "local";
    item.epoch = epoch_;
    item.runs = 1;
    return item;
  }
  // Concludes the job's last activity and opens the next one.
  void step(RunId run, core::WorkItem next) {
    const std::uint32_t seq = job(run).state.job.next_activity;
    const core::WorkItem done = stored_item(run, seq - 1);
    core::Activity answered = activity(seq - 1, 1'111'100'000'001);
    answered.status = core::ActivityStatus::completed;
    next.run = run;
    next.activity = core::ActivitySeq(seq);
    next.topic = done.topic;
    next.request = core::Guid::of_run(run).derive(core::Guid::Purpose::request, seq);
    ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{activity(0).ledger, answered},
                                        core::DropWork{done.activity, done.token},
                                        core::PutActivity{std::nullopt, activity(seq)}, core::PutWork{next}})),
              OutcomeKind::committed);
  }
  std::string listed() const { return raw("SELECT coalesce(group_concat(run || '.' || seq, ' '), '') FROM work_list"); }
  static std::string name(RunId run, int seq) { return format("{}.{}", run.raw(), seq); }
  std::string unlisted() const { return raw("SELECT sum(unlisted) FROM activities"); }
  std::string mark() const { return raw("SELECT unlisted_from FROM store_state"); }
  std::set<std::pair<RunId, std::uint32_t>> places() {
    std::set<std::pair<RunId, std::uint32_t>> found;
    const auto page = store_->read_work_places(lane_, {}, 10'000);
    EXPECT_TRUE(page);
    for (const WorkPlace& place : *page) found.insert({place.run, place.activity.raw()});
    return found;
  }
};

TEST_F(WorkListTest, an_item_that_is_claimed_as_it_is_put_never_enters_it) {
  open_bench();
  const RunId run = submit("a");
  enqueue_item(run, claimed());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(listed(), "");
    EXPECT_EQ(unlisted(), "1");
    EXPECT_EQ(store_->read_work(lane_, {}, 10)->size(), 1u) << "who asks for work sees it all the same";
    EXPECT_EQ(raw("SELECT worker FROM work_view"), "local");
    EXPECT_EQ(store_->count_work(clock_.now())->at(0).taken, 1u);
    step(run, claimed());
  }
  EXPECT_TRUE(sqlite().verify());
  end(run);
  EXPECT_EQ(unlisted(), "0");
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(WorkListTest, an_item_enters_it_when_it_waits_or_the_clock_has_a_part_in_it_and_leaves_with_its_end) {
  open_bench();
  const RunId run = submit("a");
  enqueue_item(run, {});
  EXPECT_EQ(listed(), name(run, 0));
  step(run, claimed());
  EXPECT_EQ(listed(), "");
  ASSERT_EQ(kind_of(ReleaseWork{run, core::ActivitySeq(1), core::WorkToken(5), epoch_}), OutcomeKind::committed);
  EXPECT_EQ(listed(), name(run, 1));
  EXPECT_TRUE(sqlite().verify());
  ASSERT_EQ(claim(1).size(), 1u);
  EXPECT_EQ(store_->read_due(lane_, std::nullopt, 10)->size(), 1u);
  core::WorkItem timed = claimed();
  timed.life.deadline = clock_.now() + lease;
  step(run, timed);
  EXPECT_EQ(listed(), name(run, 2));
  EXPECT_EQ(store_->read_due(lane_, std::nullopt, 10)->size(), 1u);
  EXPECT_TRUE(sqlite().verify());
  end(run);
  EXPECT_EQ(listed(), "");
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(WorkListTest, a_new_owner_of_the_lane_finds_what_the_last_one_had_claimed) {
  open_bench();
  std::set<std::pair<RunId, std::uint32_t>> open;
  for (int i = 0; i < 20; ++i) {
    const RunId run = submit("job-" + std::to_string(i));
    enqueue_item(run, claimed());
    if (i % 3 == 0) step(run, claimed());
    open.insert({run, i % 3 == 0 ? 1u : 0u});
  }
  EXPECT_TRUE(places().empty()) << "this owner knows of them";
  store_.reset();
  store_ = make({.clock = &clock_});
  epoch_ = take_over(lane_, "another");
  EXPECT_EQ(places(), open);
  EXPECT_EQ(unlisted(), "0");
  EXPECT_TRUE(sqlite().verify());
  const RunId run = open.begin()->first;
  step(run, claimed());
  EXPECT_FALSE(places().contains({run, 1u}));
}

TEST_F(WorkListTest, what_is_open_for_long_enters_it) {
  // Claim: the rows that must be looked at do not become more than the limit and a step.
  open_bench({.unlisted_rows_max = 10});
  const RunId old = submit("old");
  enqueue_item(old, claimed());
  const RunId run = submit("a");
  enqueue_item(run, claimed());
  for (int i = 0; i < 50; ++i) {
    step(run, claimed());
    EXPECT_LE(std::stoll(raw("SELECT max(id) FROM activities")) - std::stoll(mark()), 10 + 11);
    ASSERT_TRUE(sqlite().verify());
  }
  EXPECT_EQ(listed(), name(old, 0));
  step(old, claimed());
  EXPECT_EQ(listed(), "");
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(WorkListTest, the_mark_follows_rows_that_never_had_work_that_is_not_listed) {
  // Claim: what is read behind the mark does not grow where all work is for workers outside, or there is none.
  open_bench({.unlisted_rows_max = 10});
  const RunId run = submit("a");
  enqueue_item(run, {});
  for (int i = 0; i < 50; ++i) {
    step(run, {});
    EXPECT_LE(std::stoll(raw("SELECT max(id) FROM activities")) - std::stoll(mark()), 10 + 11);
  }
  for (std::uint32_t i = 51; i < 100; ++i) {
    ASSERT_EQ(kind_of(bundle_with(run, {core::PutActivity{std::nullopt, activity(i)}})), OutcomeKind::committed);
    EXPECT_LE(std::stoll(raw("SELECT max(id) FROM activities")) - std::stoll(mark()), 10 + 11);
  }
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(WorkListTest, the_mark_keeps_up_with_many_new_rows_in_each_commit) {
  open_bench({.unlisted_rows_max = 10});
  const RunId run = submit("a");
  enqueue_item(run, claimed());
  constexpr int rows = 8'000;
  for (int round = 0; round < 40; ++round) {
    raw(format("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {0})"
               " INSERT INTO activities (run, seq, node, place, ledger, status, code, opened_at, closed_at)"
               " SELECT 1, i + {1}, 0, '', 0, 0, 0, 0, 0 FROM n",
               rows, round * rows));
    step(run, claimed());
  }
  EXPECT_LT(std::stoll(raw("SELECT max(id) FROM activities")) - std::stoll(mark()), 10 * rows);
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(WorkListTest, rows_whose_numbers_are_given_again_are_found_too) {
  open_bench();
  const RunId kept = submit("kept");
  enqueue_item(kept, claimed());
  const RunId gone = submit("gone");
  for (int i = 0; i < 30; ++i) enqueue_item(gone, {});
  store_.reset();
  store_ = make({.clock = &clock_});
  epoch_ = take_over(lane_, "another");
  EXPECT_EQ(mark(), "32");
  end(gone);
  ASSERT_EQ(kind_of(RemoveJob{gone, Instant()}), OutcomeKind::committed);
  EXPECT_EQ(mark(), "2");
  const RunId run = submit("a");
  enqueue_item(run, claimed());
  EXPECT_EQ(listed(), name(kept, 0)) << "not " << name(run, 0);
  EXPECT_TRUE(sqlite().verify());
  // Somebody removes rows without a word.
  raw("UPDATE store_state SET unlisted_from = 1000");
  raw("UPDATE activities SET unlisted = 0 WHERE request IS NULL");
  const RunId other = submit("b");
  enqueue_item(other, claimed());
  EXPECT_NE(listed().find(name(other, 0)), std::string::npos);
}

TEST_F(WorkListTest, verify_says_when_the_list_is_not_as_the_rows) {
  open_bench();
  const RunId run = submit("a");
  enqueue_item(run, claimed());
  enqueue_item(run, {});
  ASSERT_TRUE(sqlite().verify());
  for (const char* damage :
       {"UPDATE store_state SET unlisted_from = 1000", "DELETE FROM work_list", "UPDATE work_list SET topic = 'other'",
        "UPDATE work_list SET wake_at = 7", "INSERT INTO work_list (run, seq) VALUES (1, 1)"}) {
    store_.reset();
    std::filesystem::copy_file(path(), path() + ".good", std::filesystem::copy_options::overwrite_existing);
    raw(damage);
    store_ = make({.clock = &clock_});
    const auto found = sqlite().verify();
    ASSERT_FALSE(found) << damage;
    EXPECT_NE(found.error().detail.find("1 work items"), std::string::npos) << found.error().detail;
    store_.reset();
    std::filesystem::copy_file(path() + ".good", path(), std::filesystem::copy_options::overwrite_existing);
    store_ = make({.clock = &clock_});
    EXPECT_TRUE(sqlite().verify());
  }
}

TEST_F(WorkListTest, rows_that_the_disk_does_not_return_delay_nobody_and_are_not_forgotten) {
  test::FaultVfs::install();
  Options options{.clock = &clock_};
  options.vfs = test::FaultVfs::name;
  open_bench(options);
  std::set<std::pair<RunId, std::uint32_t>> open;
  int made = 0;
  int taken = 0;
  int others_found = 0;
  for (std::size_t nth = 0; nth < 40; ++nth) {
    for (int i = 0; i < 60; ++i) {
      const RunId run = submit("job-" + std::to_string(made++));
      core::WorkItem item = claimed();
      item.input = Payload(std::string(900, 'x'));
      enqueue_item(run, item);
      open.insert({run, 0});
    }
    store_.reset();
    store_ = make(options);
    ASSERT_EQ(kind_of(ReleaseLane{lane_, epoch_}), OutcomeKind::committed);
    // The nth page that this commit reads stays unreadable.
    std::set<sqlite3_int64> read;
    sqlite3_int64 bad = -1;
    test::set_fault_plan([&, self = std::this_thread::get_id()](test::Call call, std::string_view file) {
      if (call != test::Call::read || file != path() || std::this_thread::get_id() != self) return SQLITE_OK;
      const sqlite3_int64 at = test::fault_plan_holder().at;
      if (read.insert(at).second && read.size() == nth + 1) bad = at;
      return at == bad ? SQLITE_IOERR_READ : SQLITE_OK;
    });
    const std::vector<Operation> group{AcquireLane{lane_, "another", lease}};
    const auto outcomes = store_->commit(group);
    test::set_fault_plan(nullptr);
    if (bad != -1 && outcomes && outcomes->front().kind == OutcomeKind::committed) {
      ++taken;
      if (places().size() + 2 * limits::unlisted_rows_piece >= open.size()) ++others_found;
    }
    EXPECT_TRUE(sqlite().verify());
    store_.reset();
    store_ = make(options);
    if (store_->read_lane(lane_)->owner.empty())
      epoch_ = acquire(lane_, "a third");
    else
      epoch_ = take_over(lane_, "a third");
    ASSERT_EQ(places(), open) << nth;
    ASSERT_EQ(unlisted(), "0");
  }
  EXPECT_GT(taken, 5);
  EXPECT_GT(others_found, 5) << "a bad page hides the items beside it, not those of all other pages";
}

TEST_F(WorkListTest, a_file_of_the_version_before_has_its_open_work_listed) {
  const auto steps = migrations();
  std::size_t before = 0;
  while (before < steps.size() && std::string_view(steps[before]).find("TABLE work_list") == std::string_view::npos)
    ++before;
  ASSERT_LT(before, steps.size());
  { ASSERT_TRUE(open_file(path(), {}, steps.first(before))); }
  raw("INSERT INTO pools VALUES ('graphs', 1, 2);"
      "INSERT INTO lanes (lane, pool, epoch, owner, next_run) VALUES (1, 'graphs', 4, 'engine-a', 9), (2, 'graphs', 2, "
      "'', 1);"
      "INSERT INTO jobs (run, namespace, job_id, graph, version, fingerprint, created_at, rev, bundle, status,"
      " semaphore, threshold, completions, next_activity, closed_at, reason) VALUES"
      " ((1 << 47) + 1, 'default', 'old', 'graph', 1, 7, 5, 3, 30, 0, 3, 0, 0, 4, 0, '');"
      "INSERT INTO activities (run, seq, node, place, ledger, status, code, opened_at, closed_at, position, topic,"
      " request, token, worker, epoch, lease_until, runs, wake_at) VALUES"
      " ((1 << 47) + 1, 0, 0, ',0', 1100000000000, 0, 0, 5, 0, 12, 'topic', zeroblob(16), 0, '', 0, 0, 0, 0),"
      " ((1 << 47) + 1, 1, 1, ',0', 1100000000000, 0, 0, 5, 0, 11, 'topic', x'01', 71, 'remote', 0, 2000000, 1, "
      "2000000),"
      " ((1 << 47) + 1, 2, 2, ',0', 1100000000000, 0, 0, 5, 0, 10, 'topic', x'02', 72, 'local', 4, 0, 1, 0),"
      " ((1 << 47) + 1, 3, 3, ',0', 1111100000001, 1, 0, 5, 6, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0);");
  store_ = make({.clock = &clock_});
  ASSERT_NE(store_, nullptr);
  EXPECT_TRUE(sqlite().verify());
  lane_ = core::LaneId(1);
  const RunId old = core::make_run(lane_, 1);
  const std::set<std::pair<RunId, std::uint32_t>> open{{old, 0}, {old, 1}, {old, 2}};
  EXPECT_EQ(places(), open);
  EXPECT_EQ(mark(), "5");
  EXPECT_EQ(raw("SELECT count(*) FROM work_view"), "3");
  EXPECT_EQ(raw("SELECT count(*) FROM sqlite_schema WHERE tbl_name = 'activities' AND name LIKE 'work%'"), "0");
}

}  // namespace pawl::store::sqlite
