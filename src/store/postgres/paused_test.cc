// A node stops in the middle of a commit while another node takes its lane. When the first node continues, it must have
// committed nothing.
#include <thread>

#include "store/postgres/gate_test.h"
#include "store/postgres/store_test.h"

namespace pawl::store::postgres {

namespace {

constexpr std::chrono::milliseconds idle_max{300};

class PostgresPaused : public PostgresTest {
 protected:
  static Options hasty() {
    Options options;
    options.transaction_idle_max = idle_max;
    options.lock_wait = std::chrono::milliseconds(700);
    options.connections = options.readers = 1;
    return options;
  }
  void SetUp() override {
    other_ = open("", hasty());
    Options options = hasty();
    options.schema = schema_.name();
    auto through = Store::open(gate_.address(), options);
    ASSERT_TRUE(through) << to_string(through.error());
    paused_ = std::move(*through);
    epoch_ = acquire(*paused_, 1, "paused", std::chrono::milliseconds(1));
    run_ = commit(*paused_, submit_of("job")).run();
    const std::vector<Operation> first = {bundle_for(*paused_, run_, epoch_)};
    ASSERT_TRUE(insist(*paused_, first)) << "its statements are prepared now";
  }
  // Commits again after each timeout, as an engine does: on a busy machine any session may be idle for too long.
  static Result<std::vector<Outcome>> insist(Store& store, std::span<const Operation> group) {
    auto outcomes = store.commit(group);
    for (int tries = 0; !outcomes && outcomes.error().code == ErrorCode::retry_later && tries < 40; ++tries)
      outcomes = store.commit(group);
    return outcomes;
  }
  // Waits until the other node has the lane.
  core::Epoch take_over() {
    const Operation take = AcquireLane{core::LaneId(1), "other", lease};
    for (int tries = 0; tries < 40; ++tries) {
      const auto outcomes = insist(*other_, {&take, 1});
      if (!outcomes) break;
      if (outcomes->front().kind == OutcomeKind::committed) return outcomes->front().epoch();
    }
    ADD_FAILURE() << "the lane could not be taken";
    return core::Epoch(0);
  }
  void expect_nothing_committed(const std::vector<Operation>& group) {
    const core::Rev before = (*other_->read_job(run_))->state.job.rev;
    std::optional<Result<std::vector<Outcome>>> answer;
    std::thread commits([&] { answer = paused_->commit(group); });
    EXPECT_TRUE(gate_.wait_held());
    const core::Epoch taken = take_over();
    EXPECT_GT(taken, epoch_);
    // The first node continues.
    gate_.let_go();
    commits.join();
    ASSERT_TRUE(answer);
    if (*answer) {
      EXPECT_EQ((**answer)[0].kind, OutcomeKind::fenced);
    }
    EXPECT_EQ((*other_->read_job(run_))->state.job.rev, before);
    const auto again = insist(*paused_, group);
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ((*again)[0].kind, OutcomeKind::fenced);
    const Operation next = bundle_for(*other_, run_, taken);
    const auto goes_on = insist(*other_, {&next, 1});
    ASSERT_TRUE(goes_on) << to_string(goes_on.error());
    EXPECT_EQ((*goes_on)[0].kind, OutcomeKind::committed);
  }

  Gate gate_{SharedServer::get().server()->folder(), SharedServer::get().database()};
  std::unique_ptr<Store> paused_, other_;
  core::Epoch epoch_{0};
  RunId run_{0};
};

// Everything is written, and the server waits for the rest of the script. No timeout of the server runs in this state.
TEST_F(PostgresPaused, before_the_commit_itself) {
  const std::vector<Operation> group = {bundle_for(*paused_, run_, epoch_)};
  gate_.hold_before("pawl_commit");
  expect_nothing_committed(group);
}

TEST_F(PostgresPaused, between_what_it_reads_and_what_it_writes) {
  const std::vector<Operation> group = {bundle_for(*paused_, run_, epoch_)};
  gate_.hold_before("step_semaphore_and_snapshot");
  expect_nothing_committed(group);
}

TEST_F(PostgresPaused, before_it_has_locked_anything) {
  const std::vector<Operation> group = {bundle_for(*paused_, run_, epoch_)};
  gate_.hold_behind(0);
  expect_nothing_committed(group);
}

}  // namespace

}  // namespace pawl::store::postgres
