// A submit and the first step of its job, in one group.
#include "base/format.h"
#include "runtime/engine_bench.h"

namespace pawl::runtime {
namespace {

class EngineSubmit : public ::testing::Test {
 protected:
  EngineSubmit() {
    bench_.deploy(GraphBuilder("one").trigger("t").worker("a", "work").after("t").build());
    bench_.settle();  // it has its lanes, and knows their next numbers
    for (int i = 0; i < 3; ++i) bench_.submit(format("before-{}", i), "one");
    end_all();
    bench_.events.answers.clear();
    bench_.events.bundles.clear();
  }
  void end_all() {
    bench_.run([](const core::WorkItem& item) { return reply(item); });
  }
  Group next_group() {
    bench_.engine->pump();
    auto group = bench_.engine->take_group();
    EXPECT_TRUE(group.has_value());
    return group ? std::move(*group) : Group{};
  }
  void finish(Group group, Result<std::vector<store::Outcome>> result) {
    bench_.engine->finished(std::move(group), std::move(result));
    bench_.engine->pump();
  }
  void commit(Group group) {
    auto result = bench_.store.commit(group.operations);
    finish(std::move(group), std::move(result));
  }

  Bench bench_{core::Fusion::on};
};

TEST_F(EngineSubmit, is_one_commit_with_the_first_step) {
  bench_.submit("a", "one");
  Group group = next_group();
  ASSERT_EQ(group.operations.size(), 2u);
  const auto* submit = std::get_if<store::Submit>(&group.operations[0]);
  const auto* bundle = std::get_if<core::Bundle>(&group.operations[1]);
  ASSERT_TRUE(submit != nullptr && bundle != nullptr);
  EXPECT_EQ(submit->expected, bundle->entity);
  EXPECT_TRUE(bundle->with_submit);
  EXPECT_TRUE(bench_.events.answers.empty()) << "nothing is said before the commit";
  EXPECT_TRUE(bench_.events.work.empty());
  commit(std::move(group));
  ASSERT_EQ(bench_.events.answers.size(), 1u);
  EXPECT_TRUE(bench_.events.answers[0]->created);
  EXPECT_EQ(bench_.events.work.size(), 1u);
  EXPECT_EQ(bench_.run([](const core::WorkItem& item) { return reply(item); }), 1) << "one commit for the reply";
  EXPECT_EQ(bench_.state("a").job.status, core::JobStatus::completed);
}

TEST_F(EngineSubmit, of_an_id_that_is_taken_leaves_nothing_behind) {
  bench_.submit("before-1", "one");
  Group group = next_group();
  ASSERT_EQ(group.operations.size(), 2u);
  commit(std::move(group));
  ASSERT_EQ(bench_.events.answers.size(), 1u);
  EXPECT_FALSE(bench_.events.answers[0]->created);
  EXPECT_EQ(bench_.events.answers[0]->run, **bench_.store.find_run(default_namespace(), JobId("before-1")));
  EXPECT_TRUE(bench_.events.work.empty());
  EXPECT_TRUE(bench_.events.problems.empty());
  EXPECT_EQ(bench_.engine->hot_jobs(), 0u);
  EXPECT_EQ(bench_.engine->free_slots(), 100u);
}

TEST_F(EngineSubmit, that_the_store_refuses_for_now_is_told_and_its_first_step_is_given_up) {
  bench_.submit("a", "one");
  finish(next_group(), Error{ErrorCode::retry_later, "disk full"});
  ASSERT_EQ(bench_.events.answers.size(), 1u);
  EXPECT_FALSE(bench_.events.answers[0].ok());
  bench_.events.problems.clear();
  bench_.wait(std::chrono::seconds(1));
  EXPECT_TRUE(bench_.events.problems.empty()) << bench_.events.problems[0];
  EXPECT_EQ(bench_.engine->hot_jobs(), 0u);
  EXPECT_EQ(bench_.engine->free_slots(), 100u);
  bench_.submit("a", "one");
  end_all();
  EXPECT_EQ(bench_.state("a").job.status, core::JobStatus::completed);
}

TEST_F(EngineSubmit, whose_reply_was_lost_goes_on) {
  bench_.submit("a", "one");
  Group group = next_group();
  ASSERT_TRUE(bench_.store.commit(group.operations));
  finish(std::move(group), Error{ErrorCode::outcome_unknown, "no reply"});
  end_all();
  EXPECT_EQ(bench_.state("a").job.status, core::JobStatus::completed);
  EXPECT_EQ(bench_.state("a").job.completions, 1u);
}

TEST_F(EngineSubmit, that_never_arrived_is_forgotten) {
  bench_.submit("a", "one");
  finish(next_group(), Error{ErrorCode::outcome_unknown, "no reply"});
  end_all();
  EXPECT_FALSE(bench_.store.find_run(default_namespace(), JobId("a"))->has_value());
  EXPECT_EQ(bench_.engine->hot_jobs(), 0u);
  EXPECT_EQ(bench_.engine->free_slots(), 100u);
}

// Another process made jobs in the same lanes: the numbers that the engine expected are theirs.
TEST_F(EngineSubmit, under_another_number_than_expected_takes_its_first_step_later) {
  for (int i = 0; i < 4; ++i) bench_.submit(format("a-{}", i), "one");
  Group group = next_group();
  for (int i = 0; i < 8; ++i) {
    const std::string id = format("foreign-{}", i);
    const auto* first = std::get_if<store::Submit>(&group.operations[0]);
    const core::LaneId lane = bench_.engine->lane_for(default_namespace(), id);
    store::Submit foreign{default_namespace(), JobId(id), lane, first->graph, "{}", Instant()};
    foreign.secret = core::JobSecret(core::Guid{5, static_cast<std::uint64_t>(i)});
    const store::Operation operation = foreign;
    ASSERT_TRUE(bench_.store.commit({&operation, 1}));
  }
  commit(std::move(group));
  bench_.engine->inbox_changed();  // as the other process would tell
  end_all();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(bench_.state(format("a-{}", i)).job.status, core::JobStatus::completed) << i;
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(bench_.state(format("foreign-{}", i)).job.status, core::JobStatus::completed) << i;
  EXPECT_EQ(bench_.engine->hot_jobs(), 0u);
  EXPECT_EQ(bench_.engine->free_slots(), 100u);
  EXPECT_TRUE(bench_.events.problems.empty()) << bench_.events.problems[0];
  bench_.submit("b", "one");
  EXPECT_EQ(bench_.run([](const core::WorkItem& item) { return reply(item); }), 2) << "it has learned the numbers";
}

TEST_F(EngineSubmit, that_starts_later_has_no_first_step_yet) {
  SubmitRequest request{default_namespace(), JobId("later"), GraphName("one"), "{}",
                        core::JobSecret(core::Guid{1, 99})};
  request.delay = std::chrono::seconds(5);
  bench_.engine->submit(std::move(request), 1);
  EXPECT_EQ(next_group().operations.size(), 1u);
}

}  // namespace
}  // namespace pawl::runtime
