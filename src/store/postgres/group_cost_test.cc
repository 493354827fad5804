// The cost of a group does not grow with its size: many operations need as many statements and round trips as two. And
// queues do not grow with the number of rows that went through them.
#include <functional>

#include "store/postgres/store_test.h"

namespace pawl::store::postgres {

namespace {

class GroupCost : public PostgresTest {
 protected:
  struct Cost {
    std::uint64_t statements = 0;
    std::uint64_t round_trips = 0;
    friend bool operator==(const Cost&, const Cost&) = default;
  };
  using Make = std::function<Operation(int)>;

  void SetUp() override {
    store_ = open();
    ASSERT_NE(store_, nullptr);
    epoch_ = acquire(*store_, 1, "a");
  }
  Cost cost_of(const std::vector<Operation>& group) {
    const Stats before = store_->stats();
    const auto outcomes = store_->commit(group);
    const Stats after = store_->stats();
    EXPECT_TRUE(outcomes) << to_string(outcomes.error());
    if (!outcomes) return {};
    for (const Outcome& outcome : *outcomes) EXPECT_EQ(outcome.kind, OutcomeKind::committed) << outcome.reason;
    return {after.statements - before.statements, after.round_trips - before.round_trips};
  }
  Cost cost_of(int size, const Make& make) {
    std::vector<Operation> group;
    for (int i = 0; i < size; ++i) group.push_back(make(made_jobs_++));
    return cost_of(group);
  }
  // Compares a group of two operations with a group of many; `round_trips` is expected for both.
  void expect_flat(const char* what, std::uint64_t round_trips, const Make& make) {
    cost_of(2, make);  // the first use prepares its statements
    const Cost two = cost_of(2, make);
    const Cost many = cost_of(60, make);
    EXPECT_EQ(two.statements, many.statements) << what;
    EXPECT_EQ(two.round_trips, round_trips) << what;
    EXPECT_EQ(many.round_trips, round_trips) << what;
  }
  RunId new_job(int number) { return commit(*store_, submit_of(format("job {}", number))).run(); }
  // A bundle of a job that took `steps` steps before and has so many activities then. It is made without a read.
  core::Bundle bundle_of(RunId run, std::uint64_t steps, std::uint32_t activities,
                         std::vector<core::Write> writes) const {
    core::JobHead head;
    head.next_activity = activities;
    return core::Bundle{run, epoch_, core::Rev(steps), core::BundleId(steps + 1), std::move(head), std::move(writes)};
  }
  // A work item that is claimed when it is put.
  core::PutWork work_of(RunId run, std::uint32_t seq) const {
    core::WorkItem item;
    item.run = run;
    item.activity = core::ActivitySeq(seq);
    item.topic = Topic("t");
    item.request = guid(run.raw() + seq);
    item.token = core::WorkToken(seq + 1);
    item.epoch = epoch_;
    return {item};
  }
  core::Bundle opening(RunId run) const {
    return bundle_of(run, 0, 1,
                     {core::PutActivity{std::nullopt, activity(0, 1'100'000'000'000)}, work_of(run, 0),
                      core::Consume{core::start_message(run, {}).guid}});
  }
  // Answers the first activity and puts the next one.
  core::Bundle stepping(RunId run) const {
    return bundle_of(
        run, 1, 2,
        {core::PutActivity{*ledger::ActivityLedger::decode(1'100'000'000'000), activity(0, 1'111'000'000'001)},
         core::DropWork{core::ActivitySeq(0), core::WorkToken(1)},
         core::PutActivity{std::nullopt, activity(1, 1'100'000'000'000)}, work_of(run, 1)});
  }
  core::Bundle ending(RunId run, std::uint64_t steps = 0) const {
    core::Bundle bundle = bundle_of(run, steps, static_cast<std::uint32_t>(steps), {core::Sweep{}});
    auto& head = std::get<core::JobHead>(bundle.head);
    head.status = core::JobStatus::completed;
    head.completions = 1;
    return bundle;
  }

  std::unique_ptr<Store> store_;
  core::Epoch epoch_{0};
  int made_jobs_ = 0;
};

TEST_F(GroupCost, no_statement_for_a_row_and_one_round_trip_for_steps) {
  expect_flat("submits", 1, [&](int i) -> Operation { return submit_of(format("submitted {}", i)); });
  expect_flat("starts", 1, [&](int i) -> Operation { return opening(new_job(i)); });
  expect_flat("steps", 1, [&](int i) -> Operation {
    const RunId run = new_job(i);
    EXPECT_EQ(commit(*store_, opening(run)).kind, OutcomeKind::committed);
    return stepping(run);
  });
  expect_flat("ends", 1, [&](int i) -> Operation { return ending(new_job(i)); });
  expect_flat("messages", 2, [&](int i) -> Operation {
    return Deliver{{new_job(i), start(static_cast<std::uint64_t>(i))}};
  });
  expect_flat("removals", 2, [&](int i) -> Operation {
    const RunId run = new_job(i);
    EXPECT_EQ(commit(*store_, ending(run)).kind, OutcomeKind::committed);
    return RemoveJob{run, Instant()};
  });
}

TEST_F(GroupCost, a_group_that_trusted_wrongly_is_applied_to_what_is_there) {
  std::vector<Operation> group = {opening(new_job(1)), opening(new_job(2)), opening(new_job(3))};
  std::get<core::Bundle>(group[1]).rev_before = core::Rev(7);
  const auto outcomes = store_->commit(group);
  ASSERT_TRUE(outcomes) << to_string(outcomes.error());
  EXPECT_EQ((*outcomes)[0].kind, OutcomeKind::committed);
  EXPECT_EQ((*outcomes)[1].kind, OutcomeKind::conflict);
  EXPECT_EQ((*outcomes)[2].kind, OutcomeKind::committed);
  group = {opening(new_job(4)), opening(new_job(5))};
  std::get<core::Bundle>(group[0]).epoch = core::Epoch(epoch_.raw() + 1);
  const auto fenced = store_->commit(group);
  ASSERT_TRUE(fenced) << to_string(fenced.error());
  EXPECT_EQ((*fenced)[0].kind, OutcomeKind::fenced);
  EXPECT_EQ((*fenced)[1].kind, OutcomeKind::committed);
  ASSERT_EQ(commit(*store_, PauseTopic{Topic("t"), true}).kind, OutcomeKind::committed);
  EXPECT_EQ(commit(*store_, opening(new_job(6))).kind, OutcomeKind::conflict) << "its topic is paused";
}

TEST_F(GroupCost, submits_that_trusted_wrongly_are_applied_to_what_is_there) {
  auto other = open();
  RunId last{0};
  int named = 0;
  const auto submit = [&](Store& by) {
    const Outcome made = commit(by, submit_of(format("submitted {}", named++)));
    EXPECT_EQ(made.kind, OutcomeKind::committed) << made.reason;
    EXPECT_LT(last.raw(), made.run().raw()) << "numbers are in the order of commits, whoever gave them";
    last = made.run();
  };
  const auto round_trips = [&] {
    const Stats before = store_->stats();
    submit(*store_);
    return store_->stats().round_trips - before.round_trips;
  };
  submit(*store_);
  EXPECT_EQ(round_trips(), 1u);
  EXPECT_EQ(commit(*store_, submit_of("submitted 0")).kind, OutcomeKind::exists) << "a taken id";
  for (int i = 0; i < 6; ++i) {
    submit(*other);
    submit(*store_);
    submit(*store_);
  }
  for (int i = 0; i < 130; ++i) submit(*store_);  // after these the store trusts the lane's numbers
  EXPECT_EQ(round_trips(), 1u);
  ASSERT_EQ(commit(*store_, ReleaseLane{core::LaneId(1), epoch_}).kind, OutcomeKind::committed);
  acquire(*other, 1, "b");
  submit(*other);
  submit(*store_);
  ListQuery all;
  all.rows_max = 1'000;
  EXPECT_EQ(store_->list_jobs(all)->size(), static_cast<std::size_t>(named));
}

// It uses a server of its own. PostgreSQL reuses an empty index page only when no transaction of the whole server is
// older than the vacuum that emptied it, and other tests keep transactions open.
class QueueSize : public GroupCost {
 protected:
  void SetUp() override {
    server_ = TestServer::start({"max_wal_size=256MB", "autovacuum=off"}, TestServer::Keeps::in_memory);
    ASSERT_TRUE(server_);
    auto opened = Store::open(server_->address(), {});
    ASSERT_TRUE(opened) << to_string(opened.error());
    store_ = std::move(*opened);
    ASSERT_EQ(commit(*store_, OpenPool{pawl::Pool("graphs"), 2}).kind, OutcomeKind::committed);
    epoch_ = acquire(*store_, 1, "a");
    auto session = Connection::open(Address{server_->address(), Options{}.schema});
    ASSERT_TRUE(session) << to_string(session.error());
    session_ = std::move(*session);
  }
  void TearDown() override {
    session_.reset();
    store_.reset();
    if (server_) server_->remove();
  }
  std::string ask(const std::string& sql) {
    const auto answer = session_->ask(sql);
    EXPECT_TRUE(answer) << to_string(answer.error());
    return answer ? *answer : std::string();
  }
  // 1,000 messages and work items, a hundred at a time.
  void pass() {
    for (int group = 0; group < 10; ++group) {
      std::vector<Operation> submits, starts, ends;
      for (int i = 0; i < 100; ++i) submits.emplace_back(submit_of(format("passing {}", made_jobs_++)));
      const auto made = store_->commit(submits);
      ASSERT_TRUE(made) << to_string(made.error());
      for (const Outcome& one : *made) {
        starts.emplace_back(opening(one.run()));
        ends.emplace_back(ending(one.run(), 1));
      }
      cost_of(starts);
      cost_of(ends);
    }
    for (const char* queue : {"inbox", "work", "timers"}) ask(format("VACUUM {}", queue));
  }
  long long bytes() {
    return std::atoll(ask("SELECT pg_total_relation_size('inbox') + pg_total_relation_size('work')").c_str());
  }

  std::optional<TestServer> server_;
  std::unique_ptr<Connection> session_;
};

// A vacuum after every few thousand rows keeps the tables small. Their settings make autovacuum do that.
TEST_F(QueueSize, does_not_grow_with_what_went_through) {
  for (const char* queue : {"inbox", "work", "timers", "outbox", "mailbox_entries", "duplex_stream"})
    EXPECT_NE(ask(format("SELECT array_to_string(reloptions, ' ') FROM pg_class WHERE oid = '{}'::regclass", queue))
                  .find("autovacuum_vacuum_threshold"),
              std::string::npos)
        << queue;
  pass();
  pass();
  const auto before = bytes();
  for (int i = 0; i < 8; ++i) pass();
  EXPECT_LE(bytes(), before + before / 4);
}

}  // namespace

}  // namespace pawl::store::postgres
