// When a move is refused, and what it leaves when it is interrupted.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/transfer/kinds_test.h"

namespace pawl::store::transfer {

namespace {

constexpr Duration lease = std::chrono::seconds(30);
constexpr int many = 1'500;  // jobs: more than one batch

// Its process is killed when everything is done except the last mark.
class DyingTarget final : public Target {
 public:
  explicit DyingTarget(Target& inner) : inner_(inner) {}
  Result<std::uint64_t> count_jobs() override { return inner_.count_jobs(); }
  Status read(const See& see) override { return inner_.read(see); }
  Store& store() override { return inner_.store(); }
  Status begin(const Mark& incoming) override { return inner_.begin(incoming); }
  Status put(std::span<const Record> records) override { return inner_.put(records); }
  Status end_of_records() override { return inner_.end_of_records(); }
  Status finish() override {
    kill(getpid(), SIGKILL);
    return {};
  }

 private:
  Target& inner_;
};

class Moves : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    from_ = make_home(GetParam());
    to_ = make_home(GetParam() == Kind::sqlite ? Kind::postgres : Kind::sqlite);
  }
  static Outcome commit(Store& store, Operation operation) {
    auto outcomes = store.commit({&operation, 1});
    if (outcomes) return std::move(outcomes->front());
    ADD_FAILURE() << to_string(outcomes.error());
    return {};
  }
  std::unique_ptr<Store> open(Home& home) {
    auto opened = home.open(clock_);
    if (opened) return std::move(*opened);
    ADD_FAILURE() << to_string(opened.error());
    return nullptr;
  }
  // A store with this many jobs; returns the first of them.
  RunId fill(Home& home, int jobs) {
    const auto store = open(home);
    commit(*store, OpenPool{Pool("graphs"), 2});
    std::vector<Operation> group;
    for (int i = 0; i < jobs; ++i)
      group.emplace_back(Submit{Namespace("default"),
                                JobId(format("job-{}", i)),
                                core::LaneId(1),
                                {GraphName("g"), 1, 1},
                                "in",
                                clock_.now()});
    const auto outcomes = store->commit(group);
    EXPECT_TRUE(outcomes);
    return outcomes ? outcomes->front().run() : RunId(0);
  }
  // Whether a process that has the store open can put a job into it.
  bool takes_a_job(Store& store, const std::string& id) {
    const Operation job =
        Submit{Namespace("default"), JobId(id), core::LaneId(1), {GraphName("g"), 1, 1}, "in", clock_.now()};
    const auto outcomes = store.commit({&job, 1});
    return outcomes && outcomes->front().done();
  }
  Error refused(Home& from, Home& to) {
    const auto moved = move_between(from, to, clock_);
    if (!moved) return moved.error();
    ADD_FAILURE() << "it was moved";
    return {ErrorCode::invalid, ""};
  }
  // How the child ended.
  static int end_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }
  void expect_refused(Home& home, const std::string& why) {
    const auto opened = home.open(clock_);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().detail.find(why), std::string::npos) << opened.error().detail;
  }

  ManualClock clock_;
  std::unique_ptr<Home> from_, to_;
};

TEST_P(Moves, need_a_store_that_nobody_runs_on) {
  fill(*from_, 3);
  {
    const auto running = open(*from_);
    const core::Epoch epoch = commit(*running, AcquireLane{core::LaneId(1), "engine-a", lease}).epoch();
    const Error error = refused(*from_, *to_);
    EXPECT_EQ(error.code, ErrorCode::retry_later);
    EXPECT_NE(error.detail.find("stop"), std::string::npos) << error.detail;
    // It continues, unaffected by the refused move.
    EXPECT_EQ(commit(*running, RenewLane{core::LaneId(1), epoch, lease}).kind, OutcomeKind::committed);
  }
  clock_.advance(lease + lease);  // it was killed, and its lease is over
  const auto moved = move_between(*from_, *to_, clock_);
  ASSERT_TRUE(moved) << to_string(moved.error());
  EXPECT_EQ(open(*to_)->list_jobs({})->size(), 3u);
}

TEST_P(Moves, keep_writers_out_while_they_read) {
  fill(*from_, many);
  const auto client = open(*from_);
  bool tried = false;
  const auto moved = move_between(*from_, *to_, clock_, [&](const Progress&) -> Status {
    if (std::exchange(tried, true)) return {};
    // With the other stores it would wait here until it gives up.
    if (GetParam() == Kind::redis || GetParam() == Kind::cluster) {
      EXPECT_FALSE(takes_a_job(*client, "late"));
    }
    return {};
  });
  ASSERT_TRUE(moved) << to_string(moved.error());
  // A process that had it open before cannot write to it afterwards either.
  EXPECT_FALSE(takes_a_job(*client, "later"));
  EXPECT_FALSE((*open(*to_)->find_run(Namespace("default"), JobId("late"))).has_value());
  ASSERT_TRUE(from_->undo(clock_));
  EXPECT_FALSE((*open(*from_)->find_run(Namespace("default"), JobId("later"))).has_value());
}

TEST_P(Moves, leave_a_backup_that_can_be_used_again_on_demand) {
  fill(*from_, 3);
  ASSERT_TRUE(move_between(*from_, *to_, clock_));
  expect_refused(*from_, "was moved to " + to_->name());
  EXPECT_NE(refused(*to_, *from_).detail.find("was moved to"), std::string::npos);
  EXPECT_EQ(refused(*from_, *to_).code, ErrorCode::invalid);  // the target holds a store
  ASSERT_TRUE(from_->undo(clock_));
  const auto again = open(*from_);
  EXPECT_EQ(again->list_jobs({})->size(), 3u);
  EXPECT_TRUE(takes_a_job(*again, "new"));
  EXPECT_EQ(from_->undo(clock_).error().code, ErrorCode::invalid);
}

TEST_P(Moves, refuse_a_target_that_holds_something) {
  fill(*from_, 1);
  const auto full = make_home(GetParam());
  fill(*full, 1);
  const Error error = refused(*from_, *full);
  EXPECT_EQ(error.code, ErrorCode::invalid);
  EXPECT_NE(error.detail.find("holds a store already"), std::string::npos) << error.detail;
  EXPECT_NE(open(*from_), nullptr);
  EXPECT_NE(open(*full), nullptr);
}

TEST_P(Moves, refuse_a_source_with_a_damaged_row_and_name_it) {
  const RunId run = fill(*from_, 3);
  from_->damage(run);
  const Error error = refused(*from_, *to_);
  EXPECT_EQ(error.code, ErrorCode::corrupt);
  EXPECT_NE(error.detail.find(format("{}", run.raw())), std::string::npos) << error.detail;
  EXPECT_NE(open(*from_), nullptr);
  expect_refused(*to_, "not complete");
}

// kill -9 after the first batch, and while it is read back.
TEST_P(Moves, that_are_killed_start_over) {
  fill(*from_, many);
  for (const bool to_it : {false, true}) {
    Home& from = to_it ? *to_ : *from_;
    const auto fresh = to_it ? make_home(GetParam()) : nullptr;
    Home& to = to_it ? *fresh : *to_;
    for (const int calls : {1, 3}) {
      SCOPED_TRACE(format("{} {}", to_it ? "back" : "there", calls));
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        int call = 0;
        const auto moved = move_between(from, to, clock_, [&](const Progress&) -> Status {
          if (++call == calls) kill(getpid(), SIGKILL);
          return {};
        });
        _exit(moved ? 0 : 1);
      }
      ASSERT_TRUE(WIFSIGNALED(end_of(child)));
      expect_refused(to, "not complete");
    }
    const auto moved = move_between(from, to, clock_);
    ASSERT_TRUE(moved) << to_string(moved.error());
    EXPECT_EQ(moved->sums.of(Record(Job{}).index()).records, static_cast<std::uint64_t>(many));
    expect_refused(from, "was moved to");
    EXPECT_TRUE((*open(to)->find_run(Namespace("default"), JobId(format("job-{}", many - 1)))).has_value());
  }
}

TEST_P(Moves, that_are_killed_before_the_last_word_leave_no_store_to_work_on) {
  fill(*from_, 3);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto source = from_->source(clock_);
    auto target = to_->target(clock_);
    if (!source || !target) _exit(1);
    DyingTarget dying(**target);
    const auto moved = run({**source, dying, from_->name(), to_->name()});
    _exit(moved ? 0 : 1);
  }
  ASSERT_TRUE(WIFSIGNALED(end_of(child)));
  expect_refused(*from_, "was moved to");
  expect_refused(*to_, "not complete");
  const auto moved = move_between(*from_, *to_, clock_);
  ASSERT_TRUE(moved) << to_string(moved.error());
  EXPECT_EQ(open(*to_)->list_jobs({})->size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(kinds, Moves, testing::ValuesIn(all_kinds()),
                         [](const testing::TestParamInfo<Kind>& kind) { return name_of(kind.param); });

}  // namespace

}  // namespace pawl::store::transfer
