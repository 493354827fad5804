// The test kit, as a user uses it.
#include "pawl/testing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <set>

namespace pawl::testing {
namespace {

using namespace std::chrono_literals;
using Outcome = Attempt::Outcome;

AppText built(const GraphBuilder& builder) {
  auto graph = builder.build();
  EXPECT_TRUE(graph.ok()) << to_string(graph.error());
  return std::move(*graph);
}

AppText order_graph(Retry retry = Retry().attempts(5).first_delay(1s).jitter(0)) {
  return built(GraphBuilder("order")
                   .trigger("received")
                   .worker("charge", "payments.charge")
                   .retry(std::move(retry))
                   .after("received")
                   .worker("ship", "shipping.ship")
                   .retry(Retry().attempts(2))
                   .after("charge"));
}

RunId submit(TestRuntime& test, const std::string& graph = "order", const std::string& id = "o-1") {
  const auto job = test->start(graph, Payload("{}"), {.id = id});
  EXPECT_TRUE(job.ok()) << to_string(job.error());
  return job ? job->run() : RunId(0);
}

JobView job_of(TestRuntime& test, RunId run) {
  const auto detail = test->job(run).inspect();
  EXPECT_TRUE(detail.ok());
  return detail ? detail->job : JobView{};
}

// A file with an app in it, deleted with this object.
class AppFile {
 public:
  explicit AppFile(const std::string& yaml) {
    std::string name = ::testing::TempDir() + "pawl-kit-XXXXXX";
    const int file = mkstemp(name.data());
    if (file >= 0) close(file);
    path_ = name;
    std::ofstream(path_) << yaml;
  }
  ~AppFile() { std::remove(path_.c_str()); }
  AppFile(const AppFile&) = delete;
  AppFile& operator=(const AppFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr const char* approval_app = R"(
app:
  id: shop
  version: "1"
  graphs:
    - subscribes: order.placed
      activities:
        placed: {type: trigger}
        approval: {type: hook, sleep: 2h, job: {maps: {approved: "{$self.hook.data.approved}"}}}
        parcel: {type: await, topic: parcel.packed, input: {maps: {order: "{placed.output.data.id}"}}, job: {maps: {parcel: "{$self.output.data.number}"}}}
      transitions:
        placed: [{to: approval}]
        approval: [{to: parcel}]
      hooks:
        order.approved: [{to: approval, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$self.hook.data.job}"}]}}]
    - subscribes: parcel.packed
      activities:
        asked: {type: trigger}
        pack: {type: worker, topic: pack, job: {maps: {number: "{$self.output.data.number}"}}}
      transitions:
        asked: [{to: pack}]
)";

TEST(TestRuntime, runs_a_workflow_without_waiting_for_anything) {
  TestRuntime test;
  ASSERT_TRUE(test->deploy(order_graph()).ok());
  MockWorker& charge = test.mock("payments.charge").replies("{\"receipt\": 17}");
  MockWorker& ship = test.mock("shipping.ship").replies("\"shipped\"");
  const RunId run = submit(test);
  EXPECT_EQ(job_of(test, run).status, JobStatus::running) << "nothing runs before it is told to";
  ASSERT_TRUE(test.run_until_idle().ok());
  EXPECT_EQ(job_of(test, run).status, JobStatus::completed);
  EXPECT_EQ(job_of(test, run).result.str(), "\"shipped\"");
  ASSERT_EQ(charge.attempts().size(), 1u);
  EXPECT_EQ(charge.attempts()[0].job, "o-1");
  EXPECT_EQ(charge.attempts()[0].activity, "charge");
  EXPECT_EQ(ship.attempts()[0].input.str(), "{\"receipt\": 17}");
  EXPECT_FALSE(test.next_due().has_value());
}

TEST(TestRuntime, failures_are_tried_again_at_their_time) {
  TestRuntime test;
  ASSERT_TRUE(test->deploy(order_graph()).ok());
  MockWorker& charge = test.mock("payments.charge").fails(2, 503).replies("{}");
  test.mock("shipping.ship");
  const Instant begin = test.now();
  const RunId run = submit(test);
  ASSERT_TRUE(test.run_until_idle().ok());
  EXPECT_EQ(charge.attempts().size(), 1u) << "the second attempt waits";
  ASSERT_TRUE(test.next_due().has_value());
  EXPECT_EQ(*test.next_due() - begin, 1s);
  ASSERT_TRUE(test.advance(999ms).ok());
  EXPECT_EQ(charge.attempts().size(), 1u);
  ASSERT_TRUE(test.advance(1ms).ok());
  EXPECT_EQ(charge.attempts().size(), 2u);
  ASSERT_TRUE(test.run_to_end().ok());
  const std::vector<Attempt> attempts = test.attempts_of("charge");
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts[0].outcome, Outcome::error);
  EXPECT_EQ(attempts[0].code, 503);
  EXPECT_EQ(attempts[2].outcome, Outcome::success);
  EXPECT_EQ(attempts[2].number, 3u);
  EXPECT_EQ(attempts[2].at - begin, 3s) << "one second, then two";
  EXPECT_EQ(attempts[0].key, attempts[2].key);
  EXPECT_EQ(charge.requests(), 1u);
  EXPECT_EQ(job_of(test, run).status, JobStatus::completed);
}

TEST(TestRuntime, each_request_has_its_script_and_the_last_serves_all_others) {
  TestRuntime test;
  ASSERT_TRUE(test->deploy(order_graph()).ok());
  test.mock("payments.charge").replies("1").then().fails(1).replies("2").then().replies("3");
  test.mock("shipping.ship").replies("0");
  for (int i = 0; i < 4; ++i) {
    submit(test, "order", "o-" + std::to_string(i));
    ASSERT_TRUE(test.run_to_end().ok());
  }
  std::string answers;
  for (const Attempt& attempt : test.attempts_of("charge"))
    answers += attempt.outcome == Outcome::success ? attempt.data.str() : "x";
  EXPECT_EQ(answers, "1x233");
}

TEST(TestRuntime, a_mock_that_takes_its_time_meets_the_timeouts) {
  const auto graph = [](Timeouts timeouts) {
    return built(GraphBuilder("slow").trigger("t").worker("act", "work").timeouts(timeouts).after("t"));
  };
  TestRuntime test;
  ASSERT_TRUE(test->deploy(graph(Timeouts().attempt(10s))).ok());
  test.mock("work").takes(9s).replies("\"in time\"").then().takes(11s).then().never_answers();
  const Instant begin = test.now();
  for (const auto& [id, status] : {std::pair{"in-time", JobStatus::completed}, std::pair{"late", JobStatus::failed},
                                   std::pair{"never", JobStatus::failed}}) {
    const auto end = test->job(submit(test, "slow", id)).wait(1min);
    ASSERT_TRUE(end.ok()) << id << ": " << to_string(end.error());
    EXPECT_EQ(end->status, status) << id << ": " << end->reason;
  }
  EXPECT_EQ(test.now() - begin, 29s);
  EXPECT_EQ(test.attempts().back().outcome, Outcome::silent);
}

TEST(TestRuntime, an_app_with_a_signal_a_sleep_and_a_child) {
  const AppFile app(approval_app);
  for (const bool approves : {true, false}) {
    TestRuntime test;
    const auto deployed = test->deploy(pawl::AppFile{app.path()});
    ASSERT_TRUE(deployed.ok()) << to_string(deployed.error());
    test.mock("pack").replies("{\"number\": 4711}");
    const Instant begin = test.now();
    const auto job = test->start("order.placed", Payload("{\"id\": \"a-1\"}"), {.id = "a-1"});
    ASSERT_TRUE(job.ok()) << to_string(job.error());
    if (approves) test.signal_after(1h, "order.approved", "{\"job\": \"a-1\", \"approved\": true}");
    ASSERT_TRUE(test.run_to_end().ok());
    const JobView end = job_of(test, job->run());
    EXPECT_EQ(end.status, JobStatus::completed) << end.reason;
    EXPECT_EQ(end.data.str(), approves ? R"({"approved":true,"parcel":4711})" : R"({"parcel":4711})");
    EXPECT_EQ(end.closed_at - begin, approves ? 1h : 2h);
    EXPECT_TRUE(test.problems().empty()) << test.problems()[0];
  }
}

TEST(TestRuntime, a_signal_that_nobody_can_take_is_a_problem) {
  TestRuntime test;
  test.signal_after(1s, "no.such", "{}");
  ASSERT_TRUE(test.run_to_end().ok());
  ASSERT_EQ(test.problems().size(), 1u);
  EXPECT_NE(test.problems()[0].find("signal no.such: not_found"), std::string::npos) << test.problems()[0];
}

TEST(TestRuntime, what_a_worker_throws_or_asks_of_its_runtime_is_as_in_a_program) {
  TestRuntime test;
  ASSERT_TRUE(test->deploy(order_graph(Retry().attempts(1).when_exhausted(WhenExhausted::fail))).ok());
  ASSERT_TRUE(test->serve("payments.charge",
                          [&](Work& work) -> Reply {
                            EXPECT_FALSE(test.advance(1s).ok()) << "a worker does not move the clock";
                            EXPECT_FALSE(test->job(work.run()).wait(1s).ok());
                            const auto child = test->start("order", Payload(), {.id = "o-2", .delay = 1h});
                            EXPECT_TRUE(child.ok());
                            throw std::runtime_error("no money");
                          })
                  .ok());
  const RunId run = submit(test);
  ASSERT_TRUE(test.run_until_idle().ok());
  EXPECT_EQ(job_of(test, run).status, JobStatus::failed);
  EXPECT_EQ(test.attempts()[0].data.str(), R"({"code":500,"message":"no money"})");
  EXPECT_TRUE((*test->find("o-2")).has_value());
}

TEST(TestRuntime, a_topic_that_nobody_serves_ends_the_run_and_says_so) {
  TestRuntime test;
  ASSERT_TRUE(test->deploy(order_graph()).ok());
  const RunId run = submit(test);
  ASSERT_TRUE(test.run_to_end().ok());
  EXPECT_EQ(job_of(test, run).status, JobStatus::running);
  ASSERT_EQ(test.problems().size(), 1u);
  EXPECT_NE(test.problems()[0].find("nobody serves topic payments.charge"), std::string::npos);
}

TEST(TestRuntime, a_workflow_that_never_ends_is_an_error) {
  TestRuntime test({.commits_max = 500});
  ASSERT_TRUE(test->deploy(order_graph(Retry().attempts(100'000).first_delay(1ms))).ok());
  test.mock("payments.charge").fails(100'000);
  submit(test);
  const Status ran = test.run_to_end();
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, ErrorCode::over_limit);
}

TEST(TestRuntime, a_crash_loses_what_was_not_durable_and_no_more) {
  TestRuntime test;
  ASSERT_TRUE(test->deploy(order_graph()).ok());
  MockWorker& charge = test.mock("payments.charge").takes(10s);
  test.mock("shipping.ship");
  const RunId run = submit(test);
  ASSERT_TRUE(test.advance(5s).ok());
  test.crash();
  ASSERT_TRUE(test.run_to_end().ok());
  EXPECT_EQ(job_of(test, run).status, JobStatus::completed);
  ASSERT_EQ(charge.attempts().size(), 2u);
  EXPECT_TRUE(charge.attempts()[0].lost);
  EXPECT_FALSE(charge.attempts()[1].lost);
  EXPECT_EQ(charge.requests(), 1u);
  EXPECT_EQ(test.attempts_of("ship").size(), 1u);
}

TEST(TestRuntime, the_same_seed_gives_the_same_run_and_another_one_another_order) {
  const auto order_of = [](std::uint64_t seed) {
    TestRuntime test({.seed = seed});
    GraphBuilder builder("wide");
    builder.trigger("t");
    for (int i = 0; i < 8; ++i) builder.worker("w" + std::to_string(i), "work").after("t");
    EXPECT_TRUE(test->deploy(built(builder)).ok());
    test.mock("work");
    submit(test, "wide");
    EXPECT_TRUE(test.run_to_end().ok());
    std::string order;
    for (const Attempt& attempt : test.attempts()) order += attempt.activity + attempt.key;
    return order;
  };
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    EXPECT_EQ(order_of(seed), order_of(seed));
    orders.insert(order_of(seed));
  }
  EXPECT_EQ(orders.size(), 6u);
}

// --- crashes at every commit

// The user's own system: it counts charges. A correct bank recognises the key of a repeated charge.
struct Bank {
  enum class Kind : std::uint8_t { knows_keys, forgets_keys };
  explicit Bank(Kind kind) : kind_(kind) {}
  void charge(const std::string& key) {
    if (kind_ == Kind::forgets_keys || seen_.insert(key).second) ++charged;
  }
  int charged = 0;

 private:
  Kind kind_;
  std::set<std::string> seen_;
};

Status order_scenario(TestRuntime& test, Bank::Kind kind) {
  Bank bank(kind);
  if (auto deployed = test->deploy(order_graph()); !deployed) return deployed.error();
  auto served = test->serve("payments.charge", [&](Work& work) {
    bank.charge(work.key());
    return Reply::success("{}");
  });
  if (!served) return served;
  test.mock("shipping.ship").fails(1).replies("\"shipped\"");
  const auto job = test->start("order", Payload("{}"), {.id = "o-1"});
  if (!job) return job.error();
  if (auto ran = test.run_to_end(); !ran) return ran;
  test.note("charged", bank.charged);
  return {};
}

TEST(CrashEverywhere, a_worker_that_uses_its_key_passes_whatever_crashes) {
  for (const bool fusion : {true, false}) {
    CrashOptions options;
    options.test.fusion = fusion;
    const CrashReport report =
        crash_everywhere([](TestRuntime& test) { return order_scenario(test, Bank::Kind::knows_keys); }, options);
    EXPECT_TRUE(report.ok()) << report.text();
    EXPECT_GE(report.commits, fusion ? 4u : 10u);
    EXPECT_EQ(report.runs, 3 * report.commits);
  }
}

TEST(CrashEverywhere, a_worker_that_is_not_idempotent_is_found_with_commit_and_fault) {
  const CrashReport report =
      crash_everywhere([](TestRuntime& test) { return order_scenario(test, Bank::Kind::forgets_keys); });
  ASSERT_FALSE(report.ok());
  ASSERT_EQ(report.findings.size(), 1u) << report.text();
  const CrashFinding& finding = report.findings[0];
  EXPECT_EQ(finding.fault, Fault::crash_before);
  EXPECT_NE(finding.what.find("charge of o-1 closed"), std::string::npos) << finding.what;
  EXPECT_EQ(finding.difference, "note charged is 2, without the fault it is 1");
  EXPECT_NE(report.text().find("crash before commit " + std::to_string(finding.commit)), std::string::npos)
      << report.text();
  // The same commit alone, as a user does to examine it.
  CrashOptions options;
  options.only_commit = finding.commit;
  const CrashReport again =
      crash_everywhere([](TestRuntime& test) { return order_scenario(test, Bank::Kind::forgets_keys); }, options);
  EXPECT_EQ(again.runs, 3u);
  EXPECT_EQ(again.findings_in_all, 1u);
}

TEST(CrashEverywhere, a_job_that_ends_otherwise_is_found) {
  // The workers keep in memory what must be in the workflow: a crash between the two steps loses it.
  const CrashReport report = crash_everywhere([](TestRuntime& test) -> Status {
    auto remembered = std::make_shared<std::string>();
    if (auto deployed = test->deploy(order_graph()); !deployed) return deployed.error();
    auto first = test->serve("payments.charge", [=](Work& work) {
      *remembered += work.attempt() == 1 ? "a" : "b";
      return Reply::success("{}");
    });
    if (!first) return first;
    auto second = test->serve("shipping.ship", [=](Work&) { return Reply::success("\"" + *remembered + "\""); });
    if (!second) return second;
    const auto job = test->start("order", Payload("{}"), {.id = "o-1"});
    if (!job) return job.error();
    return test.run_to_end();
  });
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.text().find("job o-1 of namespace default is completed with result \"ab\", without the fault it is "
                               "completed with result \"a\""),
            std::string::npos)
      << report.text();
}

TEST(CrashEverywhere, a_scenario_that_fails_by_itself_is_not_run_with_faults) {
  const CrashReport report = crash_everywhere([](TestRuntime&) -> Status {
    return Error{ErrorCode::invalid, "wrong from the start"};
  });
  EXPECT_FALSE(report.ok());
  EXPECT_EQ(report.runs, 0u);
  EXPECT_NE(report.text().find("wrong from the start"), std::string::npos);
}

TEST(CrashEverywhere, an_app_with_timers_signals_retries_and_children) {
  const AppFile app(approval_app);
  const CrashReport report = crash_everywhere([&](TestRuntime& test) -> Status {
    if (auto deployed = test->deploy(pawl::AppFile{app.path()}); !deployed) return deployed.error();
    MockWorker& pack = test.mock("pack").fails(0).replies("{\"number\": 4711}");
    const auto first = test->start("order.placed", Payload("{\"id\": \"a-1\"}"), {.id = "a-1"});
    if (!first) return first.error();
    const auto second = test->start("order.placed", Payload("{\"id\": \"x\"}"));
    if (!second) return second.error();
    test.signal_after(1h, "order.approved", "{\"job\": \"a-1\", \"approved\": true}");
    if (auto ran = test.run_to_end(); !ran) return ran;
    for (const std::string& problem : test.problems()) return Error{ErrorCode::invalid, problem};
    test.note("packed", static_cast<std::int64_t>(pack.requests()));
    test.note("hours", (test.now() - first->inspect()->job.created_at) / 1h);
    return {};
  });
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_GE(report.commits, 6u) << report.text();
}

}  // namespace
}  // namespace pawl::testing
