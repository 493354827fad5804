// Typed jobs from end to end: inputs, workers, results, failures, handles, observers.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <thread>

#include "life.h"
#include "shop.h"

namespace pawl {
namespace {

using namespace testing;

class TypedJobs : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = pawl::open(":memory:");
    ASSERT_TRUE(opened.ok());
    runtime_ = std::make_unique<Runtime>(std::move(*opened));
  }
  // A graph of one activity whose worker this is.
  template <class F>
  void serve(F worker, const Retry& retry = Retry().attempts(3).first_delay(1ms).when_exhausted(WhenExhausted::fail)) {
    auto graph = GraphBuilder("order").trigger("t").worker("act", "act").after("t").retry(retry).build();
    ASSERT_TRUE(graph.ok());
    ASSERT_TRUE(runtime_->deploy(std::move(*graph)).ok());
    ASSERT_TRUE(runtime_->serve("act", std::move(worker)).ok());
  }
  template <class T, class In>
  Result<T> run(const In& input) {
    auto job = runtime_->start<T>("order", input);
    if (!job) return job.error();
    return job->result(20s);
  }
  // What a job fails with.
  template <class In>
  Failure failure(const In& input) {
    auto job = runtime_->start("order", input);
    EXPECT_TRUE(job.ok());
    EXPECT_EQ(job->result(20s).error().code, ErrorCode::failed);
    const auto failed = job->failure();
    EXPECT_TRUE(failed.ok() && *failed);
    return failed && *failed ? **failed : Failure{};
  }

  std::unique_ptr<Runtime> runtime_;
};

TEST_F(TypedJobs, a_struct_is_input_argument_and_result) {
  serve([](const Order& order, Work& work) { return Receipt{work.key(), order.lines.at(0).sum}; });
  const auto receipt = run<Receipt>(order_of(12.5));
  ASSERT_TRUE(receipt.ok()) << to_string(receipt.error());
  EXPECT_EQ(receipt->total, 12.5);
  EXPECT_EQ(receipt->key.size(), 32u);
}

TEST_F(TypedJobs, workers_of_every_signature_are_called) {
  serve([](const Order& order) { return order.customer; });
  EXPECT_EQ(*run<std::string>(order_of(1)), "Ann");
  ASSERT_TRUE(
      runtime_->serve("act", [](Order order, Work& work) { return order.points.size() + work.attempt(); }).ok());
  EXPECT_EQ(*run<int>(order_of(1)), 2);
  ASSERT_TRUE(runtime_->serve("act", [](Work& work) { return work.input_as<Order>()->customer; }).ok());
  EXPECT_EQ(*run<std::string>(order_of(1)), "Ann");
  ASSERT_TRUE(runtime_->serve("act", [] { return std::vector<int>{1, 2}; }).ok());
  EXPECT_EQ(*run<std::vector<int>>(order_of(1)), (std::vector<int>{1, 2}));
  ASSERT_TRUE(runtime_->serve("act", [](const Order&) {}).ok());
  EXPECT_TRUE(run<void>(order_of(1)).ok());
  ASSERT_TRUE(runtime_->serve("act", [](Work& work) { return work.input(); }).ok());
  EXPECT_EQ(run<Payload>(Payload("any bytes"))->str(), "any bytes");
  ASSERT_TRUE(runtime_->serve("act", [](auto& work) { return Reply::success(work.input()); }).ok());
  EXPECT_EQ(*run<int>(5), 5);
  ASSERT_TRUE(runtime_->serve("act", [](const int& n) -> Result<int> { return n + 1; }).ok());
  EXPECT_EQ(*run<int>(5), 6);
  ASSERT_TRUE(runtime_->serve("act", [](const int& n) -> Result<int, Failure> { return n + 2; }).ok());
  EXPECT_EQ(*run<int>(5), 7);
}

TEST_F(TypedJobs, a_failure_that_is_thrown_or_returned_keeps_its_code_message_and_data) {
  serve([](const Order& order, Work&) -> Receipt {
    throw Failure{.code = 402, .message = "declined \xff", .retryable = false}.with(order.lines);
  });
  const Failure thrown = failure(order_of(3));
  EXPECT_EQ(thrown.code, 402);
  EXPECT_EQ(thrown.message, "declined \xef\xbf\xbd") << "the text is made valid UTF-8";
  EXPECT_EQ(thrown.data_as<std::vector<Line>>()->at(0).sum, 3);
  ASSERT_TRUE(runtime_->serve("act", [](const Order&) { return Failure{.code = 404, .message = "none"}; }).ok());
  EXPECT_EQ(failure(order_of(3)).code, 404);
  const auto by_result = [](const Order&) -> Result<Receipt, Failure> { return Failure{.code = 409}; };
  ASSERT_TRUE(runtime_->serve("act", by_result).ok());
  EXPECT_EQ(failure(order_of(3)).code, 409);
}

TEST_F(TypedJobs, whatever_else_is_thrown_becomes_a_failure) {
  serve([](const std::string& what) {
    if (what == "exception") throw std::runtime_error("no \xff luck");
    if (what == "text") throw std::string("a text");
    if (what == "error") throw "a literal";
    throw 7;
  });
  EXPECT_EQ(failure(std::string("exception")).message, "no \xef\xbf\xbd luck");
  EXPECT_EQ(failure(std::string("text")).message, "a text");
  EXPECT_EQ(failure(std::string("error")).message, "a literal");
  EXPECT_NE(failure(std::string("int")).message.find("neither a pawl::Failure"), std::string::npos);
  EXPECT_EQ(failure(std::string("int")).code, 500);
}

TEST_F(TypedJobs, a_failure_that_is_not_retryable_is_not_tried_again) {
  std::atomic<int> attempts{0};
  serve([&](const bool& retryable) -> int {
    ++attempts;
    throw Failure{.code = 503, .message = "busy", .retryable = retryable};
  });
  failure(false);
  EXPECT_EQ(attempts.exchange(0), 1);
  failure(true);
  EXPECT_EQ(attempts, 3);
}

TEST_F(TypedJobs, an_input_that_is_no_such_type_fails_at_once_and_names_the_field) {
  std::atomic<int> called{0};
  serve([&](const Order&) { ++called; });
  const Failure wrong = failure(Payload(R"({"customer":"A","lines":[{"item":1}],"points":{}})"));
  EXPECT_EQ(wrong.code, 400);
  EXPECT_EQ(wrong.message, "the input of topic act: lines[0].item: expected a string, found a number");
  EXPECT_EQ(called, 0);
}

TEST_F(TypedJobs, a_result_that_is_no_such_type_is_an_error_that_names_the_field) {
  serve([](const int& n) { return Receipt{"k", 1.0 * n}; });
  auto job = runtime_->start<Order>("order", 1, {.id = "j"});
  const auto result = job->result(20s);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(to_string(result.error()), "invalid: the result of job j: customer: is missing");
  EXPECT_EQ(job->as<Receipt>().result(1s)->total, 1);
}

TEST_F(TypedJobs, progress_is_typed_and_the_next_attempt_reads_it) {
  serve([](Work& work) -> int {
    const auto before = work.progress_as<Receipt>();
    if (before && *before) return static_cast<int>((*before)->total);
    work.heartbeat(Receipt{"half", 7});
    throw Failure{.message = "again"};
  });
  EXPECT_EQ(*run<int>(0), 7);
}

TEST_F(TypedJobs, a_later_answer_is_typed) {
  std::promise<std::string> token;
  serve([&](Work& work) {
    token.set_value(work.token());
    return Reply::later(1h);
  });
  auto job = runtime_->start<Receipt>("order", 0);
  const std::string named = token.get_future().get();
  Status done = Error{ErrorCode::invalid, ""};
  ASSERT_TRUE(comes_true([&] {
    done = runtime_->complete(named, Receipt{"late", 2});
    return done.ok();
  })) << to_string(done.error());
  EXPECT_EQ(job->result(20s)->key, "late");
}

TEST_F(TypedJobs, a_handle_finds_watches_and_controls_its_job) {
  auto gate = std::make_shared<Gate>();
  serve([gate](const int& n) {
    gate->pass();
    return n;
  });
  auto job = runtime_->start<int>("order", 5, {.id = "j"});
  ASSERT_TRUE(job.ok());
  EXPECT_TRUE(job->created());
  EXPECT_EQ(job->id(), "j");
  EXPECT_EQ(runtime_->job(job->run()).id(), "j");
  EXPECT_EQ(*job->status(), JobStatus::running);
  EXPECT_EQ(job->result(10ms).error().code, ErrorCode::retry_later);
  auto found = runtime_->find<int>("j");
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_EQ((*found)->run(), job->run());
  EXPECT_FALSE(*runtime_->find("nobody"));
  ASSERT_TRUE(job->pause("lunch").ok());
  EXPECT_TRUE(comes_true([&] { return *job->status() == JobStatus::paused; }));
  ASSERT_TRUE(job->resume().ok());
  gate->open();
  EXPECT_EQ(*(*found)->result(20s), 5);
  EXPECT_FALSE(runtime_->start<int>("order", 5, {.id = "j"})->created());
  ASSERT_TRUE(job->remove().ok());
  EXPECT_EQ(job->status().error().code, ErrorCode::not_found);
}

TEST_F(TypedJobs, on_end_is_called_once_wherever_the_job_stands) {
  auto gate = std::make_shared<Gate>();
  serve([gate](const int& n) {
    gate->pass();
    if (n < 0) throw Failure{.code = 400, .message = "negative", .retryable = false};
    return n;
  });
  Notes notes;
  const auto note = [&](const Result<int>& end) { notes.add(end ? std::to_string(*end) : to_string(end.error())); };
  auto open = runtime_->start<int>("order", 1);
  open->on_end(note);
  gate->open();
  ASSERT_TRUE(comes_true([&] { return notes.size() == 1; }));
  open->on_end(note);  // it has ended already
  ASSERT_TRUE(comes_true([&] { return notes.size() == 2; }));
  auto failed = runtime_->start<int>("order", -1, {.id = "bad"});
  // A callback may start and wait for other jobs.
  failed->on_end([&](const Result<int>& end) {
    note(end);
    note(runtime_->start<int>("order", 9)->result(20s));
  });
  ASSERT_TRUE(comes_true([&] { return notes.size() == 4; }));
  const auto all = notes.all();
  EXPECT_EQ(all[0], "1");
  EXPECT_EQ(all[1], "1");
  EXPECT_NE(all[2].find("failed: job bad failed"), std::string::npos) << all[2];
  EXPECT_EQ(all[3], "9");
}

TEST_F(TypedJobs, a_runtime_that_stops_or_goes_leaves_no_callback_and_no_handle_hanging) {
  serve([](Work& work) {
    while (!work.cancelled()) std::this_thread::sleep_for(1ms);
    return Reply::error("\"stopped\"");
  });
  runtime_->stop();
  auto opened = pawl::open({.store = ":memory:", .stop_within = 0s});
  runtime_ = std::make_unique<Runtime>(std::move(*opened));
  serve([](Work& work) {
    while (!work.cancelled()) std::this_thread::sleep_for(1ms);
    return Reply::error("\"stopped\"");
  });
  auto job = runtime_->start<int>("order", 1);
  ASSERT_TRUE(job.ok());
  Notes notes;
  job->on_end([&](const Result<int>& end) { notes.add(to_string(end.error())); });
  Runtime moved = std::move(*runtime_);  // handles stay valid
  EXPECT_EQ(*job->status(), JobStatus::running);
  moved.stop();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes.all()[0].find("stopped"), std::string::npos);
  { const Runtime gone = std::move(moved); }
  EXPECT_TRUE(fails_with(job->status(), ErrorCode::retry_later, {"gone"}));
  job->on_end([&](const Result<int>& end) { notes.add(to_string(end.error())); });
  EXPECT_EQ(notes.size(), 2u);
}

TEST_F(TypedJobs, many_start_together_and_all_are_waited_for) {
  serve([](const int& n) { return n * 2; });
  std::vector<StartItem<int>> items;
  for (int i = 0; i < 500; ++i) items.push_back({i, {.id = "j" + std::to_string(i)}});
  items.push_back({7, {.id = "not a name"}});
  items.push_back({7, {}});
  const auto started = runtime_->start_many<int>("order", items);
  ASSERT_EQ(started.size(), 502u);
  EXPECT_TRUE(fails_with(started[500], ErrorCode::invalid, {"job id"}));
  ASSERT_TRUE(started[501].ok());
  EXPECT_EQ(started[501]->id().rfind("order-", 0), 0u) << "a fresh id: " << started[501]->id();
  std::vector<Job<int>> jobs;
  for (const auto& job : started)
    if (job) jobs.push_back(*job);
  const auto results = wait_all(jobs, 60s);
  ASSERT_EQ(results.size(), 501u);
  for (std::size_t i = 0; i < 500; ++i) EXPECT_EQ(*results[i], static_cast<int>(i) * 2);
  EXPECT_EQ(*results[500], 14);
}

TEST_F(TypedJobs, a_full_queue_lets_start_wait_or_says_which_limit_it_is) {
  auto opened = pawl::open({.store = ":memory:", .memory = {.waiting = 4096}});
  runtime_ = std::make_unique<Runtime>(std::move(*opened));
  auto gate = std::make_shared<Gate>();
  serve([](const std::string& text) { return text.size(); });
  // An observer that holds the engine's thread: what comes meanwhile fills the queue.
  std::promise<void> held;
  std::atomic<bool> once{false};
  const auto holding = runtime_->observe([&](const Event&) {
    if (once.exchange(true)) return;
    held.set_value();
    gate->pass();
  });
  ASSERT_TRUE(runtime_->start("order", std::string(10, 'x')).ok());
  held.get_future().wait();
  std::vector<std::future<std::string>> waiting;  // what was wrong
  for (int i = 0; i < 2; ++i)
    waiting.push_back(std::async(std::launch::async, [&] {
      const auto job = runtime_->start("order", std::string(5000, 'x'), {.when_full = WhenFull::wait});
      return job ? std::string() : to_string(job.error());
    }));
  // A job that was accepted is answered when the engine continues, after this call.
  struct Answer {
    std::mutex mutex;
    std::optional<Result<Job<>>> said;
  };
  std::optional<Result<Job<>>> refused;
  ASSERT_TRUE(comes_true([&] {
    const auto answer = std::make_shared<Answer>();
    runtime_->start_async("order", std::string(5000, 'x'), {}, [answer](Result<Job<>> result) {
      const std::lock_guard lock(answer->mutex);
      answer->said = std::move(result);
    });
    const std::lock_guard lock(answer->mutex);
    refused = answer->said;
    return refused.has_value();
  }));
  EXPECT_TRUE(fails_with(*refused, ErrorCode::retry_later, {"4096"}));
  EXPECT_TRUE(fails_with(runtime_->start("order", std::string(5000, 'x'), {.when_full = WhenFull::refuse}),
                         ErrorCode::retry_later, {"4096"}));
  gate->open();
  for (auto& one : waiting) EXPECT_EQ(one.get(), "") << "it waited for room";
}

TEST_F(TypedJobs, several_observers_come_and_go_at_any_time) {
  serve([](const int& n) { return n; });
  std::atomic<int> first{0}, second{0}, third{0};
  const auto counts = [](std::atomic<int>& count) {
    return [&count](const Event& event) { count += event.kind == Event::Kind::job_closed ? 1 : 0; };
  };
  Subscription one = runtime_->observe(counts(first));
  ASSERT_TRUE(run<int>(1).ok());
  ASSERT_TRUE(comes_true([&] { return first == 1; }));
  {
    const Subscription two = runtime_->observe(counts(second));
    ASSERT_TRUE(run<int>(1).ok());
    ASSERT_TRUE(comes_true([&] { return first == 2 && second == 1; }));
  }
  Subscription itself;
  itself = runtime_->observe([&](const Event&) {
    ++third;
    itself.end();  // an observer may remove itself
  });
  one.end();
  ASSERT_TRUE(run<int>(1).ok());
  EXPECT_EQ(first, 2);
  EXPECT_EQ(second, 1);
  EXPECT_EQ(third, 1);
  std::unique_ptr<Runtime> ended = std::move(runtime_);
  Subscription late = ended->observe(counts(first));
  ended.reset();
  late.end();  // a subscription may outlive its runtime
}

TEST_F(TypedJobs, what_a_callback_or_an_observer_throws_is_reported_and_harms_nobody) {
  serve([](const int& n) { return n; });
  Notes problems;
  const Subscription reported = runtime_->on_problem([&](const std::string& text) { problems.add(text); });
  const Subscription thrower = runtime_->observe([](const Event&) { throw std::runtime_error("no \xff sight"); });
  std::atomic<int> seen{0};
  const Subscription other = runtime_->observe([&](const Event&) { ++seen; });
  auto job = runtime_->start<int>("order", 5);
  job->on_end([](const Result<int>&) { throw Failure{.code = 409, .message = "no end"}; });
  std::promise<int> later;
  job->on_end([&](const Result<int>& end) { later.set_value(*end); });
  EXPECT_EQ(later.get_future().get(), 5);
  EXPECT_GT(seen, 0);
  ASSERT_TRUE(comes_true([&] { return problems.size() == 2; })) << "each is said once";
  auto all = problems.all();
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all[0], "a callback of on_end threw: 409: no end");
  EXPECT_EQ(all[1], "an observer threw: no \uFFFD sight");
}

TEST_F(TypedJobs, a_signal_reaches_its_job_whether_its_hook_waits_already_or_not) {
  TempDir dir;
  write_file(dir / "app.yaml", R"(app:
  id: shop
  version: "1"
  graphs:
    - subscribes: shop.ordered
      activities:
        start: {type: trigger}
        nap: {type: hook, sleep: 200ms}
        paid: {type: hook, job: {maps: {total: "{$self.hook.data.total}", key: "{$self.hook.data.key}"}}}
      transitions: {start: [{to: nap}], nap: [{to: paid}]}
      hooks:
        payment: [{to: paid, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$self.hook.data.key}"}]}}]
)");
  const auto deployed = runtime_->deploy(AppFile{dir / "app.yaml"});
  ASSERT_TRUE(deployed.ok()) << to_string(deployed.error());
  auto early = runtime_->start<Receipt>("shop.ordered", order_of(1), {.id = "early"});
  auto late = runtime_->start<Receipt>("shop.ordered", order_of(1), {.id = "late"});
  ASSERT_TRUE(early.ok() && late.ok());
  const auto signalled = early->signal("payment", Receipt{"x", 5});
  ASSERT_TRUE(signalled.ok()) << to_string(signalled.error());
  EXPECT_EQ(early->result(20s)->total, 5);
  ASSERT_TRUE(comes_true([&] {
    const auto detail = late->inspect();
    for (const ActivityView& activity : detail->activities)
      if (activity.name.raw() == "paid" && activity.waits_for) return true;
    return false;
  }));
  ASSERT_TRUE(late->signal("payment", Receipt{"x", 6}).ok());
  EXPECT_EQ(late->result(20s)->total, 6);
  EXPECT_TRUE(fails_with(late->signal("payment", Receipt{}), ErrorCode::invalid, {"late", "completed"}));
  auto other = runtime_->start("shop.ordered", order_of(1));
  EXPECT_TRUE(fails_with(other->signal("no.such", Receipt{}), ErrorCode::not_found, {"no.such"}));
}

}  // namespace
}  // namespace pawl
