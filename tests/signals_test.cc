// Signals that no hook has taken can be seen and dropped; a signal to all reaches each job once, however often it is
// repeated.
#include <algorithm>
#include <map>
#include <mutex>

#include "life_test.h"

namespace pawl {
namespace {

using namespace testing;

constexpr const char* talk = R"(
app:
  id: talk
  version: "1"
  graphs:
    - subscribes: talk.began
      activities:
        began: {type: trigger}
        wait: {type: hook}
        work: {type: worker, topic: work, input: {maps: {job: "{$job.metadata.jid}", said: "{wait.hook.data.text}"}}}
        again: {type: hook, job: {maps: {said: "{$self.hook.data.text}"}}}
      transitions: {began: [{to: wait}], wait: [{to: work}], work: [{to: again}]}
      hooks:
        talk.said:
          - {to: wait, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$self.hook.data.job}"}]}}
          - {to: again, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$self.hook.data.job}"}]}}
    - subscribes: talk.silent
      activities:
        silent: {type: trigger}
        sleeps: {type: hook, sleep: 1h}
      transitions: {silent: [{to: sleeps}]}
    - subscribes: talk.shared
      activities:
        shared: {type: trigger}
        waits: {type: hook, job: {maps: {said: "{$self.hook.data.text}"}}}
      transitions: {shared: [{to: waits}]}
      hooks:
        talk.open: [{to: waits, conditions: {match: [{expected: "door", actual: "{$self.hook.data.what}"}]}}]
)";

class SignalsTest : public LifeTest {
 protected:
  void SetUp() override {
    runtime = start_with(options(), AppText{talk}, [this](Work& work) {
      const std::lock_guard lock(mutex);
      ++told[work.input().str()];
      return echo(work);
    });
    ASSERT_NE(runtime, nullptr);
  }
  RunId start(const std::string& topic, const std::string& id) {
    const auto job = runtime->start(topic, Payload("{}"), {.id = id});
    EXPECT_TRUE(job.ok()) << to_string(job.error());
    return job ? job->run() : RunId(0);
  }
  bool waits(RunId run) {
    return comes_true([&] {
      const auto detail = runtime->job(run).inspect();
      if (!detail) return false;
      for (const ActivityView& activity : detail->activities)
        if (activity.open() && activity.waits_for) return true;
      return false;
    });
  }
  std::vector<KeptSignal> kept(const KeptSignalFilter& filter = {}) {
    const auto found = runtime->kept_signals(filter);
    EXPECT_TRUE(found.ok()) << to_string(found.error());
    return found ? *found : std::vector<KeptSignal>();
  }
  bool comes_to(std::size_t count) {
    return comes_true([&] { return kept().size() == count; });
  }
  std::mutex mutex;
  std::map<std::string, int> told;
};

TEST_P(SignalsTest, what_no_hook_took_is_listed_a_page_at_a_time) {
  for (int i = 0; i < 5; ++i) {
    const std::string id = "early" + std::to_string(i % 2);
    const Payload data(R"({"job":")" + id + R"(","text":")" + std::to_string(i) + "\"}");
    ASSERT_TRUE(runtime->signal("talk.said", data).ok());
  }
  ASSERT_TRUE(runtime->signal("talk.open", Payload(R"({"what":"door"})"), {.pending = true}).ok());
  // Both hooks of talk.said match the same part: one rule, one mailbox.
  const std::size_t all = kept().size();
  ASSERT_TRUE(comes_true([&] {
    const auto found = kept();
    return std::all_of(found.begin(), found.end(), [](const KeptSignal& one) { return one.expires_at != Instant(); });
  }));
  const auto whole = kept();
  ASSERT_EQ(whole.size(), all);
  for (std::uint32_t rows = 1; rows < 4; ++rows) {
    std::vector<std::string> ids;
    KeptSignalFilter filter;
    filter.rows_max = rows;
    for (;;) {
      const auto page = kept(filter);
      for (const KeptSignal& one : page) ids.push_back(one.id);
      if (page.size() < rows) break;
      filter.after = page.back().cursor;
    }
    ASSERT_EQ(ids.size(), all) << rows << " at a time";
    for (std::size_t i = 0; i < all; ++i) EXPECT_EQ(ids[i], whole[i].id);
  }
  const auto door = kept({.topic = "talk.open"});
  ASSERT_EQ(door.size(), 1u);
  EXPECT_EQ(door[0].match, R"(["door"])");
  EXPECT_EQ(door[0].data.str(), R"({"what":"door"})");
  EXPECT_TRUE(door[0].pending);
  EXPECT_EQ(door[0].code, 202);
  EXPECT_TRUE(kept({.name_space = "elsewhere"}).empty());
  EXPECT_TRUE(kept({.until = Instant::from_micros(1)}).empty());
  KeptSignalFilter broken;
  broken.after = "here";
  EXPECT_TRUE(fails_with(runtime->kept_signals(broken), ErrorCode::invalid, {"here"}));
}

TEST_P(SignalsTest, a_dropped_signal_reaches_no_hook) {
  ASSERT_TRUE(runtime->signal("talk.open", Payload(R"({"what":"door","text":"wrong"})")).ok());
  ASSERT_TRUE(runtime->signal("talk.open", Payload(R"({"what":"door","text":"right"})")).ok());
  const auto both = kept();
  ASSERT_EQ(both.size(), 2u);
  ASSERT_TRUE(runtime->drop_signal(both[0].id).ok());
  EXPECT_EQ(kept().size(), 1u) << "at once, although the owner may not have carried it out yet";
  EXPECT_TRUE(fails_with(runtime->drop_signal(both[0].id), ErrorCode::not_found, {both[0].id}));
  EXPECT_TRUE(fails_with(runtime->drop_signal("nothing"), ErrorCode::invalid, {"pawl signals"}));
  const RunId run = start("talk.shared", "s");
  EXPECT_EQ(end_of(*runtime, run).result.str(), R"({"said":"right"})");
  EXPECT_TRUE(comes_to(0));
  EXPECT_TRUE(fails_with(runtime->drop_signal(both[1].id), ErrorCode::not_found, {}));
}

TEST_P(SignalsTest, all_that_a_filter_means_are_dropped) {
  constexpr int count = 600;  // several pages
  for (int i = 0; i < count; ++i) {
    const Payload data(R"({"job":"j)" + std::to_string(i % 7) + R"(","text":"x"})");
    ASSERT_TRUE(runtime->signal("talk.said", data).ok());
  }
  ASSERT_TRUE(runtime->signal("talk.open", Payload(R"({"what":"door"})")).ok());
  const auto dropped = runtime->drop_signals({.topic = "talk.said"});
  ASSERT_TRUE(dropped.ok()) << to_string(dropped.error());
  EXPECT_EQ(*dropped, static_cast<std::uint64_t>(count));
  EXPECT_TRUE(comes_to(1));
  EXPECT_EQ(*runtime->drop_signals({.topic = "talk.said"}), 0u);
  EXPECT_EQ(*runtime->drop_signals({}), 1u);
}

TEST_P(SignalsTest, a_signal_to_all_reaches_each_job_once_however_often_it_is_repeated) {
  std::vector<RunId> runs;
  for (int i = 0; i < 12; ++i) runs.push_back(start("talk.began", "job" + std::to_string(i)));
  const RunId silent = start("talk.silent", "silent");
  for (const RunId run : runs) ASSERT_TRUE(waits(run));
  // Cut off in the middle: only some of them were told.
  JobFilter some;
  some.since = (*runtime->list({.order = JobOrder::newest_first, .rows_max = 5})).back().created_at;
  const SignalOptions named{.id = "fire-drill"};
  const auto first = runtime->signal_all("talk.said", Payload(R"({"text":"out"})"), some, named);
  ASSERT_TRUE(first.ok()) << to_string(first.error());
  EXPECT_LT(first->done, 12u);
  for (int i = 0; i < 3; ++i) {
    const auto again = runtime->signal_all("talk.said", Payload(R"({"text":"out"})"), {}, named);
    ASSERT_TRUE(again.ok()) << to_string(again.error());
    EXPECT_EQ(again->matched, 12u) << "those that have a hook for it";
    EXPECT_TRUE(again->refused.empty());
  }
  // Each goes on to its second hook, which waits in the same mailbox: a repeated signal would end it.
  ASSERT_TRUE(comes_true([&] {
    const std::lock_guard lock(mutex);
    return told.size() == 12;
  }));
  ASSERT_TRUE(runtime->signal_all("talk.said", Payload(R"({"text":"out"})"), {}, named).ok());
  EXPECT_EQ(*runtime->count({.status = JobStatus::running}), 13u);
  EXPECT_TRUE(kept().empty());
  for (const auto& [job, times] : told) EXPECT_EQ(times, 1) << job;
  const auto last = runtime->signal_all("talk.said", Payload(R"({"text":"home"})"));
  ASSERT_TRUE(last.ok());
  for (const RunId run : runs) EXPECT_EQ(end_of(*runtime, run).result.str(), R"({"said":"home"})");
  EXPECT_EQ(status_of(*runtime, silent), JobStatus::running);
}

TEST_P(SignalsTest, jobs_that_wait_for_the_same_get_one_each) {
  std::vector<RunId> runs;
  for (int i = 0; i < 4; ++i) runs.push_back(start("talk.shared", "s" + std::to_string(i)));
  for (const RunId run : runs) ASSERT_TRUE(waits(run));
  const auto all = runtime->signal_all("talk.open", Payload(R"({"what":"door","text":"open"})"));
  ASSERT_TRUE(all.ok()) << to_string(all.error());
  EXPECT_EQ(all->done, 4u);
  for (const RunId run : runs) EXPECT_EQ(end_of(*runtime, run).result.str(), R"({"said":"open"})");
  EXPECT_TRUE(fails_with(runtime->signal_all("talk.nothing", Payload("{}")), ErrorCode::not_found, {"talk.nothing"}));
}

INSTANTIATE_TEST_SUITE_P(store, SignalsTest, every_setting, setting_name);

}  // namespace
}  // namespace pawl
