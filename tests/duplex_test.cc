// Jobs under collation duplex through the public API, on every store of the program, and after kill -9.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "life_test.h"
#include "testing.h"

namespace pawl {
namespace {

using namespace testing;

GraphBuilder order_builder() {
  return GraphBuilder("order")
      .trigger("received")
      .worker("charge", "charge")
      .after("received")
      .worker("ship", "ship")
      .after("charge")
      .worker("refund", "refund")
      .after("charge", Condition::code(402));
}

AppText order(Collation collation) { return std::move(*order_builder().collation(collation).build()); }

// Fails when the input asks for it, and then charges nothing.
Reply charge(Work& work) {
  if (work.input().view() == "broke") return Reply::error("no money", 402);
  if (work.input().view() == "crash") return Reply::error("boom", 500);
  if (work.input().view() == "twice") work.pending(Payload("first half"));
  return Reply::success(work.input().str() + ",charged");
}
Reply ship(Work& work) { return Reply::success(work.input().str() + ",shipped"); }
Reply refund(Work& work) { return Reply::success(work.input().str() + ",refunded"); }

void serve_all(Runtime& runtime) {
  EXPECT_TRUE(runtime.serve("charge", charge).ok());
  EXPECT_TRUE(runtime.serve("ship", ship).ok());
  EXPECT_TRUE(runtime.serve("refund", refund).ok());
}

// On a server: how long a killed process keeps its lanes.
constexpr Duration short_lease = 1s;

std::unique_ptr<Runtime> open(const std::string& store, Duration lease = Duration{0}) {
  auto opened = pawl::open({.store = store, .lease = lease});
  if (!opened) {
    ADD_FAILURE() << to_string(opened.error());
    return nullptr;
  }
  EXPECT_TRUE(opened->deploy(order(Collation::duplex)).ok());
  serve_all(*opened);
  return std::make_unique<Runtime>(std::move(*opened));
}

JobView run(Runtime& runtime, const std::string& id, const std::string& input) {
  const auto job = runtime.start("order", Payload(input), {.id = id});
  if (!job) {
    ADD_FAILURE() << to_string(job.error());
    return {};
  }
  const auto end = job->wait(30s);
  if (!end) ADD_FAILURE() << to_string(end.error());
  return end ? *end : JobView{};
}

class DuplexTest : public ::testing::TestWithParam<Setting> {
 protected:
  std::string store() { return place_->address(); }
  TempDir folder_;
  std::unique_ptr<Place> place_ = GetParam().place.make();
};

class DuplexJobs : public DuplexTest {};

TEST_P(DuplexJobs, run_to_their_end_and_show_their_fifteen_digits) {
  const auto runtime = open(store());
  ASSERT_NE(runtime, nullptr);
  ASSERT_TRUE(runtime->launch().ok());
  const JobView end = run(*runtime, "o-1", "book");
  EXPECT_EQ(end.status, JobStatus::completed);
  EXPECT_EQ(end.result.str(), "book,charged,shipped");
  EXPECT_EQ(end.semaphore, 0);

  const auto found = runtime->find("o-1");
  ASSERT_TRUE(found.ok() && found->has_value());
  const auto detail = (*found)->inspect();
  ASSERT_TRUE(detail.ok()) << to_string(detail.error());
  ASSERT_EQ(detail->activities.size(), 3u);
  for (const ActivityView& activity : detail->activities) {
    EXPECT_EQ(activity.ledger, "888000001000001") << activity.name.raw();
    EXPECT_EQ(activity.explanation, "leg 1: 1 entry, left; leg 2: closed, 1 entry, 1 exit");
    EXPECT_FALSE(activity.open());
    EXPECT_FALSE(activity.errored());
  }
  EXPECT_EQ(detail->activities[2].name, ActivityName("ship"));
  EXPECT_EQ(detail->activities[2].address, ",0,0,0");
  EXPECT_EQ(detail->activities[2].output.str(), "book,charged,shipped");
  EXPECT_EQ(detail->collation_key, "663600000000000") << "charge, received, refund (skipped), ship";
  const auto listed = runtime->list({.status = JobStatus::completed});
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(listed->size(), 1u);
}

TEST_P(DuplexJobs, a_caught_error_goes_its_way_and_an_uncaught_one_fails_the_job) {
  const auto runtime = open(store());
  ASSERT_NE(runtime, nullptr);
  ASSERT_TRUE(runtime->launch().ok());
  const JobView caught = run(*runtime, "o-1", "broke");
  EXPECT_EQ(caught.status, JobStatus::completed);
  EXPECT_EQ(caught.result.str(), "no money,refunded");
  const JobView failed = run(*runtime, "o-2", "crash");
  EXPECT_EQ(failed.status, JobStatus::failed);
  EXPECT_EQ(failed.reason, "activity charge failed with code 500: boom");

  const auto caught_detail = (*runtime->find("o-1"))->inspect();
  EXPECT_EQ(caught_detail->activities[1].ledger, "888000001000001");
  EXPECT_TRUE(caught_detail->activities[1].errored());
  const auto failed_detail = (*runtime->find("o-2"))->inspect();
  EXPECT_EQ(failed_detail->activities[1].ledger, "887000001000000");
  EXPECT_EQ(failed_detail->activities[1].explanation, "leg 1: 1 entry, left; leg 2: errored, 1 entry, 0 exits");
}

TEST_P(DuplexJobs, a_pending_reply_opens_a_plane_of_its_own) {
  const auto runtime = open(store());
  ASSERT_NE(runtime, nullptr);
  ASSERT_TRUE(runtime->launch().ok());
  EXPECT_EQ(run(*runtime, "o-1", "twice").status, JobStatus::completed);
  const auto detail = (*runtime->find("o-1"))->inspect();
  std::map<std::string, std::string> shipped;
  for (const ActivityView& activity : detail->activities)
    if (activity.name == ActivityName("ship")) shipped[activity.address] = activity.output.str();
  EXPECT_EQ(shipped, (std::map<std::string, std::string>{{",0,0,0", "first half,shipped"},
                                                         {",0,1,0", "twice,charged,shipped"}}));
  EXPECT_EQ(detail->activities[1].ledger, "888000002000002");
}

TEST_P(DuplexJobs, an_id_names_one_job_whatever_its_collation) {
  const auto runtime = open(store());
  ASSERT_NE(runtime, nullptr);
  ASSERT_TRUE(runtime->deploy(chain_graph()).ok());
  ASSERT_TRUE(runtime->serve("work", echo).ok());
  ASSERT_TRUE(runtime->launch().ok());
  const auto first = runtime->start("order", Payload("x"), {.id = "same"});
  const auto again = runtime->start("order", Payload("y"), {.id = "same"});
  const auto other = runtime->start("chain", Payload("z"), {.id = "same"});
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_TRUE(first->created());
  EXPECT_FALSE(again->created());
  EXPECT_FALSE(other->created());
  EXPECT_EQ(again->run(), first->run());
  EXPECT_EQ(other->run(), first->run());
  expect_runs(*runtime, "a-ledger-job");
  EXPECT_EQ(first->wait(30s)->result.str(), "x,charged,shipped");
}

TEST_P(DuplexJobs, an_observer_hears_what_happens_in_order) {
  const auto runtime = open(store());
  ASSERT_NE(runtime, nullptr);
  std::mutex mutex;
  std::vector<std::string> heard;
  runtime
      ->observe([&](const Event& event) {
        const std::lock_guard lock(mutex);
        const char* kinds[] = {"started", "opened", "pending", "closed", "job closed", "job parked"};
        heard.push_back(std::string(kinds[static_cast<int>(event.kind)]) + " " + event.activity.raw());
      })
      .keep();
  ASSERT_TRUE(runtime->launch().ok());
  run(*runtime, "o-1", "book");
  runtime->stop();
  EXPECT_EQ(heard, (std::vector<std::string>{"started ", "opened charge", "opened ship", "closed charge", "closed ship",
                                             "job closed "}));
}

TEST_P(DuplexJobs, many_at_once_all_end) {
  const auto runtime = open(store());
  ASSERT_NE(runtime, nullptr);
  ASSERT_TRUE(runtime->launch().ok());
  std::vector<RunId> runs;
  for (int i = 0; i < 200; ++i) {
    const auto job = runtime->start("order", Payload(i % 3 == 0 ? "broke" : "book"), {.id = "o-" + std::to_string(i)});
    ASSERT_TRUE(job.ok());
    runs.push_back(job->run());
  }
  for (const RunId run_id : runs) {
    const auto end = runtime->job(run_id).wait(60s);
    ASSERT_TRUE(end.ok()) << to_string(end.error());
    EXPECT_EQ(end->status, JobStatus::completed);
  }
}

// Charges by hand: the worker gives its token away and returns. Serve it before start().
class ByToken {
 public:
  explicit ByToken(Duration within = 1h) : within_(within) {}
  Worker worker() {
    return [this](Work& work) {
      const std::lock_guard lock(mutex_);
      tokens_.push_back(work.token());
      keys_.insert(work.key());
      if (work.input().view() == "twice" && tokens_.size() == 1) work.pending(Payload("first half"));
      return Reply::later(within_);
    };
  }
  std::vector<std::string> tokens() {
    const std::lock_guard lock(mutex_);
    return tokens_;
  }
  std::string token(std::size_t number) {
    EXPECT_TRUE(comes_true([&] { return tokens().size() > number; }));
    return tokens().at(number);
  }
  std::size_t keys() {
    const std::lock_guard lock(mutex_);
    return keys_.size();
  }

 private:
  const Duration within_;
  std::mutex mutex_;
  std::vector<std::string> tokens_;
  std::set<std::string> keys_;
};

// retry_later while the worker has not returned yet.
Status complete(Runtime& runtime, const std::string& token, const Reply& reply) {
  Status status;
  EXPECT_TRUE(comes_true([&] {
    status = runtime.complete(token, reply);
    return status.ok() || status.error().code != ErrorCode::retry_later;
  }));
  return status;
}

TEST_P(DuplexJobs, an_answer_may_come_later_by_token_and_is_taken_once) {
  const auto runtime = open(store());
  ASSERT_NE(runtime, nullptr);
  ByToken by_token;
  ASSERT_TRUE(runtime->serve("charge", by_token.worker()).ok());
  ASSERT_TRUE(runtime->launch().ok());
  const auto job = runtime->start("order", Payload("book"), {.id = "o-1"});
  ASSERT_TRUE(job.ok());
  const std::string token = by_token.token(0);
  EXPECT_FALSE(job->wait(50ms).ok());
  EXPECT_TRUE(fails_with(runtime->heartbeat(token, Payload("half")), ErrorCode::unsupported,
                         {"o-1", "duplex", "Reply::later"}));
  ASSERT_TRUE(complete(*runtime, token, Reply::success("by hand")).ok());
  EXPECT_EQ(job->wait(30s)->result.str(), "by hand,shipped");
  EXPECT_TRUE(fails_with(runtime->complete(token, Reply::success("again")), ErrorCode::conflict,
                         {"no longer good", "has ended"}));
  const auto other = runtime->start("order", Payload("book"), {.id = "o-2"});
  ASSERT_TRUE(complete(*runtime, by_token.token(1), Reply::error("no money", 402)).ok());
  EXPECT_EQ(other->wait(30s)->result.str(), "no money,refunded");
}

TEST_P(DuplexJobs, an_answer_by_token_waits_for_the_pending_ones_before_it) {
  const auto runtime = open(store());
  ASSERT_NE(runtime, nullptr);
  ByToken by_token;
  ASSERT_TRUE(runtime->serve("charge", by_token.worker()).ok());
  ASSERT_TRUE(runtime->launch().ok());
  const auto job = runtime->start("order", Payload("twice"), {.id = "o-1"});
  ASSERT_TRUE(complete(*runtime, by_token.token(0), Reply::success("second half")).ok());
  EXPECT_EQ(job->wait(30s)->status, JobStatus::completed);
  std::set<std::string> shipped;
  const auto detail = job->inspect();
  for (const ActivityView& activity : detail->activities)
    if (activity.name == ActivityName("ship")) shipped.insert(activity.output.str());
  EXPECT_EQ(shipped, (std::set<std::string>{"first half,shipped", "second half,shipped"}));
}

TEST_P(DuplexJobs, what_nobody_answers_in_time_is_handed_out_again_under_a_new_token) {
  const auto runtime = open(store());
  ASSERT_NE(runtime, nullptr);
  ByToken by_token(50ms);
  ASSERT_TRUE(runtime->serve("charge", by_token.worker()).ok());
  ASSERT_TRUE(runtime->launch().ok());
  const auto job = runtime->start("order", Payload("book"), {.id = "o-1"});
  const std::string first = by_token.token(0);
  (void)by_token.token(1);
  EXPECT_TRUE(
      fails_with(complete(*runtime, first, Reply::success("too late")), ErrorCode::conflict, {"no longer good"}));
  // The newest one that is still valid at the reply.
  ASSERT_TRUE(comes_true([&] { return runtime->complete(by_token.tokens().back(), Reply::success("in time")).ok(); }));
  EXPECT_EQ(job->wait(30s)->result.str(), "in time,shipped");
  EXPECT_EQ(by_token.keys(), 1u) << "the idempotency key stays the same";
}

TEST_P(DuplexJobs, an_interrupt_ends_the_job_and_tells_its_workers) {
  const auto runtime = open(store());
  ASSERT_NE(runtime, nullptr);
  std::atomic<bool> began{false};
  ASSERT_TRUE(runtime
                  ->serve("charge",
                          [&](Work& work) {
                            began = true;
                            work.heartbeat(Payload("on"));  // not stored, and no reason to cancel
                            while (!work.cancelled()) std::this_thread::sleep_for(1ms);
                            return Reply::success("for nobody");
                          })
                  .ok());
  ASSERT_TRUE(runtime->launch().ok());
  const auto job = runtime->start("order", Payload("book"), {.id = "o-1"});
  ASSERT_TRUE(comes_true([&] { return began.load(); }));
  ASSERT_TRUE(job->interrupt("asked for").ok());
  const auto end = job->wait(30s);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->status, JobStatus::interrupted);
  EXPECT_EQ(end->reason, "asked for");
  EXPECT_TRUE(fails_with(job->interrupt(), ErrorCode::invalid, {"o-1", "interrupted", "nothing left"}));
  runtime->stop();  // the worker was cancelled, otherwise this would hang
}

TEST_P(DuplexJobs, what_cannot_be_asked_of_them_is_refused_with_what_to_do) {
  const auto runtime = open(store());
  ASSERT_NE(runtime, nullptr);
  ASSERT_TRUE(runtime->serve("charge", [](Work&) { return Reply::fatal("boom", 500); }).ok());
  ASSERT_TRUE(runtime->launch().ok());
  const JobView failed = run(*runtime, "o-1", "book");
  EXPECT_EQ(failed.status, JobStatus::failed) << "fatal is an error";
  const RunId job = (*runtime->find("o-1"))->run();
  const auto unsupported = ErrorCode::unsupported;
  EXPECT_TRUE(
      fails_with(runtime->job(job).pause(), unsupported, {"o-1", "duplex", "interrupt it", "collation ledger"}));
  EXPECT_TRUE(fails_with(runtime->job(job).resume(), unsupported, {"o-1", "duplex"}));
  EXPECT_TRUE(fails_with(runtime->job(job).redrive(), unsupported, {"o-1", "duplex", "under a new id"}));
  EXPECT_TRUE(fails_with(runtime->job(job).settle({"charge", ""}, Finding::not_done()), unsupported,
                         {"o-1", "nothing is unknown"}));
  EXPECT_TRUE(fails_with(runtime->job(job).remove(), unsupported, {"o-1", "rows stay", "StartOptions::keep"}));
  EXPECT_TRUE(runtime->job(job).inspect().ok()) << "a refused removal takes nothing away";
}

// Its thread is replaced and its slot given back, as under the other collation: the next job does not wait for it.
TEST_P(DuplexJobs, a_worker_that_never_returns_keeps_nobody_elses_slot) {
  auto opened = pawl::open({.store = store(), .worker_threads = 1, .worker_queue = 1, .worker_grace = 20ms});
  ASSERT_TRUE(opened.ok());
  Runtime& runtime = *opened;
  ASSERT_TRUE(runtime.deploy(order(Collation::duplex)).ok());
  serve_all(runtime);
  std::atomic<bool> began{false}, let_go{false};
  ASSERT_TRUE(runtime
                  .serve("charge",
                         [&](Work& work) {
                           if (work.input().view() != "hang") return charge(work);
                           began = true;
                           while (!let_go) std::this_thread::sleep_for(1ms);  // ignores Work::cancelled
                           return Reply::success("at last");
                         })
                  .ok());
  ASSERT_TRUE(runtime.launch().ok());
  const auto hung = runtime.start("order", Payload("hang"), {.id = "hung"});
  ASSERT_TRUE(hung.ok());
  ASSERT_TRUE(comes_true([&] { return began.load(); }));
  ASSERT_TRUE(hung->interrupt("it hangs").ok());
  EXPECT_EQ(run(runtime, "next", "book").result.str(), "book,charged,shipped");
  EXPECT_EQ(hung->wait(30s)->status, JobStatus::interrupted);
  let_go = true;
  runtime.stop();
}

constexpr const char* parcels = R"(app:
  id: parcels
  version: "1"
  graphs:
    - subscribes: parcel.brought
      collation: duplex
      input: {schema: {type: object, required: [parcel]}}
      activities:
        brought: {type: trigger, stats: {id: "{$self.input.data.parcel}"}}
        weigh: {type: worker, topic: weigh}
        label: {type: worker, topic: label}
        send_back: {type: worker, topic: send_back}
      transitions:
        brought: [{to: weigh}]
        weigh: [{to: label}, {to: send_back, conditions: {code: [402, 413]}}]
)";

// The app and all of its workers except the first.
std::unique_ptr<Runtime> open_parcels(const std::string& store) {
  auto opened = pawl::open({.store = store});
  if (!opened) return nullptr;
  const auto wrap = [](std::string name) {
    return [name](Work& work) { return Reply::success("{\"" + name + "\":" + work.input().str() + "}"); };
  };
  EXPECT_TRUE(opened->serve("label", wrap("label")).ok());
  EXPECT_TRUE(opened->serve("send_back", wrap("back")).ok());
  return std::make_unique<Runtime>(std::move(*opened));
}

TEST_P(DuplexJobs, a_graph_in_yaml_runs_the_same_way) {
  const auto runtime = open_parcels(store());
  ASSERT_NE(runtime, nullptr);
  write_file(folder_ / "parcels.yaml", parcels);
  const auto deployed = runtime->deploy(AppFile{folder_ / "parcels.yaml"});
  ASSERT_TRUE(deployed.ok()) << to_string(deployed.error());
  ASSERT_TRUE(runtime
                  ->serve("weigh",
                          [](Work& work) {
                            if (work.input().view().find("lead") != std::string_view::npos)
                              return Reply::error("\"too heavy\"", 413);
                            return Reply::success("{\"grams\":900}");
                          })
                  .ok());
  ASSERT_TRUE(runtime->launch().ok());
  const auto light = runtime->start("parcel.brought", Payload(R"({"parcel":"p-1"})"));
  const auto heavy = runtime->start("parcel.brought", Payload(R"({"parcel":"lead"})"));
  ASSERT_TRUE(light.ok() && heavy.ok()) << to_string(light.error());
  EXPECT_EQ(light->wait(30s)->result.str(), R"({"label":{"grams":900}})");
  EXPECT_EQ(heavy->wait(30s)->result.str(), R"({"back":"too heavy"})");
  const auto detail = (*runtime->find("p-1"))->inspect();
  ASSERT_TRUE(detail.ok());
  ASSERT_EQ(detail->activities.size(), 3u);
  EXPECT_EQ(detail->activities[1].name, ActivityName("weigh"));
  EXPECT_EQ(detail->activities[1].ledger, "888000001000001");
  EXPECT_TRUE(fails_with(runtime->start("parcel.brought", Payload("{}")), ErrorCode::invalid, {"parcel"}));
  EXPECT_TRUE(fails_with(runtime->start("parcel.brought", Payload(R"({"parcel":"p-3"})"), {.id = "x", .delay = 1s}),
                         ErrorCode::unsupported, {"duplex", "delay"}));
}

INSTANTIATE_TEST_SUITE_P(store, DuplexJobs, every_store, setting_name);

TEST(DuplexGraph, the_collation_is_part_of_what_a_job_is_pinned_to) {
  EXPECT_NE(order(Collation::duplex).text, order(Collation::ledger).text);
  EXPECT_EQ(order(Collation::ledger).text, order_builder().build()->text);
  auto runtime = pawl::open({.store = ":memory:"});
  ASSERT_TRUE(runtime.ok());
  EXPECT_TRUE(runtime->deploy(order(Collation::duplex)).ok());
  EXPECT_TRUE(fails_with(runtime->deploy(order(Collation::ledger)), ErrorCode::already_exists, {"order", "version 1"}));
}

class DuplexStop : public DuplexTest {};

TEST_P(DuplexStop, what_no_worker_began_is_given_back_and_done_after_the_restart) {
  std::atomic<bool> hold{true};
  {
    auto runtime = pawl::open({.store = store(), .worker_threads = 1});
    ASSERT_TRUE(runtime.ok());
    ASSERT_TRUE(runtime->deploy(order(Collation::duplex)).ok());
    std::atomic<int> begun{0};
    ASSERT_TRUE(runtime
                    ->serve("charge",
                            [&](Work& work) {
                              ++begun;
                              while (hold) std::this_thread::sleep_for(1ms);
                              return charge(work);
                            })
                    .ok());
    ASSERT_TRUE(runtime->launch().ok());
    for (int i = 0; i < 5; ++i)
      ASSERT_TRUE(runtime->start("order", Payload("book"), {.id = "o-" + std::to_string(i)}).ok());
    while (begun == 0) std::this_thread::sleep_for(1ms);
    std::thread release([&] {
      std::this_thread::sleep_for(20ms);
      hold = false;
    });
    runtime->stop();
    release.join();
  }
  const auto runtime = open(store());
  ASSERT_NE(runtime, nullptr);
  ASSERT_TRUE(runtime->launch().ok());
  for (int i = 0; i < 5; ++i) {
    const auto found = runtime->find("o-" + std::to_string(i));
    ASSERT_TRUE(found.ok() && found->has_value());
    EXPECT_EQ((*found)->wait(30s)->status, JobStatus::completed);
  }
}

// The app is in the store, so the next process needs no file.
class DuplexApp : public DuplexTest {};

TEST_P(DuplexApp, its_jobs_go_on_after_a_restart_that_deploys_nothing) {
  RunId run{0};
  {
    const auto runtime = open_parcels(store());
    ASSERT_NE(runtime, nullptr);
    write_file(folder_ / "parcels.yaml", parcels);
    ASSERT_TRUE(runtime->deploy(AppFile{folder_ / "parcels.yaml"}).ok());
    ASSERT_TRUE(runtime->launch().ok());
    const auto job = runtime->start("parcel.brought", Payload(R"({"parcel":"p-1"})"));
    ASSERT_TRUE(job.ok());
    run = job->run();
    EXPECT_FALSE(runtime->job(run).wait(20ms).ok()) << "nobody weighs";
  }
  const auto runtime = open_parcels(store());
  ASSERT_NE(runtime, nullptr);
  ASSERT_TRUE(runtime->serve("weigh", [](Work& work) { return Reply::success(work.input()); }).ok());
  ASSERT_TRUE(runtime->launch().ok());
  EXPECT_EQ(runtime->job(run).wait(30s)->result.str(), R"({"label":{"parcel":"p-1"}})");
}

INSTANTIATE_TEST_SUITE_P(store, DuplexStop, every_lasting_store, setting_name);
INSTANTIATE_TEST_SUITE_P(store, DuplexApp, every_lasting_store, setting_name);

// Submits jobs in a child process and kills it `after` the first was acknowledged; returns the acknowledged ids.
std::set<std::string> run_and_kill(const std::string& file, int round, std::chrono::microseconds after) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    ::close(ends[0]);
    auto opened = pawl::open({.store = file, .lease = short_lease});
    if (!opened || !opened->deploy(order(Collation::duplex)).ok()) _exit(3);
    (void)opened->serve("charge", charge);
    (void)opened->serve("ship", ship);
    (void)opened->serve("refund", refund);
    if (!opened->launch().ok()) _exit(4);
    if (!comes_true([&] { return opened->owns(); })) _exit(7);  // otherwise it would only accept them
    const char* inputs[] = {"book", "broke", "crash", "twice"};
    for (int i = 0;; ++i) {
      const std::string id = "r" + std::to_string(round) + "-" + std::to_string(i);
      if (!opened->start("order", Payload(inputs[i % 4]), {.id = id}).ok()) _exit(5);
      const std::string line = id + "\n";
      if (::write(ends[1], line.data(), line.size()) < 0) _exit(6);
    }
  }
  ::close(ends[1]);
  // The first acknowledgement shows that it runs; the kill comes at a random moment after it.
  std::string text;
  char buffer[4096];
  ssize_t count = ::read(ends[0], buffer, sizeof buffer);
  if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  std::this_thread::sleep_for(after);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  while ((count = ::read(ends[0], buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<std::size_t>(count));
  ::close(ends[0]);
  std::set<std::string> ids;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    ids.insert(text.substr(at, end - at));
  return ids;
}

class DuplexKill : public DuplexTest {};

TEST_P(DuplexKill, every_acknowledged_job_ends_right_after_kill_9_at_any_moment) {
  const std::string file = store();
  const int rounds = GetParam().place.is_server ? 4 : 12;  // there the dead process's lease has to run out each time
  std::set<std::string> acknowledged;
  int interrupted = 0;
  std::uint64_t random = 20261;
  for (int round = 0; round < rounds; ++round) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto ids = run_and_kill(file, round, std::chrono::microseconds((random >> 33) % 60'000));
    ASSERT_FALSE(ids.empty()) << "round " << round << ": the child did nothing";
    acknowledged.insert(ids.begin(), ids.end());
    const auto left = open(file, short_lease);  // not started: it only reads
    ASSERT_NE(left, nullptr);
    const auto running = left->list({.status = JobStatus::running, .rows_max = 100'000});
    ASSERT_TRUE(running.ok());
    if (!running->empty()) ++interrupted;
    // If every single kill interrupted the same message, its job would be parked (duplex_deliveries_max). So at half
    // time all jobs may end.
    if (round + 1 != rounds / 2) continue;
    ASSERT_TRUE(left->launch().ok());
    for (const std::string& id : acknowledged) ASSERT_TRUE((*left->find(id))->wait(60s).ok()) << id;
  }
  const auto runtime = open(file, short_lease);
  ASSERT_NE(runtime, nullptr);
  ASSERT_TRUE(runtime->launch().ok());
  const std::string results[] = {"book,charged,shipped", "no money,refunded", "", "twice,charged,shipped"};
  for (const std::string& id : acknowledged) {
    const auto found = runtime->find(id);
    ASSERT_TRUE(found.ok() && found->has_value()) << id << " was acknowledged and is gone";
    const auto end = (*found)->wait(60s);
    ASSERT_TRUE(end.ok()) << id << ": " << to_string(end.error());
    const int kind = std::stoi(id.substr(id.find('-') + 1)) % 4;
    EXPECT_EQ(end->status, kind == 2 ? JobStatus::failed : JobStatus::completed) << id << ": " << end->reason;
    if (kind == 3)
      EXPECT_TRUE(end->result.str() == results[3] || end->result.str() == "first half,shipped") << end->result.str();
    else
      EXPECT_EQ(end->result.str(), results[kind]) << id;
    const auto detail = (*found)->inspect();
    ASSERT_TRUE(detail.ok());
    EXPECT_EQ(detail->job.semaphore, 0);
    for (const ActivityView& activity : detail->activities) {
      // The first digit counts the entries of leg 1, which a kill may raise.
      if (kind != 2) {
        EXPECT_EQ(activity.ledger.substr(1, 2), "88") << id << " " << activity.name.raw();
      }
    }
  }
  EXPECT_GT(interrupted, rounds / 2) << "a kill that meets no job proves nothing";
  std::printf("  %d kills, %d of them with jobs open, %zu jobs acknowledged\n", rounds, interrupted,
              acknowledged.size());
}

INSTANTIATE_TEST_SUITE_P(store, DuplexKill, every_lasting_store, setting_name);

}  // namespace
}  // namespace pawl
