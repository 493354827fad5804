#include "runtime/job_search.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
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

constexpr State states_of_any[] = {State::skipped, State::released, State::paused, State::completed,
                            State::errored, State::started,  State::pending};

// The clocks of those who submit differ by less than this: no job behind it in a list is from the other side.
constexpr Duration clocks_differ_max = std::chrono::minutes(1);

// By its word or by its digit.
Result<State> parse_state(const std::string& text) {
  if (const auto named = ledger::find_state(text)) return *named;
  std::string known;
  for (const State state : states_of_any) {
    if (text.size() == 1 && text.front() == ledger::digit_of(state)) return state;
    known += format("{}{} or {}", known.empty() ? "" : ", ", ledger::name_of(state), ledger::digit_of(state));
  }
  return Error{ErrorCode::invalid, format("\"{}\" is no state of an activity; these are: {}", text, known)};
}

Result<Conditions> parse_conditions(const JobFilter& filter, const GraphCatalog& graphs) {
  Conditions conditions;
  for (const auto& [activity, word] : filter.where) {
    const auto state = parse_state(word);
    if (!state) return state.error();
    conditions.emplace_back(activity, *state);
  }
  // A name that is in no graph is a slip of the pen, and would find nothing.
  for (const std::string& name : [&] {
         std::vector<std::string> names;
         for (const auto& [activity, state] : conditions) names.push_back(activity);
         if (!filter.activity.empty()) names.push_back(filter.activity);
         return names;
       }())
    if (const auto known = graphs.check_activity(GraphName(filter.graph), name); !known) return known.error();
  return conditions;
}

// The conditions as questions about the keys of one version of the graph; none: it lacks one of the activities.
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

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return small(a) == small(b); }) != text.end();
}

bool is_in(Instant at, Instant since, Instant until) {
  return (since == Instant() || at >= since) && (until == Instant() || at < until);
}

// What a row alone says, and what the whole job is read for.
class Search {
 public:
  static Result<Search> of(store::JobStore& store, const GraphCatalog& graphs, const JobFilter& filter) {
    auto conditions = parse_conditions(filter, graphs);
    if (!conditions) return conditions.error();
    Search search(store, graphs, filter, std::move(*conditions));
    if (!filter.collation_key.empty()) {
      auto pattern = ledger::CollationPattern::parse(filter.collation_key);
      if (!pattern) return pattern.error();
      search.key_ = std::move(*pattern);
    }
    return search;
  }

  // What is asked for, of any activity.
  std::vector<State> states() const {
    std::vector<State> asked;
    for (const auto& [activity, state] : conditions_) asked.push_back(state);
    for (const State state : states_of_any)
      if (key_ && key_->text().find(ledger::digit_of(state)) != std::string::npos) asked.push_back(state);
    return asked;
  }

  Result<bool> matches(const core::JobRow& row) {
    if (!filter_.graph.empty() && row.graph.name.raw() != filter_.graph) return false;
    if (!is_in(row.created_at, filter_.since, filter_.until)) return false;
    if (filter_.ended_since != Instant() || filter_.ended_until != Instant())
      if (!core::is_closed(row.status) || !is_in(row.closed_at, filter_.ended_since, filter_.ended_until)) return false;
    // What workers said last is known of open jobs only.
    const bool open = !core::is_closed(row.status);
    const bool says_so = filter_.error.empty() || contains(row.reason, filter_.error);
    const std::int32_t code = row.error_code();
    const bool has_code = filter_.code == 0 || code == filter_.code;
    if ((!says_so || !has_code) && !open) return false;
    if (says_so && has_code && conditions_.empty() && !key_ && filter_.activity.empty()) return true;
    const auto job = store_.read_job(row.run);
    if (!job) return job.error();
    if (!*job) return false;  // removed since its row was read
    return matches((*job)->state, says_so, has_code);
  }

 private:
  Search(store::JobStore& store, const GraphCatalog& graphs, const JobFilter& filter, Conditions conditions)
      : store_(store), graphs_(graphs), filter_(filter), conditions_(std::move(conditions)) {}

  Result<bool> matches(const core::JobState& state, bool says_so, bool has_code) {
    for (const auto& [seq, item] : state.work()) {
      if (item.life.failures == 0) continue;
      says_so = says_so || contains(item.life.failure, filter_.error);
      has_code = has_code || item.life.failure_code == filter_.code;
    }
    if (!says_so || !has_code) return false;
    const bool of_graph = !conditions_.empty() || key_ || !filter_.activity.empty();
    if (!of_graph) return true;
    const auto graph = graphs_.find(state.job.graph);
    if (graph == nullptr) return false;
    if (!filter_.activity.empty() && !stands_at(state, *graph)) return false;
    if (conditions_.empty() && !key_) return true;
    auto known = patterns_.find({graph->name().raw(), graph->version()});
    if (known == patterns_.end())
      known =
          patterns_.emplace(std::pair(graph->name().raw(), graph->version()), patterns_for(*graph, conditions_)).first;
    if (!known->second) return false;
    const auto key = collation_key_of(state, *graph);
    if (!key) return key.error();
    return (!key_ || key_->matches(*key)) &&
           std::all_of(known->second->begin(), known->second->end(),
                       [&](const ledger::CollationPattern& pattern) { return pattern.matches(*key); });
  }

  bool stands_at(const core::JobState& state, const Graph& graph) const {
    for (const core::Activity& activity : state.activities()) {
      // What a completed job left open holds up nothing.
      const bool open = activity.status == core::ActivityStatus::open && state.job.status != core::JobStatus::completed;
      const bool here = open || activity.status == core::ActivityStatus::errored;
      if (here && name_in(&graph, activity.node).raw() == filter_.activity) return true;
    }
    return false;
  }

  store::JobStore& store_;
  const GraphCatalog& graphs_;
  const JobFilter& filter_;
  const Conditions conditions_;
  std::optional<ledger::CollationPattern> key_;
  std::map<std::pair<std::string, std::uint32_t>, Patterns> patterns_;  // by graph and version
};

// Leaves out the jobs that cannot match, as far as their status or an error of theirs says so. False: none can.
bool narrow(store::JobQuery& query, const JobFilter& filter, const std::vector<State>& states) {
  const auto only = [&query](bool (*may_match)(core::JobStatus)) {
    if (query.statuses.empty()) query.statuses.assign(std::begin(store::all_statuses), std::end(store::all_statuses));
    std::erase_if(query.statuses, [&](core::JobStatus status) { return !may_match(status); });
    return !query.statuses.empty();
  };
  // A job that completed has no reason, and no attempt that failed last: the others are few.
  if (!filter.error.empty() || filter.code != 0)
    if (!only([](core::JobStatus status) { return status != core::JobStatus::completed; })) return false;
  query.completed_errored_only = !filter.activity.empty();
  for (const State state : states) {
    const bool of_open_jobs = state == State::pending || state == State::started || state == State::paused;
    if (of_open_jobs && !only([](core::JobStatus status) { return !core::is_closed(status); })) return false;
    query.completed_errored_only = query.completed_errored_only || state == State::errored;
  }
  return true;
}

Result<store::JobQuery> query_of(const JobFilter& filter) {
  store::JobQuery query;
  if (!filter.name_space.empty()) query.filter.name_space = Namespace(filter.name_space);
  for (const JobStatus status : filter.status) query.statuses.push_back(core_status(status));
  query.filter.ended_since = filter.ended_since;
  query.filter.ended_until = filter.ended_until;
  query.filter.names_only = filter.without_data;
  if (filter.label) {
    if (filter.graph.empty()) return Error{ErrorCode::invalid, "a search by label needs the name of the graph (graph)"};
    if (!query.filter.name_space) query.filter.name_space = default_namespace();
    query.filter.label =
        store::ListQuery::Labelled{GraphName(filter.graph), filter.label->name, filter.label->value, filter.label->key};
  } else if (!filter.graph.empty()) {
    query.filter.graph = GraphName(filter.graph);
  }
  if (filter.since != Instant()) query.since = filter.since - clocks_differ_max;
  if (filter.until != Instant()) query.until = filter.until + clocks_differ_max;
  return query;
}

// Calls `see` with each row that matches, and the list, until it says that it has enough.
template <class See>
Status each_row(store::Store& store, const GraphCatalog& graphs, const JobFilter& filter, const See& see) {
  auto search = Search::of(store, graphs, filter);
  if (!search) return search.error();
  auto query = query_of(filter);
  if (!query) return query.error();
  if (!narrow(*query, filter, search->states())) return {};
  const bool down = filter.order == JobOrder::newest_first;
  const auto order = down ? store::ListOrder::newest_first : store::ListOrder::oldest_first;
  const Instant since = query->since, until = query->until;
  auto list = store::JobList::begin(store, std::move(*query), order, filter.after, filter.rows_max);
  if (!list) return list.error();
  for (;;) {
    const auto row = list->next();
    if (!row) return row.error();
    if (!*row) return {};
    // They come by time: behind this one there are none.
    if (down ? since != Instant() && (*row)->created_at < since : until != Instant() && (*row)->created_at > until)
      return {};
    const auto matches = search->matches(**row);
    if (!matches) return matches.error();
    if (*matches && !see(**row, *list)) return {};
  }
}

bool needs_rows(const JobFilter& filter) {
  return !filter.name_space.empty() || !filter.where.empty() || !filter.collation_key.empty() ||
         !filter.activity.empty() || !filter.error.empty() || filter.code != 0 || filter.label ||
         filter.since != Instant() || filter.until != Instant() || filter.ended_since != Instant() ||
         filter.ended_until != Instant();
}

}  // namespace

Result<std::vector<JobView>> list_jobs(store::Store& store, const GraphCatalog& graphs, const JobFilter& filter) {
  std::vector<JobView> views;
  if (filter.rows_max == 0) return views;
  const auto seen = each_row(store, graphs, filter, [&](const core::JobRow& row, const store::JobList& list) {
    views.push_back(view_of(row));
    views.back().cursor = list.cursor().text();
    return views.size() < filter.rows_max;
  });
  if (!seen) return seen.error();
  return views;
}

Result<std::uint64_t> count_jobs(store::Store& store, const GraphCatalog& graphs, const JobFilter& filter) {
  std::uint64_t count = 0;
  if (!needs_rows(filter)) {
    const auto counts = store.count_jobs();
    if (!counts) return counts.error();
    for (const store::JobCount& one : *counts) {
      const bool meant =
          filter.status.empty() || std::any_of(filter.status.begin(), filter.status.end(),
                                               [&](JobStatus s) { return core_status(s) == one.status; });
      if (meant && (filter.graph.empty() || filter.graph == one.graph.raw())) count += one.jobs;
    }
    return count;
  }
  JobFilter all = filter;
  all.after.clear();
  all.rows_max = 10'000;  // a guess at how many are read at once
  all.without_data = true;
  all.order = JobOrder::newest_first;  // those that are there now
  const auto seen = each_row(store, graphs, all, [&](const core::JobRow&, const store::JobList&) {
    ++count;
    return true;
  });
  if (!seen) return seen.error();
  return count;
}

}  // namespace pawl::runtime
