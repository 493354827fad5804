#include "execute/plan.h"

#include <algorithm>

#include "execute/stable_hash.h"
#include "graph/check/structure.h"
#include "graph/check/visit.h"

namespace pawl::execute {
namespace {

using graph::ActivityIndex;

std::uint8_t sections_of(const std::vector<std::string>& parts) {
  constexpr std::uint8_t all = 63;
  if (parts.empty()) return all;
  std::uint8_t both = 0;
  if (parts[0] == "input") both = input_data | input_metadata;
  if (parts[0] == "output") both = output_data | output_metadata;
  if (parts[0] == "hook") both = hook_data | hook_metadata;
  if (parts.size() == 1) return both;
  constexpr std::uint8_t data = input_data | output_data | hook_data;
  if (parts[1] == "data") return both & data;
  if (parts[1] == "metadata") return both & static_cast<std::uint8_t>(~data);
  return 0;
}

class Planner {
 public:
  explicit Planner(GraphPlan& plan) : plan_(plan), graph_(*plan.graph) {
    for (ActivityIndex i = 0; i < graph_.activities.size(); ++i) ids_.emplace(graph_.activities[i].id, i);
  }

  void run() {
    ActivityIndex here = 0;
    const graph::VisitFormula visit = [&](const graph::Formula& formula, graph::Role role) {
      if (role != graph::Role::payload) add(formula, here, role);
    };
    for (here = 0; here < graph_.activities.size(); ++here) graph::visit_formulas(graph_.activities[here], visit);
    for (const graph::Transition& transition : graph_.transitions) {
      here = transition.from;
      graph::visit_formulas(transition, visit);
    }
    for (const graph::OptionalFormula* formula : {&graph_.expire, &graph_.persistent})
      if (*formula) add(**formula, graph_.topology.trigger, graph::Role::after);
  }

 private:
  void add(const graph::Formula& formula, ActivityIndex here, graph::Role role) {
    Reads reads;
    for (const mapping::Reference& reference : formula.expression.references()) {
      using mapping::Scope;
      if (reference.scope == Scope::self) reads.self |= sections_of(reference.parts);
      if (reference.scope == Scope::job) {
        const bool whole = reference.parts.empty();
        if (whole || reference.parts[0] == "data") reads.job_data = true;
        if (whole || reference.parts[0] == "metadata") reads.job_metadata = true;
      }
      if (reference.scope == Scope::activity) add_activity(reads, reference, here, role);
    }
    plan_.reads.insert_or_assign(&formula, std::move(reads));
  }

  void add_activity(Reads& reads, const mapping::Reference& reference, ActivityIndex here, graph::Role role) {
    const auto found = ids_.find(reference.activity);
    if (found == ids_.end()) return;
    const ActivityIndex target = found->second;
    const std::uint8_t sections = sections_of(reference.parts);
    const auto same = std::find_if(reads.ancestors.begin(), reads.ancestors.end(),
                                   [&](const Read& read) { return read.route.target == target; });
    if (same != reads.ancestors.end()) {
      same->sections |= sections;
      return;
    }
    const bool in_body = role == graph::Role::collect && graph::is_inside(graph_, target, here);
    // Under compat: hotmesh a reference to an activity off the path is allowed and reads nothing.
    if (target != here && !in_body && !graph_.topology.is_ancestor(target, here)) return;
    reads.ancestors.push_back({route(here, target, role), sections});
  }

  Route route(ActivityIndex here, ActivityIndex target, graph::Role role) const {
    const auto& mine = graph_.topology.places[here].chain;
    const auto& theirs = graph_.topology.places[target].chain;
    const auto end = std::mismatch(mine.begin(), mine.end(), theirs.begin(), theirs.end());
    Route out;
    out.target = target;
    out.shared = static_cast<std::uint32_t>(end.first - mine.begin());
    out.down.assign(end.second, theirs.end());
    out.is_outside = std::holds_alternative<graph::Map>(graph_.activities[target].kind) &&
                     !graph::is_inside(graph_, here, target) && role != graph::Role::collect;
    return out;
  }

  GraphPlan& plan_;
  const graph::Graph& graph_;
  std::unordered_map<std::string_view, ActivityIndex> ids_;
};

void add_rule(AppPlan& plan, const graph::Hook& hook) {
  auto& rules = plan.rules_of_topic[*hook.topic];
  const std::uint64_t hash = hash_of(hook.matches);
  auto rule = std::find_if(rules.begin(), rules.end(), [&](const HookRule& known) { return known.hash == hash; });
  if (rule == rules.end()) {
    rule = rules.insert(rules.end(), HookRule{.hash = hash, .actual = {}, .payloads = {}});
    for (const graph::HookMatch& match : hook.matches) rule->actual.push_back(&match.actual);
  }
  if (hook.payload && plan.enforces_schemas()) {
    rule->payloads.push_back(hook.payload);
  } else {
    rule->takes_any = true;
  }
}

}  // namespace

std::uint64_t hash_of(const std::vector<graph::HookMatch>& matches) {
  std::uint64_t hash = stable_hash_seed;
  for (const graph::HookMatch& match : matches) hash = stable_hash(match.actual_source, hash);
  return hash;
}

std::shared_ptr<AppPlan> make_plan(std::shared_ptr<const graph::App> app) {
  auto plan = std::make_shared<AppPlan>();
  plan->app = std::move(app);
  plan->graphs.resize(plan->app->graphs.size());
  for (std::uint32_t i = 0; i < plan->graphs.size(); ++i) {
    const graph::Graph& source = plan->app->graphs[i];
    plan->graphs[i].graph = &source;
    plan->graph_of_topic.emplace(source.subscribes, i);
    Planner(plan->graphs[i]).run();
    for (const graph::Activity& activity : source.activities)
      if (const auto* hook = std::get_if<graph::Hook>(&activity.kind); hook && hook->topic) add_rule(*plan, *hook);
  }
  return plan;
}

}  // namespace pawl::execute
