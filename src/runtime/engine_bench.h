// For tests: an engine driven step by step over the memory store. No thread, and a clock that the test moves.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "execute/test_graph.h"
#include "runtime/engine.h"
#include "store/memory/store.h"

namespace pawl::runtime {

class ManualClock final : public Clock {
 public:
  Instant now() const override { return Instant::from_micros(1'000'000'000) + at_; }
  Duration monotonic() const override { return at_; }
  void advance(Duration by) { at_ += by; }

 private:
  Duration at_{1000};
};

struct Recorder final : EngineEvents {
  void dispatch(const core::WorkItem& item) override { work.push_back(item); }
  void cancel(const WorkRun& run) override { cancelled.push_back(run); }
  void withdraw(const WorkRun& run) override { withdrawn.push_back(run); }
  void probe(const core::WorkItem& item) override { probes.push_back(item); }
  std::optional<FarTaker> find_far_taker(const core::WorkItem&) override {
    if (far_rooms == 0) return std::nullopt;
    --far_rooms;
    return FarTaker{1, "far", std::chrono::seconds(30)};
  }
  void give_far(std::uint64_t, const core::WorkItem& item, const core::JobRow*) override { far_work.push_back(item); }
  void free_far_room(std::uint64_t) override { ++far_rooms; }
  void work_waits(const Topic& topic) override { waiting.push_back(topic); }
  void answered(Ticket, Result<store::Outcome> outcome) override { outcomes.push_back(std::move(outcome)); }
  void submitted(Ticket, Result<Submitted> result) override { answers.push_back(std::move(result)); }
  void committed(const core::JobState&, const core::Bundle& bundle) override { bundles.push_back(bundle); }
  void closed(const core::JobRow& job) override { ended.push_back(job); }
  void problem(const std::string& text) override { problems.push_back(text); }
  void ring(core::LaneId lane, const store::Change& change) override { rings.emplace_back(lane, change); }
  std::deque<core::WorkItem> work;
  std::size_t far_rooms = 0;  // of somebody who waits outside
  std::deque<core::WorkItem> far_work;
  std::vector<Topic> waiting;
  std::vector<WorkRun> cancelled;
  std::vector<WorkRun> withdrawn;
  std::vector<core::WorkItem> probes;
  std::vector<Result<store::Outcome>> outcomes;
  std::vector<Result<Submitted>> answers;
  std::vector<core::Bundle> bundles;
  std::vector<core::JobRow> ended;
  std::vector<std::string> problems;
  std::vector<std::pair<core::LaneId, store::Change>> rings;
};

using Script = std::function<WorkReply(const core::WorkItem&)>;

inline WorkReply reply(const core::WorkItem& item, core::ReplyStatus status = core::ReplyStatus::success,
                       std::int32_t code = 200, Payload data = "{}") {
  return {item.run, item.activity, item.token, item.request, status, code, std::move(data), 0};
}

struct Bench {
  explicit Bench(core::Fusion fusion, std::string name = "e1", std::uint64_t seed = 1,
                 Duration its_lease = std::chrono::seconds(10))
      : lease(its_lease), store(clock) {
    boot(fusion, name, seed);
  }

  void boot(core::Fusion fusion, std::string name, std::uint64_t seed) {
    const store::Operation open = store::OpenPool{Pool("graphs"), 2};
    EXPECT_TRUE(store.commit({&open, 1}).ok());
    EngineOptions options;
    options.name = std::move(name);
    options.fusion = fusion;
    options.seed = seed;
    options.lease = lease;
    engine = std::make_unique<Engine>(options, **store.read_pool(Pool("graphs")), store, clock, graphs, events);
    engine->serve(Topic("work"));
    engine->add_slots(100);
    engine->tick();
  }
  void deploy(const Result<AppText>& app) {
    auto graph = execute::graph_of(app);
    ASSERT_TRUE(graph.ok()) << graph.error().detail;
    ASSERT_TRUE(graphs.add(std::move(*graph)).ok());
  }
  // Commits until nothing moves; `script` answers the work.
  int run(const Script& script) {
    int commits = 0;
    for (;;) {
      engine->pump();
      if (auto group = engine->take_group()) {
        auto result = store.commit(group->operations);
        ++commits;
        engine->finished(std::move(*group), std::move(result));
        continue;
      }
      if (events.work.empty()) return commits;
      const core::WorkItem item = events.work.front();
      events.work.pop_front();
      engine->answer(script(item));
    }
  }
  void submit(std::string id, std::string graph) {
    engine->submit(SubmitRequest{default_namespace(), JobId(std::move(id)), GraphName(std::move(graph)), "{\"n\":1}",
                                 core::JobSecret(core::Guid{1, ++submits})},
                   1);
  }
  // Time passes; everything that becomes due is served, no work is answered.
  void wait(Duration time) {
    clock.advance(time);
    engine->tick();
    settle();
  }
  // Commits until nothing moves; no work is answered.
  int settle() {
    int commits = 0;
    for (engine->pump();; engine->pump()) {
      auto group = engine->take_group();
      if (!group) return commits;
      auto result = store.commit(group->operations);
      ++commits;
      engine->finished(std::move(*group), std::move(result));
    }
  }
  // Work that a thread begins now.
  core::WorkItem next_work() {
    core::WorkItem item = next_queued();
    engine->begun(run_of(item));
    return item;
  }
  // Work that waits for a thread.
  core::WorkItem next_queued() {
    settle();
    EXPECT_FALSE(events.work.empty()) << "no work was handed out";
    if (events.work.empty()) return {};
    core::WorkItem item = events.work.front();
    events.work.pop_front();
    return item;
  }
  void ask(std::string id, core::Body body) {
    const RunId run = **store.find_run(default_namespace(), JobId(std::move(id)));
    store::Deliver deliver;
    deliver.envelope.to = run;
    deliver.envelope.message = {core::Guid{99, ++asked}, std::move(body)};
    engine->request(std::move(deliver), 7);
    settle();
  }
  core::JobState state(std::string id) {
    const auto run = store.find_run(default_namespace(), JobId(std::move(id)));
    return (*store.read_job(**run))->state;
  }

  const Duration lease;
  ManualClock clock;
  GraphCatalog graphs;
  Recorder events;
  store::memory::Store store;
  std::unique_ptr<Engine> engine;
  std::uint64_t asked = 0;
  std::uint64_t submits = 0;
};

}  // namespace pawl::runtime
