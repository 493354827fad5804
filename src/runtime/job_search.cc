#include "runtime/job_search.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/format.h"
#include "ledger/collation_pattern.h"
#include "runtime/collate.h"
#include "runtime/views.h"
#include "store/lists.h"

namespace pawl::runtime {

namespace {

using State = ledger::CollationKey::State;
using Conditions = std::vector<std::pair<std::string, State>>;

constexpr State states[] = {State::skipped, State::released, State::paused, State::completed,
                            State::errored, State::started,  State::pending};

// By its name or by its digit.
Result<State> parse_state(const std::string& text) {
  if (const auto named = ledger::find_state(text)) return *named;
  std::string known;
  for (const State state : states) {
    if (text.size() == 1 && text.front() == ledger::digit_of(state)) return state;
    known += format("{}{} or {}", known.empty() ? "" : ", ", ledger::name_of(state), ledger::digit_of(state));
  }
  return Error{ErrorCode::invalid, format("\"{}\" is no state of an activity; these are: {}", text, known)};
}

Result<Conditions> parse_conditions(const JobFilter& filter, const GraphCatalog& graphs) {
  if (filter.where.empty()) return Conditions{};
  if (filter.graph.empty())
    return Error{ErrorCode::invalid, "a search by activities (where) needs the name of the graph (graph)"};
  std::set<std::string> known;
  for (const auto& graph : graphs.versions(GraphName(filter.graph)))
    for (const Graph::Node& node : graph->nodes()) known.insert(node.name.raw());
  if (known.empty()) return Error{ErrorCode::not_found, format("no graph named {} is deployed", filter.graph)};
  Conditions conditions;
  for (const auto& [activity, word] : filter.where) {
    if (!known.contains(activity)) {
      std::string names;
      for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
      return Error{ErrorCode::invalid,
                   format("graph {} has no activity {}; it has: {}", filter.graph, activity, names)};
    }
    const auto state = parse_state(word);
    if (!state) return state.error();
    conditions.emplace_back(activity, *state);
  }
  return conditions;
}

// The conditions as patterns over the keys of one version of the graph; none: the version lacks one of the activities.
using Patterns = std::optional<std::vector<ledger::CollationPattern>>;

Patterns patterns_for(const Graph& graph, const Conditions& conditions) {
  std::vector<std::string> names;
  for (const Graph::Node& node : graph.nodes()) names.push_back(node.name.raw());
  const auto order = ledger::ActivityOrder::of(std::move(names));
  if (!order) return std::nullopt;
  std::vector<ledger::CollationPattern> patterns;
  for (const auto& [activity, state] : conditions) {
    auto pattern = ledger::CollationPattern::where(*order, activity, state);
    if (!pattern) return std::nullopt;
    patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

class Search {
 public:
  Search(store::JobStore& store, const GraphCatalog& graphs, GraphName graph, Conditions conditions)
      : store_(store), graphs_(graphs), graph_(std::move(graph)), conditions_(std::move(conditions)) {}

  Result<bool> matches(const core::JobRow& row) {
    if (!graph_.raw().empty() && row.graph.name != graph_) return false;
    if (conditions_.empty()) return true;
    const auto graph = graphs_.find(row.graph);
    if (graph == nullptr) return false;
    auto known = patterns_.find(row.graph.version);
    if (known == patterns_.end()) known = patterns_.emplace(row.graph.version, patterns_for(*graph, conditions_)).first;
    if (!known->second) return false;
    const auto job = store_.read_job(row.run);
    if (!job) return job.error();
    if (!*job) return false;  // removed since its row was read
    const auto key = collation_key_of((*job)->state, *graph);
    if (!key) return key.error();
    return std::all_of(known->second->begin(), known->second->end(),
                       [&](const ledger::CollationPattern& pattern) { return pattern.matches(*key); });
  }

 private:
  store::JobStore& store_;
  const GraphCatalog& graphs_;
  const GraphName graph_;
  const Conditions conditions_;
  std::map<std::uint32_t, Patterns> patterns_;  // by version
};

}  // namespace

Result<std::vector<JobView>> list_jobs(store::Store& store, const GraphCatalog& graphs, const JobFilter& filter) {
  auto conditions = parse_conditions(filter, graphs);
  if (!conditions) return conditions.error();
  Search search(store, graphs, GraphName(filter.graph), std::move(*conditions));
  store::ListQuery query;
  if (!filter.name_space.empty()) query.name_space = Namespace(filter.name_space);
  if (filter.status) query.status = core_status(*filter.status);
  if (filter.label) {
    if (filter.graph.empty()) return Error{ErrorCode::invalid, "a search by label needs the name of the graph (graph)"};
    if (!query.name_space) query.name_space = default_namespace();
    query.label =
        store::ListQuery::Labelled{GraphName(filter.graph), filter.label->name, filter.label->value, filter.label->key};
  }
  const auto order =
      filter.order == JobOrder::newest_first ? store::ListOrder::newest_first : store::ListOrder::oldest_first;
  auto list = store::JobList::begin(store, std::move(query), order, filter.after, filter.rows_max);
  if (!list) return list.error();
  std::vector<JobView> views;
  while (views.size() < filter.rows_max) {
    const auto row = list->next();
    if (!row) return row.error();
    if (!*row) break;
    const auto matches = search.matches(**row);
    if (!matches) return matches.error();
    if (!*matches) continue;
    views.push_back(view_of(**row));
    views.back().cursor = list->cursor().text();
  }
  return views;
}

}  // namespace pawl::runtime
