// Jobs in flight are moved: from a file to PostgreSQL, to Redis, and back to a file. Each must end as if it had not
// been moved.
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "life.h"
#include "pawl/move.h"
#include "store/postgres/server_test.h"
#include "store/redis/server_test.h"
#include "testing.h"

namespace pawl::testing {
namespace {

constexpr const char* app_text = R"(
app:
  id: shop
  version: "1"
  graphs:
    - subscribes: order
      activities:
        start: {type: trigger, stats: {id: "{$self.input.data.id}"}}
        act: {type: worker, topic: act, input: {maps: {id: "{start.output.data.id}"}}}
        wait: {type: hook, job: {maps: {word: "{$self.hook.data.word}"}}}
      transitions: {start: [{to: act}], act: [{to: wait}]}
      hooks:
        told: [{to: wait, conditions: {match: [{expected: "{start.output.data.id}", actual: "{$hook.data.id}"}]}}]
    - subscribes: nap
      activities:
        begin: {type: trigger, stats: {id: "{$self.input.data.id}"}}
        sleep: {type: hook, sleep: 3s, job: {maps: {slept: true}}}
      transitions: {begin: [{to: sleep}]}
)";

class Moved : public ::testing::Test {
 protected:
  void SetUp() override {
    postgres_ = store::postgres::TestServer::start();
    ASSERT_TRUE(postgres_);
    store::redis::ServerOptions options;
    options.appendfsync = "always";
    redis_ = std::make_unique<store::redis::TestServer>(options);
    write_file(folder_ / "app.yaml", app_text);
    store_ = folder_ / "first.db";
  }
  void TearDown() override {
    runtime_.reset();
    if (postgres_) postgres_->remove();
  }

  enum class Serves : bool { no, yes };
  void start(Serves serves) {
    RuntimeOptions options;
    options.store = store_;
    options.lanes = 4;
    auto opened = pawl::open(options);
    ASSERT_TRUE(opened.ok()) << to_string(opened.error());
    runtime_ = std::make_unique<Runtime>(std::move(*opened));
    const auto deployed = runtime_->deploy(AppFile{folder_ / "app.yaml"});
    ASSERT_TRUE(deployed.ok()) << to_string(deployed.error());
    if (serves == Serves::yes) {
      ASSERT_TRUE(runtime_
                      ->serve("act",
                              [this](Work& work) {
                                ++acted_;
                                const std::lock_guard lock(mutex_);
                                keys_.insert(work.key());
                                return Reply::success("{}");
                              })
                      .ok());
    }
    ASSERT_TRUE(runtime_->launch().ok());
  }
  void move_to(const std::string& store) {
    runtime_.reset();
    const auto moved = move_store({store_, store});
    ASSERT_TRUE(moved.ok()) << to_string(moved.error());
    EXPECT_GT(moved->records, 20u);
    const auto old = pawl::open({.store = store_});
    ASSERT_FALSE(old.ok());
    EXPECT_NE(old.error().detail.find("was moved to"), std::string::npos) << old.error().detail;
    store_ = store;
  }
  RunId submit(const std::string& topic, const std::string& id) {
    const auto job = runtime_->start(topic, Payload("{\"id\": \"" + id + "\"}"), {.id = id});
    EXPECT_TRUE(job.ok()) << to_string(job.error());
    return job ? job->run() : RunId(0);
  }
  bool is_open(RunId run, const std::string& activity) {
    const auto detail = runtime_->job(run).inspect();
    if (!detail) return false;
    for (const ActivityView& one : detail->activities)
      if (one.name.raw() == activity) return one.status == ActivityStatus::open;
    return false;
  }
  void signal(const std::string& id) {
    const auto told =
        runtime_->signal("told", Payload("{\"id\": \"" + id + "\", \"word\": \"" + id + "\"}"), {.id = "signal-" + id});
    EXPECT_TRUE(told.ok()) << to_string(told.error());
  }
  void expect_end(RunId run, const std::string& result) {
    const JobView end = end_of(*runtime_, run);
    EXPECT_EQ(end.status, JobStatus::completed);
    EXPECT_EQ(end.result.str(), result);
  }

  TempDir folder_;
  std::optional<store::postgres::TestServer> postgres_;
  std::unique_ptr<store::redis::TestServer> redis_;
  std::string store_;
  std::unique_ptr<Runtime> runtime_;
  std::atomic<int> acted_{0};
  std::mutex mutex_;
  std::set<std::string> keys_;
};

TEST_F(Moved, jobs_end_where_they_are_then) {
  // In a file: one job ends, one waits for a signal, one is paused there.
  start(Serves::yes);
  const RunId ended = submit("order", "ended");
  const RunId waits = submit("order", "waits");
  const RunId paused = submit("order", "paused");
  for (const RunId run : {ended, waits, paused}) ASSERT_TRUE(comes_true([&] { return is_open(run, "wait"); }));
  signal("ended");
  expect_end(ended, "{\"word\":\"ended\"}");
  ASSERT_TRUE(runtime_->job(paused).pause("for now").ok());
  const RunId naps = submit("nap", "naps");
  // One asks for work that no worker does here.
  runtime_.reset();
  start(Serves::no);
  const RunId works = submit("order", "works");
  ASSERT_TRUE(comes_true([&] { return is_open(works, "act"); }));

  ASSERT_NO_FATAL_FAILURE(move_to(postgres_->address()));
  start(Serves::no);
  expect_end(ended, "{\"word\":\"ended\"}");
  expect_end(naps, "{\"slept\":true}");
  EXPECT_EQ(submit("order", "waits"), waits);  // the id is taken
  ASSERT_TRUE(comes_true([&] { return is_open(works, "act"); }));
  EXPECT_EQ(acted_, 3);

  ASSERT_NO_FATAL_FAILURE(move_to(redis_->url()));
  start(Serves::yes);
  ASSERT_TRUE(comes_true([&] { return is_open(works, "wait"); }));
  signal("waits");
  expect_end(waits, "{\"word\":\"waits\"}");

  ASSERT_NO_FATAL_FAILURE(move_to(folder_ / "second.db"));
  start(Serves::yes);
  signal("waits");  // sent again: it counts once, and its job has ended
  ASSERT_TRUE(runtime_->job(paused).resume().ok());
  signal("paused");
  signal("works");
  expect_end(paused, "{\"word\":\"paused\"}");
  expect_end(works, "{\"word\":\"works\"}");
  EXPECT_EQ(acted_, 4);
  EXPECT_EQ(keys_.size(), 4u);
  const auto jobs = runtime_->list({});
  ASSERT_TRUE(jobs.ok());
  EXPECT_EQ(jobs->size(), 5u);
}

TEST_F(Moved, needs_two_stores_that_can_be_moved) {
  start(Serves::no);
  const auto same = move_store({store_, store_});
  ASSERT_FALSE(same.ok());
  EXPECT_EQ(same.error().code, ErrorCode::invalid);
  EXPECT_EQ(move_store({":memory:", store_}).error().code, ErrorCode::invalid);
  EXPECT_EQ(move_store({folder_ / "none.db", redis_->url()}).error().code, ErrorCode::not_found);
  EXPECT_EQ(move_store({redis_->url(), folder_ / "new.db"}).error().code, ErrorCode::not_found);
  const auto in_use = move_store({store_, folder_ / "new.db"});
  ASSERT_FALSE(in_use.ok());
  EXPECT_EQ(in_use.error().code, ErrorCode::retry_later);
  runtime_.reset();
  // The observer ends the move; then the move is repeated.
  const auto ended = move_store({store_, folder_ / "new.db", false, [](const MoveProgress&) { return false; }});
  ASSERT_FALSE(ended.ok());
  EXPECT_FALSE(pawl::open({.store = folder_ / "new.db"}).ok());
  EXPECT_TRUE(move_store({store_, folder_ / "new.db"}).ok());
  EXPECT_TRUE(undo_move({store_}).ok());
  EXPECT_TRUE(pawl::open({.store = store_}).ok());
}

}  // namespace
}  // namespace pawl::testing
