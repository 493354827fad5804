// What a lane sends: delivered in order, sent again after an unknown outcome, dropped when the target has it.
#include <algorithm>

#include "core/mailbox.h"
#include "runtime/engine_bench.h"
#include "runtime/lane_table.h"
#include "runtime/requests.h"

namespace pawl::runtime {
namespace {

using store::OutcomeKind;

// A mailbox of lane 1 in which three signals meet three registrations sends three messages to jobs of lane 2.
class EngineSends : public ::testing::Test {
 protected:
  EngineSends() : bench_(core::Fusion::on) {}
  void SetUp() override {
    bench_.settle();
    pool_ = **bench_.store.read_pool(Pool("graphs"));
    for (int i = 0; lane_for(pool_, key_) != core::LaneId(1); ++i) key_.key = "k" + std::to_string(i);
    for (std::uint64_t i = 1; i <= 3; ++i) {
      tell({core::Guid{1, i}, core::Register{core::make_run(core::LaneId(2), i), core::ActivitySeq(0)}});
      tell({core::Guid{2, i}, core::Signal{"{}"}});
    }
    // Until the messages are sent.
    while (deliveries() == 0) {
      bench_.engine->pump();
      group_ = bench_.engine->take_group();
      ASSERT_TRUE(group_.has_value()) << "nothing is sent";
      if (deliveries() == 0) finish(bench_.store.commit(group_->operations));
    }
  }
  void tell(core::Message message) {
    store::Deliver deliver;
    deliver.envelope = {key_, std::move(message)};
    deliver.lane = core::LaneId(1);
    bench_.engine->request(std::move(deliver), 7);
  }
  template <class Operation>
  std::vector<Operation> of_group() const {
    std::vector<Operation> found;
    if (group_)
      for (const store::Operation& operation : group_->operations)
        if (const auto* one = std::get_if<Operation>(&operation)) found.push_back(*one);
    return found;
  }
  std::size_t deliveries() const {
    const auto all = of_group<store::Deliver>();
    const auto count = std::count_if(all.begin(), all.end(), [](const auto& one) { return one.source.has_value(); });
    return static_cast<std::size_t>(count);
  }
  void finish(Result<std::vector<store::Outcome>> result) {
    bench_.engine->finished(std::move(*group_), std::move(result));
    group_.reset();
  }
  void next_group() {
    bench_.engine->pump();
    group_ = bench_.engine->take_group();
  }
  std::size_t rows() { return bench_.store.read_outbox(core::LaneId(1), 100)->size(); }

  Bench bench_;
  store::PoolInfo pool_;
  core::MailboxKey key_{default_namespace(), Topic("t"), "k"};
  std::optional<Group> group_;
};

TEST_F(EngineSends, a_row_is_dropped_by_an_operation_of_its_own_once_its_delivery_is_known) {
  EXPECT_EQ(deliveries(), 3u);
  EXPECT_TRUE(of_group<store::DropOutbox>().empty());
  finish(bench_.store.commit(group_->operations));
  EXPECT_EQ(rows(), 3u);
  next_group();
  const auto drops = of_group<store::DropOutbox>();
  ASSERT_EQ(drops.size(), 1u);
  EXPECT_EQ(drops[0].lane, core::LaneId(1));
  EXPECT_EQ(drops[0].target, core::LaneId(2));
  EXPECT_EQ(drops[0].up_to, 3u);
  EXPECT_EQ(deliveries(), 0u) << "what the target has is not sent again";
  finish(bench_.store.commit(group_->operations));
  EXPECT_EQ(rows(), 0u);
}

TEST_F(EngineSends, after_an_answer_that_is_not_known_the_rows_are_sent_again) {
  finish(Error{ErrorCode::outcome_unknown, "lost"});
  next_group();
  EXPECT_EQ(deliveries(), 3u);
  EXPECT_TRUE(of_group<store::DropOutbox>().empty());
  bench_.engine->finished(std::move(*group_), bench_.store.commit(group_->operations));
  bench_.settle();
  EXPECT_EQ(rows(), 0u);
}

// The first was lost on its way: the target reports that it has nothing, and everything is sent again.
TEST_F(EngineSends, a_gap_is_filled_from_where_the_target_says) {
  std::vector<store::Operation> some(group_->operations.begin() + 1, group_->operations.end());
  auto result = bench_.store.commit(some);
  result->insert(result->begin(), store::Outcome{OutcomeKind::outcome_unknown, "lost"});
  EXPECT_EQ((*result)[1].kind, OutcomeKind::conflict);
  finish(std::move(result));
  next_group();
  EXPECT_EQ(deliveries(), 3u);
  EXPECT_TRUE(of_group<store::DropOutbox>().empty());
}

TEST_F(EngineSends, what_the_target_says_that_it_has_is_dropped_though_nobody_heard_that_it_was_taken) {
  std::vector<store::Operation> first(group_->operations.begin(), group_->operations.begin() + 1);
  ASSERT_TRUE(bench_.store.commit(first));
  std::vector<store::Outcome> outcomes(3, store::Outcome{OutcomeKind::outcome_unknown, "lost"});
  const std::vector<store::Operation> last(group_->operations.begin() + 2, group_->operations.end());
  outcomes[2] = (*bench_.store.commit(last))[0];
  EXPECT_EQ(outcomes[2].kind, OutcomeKind::conflict);
  finish(std::move(outcomes));
  next_group();
  ASSERT_EQ(of_group<store::DropOutbox>().size(), 1u);
  EXPECT_EQ(of_group<store::DropOutbox>()[0].up_to, 1u);
  EXPECT_EQ(deliveries(), 2u);
}

// What can never be delivered is reported, and not sent again and again.
TEST_F(EngineSends, a_row_that_is_rejected_is_reported_and_waits) {
  std::vector<store::Outcome> outcomes(3, store::Outcome{OutcomeKind::rejected, "never"});
  finish(std::move(outcomes));
  EXPECT_FALSE(bench_.events.problems.empty());
  next_group();
  EXPECT_EQ(deliveries(), 0u);
  EXPECT_EQ(rows(), 3u);
}

TEST(RequestsTest, a_topic_is_paused_in_one_lane_after_the_other_where_lanes_are_islands) {
  ManualClock clock;
  store::memory::Store store(clock, store::memory::Lanes::islands);
  const store::Operation open = store::OpenPool{Pool("graphs"), 3};
  ASSERT_TRUE(store.commit({&open, 1}).ok());
  GraphCatalog graphs;
  int left = 2;
  const auto commit = [&](store::Operation operation) -> Result<store::Outcome> {
    if (left-- == 0) return Error{ErrorCode::retry_later, "the node of this lane is away"};
    return (*store.commit({&operation, 1}))[0];
  };
  Requests requests(store, **store.read_pool(Pool("graphs")), graphs, 1, commit, {});
  EXPECT_FALSE(requests.pause_topic("t", true)) << "one of three lanes could not be reached";
  EXPECT_EQ(store.dump().paused.size(), 2u);
  left = 100;
  EXPECT_TRUE(requests.pause_topic("t", true));
  EXPECT_EQ(store.dump().paused.size(), 3u);
  EXPECT_TRUE(requests.pause_topic("t", false));
  EXPECT_TRUE(store.read_paused_topics()->empty());
}

}  // namespace
}  // namespace pawl::runtime
