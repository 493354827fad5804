// Workers in other processes: work that is claimed for them in the commit that puts it, and replies that go straight
// into the next bundle of their job.
#include "runtime/far_replies.h"

#include "execute/test_graph.h"
#include "runtime/engine_bench.h"

namespace pawl::runtime {
namespace {

using store::OutcomeKind;

struct FarWork : ::testing::Test {
  FarWork() {
    bench.deploy(GraphBuilder("two").trigger("t").worker("a", "far").after("t").worker("b", "far").after("a").build());
    bench.settle();
  }
  core::WorkItem begin() {
    bench.events.far_rooms += 1;
    bench.submit("j", "two");
    bench.settle();
    EXPECT_EQ(bench.events.far_work.size(), 1u);
    core::WorkItem item = bench.events.far_work.front();
    bench.events.far_work.pop_front();
    return item;
  }
  static store::DeliverReply reply_to(const core::WorkItem& item,
                                      core::ReplyStatus status = core::ReplyStatus::success) {
    using Purpose = core::Guid::Purpose;
    const core::Guid guid = status == core::ReplyStatus::pending ? item.request.derive(Purpose::response_pending, 1)
                                                                 : item.request.derive(Purpose::response_final, 0);
    return {item.run, item.activity, item.token,
            core::Message{guid, core::Reply{item.activity, status, 200, item.token, "{}"}}};
  }
  // The operations of the next commit.
  std::vector<store::Operation> commit_next() {
    bench.engine->pump();
    auto group = bench.engine->take_group();
    if (!group) return {};
    auto operations = group->operations;
    auto result = bench.store.commit(group->operations);
    bench.engine->finished(std::move(*group), std::move(result));
    return operations;
  }
  template <class Kind>
  static bool is_one(const std::vector<store::Operation>& operations) {
    return operations.size() == 1 && std::holds_alternative<Kind>(operations.front());
  }
  OutcomeKind last_outcome() { return bench.events.outcomes.back()->kind; }

  Bench bench{core::Fusion::on, "e1", 1, std::chrono::hours(1)};  // its lanes outlast every lease
};

TEST_F(FarWork, is_claimed_in_the_commit_that_puts_it) {
  const core::WorkItem item = begin();
  const auto stored = *store::answer_to(bench.store, store::ReadItem{item.run, item.activity});
  ASSERT_TRUE(stored);
  EXPECT_EQ(*stored, item);
  EXPECT_EQ(stored->worker, "far");
  EXPECT_EQ(stored->epoch, core::Epoch(0));
  EXPECT_EQ(stored->runs, 1u);
  EXPECT_EQ(stored->lease_until, bench.clock.now() + std::chrono::seconds(30));
  EXPECT_EQ(stored->token, core::token_of(item.request, 1)) << "as a claim of its own would leave it";
  EXPECT_TRUE(bench.events.waiting.empty());
}

TEST_F(FarWork, is_given_to_nobody_before_its_commit) {
  bench.events.far_rooms = 1;
  bench.submit("j", "two");
  bench.engine->pump();
  auto group = bench.engine->take_group();
  ASSERT_TRUE(group);
  EXPECT_EQ(bench.events.far_rooms, 0u);
  EXPECT_TRUE(bench.events.far_work.empty());
  std::vector<store::Outcome> refused(group->operations.size(), {OutcomeKind::conflict, "as the test says"});
  bench.engine->finished(std::move(*group), std::move(refused));
  EXPECT_EQ(bench.events.far_rooms, 1u) << "it was not committed";
  EXPECT_TRUE(bench.events.far_work.empty());
}

TEST_F(FarWork, whose_commit_has_an_unknown_outcome_is_given_back) {
  bench.events.far_rooms = 1;
  bench.submit("j", "two");
  bench.engine->pump();
  auto group = bench.engine->take_group();
  ASSERT_TRUE(group);
  EXPECT_TRUE(bench.store.commit(group->operations).ok());
  bench.engine->finished(std::move(*group), Error{ErrorCode::outcome_unknown, "the line is dead"});
  bench.settle();
  EXPECT_TRUE(bench.events.far_work.empty());
  EXPECT_EQ(bench.events.far_rooms, 1u);
  ASSERT_EQ(bench.state("j").work().size(), 1u);
  EXPECT_EQ(bench.state("j").work().begin()->second.token, core::WorkToken(0)) << "anybody may have it at once";
  EXPECT_FALSE(bench.events.waiting.empty());
}

TEST_F(FarWork, that_nobody_waits_for_waits_in_the_store) {
  bench.submit("j", "two");
  bench.settle();
  EXPECT_EQ(bench.events.waiting, std::vector<Topic>{Topic("far")});
  EXPECT_EQ(bench.state("j").work().begin()->second.token, core::WorkToken(0));
}

TEST_F(FarWork, costs_one_commit_for_each_step) {
  const core::WorkItem first = begin();
  bench.events.far_rooms = 1;
  bench.engine->request(reply_to(first), 5);
  EXPECT_TRUE(bench.events.outcomes.empty()) << "nothing is durable yet";
  EXPECT_TRUE(is_one<core::Bundle>(commit_next()));
  ASSERT_EQ(bench.events.outcomes.size(), 1u);
  EXPECT_EQ(last_outcome(), OutcomeKind::committed);
  EXPECT_EQ(bench.events.far_work.size(), 1u) << "the next step's work, of the same commit";
}

TEST_F(FarWork, a_reply_that_comes_twice_is_answered_twice) {
  const core::WorkItem item = begin();
  bench.engine->request(reply_to(item), 5);
  bench.engine->request(reply_to(item), 6);
  bench.settle();
  ASSERT_EQ(bench.events.outcomes.size(), 2u);
  for (const auto& outcome : bench.events.outcomes) EXPECT_EQ(outcome->kind, OutcomeKind::committed);
}

TEST_F(FarWork, a_stale_reply_is_refused_by_the_store_and_changes_nothing) {
  const core::WorkItem item = begin();
  bench.clock.advance(std::chrono::seconds(31));
  // Another process gives it to another worker; this engine does not know yet.
  const store::Operation claim = store::ClaimWork{{Topic("far")}, 1, "other", std::chrono::seconds(30)};
  const auto claimed = bench.store.commit({&claim, 1});
  ASSERT_EQ((*claimed)[0].items().size(), 1u);
  bench.engine->request(reply_to(item), 5);
  bench.settle();
  ASSERT_EQ(bench.events.outcomes.size(), 1u);
  EXPECT_EQ(last_outcome(), OutcomeKind::conflict);
  const core::JobState state = bench.state("j");
  ASSERT_EQ(state.work().size(), 1u);
  EXPECT_EQ(state.work().begin()->second, (*claimed)[0].items().front());
  bench.engine->request(reply_to((*claimed)[0].items().front()), 6);
  bench.settle();
  EXPECT_EQ(last_outcome(), OutcomeKind::committed) << "the worker that has it";
}

TEST_F(FarWork, a_reply_behind_an_interim_one_is_stored_like_it) {
  const core::WorkItem item = begin();
  bench.engine->request(reply_to(item, core::ReplyStatus::pending), 5);
  bench.engine->request(reply_to(item), 6);
  const auto operations = commit_next();
  ASSERT_EQ(operations.size(), 2u);
  for (const store::Operation& operation : operations)
    EXPECT_TRUE(std::holds_alternative<store::DeliverReply>(operation)) << "in their order";
  bench.settle();
  for (const auto& outcome : bench.events.outcomes) EXPECT_EQ(outcome->kind, OutcomeKind::committed);
}

TEST_F(FarWork, a_reply_whose_bundle_has_an_unknown_outcome_is_answered_by_the_store) {
  const core::WorkItem item = begin();
  bench.engine->request(reply_to(item), 5);
  bench.engine->pump();
  auto group = bench.engine->take_group();
  ASSERT_TRUE(group);
  bench.engine->finished(std::move(*group), Error{ErrorCode::outcome_unknown, "never arrived"});
  EXPECT_TRUE(bench.events.outcomes.empty());
  bench.settle();
  ASSERT_EQ(bench.events.outcomes.size(), 1u);
  EXPECT_EQ(last_outcome(), OutcomeKind::committed);
  EXPECT_EQ(bench.state("j").work().size(), 1u) << "and the job goes on with the next step";
}

TEST_F(FarWork, a_reply_to_a_paused_job_is_stored) {
  const core::WorkItem item = begin();
  bench.engine->request(reply_to(item), 5);
  bench.ask("j", core::Pause{"for the test"});
  EXPECT_EQ(bench.events.outcomes.size(), 2u);
  for (const auto& outcome : bench.events.outcomes) EXPECT_EQ(outcome->kind, OutcomeKind::committed);
}

TEST_F(FarWork, a_reply_while_the_store_takes_no_writes_is_to_be_sent_again) {
  const core::WorkItem item = begin();
  bench.engine->request(reply_to(item), 5);
  bench.engine->pump();
  auto group = bench.engine->take_group();
  ASSERT_TRUE(group);
  bench.engine->finished(std::move(*group), Error{ErrorCode::retry_later, "the disk is full"});
  ASSERT_EQ(bench.events.outcomes.size(), 1u);
  EXPECT_EQ(bench.events.outcomes.back().error().code, ErrorCode::retry_later);
  bench.wait(std::chrono::seconds(5));
  EXPECT_EQ(bench.state("j").work().size(), 1u) << "it counts all the same";
}

}  // namespace
}  // namespace pawl::runtime
