// The loader alone: what is read once, what is read again, and what cannot be read.
#include "runtime/loader.h"
#include "execute/test_graph.h"

#include "runtime/rooms_bench.h"

namespace pawl::runtime {
namespace {

using std::chrono::seconds;

struct LoaderTest : testing::Test {
  void SetUp() override {
    rooms.deploy(GraphBuilder("one").trigger("t").worker("act", "work").after("t"));
    lane = &rooms.own(RoomsBench::one);
  }
  // A job in the store that this engine does not know.
  RunId stored_job() { return rooms.commit(rooms.start_of("one")).run(); }
  // The reads that were asked for and not answered yet.
  std::size_t asked() {
    auto batch = rooms.parts.reads.take();
    if (!batch) return 0;
    const std::size_t count = batch->reads.size();
    auto answers = rooms.store.read(batch->reads);
    rooms.parts.reads.answered(std::move(*batch), std::move(answers));
    return count;
  }
  RoomsBench rooms{far_away()};
  OwnedLane* lane = nullptr;
};

TEST_F(LoaderTest, a_job_is_asked_for_once_however_often_it_is_wanted) {
  const RunId run = stored_job();
  for (int i = 0; i < 3; ++i) rooms.parts.loader.look(*lane, run);
  EXPECT_EQ(asked(), 1u);
  EXPECT_NE(rooms.parts.jobs.find(run), nullptr);
  EXPECT_TRUE(lane->unread.empty());
}

TEST_F(LoaderTest, what_came_while_it_was_read_is_read_again) {
  const RunId run = stored_job();
  rooms.parts.loader.look(*lane, run);
  auto batch = rooms.parts.reads.take();
  ASSERT_TRUE(batch);
  auto answers = rooms.store.read(batch->reads);
  store::Deliver late;
  late.envelope = {run, core::Message{core::Guid{7, 7}, core::Interrupt{410, "late"}}};
  rooms.commit(late);
  rooms.parts.loader.look(*lane, run);  // a notification arrives
  rooms.parts.reads.answered(std::move(*batch), std::move(answers));
  HotJob* job = rooms.parts.jobs.find(run);
  ASSERT_NE(job, nullptr);
  EXPECT_TRUE(job->look_again);
  rooms.settle_all();
  rooms.answer_reads();
  rooms.settle_all();
  EXPECT_EQ(rooms.status(run), core::JobStatus::interrupted);
}

TEST_F(LoaderTest, a_read_that_fails_is_tried_again_by_tick_with_what_waited_for_it) {
  const RunId run = stored_job();
  rooms.parts.loader.load(*lane, run,
                          {core::Delivery{{core::Guid{8, 8}, core::Interrupt{410, "asked"}}, core::Origin::unstored}});
  EXPECT_FALSE(rooms.parts.loader.empty()) << "the interrupt lives only here";
  rooms.fail_reads();
  EXPECT_EQ(asked(), 0u) << "not before tick()";
  EXPECT_TRUE(rooms.parts.loader.must_try_again());
  rooms.parts.loader.tick();
  EXPECT_EQ(asked(), 1u);
  EXPECT_FALSE(rooms.parts.loader.must_try_again());
  EXPECT_TRUE(rooms.parts.loader.empty());
  rooms.settle_all();
  EXPECT_EQ(rooms.status(run), core::JobStatus::interrupted);
}

TEST_F(LoaderTest, a_mailbox_is_tried_again_by_the_same_rule) {
  store::Deliver signal;
  signal.envelope = {core::MailboxKey{default_namespace(), Topic("paid"), "k"}, {core::Guid{9, 9}, core::Signal{"{}"}}};
  signal.lane = lane->id;
  const RunId box = rooms.commit(signal).run();
  rooms.parts.mailboxes.serve(*lane, box);
  rooms.parts.mailboxes.read_waiting();
  rooms.fail_reads();
  rooms.parts.mailboxes.read_waiting();
  EXPECT_EQ(asked(), 0u) << "not before tick()";
  EXPECT_TRUE(rooms.parts.loader.must_try_again());
  EXPECT_TRUE(rooms.parts.loader.empty()) << "the store has all of it: a stop need not wait";
  rooms.parts.loader.tick();
  EXPECT_EQ(asked(), 1u);
  rooms.settle_all();
  EXPECT_TRUE((*rooms.store.read_mailbox(box))->inbox.empty()) << "the signal is kept as an entry";
}

TEST_F(LoaderTest, a_lost_lane_takes_its_reads_with_it) {
  const RunId run = stored_job();
  rooms.parts.loader.look(*lane, run);
  rooms.parts.lane_lost(lane->id);
  rooms.answer_reads();
  EXPECT_EQ(rooms.parts.jobs.find(run), nullptr);
}

// The message came too late for the job, and waits in its inbox.
TEST_F(LoaderTest, the_end_of_a_job_whose_answer_was_lost_is_told_although_a_message_waits) {
  rooms.deploy(GraphBuilder("alone").trigger("t"));
  const RunId run = rooms.submit("alone");
  auto group = rooms.decide();
  ASSERT_TRUE(group);
  store::Deliver late;
  late.envelope = {run, core::Message{core::Guid{7, 7}, core::Interrupt{410, "late"}}};
  rooms.commit(late);
  rooms.lose_answer(std::move(*group));
  EXPECT_TRUE(rooms.events.ended.empty());
  ASSERT_FALSE((*rooms.store.read_job(run))->inbox.empty());
  rooms.answer_reads();
  ASSERT_EQ(rooms.events.ended.size(), 1u);
  EXPECT_EQ(rooms.events.ended.front().run, run);
  rooms.settle_all();
  EXPECT_EQ(rooms.events.ended.size(), 1u) << "once";
}

TEST_F(LoaderTest, a_scan_finds_what_waits_page_by_page_and_ends) {
  std::vector<RunId> runs;
  for (std::size_t i = 0; i < limits::looks_per_turn + 10; ++i) runs.push_back(stored_job());
  rooms.parts.loader.scan(*lane, false);
  std::size_t turns = 0;
  for (; !lane->scans.empty() && turns < 20; ++turns) {
    rooms.parts.loader.look_around();
    rooms.answer_reads();
  }
  EXPECT_GT(turns, 1u) << "a little at each turn";
  rooms.answer_reads();
  for (const RunId run : runs) EXPECT_NE(rooms.parts.jobs.find(run), nullptr);
  EXPECT_FALSE(rooms.parts.loader.waits_for_more());
}

TEST_F(LoaderTest, a_job_waits_for_its_graph_and_comes_with_it) {
  GraphCatalog elsewhere;
  auto graph = execute::graph_of(GraphBuilder("two").trigger("t").worker("act", "work").after("t"));
  ASSERT_TRUE(graph.ok());
  ASSERT_TRUE(elsewhere.add(*graph).ok());
  store::Submit submit = rooms.start_of("one");
  submit.graph = ref_of(*elsewhere.newest(GraphName("two")));
  const RunId run = rooms.commit(submit).run();
  rooms.parts.loader.look(*lane, run);
  rooms.answer_reads();
  EXPECT_EQ(rooms.parts.jobs.find(run), nullptr);
  ASSERT_EQ(rooms.events.problems.size(), 1u);
  EXPECT_NE(rooms.events.problems.front().find("two"), std::string::npos);
  ASSERT_TRUE(rooms.graphs.add(std::move(*graph)).ok());
  rooms.parts.loader.graphs_changed();
  rooms.parts.loader.look_around();
  rooms.answer_reads();
  EXPECT_NE(rooms.parts.jobs.find(run), nullptr);
}

}  // namespace
}  // namespace pawl::runtime
