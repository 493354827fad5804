// Bad input at the public API: each is refused with the right kind of error, whose text names the thing and says what
// to do, and nothing is lost.
#include <thread>

#include "testing.h"

namespace pawl {
namespace {

using namespace testing;

constexpr std::size_t payload_bytes_max = 4u << 20;  // as promised; the limit's own name is internal

TEST(BadGraph, a_transition_that_names_an_unknown_activity_is_refused_by_name) {
  const auto graph = GraphBuilder("order")
                         .trigger("t")
                         .worker("charge", "pay")
                         .after("t")
                         .transition("charge", "shipp")
                         .transition("chrage", "charge")
                         .result_of("nothing")
                         .build();
  EXPECT_TRUE(
      fails_with(graph, ErrorCode::invalid,
                 {"no activity 'shipp'", "no activity 'chrage'", "result_of: this graph has no activity 'nothing'"}));
}

TEST(BadGraph, a_cycle_without_a_pivot_is_refused) {
  const auto graph = GraphBuilder("round")
                         .trigger("t")
                         .worker("a", "w")
                         .after("c")
                         .worker("b", "w")
                         .after("a")
                         .worker("c", "w")
                         .after("b")
                         .build();
  EXPECT_TRUE(fails_with(graph, ErrorCode::invalid, {"no transition leads from the trigger to 'a'"}));
}

TEST(BadGraph, an_activity_that_follows_itself_is_a_cycle) {
  const auto graph = GraphBuilder("self").trigger("t").worker("a", "w").after("a").build();
  EXPECT_TRUE(fails_with(graph, ErrorCode::invalid, {"no transition leads from the trigger to 'a'"}));
}

TEST(BadGraph, every_mistake_is_reported_at_once) {
  const auto graph = GraphBuilder("or der").worker("a", "w").worker("lost", "w").build();
  EXPECT_TRUE(fails_with(graph, ErrorCode::invalid,
                         {"id: an app's id", "subscribes: a name is", "exactly one activity of type trigger"}));
}

TEST(BadGraph, an_orphan_and_a_second_parent_are_named) {
  EXPECT_TRUE(fails_with(GraphBuilder("g").trigger("t").worker("lost", "w").build(), ErrorCode::invalid,
                         {"no transition leads from the trigger to 'lost'"}));
  EXPECT_TRUE(fails_with(
      GraphBuilder("g").trigger("t").worker("a", "w").after("t").worker("b", "w").after("t").after("a").build(),
      ErrorCode::invalid, {"'b' is reached from 't' and from 'a'"}));
}

TEST(BadGraph, too_many_activities_are_over_the_limit) {
  GraphBuilder builder("big");
  builder.trigger("t");
  for (int i = 0; i < 20'000; ++i) builder.worker("a" + std::to_string(i), "w").after("t");
  EXPECT_TRUE(fails_with(builder.build(), ErrorCode::over_limit, {"more than 20000 activities"}));
}

class BadCallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime = start_runtime({.store = dir / "store.db"});
    ASSERT_NE(runtime, nullptr);
    expect_runs(*runtime, "earlier");
  }
  // The bad calls had no effect, and the store still works.
  void TearDown() override {
    if (!runtime) return;
    const auto jobs = runtime->list({});
    ASSERT_TRUE(jobs.ok());
    EXPECT_EQ(jobs->size(), jobs_expected);
    expect_readable(*runtime, "earlier");
    expect_runs(*runtime, "later");
  }
  TempDir dir;
  std::unique_ptr<Runtime> runtime;
  std::size_t jobs_expected = 1;
};

TEST_F(BadCallTest, an_unknown_graph_is_not_found) {
  EXPECT_TRUE(fails_with(runtime->start("chian", Payload(), {.id = "j1"}), ErrorCode::not_found,
                         {"no active app has a graph chian", "topics here: chain"}));
}

TEST_F(BadCallTest, invalid_job_ids_are_refused_with_the_byte_that_is_wrong) {
  const auto submit = [&](std::string id) { return runtime->start("chain", Payload(), {.id = std::move(id)}); };
  EXPECT_TRUE(fails_with(submit(std::string(201, 'a')), ErrorCode::invalid, {"201 bytes", "200"}));
  EXPECT_TRUE(submit("-$made,elsewhere")) << "other engines make such ids; only a command line cannot say them plainly";
  jobs_expected = 2;
  EXPECT_TRUE(fails_with(submit("two words"), ErrorCode::invalid, {"byte 4 (0x20)"}));
  EXPECT_TRUE(fails_with(submit(std::string("a\0b", 3)), ErrorCode::invalid, {"byte 2 (0x00)"}));
  EXPECT_TRUE(fails_with(submit("line\nbreak"), ErrorCode::invalid, {"byte 5 (0x0a)"}));
  EXPECT_TRUE(fails_with(submit("caf\xc3\xa9"), ErrorCode::invalid, {"byte 4 (0xc3)"}));
  EXPECT_TRUE(fails_with(submit("a'; DROP TABLE jobs;--"), ErrorCode::invalid, {"byte 2 (0x27)"}));
}

TEST_F(BadCallTest, an_invalid_namespace_or_graph_name_is_refused_by_its_field) {
  EXPECT_TRUE(fails_with(runtime->start("chain", Payload(), {.id = "j", .name_space = "a b"}), ErrorCode::invalid,
                         {"namespace: byte 2"}));
  EXPECT_TRUE(fails_with(runtime->start("", Payload(), {.id = "j"}), ErrorCode::invalid, {"graph name is empty"}));
}

TEST_F(BadCallTest, the_longest_id_is_accepted) {
  EXPECT_TRUE(runtime->start("chain", Payload(), {.id = std::string(200, 'a')}).ok());
  jobs_expected = 2;
}

TEST_F(BadCallTest, an_input_over_the_limit_is_refused_and_one_at_the_limit_is_not) {
  const std::string most(payload_bytes_max, 'x');
  EXPECT_TRUE(fails_with(runtime->start("chain", Payload(most + "x"), {.id = "big"}), ErrorCode::over_limit,
                         {"job big", "4194305", "payload_bytes_max"}));
  const auto job = runtime->start("chain", Payload(most), {.id = "most"});
  ASSERT_TRUE(job.ok()) << to_string(job.error());
  // Its worker replies with one byte more: that is the worker's error, and the job reports it.
  const auto end = job->wait(20s);
  ASSERT_TRUE(end.ok()) << to_string(end.error());
  EXPECT_EQ(end->status, JobStatus::failed);
  EXPECT_NE(end->reason.find("code 413"), std::string::npos) << end->reason;
  jobs_expected = 2;
}

TEST_F(BadCallTest, a_changed_graph_needs_a_new_version) {
  auto changed = GraphBuilder("chain").trigger("t").worker("other", "work").after("t").build();
  EXPECT_TRUE(fails_with(runtime->deploy(std::move(*changed)), ErrorCode::already_exists,
                         {"app chain version 1", "new version", "--dev"}));
}

TEST_F(BadCallTest, an_unknown_run_is_not_found) {
  EXPECT_TRUE(fails_with(runtime->job(RunId(42)).wait(1s), ErrorCode::not_found, {"42"}));
  EXPECT_TRUE(fails_with(runtime->job(RunId(42)).inspect(), ErrorCode::not_found, {"42"}));
  const auto found = runtime->find("nobody");
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
}

TEST_F(BadCallTest, a_topic_without_a_name_or_a_worker_is_refused) {
  EXPECT_TRUE(fails_with(runtime->serve("", echo), ErrorCode::invalid, {"topic is empty"}));
  EXPECT_TRUE(fails_with(runtime->serve("t", Worker()), ErrorCode::invalid, {"topic t is empty"}));
}

TEST(BadOptions, numbers_out_of_range_are_refused_with_their_range) {
  EXPECT_TRUE(fails_with(pawl::open({.store = ":memory:", .worker_threads = 0}), ErrorCode::invalid,
                         {"worker_threads is 0", "between 1 and"}));
  EXPECT_TRUE(fails_with(pawl::open({.store = ":memory:", .lanes = 5000}), ErrorCode::invalid,
                         {"lanes is 5000", "between 1 and 4096"}));
  EXPECT_TRUE(
      fails_with(pawl::open({.store = ":memory:", .worker_queue = 0}), ErrorCode::invalid, {"worker_queue is 0"}));
  EXPECT_TRUE(fails_with(pawl::open({.store = ":memory:", .pool = "a b"}), ErrorCode::invalid, {"pool: byte 2"}));
  EXPECT_TRUE(fails_with(pawl::open({.store = ":memory:", .lease = std::chrono::milliseconds(99)}), ErrorCode::invalid,
                         {"lease is 99000 microseconds", "between 100000 and"}));
  EXPECT_TRUE(pawl::open({.store = ":memory:", .lease = std::chrono::milliseconds(100)}).ok());
}

// Addresses that a store can read reach that store: no server is there, which is another error than an unknown store.
TEST(BadOptions, every_address_of_a_server_is_known) {
  for (const char* address :
       {"redis+unix:///nowhere/socket", "redis://127.0.0.1:1", "rediss://127.0.0.1:1", "redis-cluster://127.0.0.1:1",
        "rediss-cluster://127.0.0.1:1", "postgres:///postgres?host=/nowhere", "postgresql:///postgres?host=/nowhere"}) {
    const auto opened = pawl::open({.store = address});
    ASSERT_FALSE(opened.ok()) << address;
    EXPECT_NE(opened.error().code, ErrorCode::invalid) << address << ": " << to_string(opened.error());
  }
}

}  // namespace
}  // namespace pawl
