// For tests of single parts: all parts of an engine over the memory store, without an engine that drives them. A test
// calls the part under test. What the parts send is committed and settled when the test wants it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/invariant.h"
#include "runtime/engine_bench.h"
#include "runtime/parts.h"

namespace pawl::runtime {

struct RoomsBench {
  static constexpr Duration lease = std::chrono::seconds(10);
  static constexpr core::LaneId one{1};
  static constexpr core::LaneId two{2};

  explicit RoomsBench(EngineOptions options = {})
      : store(clock), parts(named(std::move(options)), pool(), store, clock, graphs, events) {}

  // --- lanes
  // Takes it, in the store and here. The previous owner is fenced, also if it is this engine.
  OwnedLane& own(core::LaneId lane) {
    const Duration asked_at = clock.monotonic();
    const store::Outcome taken = commit(store::AcquireLane{lane, parts.options.name, lease});
    EXPECT_TRUE(taken.done());
    parts.lanes.table().acquired(lane, taken.epoch(), asked_at, taken.lease_until().has_value());
    return parts.lanes.take(lane, taken.epoch());
  }
  // As an engine does whose lease has expired: everything is forgotten, and read again.
  OwnedLane& lose_and_own(core::LaneId lane) {
    parts.lane_lost(lane);
    OwnedLane& owned = own(lane);
    parts.workshop.doubt_runs(lane);
    parts.loader.scan(owned, true);
    return owned;
  }

  // --- jobs
  void deploy(const GraphBuilder& builder) {
    auto graph = execute::graph_of(builder);
    ASSERT_TRUE(graph.ok()) << graph.error().detail;
    ASSERT_TRUE(graphs.add(std::move(*graph)).ok());
  }
  store::Submit start_of(const std::string& graph, core::LaneId lane = one) {
    store::Submit submit{
        default_namespace(), JobId("j" + std::to_string(++jobs)), lane, ref_of(*graphs.newest(GraphName(graph))), "{}",
        clock.now()};
    submit.secret = core::JobSecret(core::Guid{1, jobs});
    return submit;
  }
  // Accepted, and ready to be decided.
  RunId submit(store::Submit submit) {
    parts.outgoing.push(std::move(submit), 1);
    settle_next();
    EXPECT_FALSE(events.answers.empty());
    return events.answers.empty() ? RunId(0) : events.answers.back()->run;
  }
  RunId submit(const std::string& graph, core::LaneId lane = one) { return submit(start_of(graph, lane)); }
  core::JobStatus status(RunId run) { return (*store.read_job(run))->state.job.status; }
  // As stored; none: it is gone.
  std::optional<core::WorkItem> stored(const core::WorkItem& item) {
    return *store::answer_to(store, store::ReadItem{item.run, item.activity});
  }

  // --- commits
  // By another process.
  store::Outcome commit(store::Operation operation) {
    auto outcomes = store.commit({&operation, 1});
    EXPECT_TRUE(outcomes.ok());
    return std::move(outcomes->front());
  }
  // Decides what is ready, and returns the group with everything sent so far.
  std::optional<Group> decide() {
    parts.jobs.decide_ready();
    return parts.outgoing.take();
  }
  // The part that sent an operation settles it.
  void settle(Group group, Result<std::vector<store::Outcome>> result) {
    auto outcomes = parts.outgoing.finished(group, std::move(result));
    if (!outcomes) return;
    for (std::size_t i = 0; i < group.operations.size(); ++i) {
      store::Outcome& outcome = (*outcomes)[i];
      std::visit(Overloaded{
                     [&](core::Bundle& bundle) { parts.bundles.settle(bundle, outcome); },
                     [&](const store::Submit& submit) { parts.jobs.settle_submit(submit, outcome, group.tickets[i]); },
                     [&](const store::ClaimItem& claim) { parts.workshop.settle_claim(claim, std::move(outcome)); },
                     [&](const store::ExtendWork& extend) { parts.workshop.settle_extend(extend, outcome); },
                     [&](const store::ReleaseWork& release) { parts.workshop.settle_release(release, outcome); },
                     [](const auto&) {},
                 },
                 group.operations[i]);
    }
  }
  // As if the store had returned this outcome for all of the group, which it never received.
  void settle_as(Group group, store::OutcomeKind kind) {
    std::vector<store::Outcome> outcomes(group.operations.size(), store::Outcome{kind, "as the test says"});
    settle(std::move(group), std::move(outcomes));
  }
  // The store commits it, and its reply is lost.
  void lose_answer(Group group) {
    EXPECT_TRUE(store.commit(group.operations).ok());
    settle(std::move(group), Error{ErrorCode::outcome_unknown, "the line is dead"});
  }
  bool settle_next() {
    auto group = parts.outgoing.take();
    if (!group) return false;
    auto result = store.commit(group->operations);
    for (const store::Operation& operation : group->operations) sent.push_back(operation);
    settle(std::move(*group), std::move(result));
    return true;
  }
  // Until nothing moves.
  void settle_all() {
    do parts.jobs.decide_ready();
    while (settle_next());
  }
  // A turn of the engine, without the clock.
  void turn() {
    parts.lanes.end_turn();
    parts.loader.look_around();
    parts.workshop.park_overrun();
    parts.workshop.claim_waiting();
    settle_all();
  }
  template <class Kind>
  std::vector<Kind> sent_of() const {
    std::vector<Kind> of_kind;
    for (const store::Operation& operation : sent)
      if (const auto* one_of_them = std::get_if<Kind>(&operation)) of_kind.push_back(*one_of_them);
    return of_kind;
  }

  // --- reads, with EngineOptions::reads_later
  void answer_reads() {
    while (auto batch = parts.reads.take()) {
      auto answers = store.read(batch->reads);
      parts.reads.answered(std::move(*batch), std::move(answers));
    }
  }
  void fail_reads() {
    auto batch = parts.reads.take();
    ASSERT_TRUE(batch) << "nothing is asked";
    auto answers = store::fail_each(batch->reads, Error{ErrorCode::retry_later, "the line is dead"});
    parts.reads.answered(std::move(*batch), std::move(answers));
  }

  ManualClock clock;
  GraphCatalog graphs;
  Recorder events;
  store::memory::Store store;
  Parts parts;
  std::vector<store::Operation> sent;  // in the order of their commits
  std::uint64_t jobs = 0;

 private:
  static EngineOptions named(EngineOptions options) {
    options.name = "e1";
    options.lease = lease;
    return options;
  }
  store::PoolInfo pool() {
    commit(store::OpenPool{Pool("graphs"), 2});
    return **store.read_pool(Pool("graphs"));
  }
};

inline EngineOptions far_away() {
  EngineOptions options;
  options.reads_later = true;
  return options;
}

}  // namespace pawl::runtime
