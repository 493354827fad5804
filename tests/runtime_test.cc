// The threaded runtime through the public API, on every store of the program, fused and step by step.
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;

constexpr std::size_t payload_bytes_max = 4u << 20;

class RuntimeTest : public LifeTest {
 protected:
  // What became of one chain whose worker is `worker`.
  JobView end_of_chain(Worker worker) {
    runtime = start_runtime(options(), std::move(worker));
    const auto job = runtime->start("chain", Payload("x"), {.id = "j1"});
    EXPECT_TRUE(job.ok());
    auto end = job->wait(20s);
    EXPECT_TRUE(end.ok());
    return std::move(*end);
  }
};

TEST_P(RuntimeTest, a_job_is_submitted_waited_for_inspected_and_listed) {
  runtime = start_runtime(options());
  const auto job = runtime->start("chain", Payload("x"), {.id = "order-17"});
  ASSERT_TRUE(job.ok()) << to_string(job.error());
  EXPECT_TRUE(job->created());
  const auto end = job->wait(20s);
  ASSERT_TRUE(end.ok()) << to_string(end.error());
  EXPECT_EQ(end->status, JobStatus::completed);
  EXPECT_EQ(end->result.str(), "x++");
  const auto found = runtime->find("order-17");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->run(), job->run());
  const auto detail = job->inspect();
  ASSERT_TRUE(detail.ok());
  ASSERT_EQ(detail->activities.size(), 3u);
  EXPECT_EQ(detail->activities[1].ledger, "001111000000001");
  EXPECT_EQ(detail->activities[2].ledger, "001111100000001");
  EXPECT_EQ(detail->activities[2].address, ",0,0,0");
  EXPECT_EQ(detail->job.semaphore, 0);
  JobFilter completed;
  completed.status = JobStatus::completed;
  const auto listed = runtime->list(completed);
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().id.raw(), "order-17");
}

TEST_P(RuntimeTest, a_taken_id_is_answered_with_the_job_that_has_it) {
  runtime = start_runtime(options());
  const auto first = runtime->start("chain", Payload("x"), {.id = "j"});
  const auto second = runtime->start("chain", Payload("other"), {.id = "j"});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_FALSE(second->created());
  EXPECT_EQ(first->run(), second->run());
}

TEST_P(RuntimeTest, an_exception_in_a_worker_fails_the_job_with_code_500_and_its_words) {
  const JobView end = end_of_chain([](Work&) -> Reply { throw std::runtime_error("no \"luck\""); });
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_EQ(end.reason, R"(activity one failed with code 500: "no \"luck\"")");
}

TEST_P(RuntimeTest, an_exception_text_that_is_not_utf8_is_kept_as_text) {
  const JobView end = end_of_chain([](Work&) -> Reply { throw std::runtime_error("no \xff luck"); });
  EXPECT_EQ(end.reason, "activity one failed with code 500: \"no \uFFFD luck\"");
}

TEST_P(RuntimeTest, a_text_is_not_cut_inside_a_character) {
  std::string words = "x";
  for (int i = 0; i < 5'000; ++i) words += "ä";
  const JobView end = end_of_chain([&](Work&) -> Reply { throw std::runtime_error(words); });
  const std::string begin = "activity one failed with code 500: \"x";
  EXPECT_TRUE(end.reason.starts_with(begin + "ä"));
  EXPECT_TRUE(end.reason.ends_with("ä")) << end.reason.substr(end.reason.size() - 4);
  EXPECT_GE(end.reason.size(), 4095u);
  EXPECT_LE(end.reason.size(), 4096u);
}

TEST_P(RuntimeTest, interim_answers_have_a_limit_in_all) {
  std::atomic<int> said{0};
  const JobView end = end_of_chain([&](Work& work) {
    if (work.input().str() != "x") return Reply::success("{}");
    for (; said < 6; ++said) work.pending(Payload(std::string(payload_bytes_max - 1000, 'x')));  // 24 MB
    return Reply::success("{}");
  });
  EXPECT_EQ(said, 6);
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_NE(end.reason.find("code 413"), std::string::npos) << end.reason;
  EXPECT_NE(end.reason.find("pending_bytes_max"), std::string::npos) << end.reason;
}

TEST_P(RuntimeTest, the_code_of_the_error_that_ended_a_job_stands_in_its_view) {
  for (const Collation collation : {Collation::ledger, Collation::duplex}) {
    auto opened = pawl::open(options());
    ASSERT_TRUE(opened.ok());
    const std::string name(collation == Collation::duplex ? "d" : "l");
    ASSERT_TRUE(
        opened->deploy(*GraphBuilder(name).trigger("t").worker("a", "a").after("t").collation(collation).build()).ok());
    ASSERT_TRUE(opened
                    ->serve("a",
                            [](Work& work) {
                              return work.input().view() == "good" ? Reply::success()
                                                                   : Reply::error("\"declined\"", 402);
                            })
                    .ok());
    ASSERT_TRUE(opened->launch().ok());
    const auto failed = opened->start(name, Payload("bad"), {.id = name + "-bad"});
    const auto end = failed->wait(20s);
    ASSERT_TRUE(end.ok());
    EXPECT_EQ(end->status, JobStatus::failed);
    EXPECT_EQ(end->code, 402);
    const auto good = opened->start(name, Payload("good"), {.id = name + "-good"});
    EXPECT_EQ(good->wait(20s)->code, 0);
  }
}

TEST_P(RuntimeTest, something_that_is_no_exception_fails_the_job_as_well) {
  const JobView end = end_of_chain([](Work&) -> Reply { throw 42; });
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_NE(end.reason.find("neither a pawl::Failure nor a std::exception"), std::string::npos);
}

TEST_P(RuntimeTest, an_output_over_the_limit_becomes_error_413) {
  const JobView end = end_of_chain([](Work&) { return Reply::success(std::string(payload_bytes_max + 1, 'x')); });
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_NE(end.reason.find("activity one failed with code 413"), std::string::npos);
}

TEST_P(RuntimeTest, an_interim_answer_over_the_limit_becomes_error_413) {
  const JobView end = end_of_chain([](Work& work) {
    work.pending(Payload(std::string(payload_bytes_max + 1, 'x')));
    return echo(work);
  });
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_NE(end.reason.find("code 413"), std::string::npos) << end.reason;
}

TEST_P(RuntimeTest, an_error_text_longer_than_a_reason_may_be_is_cut_and_the_job_fails) {
  const JobView end = end_of_chain([](Work&) { return Reply::error(std::string(100'000, 'e')); });
  EXPECT_EQ(end.status, JobStatus::failed);
  EXPECT_EQ(end.reason.size(), 4096u);
}

TEST_P(RuntimeTest, pending_replies_open_a_plane_each_for_what_follows) {
  const JobView end = end_of_chain([](Work& work) {
    if (work.input().str() == "x") {
      work.pending(Payload("a"));
      work.pending(Payload("b"));
      return Reply::success("c");
    }
    return echo(work);
  });
  EXPECT_EQ(end.status, JobStatus::completed);
  const auto detail = runtime->job(end.run).inspect();
  ASSERT_TRUE(detail.ok());
  std::map<std::string, std::string> outputs;
  for (const ActivityView& activity : detail->activities)
    outputs[activity.name.raw() + activity.address] = activity.output.str();
  EXPECT_EQ(outputs["two,0,0,0"], "a+");
  EXPECT_EQ(outputs["two,0,1,0"], "b+");
  EXPECT_EQ(outputs["two,0,2,0"], "c+");
  EXPECT_EQ(outputs.size(), 5u);
}

TEST_P(RuntimeTest, a_thousand_jobs_from_eight_threads_all_complete) {
  runtime = start_runtime(options());
  std::atomic<int> completed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      std::vector<RunId> runs;
      for (int i = 0; i < 125; ++i) {
        const auto job = runtime->start("chain", Payload("x"), {.id = std::to_string(t) + "-" + std::to_string(i)});
        if (job) runs.push_back(job->run());
      }
      for (const RunId run : runs) {
        const auto end = runtime->job(run).wait(60s);
        if (end && end->status == JobStatus::completed && end->result.str() == "x++") ++completed;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(completed, 1000);
}

TEST_P(RuntimeTest, many_threads_may_wait_for_one_job) {
  std::atomic<bool> open{false};
  runtime = start_runtime(options(), [&](Work& work) {
    while (!open) std::this_thread::sleep_for(1ms);
    return echo(work);
  });
  const auto job = runtime->start("chain", Payload("x"), {.id = "j"});
  ASSERT_TRUE(job.ok());
  std::atomic<int> heard{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] {
      const auto end = job->wait(20s);
      if (end && end->result.str() == "x++") ++heard;
    });
  EXPECT_TRUE(fails_with(job->wait(10ms), ErrorCode::retry_later, {"job j", "not ended"}));
  open = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heard, 16);
}

TEST_P(RuntimeTest, an_observer_sees_each_job_from_its_start_to_its_end_in_order) {
  std::mutex mutex;
  std::map<std::string, std::vector<std::string>> seen;
  runtime = open_runtime(options());
  ASSERT_TRUE(runtime->serve("work", echo).ok());
  runtime
      ->observe([&](const Event& event) {
        static const char* const names[] = {"start", "open ", "pending ", "close ", "end", "parked"};
        const std::lock_guard lock(mutex);
        seen[event.job.raw()].push_back(names[static_cast<int>(event.kind)] + event.activity.raw());
      })
      .keep();
  ASSERT_TRUE(runtime->launch().ok());
  for (int i = 0; i < 20; ++i) expect_runs(*runtime, "j" + std::to_string(i));
  runtime->stop();
  ASSERT_EQ(seen.size(), 20u);
  for (auto& [job, events] : seen) {
    std::erase(events,
               "open t");  // a trigger opens and closes in one step, unless every step is alone
    const std::vector<std::string> expected{"start",    "close t",   "open one", "close one",
                                            "open two", "close two", "end"};
    EXPECT_EQ(events, expected) << job;
  }
}

TEST_P(RuntimeTest, stop_lets_a_running_worker_finish_and_commits_its_answer) {
  std::atomic<bool> begun{false};
  std::atomic<int> ended{0};
  runtime = start_runtime(options(), [&](Work& work) {
    begun = true;
    std::this_thread::sleep_for(100ms);
    ++ended;
    return echo(work);
  });
  const auto job = runtime->start("chain", Payload("x"), {.id = "j"});
  ASSERT_TRUE(job.ok());
  while (!begun) std::this_thread::sleep_for(1ms);
  runtime->stop();
  EXPECT_EQ(ended, 1);
  const auto detail = job->inspect();
  ASSERT_TRUE(detail.ok());
  ASSERT_GE(detail->activities.size(), 2u);
  EXPECT_FALSE(detail->activities[1].open());
  EXPECT_EQ(detail->activities[1].output.str(), "x+");
  EXPECT_EQ(detail->job.status, JobStatus::running);
}

TEST_P(RuntimeTest, stop_while_others_submit_answers_every_submit) {
  runtime = start_runtime(options());
  std::atomic<int> accepted{0}, refused{0}, other{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0;; ++i) {
        const auto job = runtime->start("chain", Payload(), {.id = std::to_string(t) + "-" + std::to_string(i)});
        if (job) {
          ++accepted;
          continue;
        }
        ++(job.error().code == ErrorCode::retry_later ? refused : other);
        return;
      }
    });
  std::this_thread::sleep_for(30ms);
  runtime->stop();
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(accepted, 0);
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(other, 0);
  JobFilter all;
  all.rows_max = 100'000;
  const auto stored = runtime->list(all);
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored->size(), static_cast<std::size_t>(accepted));
}

TEST_P(RuntimeTest, the_first_job_launches_and_after_stop_none_is_taken) {
  runtime = open_runtime(options());
  EXPECT_FALSE(runtime->owns());
  const auto job = runtime->start("chain", Payload(), {.id = "j"});
  ASSERT_TRUE(job.ok());
  EXPECT_TRUE(comes_true([&] { return runtime->owns(); }));
  EXPECT_TRUE(fails_with(runtime->launch(), ErrorCode::already_done, {"runs already"}));
  runtime->stop();
  runtime->stop();
  EXPECT_TRUE(fails_with(runtime->start("chain", Payload(), {.id = "j"}), ErrorCode::retry_later, {"stopped"}));
  EXPECT_TRUE(fails_with(runtime->launch(), ErrorCode::invalid, {"open the store again"}));
}

INSTANTIATE_TEST_SUITE_P(store, RuntimeTest, every_setting, setting_name);

// A second runtime finds what the first left.
class RestartTest : public LifeTest {};

TEST_P(RestartTest, a_restarted_runtime_finishes_the_jobs_it_finds) {
  std::vector<RunId> runs;
  {
    auto first = open_runtime(options());  // no worker: nothing can end
    ASSERT_TRUE(first->launch().ok());
    for (int i = 0; i < 50; ++i) {
      const auto job = first->start("chain", Payload("x"), {.id = std::to_string(i)});
      ASSERT_TRUE(job.ok());
      runs.push_back(job->run());
    }
    first->stop();
  }
  auto second = start_runtime(options());
  for (const RunId run : runs) {
    const auto end = second->job(run).wait(20s);
    ASSERT_TRUE(end.ok()) << to_string(end.error());
    EXPECT_EQ(end->result.str(), "x++");
  }
}

TEST_P(RestartTest, a_job_goes_on_with_the_graph_that_the_store_keeps) {
  RunId run{0};
  {
    auto first = open_runtime(options());
    ASSERT_TRUE(first->launch().ok());
    run = first->start("chain", Payload("x"), {.id = "j"})->run();
  }
  auto opened = pawl::open(options());
  ASSERT_TRUE(opened.ok());
  Runtime& second = *opened;
  std::mutex mutex;
  std::string problems;
  second
      .on_problem([&](const std::string& text) {
        const std::lock_guard lock(mutex);
        problems += text;
      })
      .keep();
  ASSERT_TRUE(second.serve("work", echo).ok());
  ASSERT_TRUE(second.launch().ok());
  const auto end = second.job(run).wait(20s);
  ASSERT_TRUE(end.ok()) << to_string(end.error());
  EXPECT_EQ(end->result.str(), "x++");
  const std::lock_guard lock(mutex);
  EXPECT_EQ(problems, "");
}

INSTANTIATE_TEST_SUITE_P(store, RestartTest, every_lasting_setting, setting_name);

TEST(TwoRuntimes, the_second_submits_through_the_first_and_takes_over_when_it_is_closed) {
  const TempDir dir;
  auto first = start_runtime({.store = dir / "store.db"});
  ASSERT_NE(first, nullptr);
  expect_runs(*first, "a");
  EXPECT_TRUE(first->owns());
  auto second = start_runtime({.store = dir / "store.db"});
  ASSERT_NE(second, nullptr);
  const auto job = second->start("chain", Payload("x"), {.id = "b"});
  ASSERT_TRUE(job.ok()) << to_string(job.error());
  EXPECT_TRUE(job->wait(20s).ok());
  EXPECT_FALSE(second->owns());
  first.reset();
  const auto limit = std::chrono::steady_clock::now() + 1s;
  while (!second->owns() && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(second->owns());
  expect_runs(*second, "c");
}

}  // namespace
}  // namespace pawl
