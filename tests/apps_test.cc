// Apps through the public API: deploying, versions, pinning, signals, children.
#include <fstream>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;

class Apps : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override { open(); }

  void open(bool fusion = true) {
    RuntimeOptions options;
    options.store = place_->address();
    options.fusion = fusion;
    auto opened = pawl::open(std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.error().detail;
    runtime_ = std::make_unique<Runtime>(std::move(*opened));
    ASSERT_TRUE(runtime_->serve("echo", [](Work& work) { return Reply::success(work.input()); }).ok());
    ASSERT_TRUE(runtime_->launch().ok());
  }
  void reopen() {
    runtime_.reset();
    open();
  }
  std::string file(const std::string& text) {
    const std::string path = folder_.path() + "/app" + std::to_string(++files_) + ".yaml";
    std::ofstream(path) << text;
    return path;
  }
  // Waits for a signal, then returns its version.
  static std::string app_of(int version, const std::string& field = "id") {
    return "app:\n  id: shop\n  version: " + std::to_string(version) + R"(
  graphs:
    - subscribes: order
      activities:
        start: {type: trigger, stats: {id: "{$self.input.data.id}"}}
        wait: {type: hook}
        done: {type: hook, job: {maps: {version: )" +
           std::to_string(version) + R"(, word: "{wait.hook.data.word}"}}}
      transitions: {start: [{to: wait}], wait: [{to: done}]}
      hooks:
        told: [{to: wait, conditions: {match: [{expected: "{start.output.data.id}", actual: "{$hook.data.)" +
           field + R"(}"}]}}]
)";
  }
  RunId start(const std::string& id) {
    const auto job = runtime_->start("order", Payload("{\"id\":\"" + id + "\"}"));
    EXPECT_TRUE(job.ok()) << job.error().detail;
    return job.ok() ? job->run() : RunId(0);
  }
  std::string result(RunId run) {
    const auto end = runtime_->job(run).wait(20s);
    return end.ok() ? end->result.str() : end.error().detail;
  }

  TempDir folder_;
  std::unique_ptr<Place> place_ = GetParam().place.make();
  std::unique_ptr<Runtime> runtime_;
  int files_ = 0;
};

TEST_P(Apps, a_job_starts_by_topic_and_takes_its_id_from_the_trigger) {
  const auto deployed = runtime_->deploy(AppFile{file(app_of(1))});
  ASSERT_TRUE(deployed.ok()) << deployed.error().detail;
  EXPECT_EQ(deployed->topics, std::vector<std::string>{"order"});
  const RunId run = start("o-1");
  EXPECT_EQ((*runtime_->find("o-1"))->run(), run);
  ASSERT_TRUE(runtime_->signal("told", Payload(R"({"id":"o-1","word":"go"})")).ok());
  EXPECT_EQ(result(run), R"({"version":1,"word":"go"})");
}

// The last activity ends the job before the join is notified that its second edge does not fire either.
TEST_P(Apps, a_join_that_was_never_reached_is_skipped_once_its_job_is_over) {
  const auto deployed = runtime_->deploy(AppFile{file(R"(app:
  id: shop
  version: 1
  graphs:
    - subscribes: order
      activities:
        start: {type: trigger}
        one: {type: worker, topic: echo}
        two: {type: worker, topic: echo}
        both: {type: join}
      transitions:
        start: [{to: one}, {to: two}]
        one: [{to: both, conditions: {code: 500}}]
        two: [{to: both, conditions: {code: 500}}]
)")});
  ASSERT_TRUE(deployed.ok()) << deployed.error().detail;
  const RunId run = start("o-1");
  ASSERT_EQ(runtime_->job(run).wait(20s)->status, JobStatus::completed);
  const auto detail = runtime_->job(run).inspect();
  ASSERT_TRUE(detail.ok());
  bool seen = false;
  for (const ActivityView& activity : detail->activities) {
    EXPECT_FALSE(activity.open()) << activity.name.raw();
    if (activity.name.raw() != "both") continue;
    seen = true;
    EXPECT_EQ(activity.status, ActivityStatus::skipped);
    EXPECT_EQ(activity.effect, Effect::none);
  }
  EXPECT_TRUE(seen) << "the first edge said that it does not fire";
}

// Expects a number from its worker.
constexpr const char* pricing = R"(app:
  id: shop
  version: 1
  graphs:
    - subscribes: order
      activities:
        start: {type: trigger}
        price:
          type: worker
          topic: price
          output: {schema: {type: object, properties: {total: {type: number}}}}
          job: {maps: {total: "{$self.output.data.total}"}}
      transitions: {start: [{to: price}]}
)";

TEST_P(Apps, a_refused_answer_is_shown_and_a_redrive_asks_the_worker_again) {
  const std::string app = file(pricing);
  for (const bool fusion : {true, false}) {
    runtime_.reset();
    open(fusion);
    std::atomic<bool> mended{false};
    Notes keys;
    const auto deployed = runtime_->deploy(AppFile{app});
    ASSERT_TRUE(deployed.ok()) << deployed.error().detail;
    ASSERT_TRUE(runtime_
                    ->serve("price",
                            [&](Work& work) {
                              keys.add(work.key());
                              return Reply::success(mended ? R"({"total":30})" : R"({"total":"many"})");
                            })
                    .ok());
    const RunId run = start("any");
    EXPECT_EQ(runtime_->job(run).wait(20s)->status, JobStatus::parked);
    const auto shown = runtime_->job(run).inspect();
    ASSERT_TRUE(shown.ok());
    EXPECT_NE(shown->job.reason.find("output.schema./total"), std::string::npos) << shown->job.reason;
    ASSERT_TRUE(shown->activities.back().refused);
    EXPECT_EQ(shown->activities.back().refused->data.str(), R"({"total":"many"})");
    EXPECT_EQ(shown->activities.back().refused->code, 200);
    mended = true;
    ASSERT_TRUE(runtime_->job(run).redrive().ok());
    EXPECT_EQ(result(run), R"({"total":30})");
    EXPECT_FALSE(runtime_->job(run).inspect()->activities.back().refused);
    ASSERT_EQ(keys.size(), 2u);
    EXPECT_EQ(keys.all()[0], keys.all()[1]) << "it is the same request";
    runtime_.reset();  // before its worker's variables
  }
}

TEST_P(Apps, an_answer_by_token_that_is_refused_may_be_given_again_under_a_new_token) {
  Notes tokens, keys;
  ASSERT_TRUE(runtime_->deploy(AppFile{file(pricing)}).ok());
  ASSERT_TRUE(runtime_
                  ->serve("price",
                          [&](Work& work) {
                            keys.add(work.key());
                            tokens.add(work.token());
                            return Reply::later(1h);
                          })
                  .ok());
  const RunId run = start("any");
  ASSERT_TRUE(comes_true([&] { return tokens.size() == 1; }));
  ASSERT_TRUE(runtime_->complete(tokens.all()[0], Reply::success(R"({"total":"many"})")).ok());
  EXPECT_EQ(runtime_->job(run).wait(20s)->status, JobStatus::parked);
  EXPECT_EQ(runtime_->job(run).inspect()->activities.back().refused->data.str(), R"({"total":"many"})");
  ASSERT_TRUE(runtime_->job(run).redrive().ok());
  ASSERT_TRUE(comes_true([&] { return tokens.size() == 2; }));
  EXPECT_NE(tokens.all()[1], tokens.all()[0]);
  EXPECT_EQ(keys.all()[1], keys.all()[0]);
  EXPECT_TRUE(fails_with(runtime_->complete(tokens.all()[0], Reply::success(R"({"total":1})")), ErrorCode::conflict,
                         {"no longer good"}));
  ASSERT_TRUE(runtime_->complete(tokens.all()[1], Reply::success(R"({"total":30})")).ok());
  EXPECT_EQ(result(run), R"({"total":30})");
  runtime_.reset();
}

TEST_P(Apps, item_13_a_running_job_keeps_its_version_and_its_hook_rules) {
  ASSERT_TRUE(runtime_->deploy(AppFile{file(app_of(1))}).ok());
  const RunId old_job = start("a");
  ASSERT_TRUE(runtime_->deploy(AppFile{file(app_of(2, "order"))}).ok());
  const RunId new_job = start("b");
  reopen();  // nothing of it was only in memory
  ASSERT_TRUE(runtime_->signal("told", Payload(R"({"id":"a","order":"b","word":"both"})")).ok());
  EXPECT_EQ(result(old_job), R"({"version":1,"word":"both"})");
  EXPECT_EQ(result(new_job), R"({"version":2,"word":"both"})");
}

// Claim: a caller that did not get the answer sends the signal again, also after a restart, and no other hook gets it.
TEST_P(Apps, a_signal_that_is_told_again_under_its_id_counts_once) {
  ASSERT_TRUE(runtime_->deploy(AppFile{file(app_of(1))}).ok());
  const RunId first = start("a");
  const auto tell = [&](const char* id, const char* word) {
    return runtime_->signal("told", Payload(std::string(R"({"id":"a","word":")") + word + "\"}"), {.id = id});
  };
  ASSERT_TRUE(tell("s-1", "one").ok());
  EXPECT_EQ(result(first), R"({"version":1,"word":"one"})");
  ASSERT_TRUE(runtime_->job(first).remove().ok());
  const RunId second = start("a");  // waits at the same mailbox
  reopen();
  ASSERT_TRUE(tell("s-1", "one").ok());
  EXPECT_EQ(runtime_->job(second).wait(300ms).error().code, ErrorCode::retry_later);
  ASSERT_TRUE(tell("s-2", "two").ok());
  EXPECT_EQ(result(second), R"({"version":1,"word":"two"})");
  EXPECT_TRUE(fails_with(tell("no name!", "x"), ErrorCode::invalid, {"signal id"}));
}

TEST_P(Apps, a_version_is_active_when_it_is_told_to_be) {
  ASSERT_TRUE(runtime_->deploy(AppFile{file(app_of(1))}).ok());
  ASSERT_TRUE(runtime_->deploy(AppFile{file(app_of(2))}, {.activate = false}).ok());
  const RunId first = start("x");
  ASSERT_TRUE(runtime_->activate_app({"shop", "2"}).ok());
  const RunId second = start("y");
  for (const char* id : {"x", "y"})
    ASSERT_TRUE(runtime_->signal("told", Payload(std::string(R"({"word":"w","id":")") + id + "\"}")).ok());
  EXPECT_EQ(result(first), R"({"version":1,"word":"w"})");
  EXPECT_EQ(result(second), R"({"version":2,"word":"w"})");
  const auto known = runtime_->apps();
  ASSERT_TRUE(known.ok());
  ASSERT_EQ(known->size(), 2u);
  EXPECT_EQ((*known)[0].active, (*known)[0].version == "2");
  const auto missing = runtime_->activate_app({"shop", "3"});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().detail.find("shop version 3"), std::string::npos) << missing.error().detail;
}

TEST_P(Apps, item_20_a_file_with_mistakes_is_refused_and_says_where) {
  const auto refused =
      runtime_->deploy(AppFile{file("app:\n  id: x\n  version: 1\n  graphs:\n    - subscribes: t\n"
                                    "      activities:\n        a: {type: trigger}\n        b: {type: wroker}\n")});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().detail.find("wroker"), std::string::npos) << refused.error().detail;
  EXPECT_TRUE(runtime_->apps()->empty());
  const auto missing = runtime_->deploy(AppFile{folder_ / "nothing.yaml"});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().detail.find("nothing.yaml"), std::string::npos) << missing.error().detail;
}

TEST_P(Apps, a_changed_app_needs_a_new_version) {
  ASSERT_TRUE(runtime_->deploy(AppFile{file(app_of(1))}).ok());
  const auto changed = runtime_->deploy(AppFile{file(app_of(1, "other"))});
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().code, ErrorCode::already_exists);
  EXPECT_NE(changed.error().detail.find("new version"), std::string::npos) << changed.error().detail;
}

TEST_P(Apps, the_same_text_is_the_same_app_whatever_its_file_is_called_and_wherever_it_comes_from) {
  ASSERT_TRUE(runtime_->deploy(AppFile{file(app_of(1))}).ok());
  ASSERT_TRUE(runtime_->deploy(AppFile{file(app_of(1))}).ok());  // file() gives each file a new name
  ASSERT_TRUE(runtime_->deploy(AppText{app_of(1)}).ok());
  EXPECT_EQ(runtime_->apps()->size(), 1u);
}

// Running jobs keep their content; nothing is overwritten.
TEST_P(Apps, for_development_changed_content_takes_the_place_of_its_version) {
  ASSERT_TRUE(runtime_->deploy(AppText{app_of(1)}, {.development = true}).ok());
  const RunId old_job = start("a");
  const auto changed = runtime_->deploy(AppText{app_of(1, "order")}, {.development = true});
  ASSERT_TRUE(changed.ok()) << to_string(changed.error());
  EXPECT_TRUE(changed->version.starts_with("1+dev.")) << changed->version;
  const RunId new_job = start("b");
  reopen();
  ASSERT_TRUE(runtime_->signal("told", Payload(R"({"id":"a","word":"old"})")).ok());
  ASSERT_TRUE(runtime_->signal("told", Payload(R"({"order":"b","word":"new"})")).ok());
  EXPECT_EQ(result(old_job), R"({"version":1,"word":"old"})");
  EXPECT_EQ(result(new_job), R"({"version":1,"word":"new"})");
  const auto back = runtime_->deploy(AppText{app_of(1)}, {.development = true});
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->version, "1");
}

GraphBuilder trip() {
  return GraphBuilder("trip")
      .trigger("wanted")
      .worker("flight", "echo")
      .after("wanted")
      .compensate("no_flight")
      .worker("no_flight", "undo")
      .hook("sure")
      .after("flight")
      .waits_for("sure", "{$job.metadata.jid}", "{$hook.data.id}")
      .worker("car", "fail")
      .after("sure");
}

TEST_P(Apps, a_graph_of_a_program_is_kept_with_its_names_and_runs_without_it) {
  ASSERT_TRUE(runtime_->deploy(trip()).ok());
  const auto job = runtime_->start("trip", Payload(R"({"to":"Rome"})"), {.id = "t-1"});
  ASSERT_TRUE(job.ok()) << to_string(job.error());
  reopen();  // this one was given no graph
  std::vector<std::string> undone;
  std::mutex mutex;
  ASSERT_TRUE(runtime_->serve("fail", [](Work&) { return Reply::error("\"no car\"", 409); }).ok());
  ASSERT_TRUE(runtime_
                  ->serve("undo",
                          [&](Work& work) {
                            const std::lock_guard lock(mutex);
                            undone.push_back(work.input().str());
                            return Reply::success("{}");
                          })
                  .ok());
  const auto detail = runtime_->job(job->run()).inspect();
  ASSERT_TRUE(detail.ok());
  EXPECT_EQ(detail->activities.at(0).name.raw(), "wanted");
  ASSERT_TRUE(runtime_->signal("sure", Payload(R"({"id":"t-1"})")).ok());
  const auto end = runtime_->job(job->run()).wait(20s);
  ASSERT_TRUE(end.ok()) << to_string(end.error());
  EXPECT_EQ(end->status, JobStatus::failed);
  EXPECT_EQ(end->code, 409);
  EXPECT_NE(end->reason.find("activity car failed with code 409"), std::string::npos) << end->reason;
  EXPECT_EQ(undone, std::vector<std::string>{R"({"to":"Rome"})"});  // what the flight's worker answered
  const auto files = runtime_->app({"trip"});
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->files.at(0).second, trip().yaml());
  const auto apps = runtime_->apps();
  EXPECT_EQ(apps->at(0).topics, std::vector<std::string>{"trip"});
  const auto again = runtime_->start("trip", Payload());
  EXPECT_TRUE(again.ok()) << to_string(again.error());
  const auto changed = runtime_->deploy(trip().priority(3));
  EXPECT_TRUE(fails_with(changed, ErrorCode::already_exists, {"app trip version 1", "new version"}));
  const auto wrong = runtime_->deploy(trip().worker("lost", "x"));
  EXPECT_TRUE(fails_with(wrong, ErrorCode::invalid, {"activities.lost: no transition leads"}));
}

TEST_P(Apps, what_is_wrong_with_a_start_or_a_signal_is_said_before_anything_happens) {
  const auto nobody = runtime_->start("order", Payload());
  ASSERT_FALSE(nobody.ok());
  EXPECT_NE(nobody.error().detail.find("deploy an app first"), std::string::npos) << nobody.error().detail;
  ASSERT_TRUE(runtime_->deploy(AppFile{file(app_of(1))}).ok());
  const auto bad = runtime_->start("order", Payload("not json"));
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().detail.find("JSON"), std::string::npos) << bad.error().detail;
  const auto signalled = runtime_->signal("nobody.waits", Payload("{}"));
  ASSERT_FALSE(signalled.ok());
  EXPECT_EQ(signalled.error().code, ErrorCode::not_found) << signalled.error().detail;
}

TEST_P(Apps, item_12_the_id_of_a_job_that_expired_is_free_again) {
  ASSERT_TRUE(runtime_
                  ->deploy(AppFile{file(R"(app:
  id: short
  version: 1
  graphs:
    - subscribes: brief
      expire: 100ms
      activities:
        start: {type: trigger}
)")})
                  .ok());
  const auto first = runtime_->start("brief", Payload("{}"), {.id = "again"});
  ASSERT_TRUE(first.ok()) << first.error().detail;
  ASSERT_TRUE(comes_true([&] { return !first->inspect().ok(); })) << "it is removed when its time is over";
  const auto second = runtime_->start("brief", Payload("{}"), {.id = "again", .reuse = IdReuse::after_close});
  ASSERT_TRUE(second.ok()) << second.error().detail;
}

// The end is announced, its time runs out, and only then the job ends: it must be removed then, also when its
// completion tasks are a separate commit.
TEST_P(Apps, a_job_whose_time_was_over_before_its_end_goes_when_it_ends) {
  ASSERT_TRUE(runtime_
                  ->deploy(AppFile{file(R"(app:
  id: early
  version: 1
  graphs:
    - subscribes: early
      publishes: early.done
      expire: 50ms
      activities:
        start: {type: trigger, persist: true, job: {maps: {n: 1}}}
        nap: {type: hook, sleep: 400ms}
      transitions: {start: [{to: nap}]}
)")})
                  .ok());
  for (const bool fusion : {true, false}) {
    runtime_.reset();
    open(fusion);
    const auto job = runtime_->start("early", Payload("{}"), {.id = fusion ? "fused" : "alone"});
    ASSERT_TRUE(job.ok()) << job.error().detail;
    ASSERT_TRUE(comes_true([&] {
      const auto said = runtime_->announcements({.topic = "early.done", .run = job->run()});
      return said.ok() && said->size() == 1 && said->front().end && said->front().data.view() == R"({"n":1})";
    }));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto open_job = job->inspect();
    if (open_job.ok()) {
      EXPECT_EQ(open_job->job.status, JobStatus::running) << "its time is over, and it stays until it ends";
    }
    EXPECT_TRUE(comes_true([&] { return !job->inspect().ok(); })) << (fusion ? "fused" : "every step alone");
  }
}

TEST_P(Apps, what_a_message_wrote_before_it_parked_its_job_is_not_kept) {
  ASSERT_TRUE(runtime_
                  ->deploy(AppFile{file(R"(app:
  id: broken
  version: 1
  graphs:
    - subscribes: broken
      activities:
        start: {type: trigger}
        each: {type: map, items: [1], collect: {"@pipe": [["{a.output.data.n}"], ["{@array.length}"]]}, join: done}
        a: {type: worker, topic: echo, input: {maps: {n: 5}}}
        b: {type: worker, topic: echo}
        done: {type: join}
      transitions: {start: [{to: each}], each: [{to: a}, {to: b}], a: [{to: done}], b: [{to: done}]}
)")})
                  .ok());
  const auto job = runtime_->start("broken", Payload("{}"), {.id = "b"});
  ASSERT_TRUE(job.ok()) << job.error().detail;
  const auto parked = [&] {
    const auto end = job->wait(20s);
    EXPECT_TRUE(end.ok() && end->status == JobStatus::parked);
    return job->inspect()->job;
  };
  const JobView first = parked();
  EXPECT_NE(first.reason.find("collect"), std::string::npos) << first.reason;
  // The second arrival gave its obligation back before the expression failed. It must not do so once per redrive.
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(job->redrive().ok());
    ASSERT_TRUE(comes_true([&] {
      const auto now = job->inspect();
      return now.ok() && now->job.status == JobStatus::parked && now->job.redrives == static_cast<std::uint32_t>(i + 1);
    }));
    EXPECT_EQ(parked().semaphore, first.semaphore);
  }
}

TEST_P(Apps, a_child_is_a_job_of_its_own) {
  ASSERT_TRUE(runtime_
                  ->deploy(AppFile{file(R"(app:
  id: family
  version: 1
  graphs:
    - subscribes: parent
      activities:
        p: {type: trigger}
        child: {type: await, topic: child, input: {maps: {x: "{p.output.data.x}"}}, job: {maps: {y: "{$self.output.data.y}"}}}
      transitions: {p: [{to: child}]}
    - subscribes: child
      activities:
        c: {type: trigger, stats: {id: the-child}}
        w: {type: worker, topic: echo, input: {maps: {x: "{c.output.data.x}"}}, job: {maps: {y: "{$self.output.data.x}"}}}
      transitions: {c: [{to: w}]}
)")})
                  .ok());
  const auto parent = runtime_->start("parent", Payload(R"({"x":42})"));
  ASSERT_TRUE(parent.ok()) << parent.error().detail;
  EXPECT_EQ(result(parent->run()), R"({"y":42})");
  const auto child = runtime_->find("the-child");
  ASSERT_TRUE(child.ok() && *child);
  EXPECT_EQ((*child)->inspect()->job.status, JobStatus::completed);
  // The child's digits are in parentheses behind those of its await, also when everything has ended.
  const auto detail = parent->inspect();
  ASSERT_TRUE(detail.ok());
  EXPECT_EQ(detail->collation_key, "616626");  // child (c w) p
  EXPECT_EQ(detail->activities[1].child, "the-child");
}

INSTANTIATE_TEST_SUITE_P(store, Apps, every_lasting_store, setting_name);

}  // namespace
}  // namespace pawl
