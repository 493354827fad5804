#include "runtime/reads.h"

#include <gtest/gtest.h>

#include "runtime/engine_bench.h"
#include "runtime/lanes.h"

namespace pawl::runtime {
namespace {

class ReadsTest : public ::testing::Test {
 protected:
  ReadsTest() {
    const store::Operation open = store::OpenPool{Pool("graphs"), 2};
    EXPECT_TRUE(store_.commit({&open, 1}).ok());
    lanes_.emplace(**store_.read_pool(Pool("graphs")), Duration{0}, clock_);
    reads_.emplace(Reads::Way::later, store_, *lanes_);
    own();
  }
  void own() {
    lanes_->table().acquired(lane_, core::Epoch(1), clock_.monotonic(), false);
    lanes_->take(lane_, core::Epoch(1));
  }
  void ask(RunId run) {
    reads_->ask(
        *lanes_->mine(lane_), store::ReadJob{run},
        [this](OwnedLane&, const store::AnswerTo<store::ReadJob>&) { ++answers_; }, [this] { ++lost_; });
  }
  void answer(ReadBatch batch, std::size_t count) {
    auto answers = store_.read(batch.reads);
    answers.erase(answers.begin() + static_cast<std::ptrdiff_t>(count), answers.end());
    reads_->answered(std::move(batch), std::move(answers));
  }

  ManualClock clock_;
  store::memory::Store store_{clock_};
  std::optional<Lanes> lanes_;
  std::optional<Reads> reads_;
  const core::LaneId lane_{1};
  const RunId run_ = core::make_run(core::LaneId(1), 1);
  int answers_ = 0;
  int lost_ = 0;
};

TEST_F(ReadsTest, are_answered_when_the_driver_says_so) {
  ask(run_);
  ask(RunId(run_.raw() + 1));
  EXPECT_EQ(answers_, 0);
  auto batch = reads_->take();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->reads.size(), 2u);
  EXPECT_FALSE(reads_->take());
  EXPECT_FALSE(reads_->empty());
  answer(std::move(*batch), 2);
  EXPECT_EQ(answers_, 2);
  EXPECT_TRUE(reads_->empty());
}

TEST_F(ReadsTest, that_were_not_answered_are_asked_again) {
  ask(run_);
  ask(RunId(run_.raw() + 1));
  answer(*reads_->take(), 1);
  EXPECT_EQ(answers_, 1);
  auto rest = reads_->take();
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->reads.size(), 1u);
  answer(std::move(*rest), 1);
  EXPECT_EQ(answers_, 2);
}

TEST_F(ReadsTest, of_a_run_whose_work_changed_meanwhile_are_asked_again) {
  ask(run_);
  reads_->touched(run_);  // not read yet: what will be found is newer
  auto batch = reads_->take();
  reads_->touched(run_);
  answer(std::move(*batch), 1);
  EXPECT_EQ(answers_, 0);
  batch = reads_->take();
  ASSERT_TRUE(batch);
  answer(std::move(*batch), 1);
  EXPECT_EQ(answers_, 1);
}

TEST_F(ReadsTest, of_a_lane_that_was_lost_lead_to_nothing_even_if_it_came_back) {
  ask(run_);
  auto batch = reads_->take();
  lanes_->forget(lane_);
  own();
  answer(std::move(*batch), 1);
  EXPECT_EQ(answers_, 0);
  EXPECT_EQ(lost_, 1);
}

TEST_F(ReadsTest, of_a_store_at_hand_are_answered_at_once) {
  Reads at_once(Reads::Way::at_once, store_, *lanes_);
  bool answered = false;
  at_once.ask(store::ReadPausedTopics{},
              [&](const store::AnswerTo<store::ReadPausedTopics>& topics) { answered = topics.ok(); });
  EXPECT_TRUE(answered);
  EXPECT_FALSE(at_once.take());
}

}  // namespace
}  // namespace pawl::runtime
