#include <algorithm>
#include <unordered_map>

#include "base/format.h"
#include "graph/check/structure.h"
#include "graph/check/visit.h"

namespace pawl::graph {
namespace {

constexpr std::string_view part_words[] = {"input", "output", "hook"};
constexpr std::string_view data_words[] = {"data", "metadata"};
constexpr std::string_view activity_metadata[] = {"ac", "au",  "aid", "atp", "stp",    "dad",
                                                  "as", "err", "l1s", "l2s", "$error", "woken_by"};
constexpr std::string_view job_metadata[] = {"jid", "gid", "dad", "aid", "key", "app", "vrs", "tpc", "ts",  "jc",
                                             "ju",  "js",  "pj",  "pg",  "pd",  "pa",  "px",  "ngn", "trc", "err"};

bool contains(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class References {
 public:
  References(const Graph& graph, Mistakes& mistakes) : graph_(graph), mistakes_(mistakes) {
    for (ActivityIndex i = 0; i < graph.activities.size(); ++i) ids_.emplace(graph.activities[i].id, i);
  }

  void run() {
    const VisitFormula visit = [this](const Formula& formula, Role role) { check(formula, role); };
    for (here_ = 0; here_ < graph_.activities.size(); ++here_) {
      // In an unreachable part every reference would be wrong; the part itself was reported.
      here_is_island_ = !graph_.topology.places[here_].reachable;
      visit_formulas(graph_.activities[here_], visit);
    }
    for (const Transition& transition : graph_.transitions) {
      here_ = transition.from;
      here_is_island_ = !graph_.topology.places[here_].reachable;
      visit_formulas(transition, visit);
    }
    here_ = graph_.topology.trigger;
    here_is_island_ = false;
    for (const OptionalFormula* formula : {&graph_.expire, &graph_.persistent})
      if (*formula) check(**formula, Role::after);
  }

 private:
  void check(const Formula& formula, Role role) {
    const auto& references = formula.expression.references();
    for (std::size_t i = 0; i < references.size(); ++i) {
      reference_ = &references[i];
      where_ = &formula.references[i];
      check_one(role);
    }
  }

  void report(Code code, std::string message, std::string suggestion = {}) {
    mistakes_.add({.code = code,
                   .mark = where_->mark,
                   .path = where_->path,
                   .message = std::move(message),
                   .suggestion = std::move(suggestion)});
  }

  const std::string& id(ActivityIndex index) const { return graph_.activities[index].id; }

  void check_one(Role role) {
    using mapping::Scope;
    if (role == Role::payload && reference_->scope != Scope::hook && reference_->scope != Scope::self) {
      report(Code::bad_reference, "'actual' looks at the signal alone: {$self.hook.data...} or {$hook.data...}");
      return;
    }
    switch (reference_->scope) {
      case Scope::activity:
        check_activity(role);
        return;
      case Scope::self:
        check_parts(here_, role, "$self");
        return;
      case Scope::job:
        check_part(0, data_words, "$job");
        if (reference_->parts.size() > 1 && reference_->parts[0] == "metadata")
          check_part(1, job_metadata, "$job.metadata");
        return;
      case Scope::hook:
        if (role != Role::payload)
          report(Code::bad_reference, "{$hook...} is known only in 'actual' of a hook rule", "$self.hook");
        else
          check_part(0, data_words, "$hook");
        return;
      default:
        return;
    }
  }

  void check_activity(Role role) {
    const auto found = ids_.find(reference_->activity);
    if (found == ids_.end()) {
      std::vector<std::string_view> names;
      for (const Activity& activity : graph_.activities) names.push_back(activity.id);
      report(Code::reference_unknown, format("this graph has no activity '{}'", reference_->activity),
             nearest(reference_->activity, names));
      return;
    }
    const ActivityIndex target = found->second;
    if (here_is_island_) return;
    const bool in_body = role == Role::collect && is_inside(graph_, target, here_);
    if (target != here_ && !in_body && !graph_.topology.is_ancestor(target, here_)) {
      report(Code::reference_not_ancestor, format("'{}' does not come before '{}'", id(target), id(here_)));
      return;
    }
    if (!sees(target, in_body)) return;
    check_parts(target, role, reference_->activity);
  }

  // Outside a map's body there is one output per item: it would be unclear which one is meant.
  bool sees(ActivityIndex target, bool in_body) {
    const auto map = graph_.topology.places[target].inside_map;
    if (!map) return true;
    if (is_inside(graph_, here_, *map) || (in_body && *map == here_)) return true;
    const auto& kind = std::get<Map>(graph_.activities[*map].kind);
    report(Code::reference_inside_map,
           format("'{}' runs once per item of the map '{}'; its results are in {{{}.output.data.items}}", id(target),
                  id(*map), kind.join));
    return false;
  }

  void check_parts(ActivityIndex target, Role role, std::string_view name) {
    if (!check_part(0, part_words, name)) return;
    const std::string& part = reference_->parts[0];
    const Kind& kind = graph_.activities[target].kind;
    if (part == "hook" && !std::holds_alternative<Hook>(kind)) {
      report(Code::bad_reference,
             format("'{}' is a {}; only a hook has a signal's payload", id(target), name_of(kind)));
      return;
    }
    if (part == "input" && target != here_ && !std::holds_alternative<Trigger>(kind)) {
      report(Code::bad_reference,
             format("the input of '{}' is not kept; map it into its output or the job", id(target)));
      return;
    }
    const bool own_result = target == here_ && role == Role::before && part != "input";
    const bool pivot = std::holds_alternative<Hook>(kind) && std::get<Hook>(kind).is_pivot;
    if (own_result && !pivot) {
      report(Code::bad_reference, format("'{}' has no {} yet when this is evaluated", id(here_), part));
      return;
    }
    if (!check_part(1, data_words, name)) return;
    if (reference_->parts[1] == "metadata" && reference_->parts.size() > 2) check_part(2, activity_metadata, name);
  }

  bool check_part(std::size_t index, std::span<const std::string_view> words, std::string_view name) {
    if (index >= reference_->parts.size()) {
      report(Code::bad_reference, format("after '{}' there must follow {}", name, any_of(words)));
      return false;
    }
    if (contains(words, reference_->parts[index])) return true;
    report(Code::bad_reference, format("'{}' is not one of {}", reference_->parts[index], any_of(words)),
           nearest(reference_->parts[index], words));
    return false;
  }

  const Graph& graph_;
  Mistakes& mistakes_;
  std::unordered_map<std::string_view, ActivityIndex> ids_;
  ActivityIndex here_ = 0;
  bool here_is_island_ = false;
  const mapping::Reference* reference_ = nullptr;
  const Where* where_ = nullptr;
};

}  // namespace

void check_references(const Graph& graph, Mistakes& mistakes) { References(graph, mistakes).run(); }

}  // namespace pawl::graph
