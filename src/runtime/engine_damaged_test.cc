// Rows that cannot be read: what they stop, what they do not stop, and what is reported.
#include <algorithm>
#include <set>

#include "execute/test_graph.h"
#include "runtime/engine_bench.h"
#include "runtime/lane_table.h"
#include "store/fault/store.h"

namespace pawl::runtime {
namespace {

// An engine of three lanes over a store with some damaged rows.
class EngineDamaged : public ::testing::Test {
 protected:
  explicit EngineDamaged(ErrorCode as = ErrorCode::corrupt)
      : memory_(clock_),
        store_(memory_,
               {.is_damaged = [this](RunId run) { return damaged_.contains(run); },
                .damaged_as = as,
                .is_damaged_row = [this](const store::OutboxRow& row) { return row.lane == damaged_route_; }}) {
    const store::Operation open = store::OpenPool{Pool("graphs"), 3};
    EXPECT_TRUE(memory_.commit({&open, 1}).ok());
    EngineOptions options;
    options.name = "e1";
    options.lease = std::chrono::seconds(10);
    engine_ = std::make_unique<Engine>(options, **memory_.read_pool(Pool("graphs")), store_, clock_, graphs_, events_);
    engine_->tick();
    settle();
    const store::PoolInfo pool = **memory_.read_pool(Pool("graphs"));
    for (int i = 0; lane_for(pool, key_) != core::LaneId(1); ++i) key_.key = "k" + std::to_string(i);
  }
  // This many turns, each of which may commit.
  int settle() {
    int groups = 0;
    for (int turn = 0; turn < 100; ++turn) {
      engine_->pump();
      auto group = engine_->take_group();
      if (!group) continue;
      ++groups;
      auto result = store_.commit(group->operations);
      engine_->finished(std::move(*group), std::move(result));
    }
    return groups;
  }
  void tell(core::Message message) {
    store::Deliver deliver;
    deliver.envelope = {key_, std::move(message)};
    deliver.lane = core::LaneId(1);
    engine_->request(std::move(deliver), 7);
  }
  void wait(Duration time) {
    clock_.advance(time);
    engine_->tick();
    settle();
  }
  std::size_t rows_to(std::uint32_t lane) {
    std::size_t count = 0;
    const auto page = memory_.read_outbox(core::LaneId(1), 100);
    for (const store::OutboxRow& row : *page) count += row.lane == core::LaneId(lane);
    return count;
  }
  long said(const std::string& what) const {
    return std::count_if(events_.problems.begin(), events_.problems.end(),
                         [&](const std::string& text) { return text.find(what) != std::string::npos; });
  }

  std::set<RunId> damaged_;
  core::LaneId damaged_route_{0};
  ManualClock clock_;
  GraphCatalog graphs_;
  Recorder events_;
  store::memory::Store memory_;
  store::fault::Store store_;
  std::unique_ptr<Engine> engine_;
  core::MailboxKey key_{default_namespace(), Topic("t"), "k"};
};

TEST_F(EngineDamaged, a_row_of_an_outbox_holds_up_its_own_route_and_is_said_once) {
  damaged_route_ = core::LaneId(2);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    const core::LaneId home(i % 2 == 0 ? 2 : 3);
    tell({core::Guid{1, i}, core::Register{core::make_run(home, i), core::ActivitySeq(0)}});
    tell({core::Guid{2, i}, core::Signal{"{}"}});
    settle();
  }
  for (int i = 0; i < 20; ++i) wait(std::chrono::seconds(1));
  EXPECT_EQ(rows_to(2), 2u) << "they wait";
  EXPECT_EQ(rows_to(3), 0u) << "these do not";
  EXPECT_EQ(said("of an outbox is malformed"), 1);
  // When the row is repaired, the next scan of the lane finds the messages.
  damaged_route_ = core::LaneId(0);
  engine_->inbox_changed();
  wait(std::chrono::seconds(1));
  EXPECT_EQ(rows_to(2), 0u);
}

TEST_F(EngineDamaged, a_mailbox_takes_no_signal_until_it_is_mended) {
  tell({core::Guid{2, 1}, core::Signal{"{}"}});
  settle();
  const RunId mailbox = **memory_.find_mailbox(key_);
  damaged_.insert(mailbox);
  events_.outcomes.clear();
  tell({core::Guid{2, 2}, core::Signal{"{}"}});  // the signal that shows it
  settle();
  ASSERT_EQ(events_.outcomes.size(), 1u);
  EXPECT_TRUE(events_.outcomes[0]);
  for (std::uint64_t i = 3; i < 6; ++i) tell({core::Guid{2, i}, core::Signal{"{}"}});
  settle();
  ASSERT_EQ(events_.outcomes.size(), 4u);
  for (std::size_t i = 1; i < 4; ++i) {
    ASSERT_FALSE(events_.outcomes[i]);
    EXPECT_EQ(events_.outcomes[i].error().code, ErrorCode::corrupt);
    EXPECT_NE(events_.outcomes[i].error().detail.find("nobody would read this signal"), std::string::npos);
  }
  EXPECT_EQ(said("it is left as it is"), 1);
  damaged_.clear();
  tell({core::Guid{2, 7}, core::Signal{"{}"}});
  settle();
  EXPECT_TRUE(events_.outcomes.back());
  EXPECT_EQ((*memory_.read_mailbox(mailbox))->state.entries.size(), 3u) << "all that were accepted are kept";
}

class EngineBadSector : public EngineDamaged {
 protected:
  EngineBadSector() : EngineDamaged(ErrorCode::retry_later) {}
};

// The store refuses a job's bundle because a page of it cannot be read, and cannot read the job either.
TEST_F(EngineBadSector, a_job_that_the_disk_does_not_give_back_is_parked_by_its_row) {
  auto graph = execute::graph_of(GraphBuilder("one").trigger("t").worker("a", "nobody").after("t"));
  ASSERT_TRUE(graphs_.add(std::move(*graph)).ok());
  engine_->submit(
      SubmitRequest{default_namespace(), JobId("j"), GraphName("one"), "{}", core::JobSecret(core::Guid{1, 1})}, 1);
  engine_->pump();
  auto group = engine_->take_group();
  ASSERT_TRUE(group);
  ASSERT_EQ(group->operations.size(), 2u) << "the submit and its first step";
  auto outcomes = *store_.commit(std::span(group->operations).first(1));
  outcomes.push_back(store::Outcome{store::OutcomeKind::rejected, "disk I/O error"});
  const RunId run = **memory_.find_run(default_namespace(), JobId("j"));
  damaged_.insert(run);
  engine_->finished(std::move(*group), std::move(outcomes));
  settle();
  damaged_.clear();
  const core::JobRow row = (*memory_.read_job(run))->state.job;
  EXPECT_EQ(row.status, core::JobStatus::parked);
  EXPECT_NE(row.reason.find("disk I/O error"), std::string::npos) << row.reason;
}

}  // namespace
}  // namespace pawl::runtime
