#include "sim/explorer.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/format.h"
#include "base/invariant.h"
#include "sim/explorer_state.h"
#include "sim/model.h"
#include "sim/trace.h"

namespace pawl::sim {

namespace {

struct Hash128 {
  std::uint64_t high;
  std::uint64_t low;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};
struct Hash128Hash {
  std::size_t operator()(const Hash128& hash) const noexcept { return hash.low; }
};

class Explorer {
 public:
  explicit Explorer(const ExplorerOptions& options) {
    world_.options = options;
    world_.scenario = &all_scenarios().front();
    world_.graph = world_.scenario->graphs->newest(GraphName(options.graph));
    invariant(world_.graph != nullptr, "the explorer's graph is one of the scenarios'");
    WantedJob wanted;
    wanted.id = "j";
    wanted.graph = options.graph;
    expected_ = expect(*world_.scenario, wanted);
  }

  ExplorerReport run() {
    ExplorerState first(world_);
    visit(first, 0, Action{});
    std::deque<std::pair<std::uint32_t, ExplorerState>> stack;  // its states are never moved
    stack.emplace_back(0, std::move(first));
    while (!stack.empty() && !report_.violation && report_.states < world_.options.states_max) {
      auto [id, state] = std::move(stack.back());
      stack.pop_back();
      if (state.ended()) check_end(state, id);
      const auto before = state.job();
      for (const Action& action : state.enabled()) {
        ExplorerState next = state;
        next.take(action);
        ++report_.transitions;
        const auto [next_id, is_new] = visit(next, id, action);
        edges_.emplace_back(next_id, id);
        const std::string wrong = contradiction(before, next.job());
        if (!wrong.empty()) return fail("protocol", wrong, next_id);
        if (!is_new) continue;
        stack.emplace_back(next_id, std::move(next));
      }
    }
    if (report_.violation || !stack.empty()) return report_;
    check_all_can_end();
    report_.complete = !report_.violation;
    return report_;
  }

 private:
  struct Step {
    std::uint32_t from;
    Action action;
    bool ended;
  };

  std::pair<std::uint32_t, bool> visit(const ExplorerState& state, std::uint32_t from, const Action& action) {
    const std::string key = state.key();
    const Hash128 hash{hash_of(key), hash_of("x" + key)};
    const auto id = static_cast<std::uint32_t>(steps_.size());
    const auto [known, is_new] = ids_.emplace(hash, id);
    if (!is_new) return {known->second, false};
    steps_.push_back({from, action, state.ended()});
    ++report_.states;
    if (state.ended()) ++report_.ends;
    return {id, true};
  }

  void check_end(const ExplorerState& state, std::uint32_t id) {
    Verdict verdict;
    const auto job = state.job();
    if ((expected_.end == Expected::End::failed) != (job.job.status == core::JobStatus::failed)) {
      (void)fail("final state", format("the job is {}", core::name_of(job.job.status)), id);
      return;
    }
    if (expected_.end == Expected::End::failed) return;
    const std::string canonical = canonical_of(job, *world_.graph, verdict);
    if (!verdict.ok())
      (void)fail(verdict.violation()->oracle, verdict.violation()->detail, id);
    else if (canonical != expected_.canonical)
      (void)fail("final state", canonical, id);
  }

  // Backwards from the ends: a state that is not reached can never end.
  void check_all_can_end() {
    std::sort(edges_.begin(), edges_.end());
    std::vector<bool> met(steps_.size(), false);
    std::vector<std::uint32_t> todo;
    for (std::uint32_t id = 0; id < steps_.size(); ++id)
      if (steps_[id].ended) {
        met[id] = true;
        todo.push_back(id);
      }
    while (!todo.empty()) {
      const std::uint32_t id = todo.back();
      todo.pop_back();
      for (auto edge = std::lower_bound(edges_.begin(), edges_.end(), std::make_pair(id, 0u));
           edge != edges_.end() && edge->first == id; ++edge)
        if (!met[edge->second]) {
          met[edge->second] = true;
          todo.push_back(edge->second);
        }
    }
    for (std::uint32_t id = 0; id < steps_.size(); ++id)
      if (!met[id]) {
        (void)fail("liveness", "from here the job can never end", id);
        return;
      }
  }

  ExplorerReport fail(std::string oracle, std::string what, std::uint32_t id) {
    std::string path;
    while (id != 0) {
      path = "\n    " + describe(steps_[id].action) + path;
      id = steps_[id].from;
    }
    report_.violation = Violation{std::move(oracle), what + path};
    return report_;
  }

  ExplorerWorld world_;
  Expected expected_;
  ExplorerReport report_;
  std::unordered_map<Hash128, std::uint32_t, Hash128Hash> ids_;
  std::vector<Step> steps_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  // to, from
};

}  // namespace

std::string contradiction(const store::memory::DumpedJob& before, const store::memory::DumpedJob& after) {
  using Mark = ledger::ActivityLedger::Mark;
  using Step = ledger::MessageLedger::Step;
  if (after.job.rev.raw() > before.job.rev.raw() + 1) return "two bundles in one step";
  if (after.job.status == core::JobStatus::parked) return "the job was parked: " + after.job.reason;
  if (after.job.completions > 1) return "the completion tasks ran twice";
  if (core::is_closed(before.job.status) && before.job.status != after.job.status) return "a closed job changed";
  for (const core::Activity& was : before.activities) {
    const core::Activity& is = after.activities[was.seq.raw()];
    for (const Mark mark : {Mark::leg1_complete, Mark::work_done, Mark::children_spawned, Mark::completion_done})
      if (was.ledger.has(mark) && !is.ledger.has(mark)) return "an activity's mark was taken back";
    if (is.ledger.leg1_attempts() < was.ledger.leg1_attempts() || is.ledger.entries() < was.ledger.entries())
      return "an activity's counter fell";
  }
  for (const core::MessageRecord& was : before.records)
    for (const core::MessageRecord& is : after.records) {
      if (is.guid != was.guid) continue;
      for (const Step step : {Step::work, Step::spawn, Step::finish})
        if (was.ledger.done(step) && !is.ledger.done(step)) return "a message's mark was taken back";
      if (is.ledger.ordinal() != was.ledger.ordinal()) return "an ordinal changed";
    }
  if (after.job.status != core::JobStatus::running) return after.job.semaphore == 0 ? "" : "closed above zero";
  std::int64_t open = after.activities.empty() ? 1 : 0;
  for (const core::Activity& activity : after.activities)
    if (!activity.ledger.has(Mark::children_spawned)) ++open;
  for (const core::InboxMessage& message : after.inbox)
    if (const auto* transition = std::get_if<core::Transition>(&message.message.body))
      if (std::none_of(after.activities.begin(), after.activities.end(),
                       [&](const core::Activity& a) { return a.node == transition->node && a.at == transition->at; }))
        ++open;
  if (open != after.job.semaphore)
    return format("the semaphore is {} with {} obligations open", after.job.semaphore, open);
  return "";
}

ExplorerReport explore(const ExplorerOptions& options) { return Explorer(options).run(); }

std::vector<ExplorerOptions> explorations() {
  using core::Fusion;
  return {
      {.graph = "only", .engines = 2, .fusion = Fusion::off, .lost_replies = 0, .states_max = 400'000},
      {.graph = "only", .engines = 2, .fusion = Fusion::off, .states_max = 400'000},
      {.graph = "only", .engines = 2, .fusion = Fusion::on, .crashes = 2, .expiries = 2},
      {.graph = "only", .engines = 3, .fusion = Fusion::off},
      {.graph = "chain", .engines = 2, .fusion = Fusion::on, .crashes = 2},
      {.graph = "chain", .engines = 3, .fusion = Fusion::on},
      {.graph = "chain", .engines = 2, .fusion = Fusion::off},
      {.graph = "uncaught", .engines = 2, .fusion = Fusion::on},
      {.graph = "fan", .engines = 2, .fusion = Fusion::on, .repeated_answers = 0},
  };
}

}  // namespace pawl::sim
