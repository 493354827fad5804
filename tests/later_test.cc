// Replies that come later, by token: from another thread, from another process, too late, or never.
#include <atomic>
#include <future>

#include "life_test.h"
#include "storm/node_process.h"

namespace pawl {
namespace {

using namespace testing;

class LaterTest : public LifeTest {
 protected:
  // A worker that gives its token away and returns.
  Worker gives_token(Duration within = 1h) {
    return [this, within](Work& work) {
      tokens.add(work.token());
      return Reply::later(within);
    };
  }
  // The token, once the worker has returned and the store knows it.
  std::string token_of(RunId run) {
    EXPECT_TRUE(comes_true([&] {
      const auto work = act_of(*runtime, run).work;
      return tokens.size() > 0 && work && work->token == tokens.all().back();
    }));
    return tokens.all().back();
  }
  Notes tokens;
};

TEST_P(LaterTest, the_answer_may_come_from_another_thread_long_after_the_worker_left) {
  runtime = start_with(options(), step_graph(), gives_token());
  const RunId run = submit_step(*runtime);
  const std::string token = token_of(run);
  EXPECT_FALSE(runtime->job(run).wait(50ms).ok());
  EXPECT_EQ(act_of(*runtime, run).effect, Effect::started);
  ASSERT_TRUE(runtime->complete(token, Reply::success("later")).ok());
  EXPECT_EQ(end_of(*runtime, run).result.str(), "later");
  EXPECT_TRUE(fails_with(runtime->complete(token, Reply::success("twice")), ErrorCode::conflict, {"no longer good"}));
  EXPECT_TRUE(fails_with(runtime->heartbeat(token, Payload("on and on")), ErrorCode::conflict, {"no longer good"}));
  EXPECT_EQ(act_of(*runtime, run).ledger, "001111100000001");
}

TEST_P(LaterTest, the_answer_may_be_faster_than_the_worker_leaves) {
  std::vector<std::future<Status>> answers;
  std::mutex mutex;
  runtime = start_with(options(), step_graph(), [&](Work& work) {
    auto answer = std::async(
        std::launch::async, [this, token = work.token()] { return runtime->complete(token, Reply::success("quick")); });
    answer.wait();
    const std::lock_guard lock(mutex);
    answers.push_back(std::move(answer));
    return Reply::later();
  });
  for (int i = 0; i < 20; ++i) {
    const JobView end = end_of(*runtime, submit_step(*runtime, "j" + std::to_string(i)));
    EXPECT_EQ(end.result.str(), "quick");
  }
  runtime->stop();
  EXPECT_EQ(answers.size(), 20u);
  for (auto& answer : answers) EXPECT_TRUE(answer.get().ok());
}

TEST_P(LaterTest, an_error_that_comes_later_is_tried_again_as_any_other) {
  runtime = start_with(options(), step_graph([](auto& act) { act.retry(Retry().attempts(3).first_delay(1ms)); }),
                       gives_token());
  const RunId run = submit_step(*runtime);
  for (int i = 1; i <= 2; ++i) {
    ASSERT_TRUE(comes_true([&] { return tokens.size() == static_cast<std::size_t>(i); }));
    ASSERT_TRUE(runtime->complete(token_of(run), Reply::error("\"no\"", 503)).ok());
  }
  ASSERT_TRUE(comes_true([&] { return tokens.size() == 3; }));
  ASSERT_TRUE(runtime->complete(token_of(run), Reply::success("third")).ok());
  EXPECT_EQ(end_of(*runtime, run).result.str(), "third");
}

TEST_P(LaterTest, a_fatal_error_that_comes_later_fails_the_job) {
  runtime = start_with(options(), step_graph([](auto& act) { act.retry(Retry().attempts(3)); }), gives_token());
  const RunId run = submit_step(*runtime);
  ASSERT_TRUE(runtime->complete(token_of(run), Reply::fatal("\"broken\"", 501)).ok());
  EXPECT_EQ(end_of(*runtime, run).reason, "activity act failed with code 501: \"broken\"");
}

TEST_P(LaterTest, work_that_nobody_answers_in_time_is_handed_out_again_and_the_old_token_is_dead) {
  runtime = start_with(options(), step_graph(), [&](Work& work) {
    tokens.add(work.token());
    return work.attempt() == 1 ? Reply::later(30ms) : Reply::later(1h);
  });
  const RunId run = submit_step(*runtime);
  ASSERT_TRUE(comes_true([&] { return tokens.size() == 2; }));
  const std::string second = token_of(run);
  EXPECT_TRUE(fails_with(runtime->complete(tokens.all()[0], Reply::success("first")), ErrorCode::conflict,
                         {"no longer good", "taken back"}));
  ASSERT_TRUE(runtime->complete(second, Reply::success("second")).ok());
  EXPECT_EQ(end_of(*runtime, run).result.str(), "second");
}

TEST_P(LaterTest, a_heartbeat_by_token_keeps_the_work_and_says_how_far_it_is) {
  runtime = start_with(options(), step_graph(), gives_token(300ms));
  const RunId run = submit_step(*runtime);
  const std::string token = token_of(run);
  ASSERT_TRUE(runtime->heartbeat(token, Payload("3 of 4")).ok());  // now for a day
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(tokens.size(), 1u);
  EXPECT_EQ(act_of(*runtime, run).work->progress.str(), "3 of 4");
  ASSERT_TRUE(runtime->complete(token, Reply::success("kept")).ok());
  EXPECT_EQ(end_of(*runtime, run).result.str(), "kept");
}

TEST_P(LaterTest, a_token_that_is_none_and_a_reply_that_is_none_are_refused_with_words) {
  runtime = start_with(options(), step_graph(), gives_token());
  const std::string token = token_of(submit_step(*runtime));
  EXPECT_TRUE(fails_with(runtime->complete("nonsense", Reply::success()), ErrorCode::invalid,
                         {"\"nonsense\" is no work token"}));
  EXPECT_TRUE(fails_with(runtime->heartbeat("", Payload("x")), ErrorCode::invalid, {"is no work token"}));
  EXPECT_TRUE(fails_with(runtime->complete(token, Reply::later()), ErrorCode::invalid, {"Reply::later is no answer"}));
  EXPECT_TRUE(fails_with(runtime->heartbeat(token, Payload("x"), {.lease = 0s}), ErrorCode::invalid, {"lease"}));
  EXPECT_TRUE(fails_with(runtime->complete(token, Reply::success(std::string((4u << 20) + 1, 'x'))),
                         ErrorCode::over_limit, {"payload_bytes_max"}));
  EXPECT_TRUE(runtime->complete(token, Reply::success()).ok());
}

TEST_P(LaterTest, a_time_that_is_none_fails_the_work) {
  runtime = start_with(options(), step_graph(), gives_token(Duration{0}));
  const JobView end = end_of(*runtime, submit_step(*runtime));
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_NE(end.reason.find("Reply::later within 0"), std::string::npos) << end.reason;
}

INSTANTIATE_TEST_SUITE_P(store, LaterTest, every_setting, setting_name);

class LaterElsewhere : public ::testing::Test {
 protected:
  // The answer that another process got when it asked the store for this.
  std::string ask(std::vector<std::string> words) {
    words.insert(words.begin(), "ask");
    storm::NodeProcess node({.program = LIFE_NODE, .dir = dir.path(), .slot = "a", .flags = std::move(words)});
    const bool ok = node.wait_for("ok", 20s);
    node.wait(20s);
    return ok ? "ok" : "refused";
  }
  TempDir dir;
};

TEST_F(LaterElsewhere, the_answer_may_come_from_a_process_that_only_opened_the_store) {
  Notes tokens;
  auto runtime = start_with({.store = dir / "store.db"}, step_graph(), [&](Work& work) {
    tokens.add(work.token());
    return Reply::later();
  });
  const RunId run = submit_step(*runtime);
  ASSERT_TRUE(comes_true([&] { return tokens.size() == 1; }));
  EXPECT_EQ(ask({"heartbeat", tokens.all()[0], "from far"}), "ok");
  EXPECT_EQ(act_of(*runtime, run).work->progress.str(), "from far");
  EXPECT_EQ(ask({"complete", tokens.all()[0], "answer from far"}), "ok");
  EXPECT_EQ(end_of(*runtime, run).result.str(), "answer from far");
  EXPECT_EQ(ask({"complete", tokens.all()[0], "twice"}), "refused");
}

TEST_F(LaterElsewhere, the_answer_may_come_while_nobody_runs_and_the_next_life_goes_on_with_it) {
  Notes tokens;
  const auto worker = [&](Work& work) {
    tokens.add(work.token());
    return Reply::later();
  };
  RunId run{0};
  {
    auto first = start_with({.store = dir / "store.db"}, step_graph(), worker);
    run = submit_step(*first);
    ASSERT_TRUE(comes_true([&] { return tokens.size() == 1; }));
  }
  EXPECT_EQ(ask({"complete", tokens.all()[0], "meanwhile"}), "ok");
  auto second = start_with({.store = dir / "store.db"}, step_graph(), worker);
  EXPECT_EQ(end_of(*second, run).result.str(), "meanwhile");
  EXPECT_EQ(tokens.size(), 1u);
}

TEST_F(LaterElsewhere, a_token_of_another_store_is_not_good_here) {
  Notes tokens;
  const auto worker = [&](Work& work) {
    tokens.add(work.token());
    return Reply::later();
  };
  auto here = start_with({.store = dir / "here.db"}, step_graph(), worker);
  auto there = start_with({.store = dir / "there.db"}, step_graph(), worker);
  const RunId run = submit_step(*here);
  ASSERT_TRUE(comes_true([&] { return tokens.size() == 1; }));
  EXPECT_EQ(submit_step(*there), run) << "both have the same run, as stores have";
  ASSERT_TRUE(comes_true([&] { return tokens.size() == 2; }));
  EXPECT_TRUE(fails_with(here->complete(tokens.all()[1], Reply::success()), ErrorCode::conflict, {"no longer good"}));
  EXPECT_TRUE(here->complete(tokens.all()[0], Reply::success()).ok());
}

}  // namespace
}  // namespace pawl
