#include "runtime/retention.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "runtime/digits.h"
#include "runtime/request_checks.h"
#include "runtime/requests.h"

namespace pawl::runtime {

namespace {

using core::JobStatus;

constexpr JobStatus ended[] = {JobStatus::completed, JobStatus::failed, JobStatus::interrupted};
constexpr std::string_view any_status = "ended";
constexpr std::string_view for_ever = "forever";
constexpr std::string_view no_rule = "none";

Namespace rules_space() { return Namespace("pawl.retention"); }

std::string_view status_word(const std::optional<pawl::JobStatus>& status) {
  return status ? name_of(*status) : any_status;
}

// "failed:shop/order": a name that no two rules share.
std::string name_of_rule(const RetentionRule& rule) { return format("{}:{}", status_word(rule.status), rule.graph); }

std::string describe(const RetentionRule& rule) {
  return format("{} jobs{}", status_word(rule.status), rule.graph.empty() ? "" : " of " + rule.graph);
}

// "604800000000@1763400000000000": the keep time, and when it was set. None: the rule was dropped, or a newer program
// wrote what this one does not know.
std::optional<RetentionRule> rule_of(const store::AppInfo& row) {
  const auto colon = row.app.find(':');
  const auto at = row.version.find('@');
  if (colon == std::string::npos || at == std::string::npos) return std::nullopt;
  RetentionRule rule;
  const std::string status = row.app.substr(0, colon);
  for (const JobStatus one : ended)
    if (core::name_of(one) == status) rule.status = static_cast<pawl::JobStatus>(one);
  if (!rule.status && status != any_status) return std::nullopt;
  rule.graph = row.app.substr(colon + 1);
  const std::string keep = row.version.substr(0, at);
  const auto set_at = number_in<std::int64_t>(std::string_view(row.version).substr(at + 1));
  const auto micros = number_in<std::int64_t>(keep);
  if (!set_at || *set_at < 0 || (micros ? *micros < 0 : keep != for_ever)) return std::nullopt;
  rule.set_at = Instant::from_micros(*set_at);
  if (micros) rule.keep = Duration(*micros);
  return rule;
}

// The rules for the jobs of one status.
class RulesOf {
 public:
  RulesOf(const std::vector<RetentionRule>& rules, JobStatus status) {
    for (const RetentionRule& rule : rules) {
      const bool is_exact = rule.status && core::name_of(status) == name_of(*rule.status);
      if (rule.status && !is_exact) continue;
      if (rule.graph.empty() && (is_exact || !general_)) general_ = rule;
      if (rule.graph.empty()) continue;
      const auto known =
          std::find_if(of_graphs_.begin(), of_graphs_.end(), [&](const auto& one) { return one.graph == rule.graph; });
      if (known == of_graphs_.end())
        of_graphs_.push_back(rule);
      else if (is_exact)
        *known = rule;
    }
  }

  // The jobs to look at: each query names a graph, or is for all of them.
  std::vector<std::optional<GraphName>> queries() const {
    if (general_ && general_->keep) return {std::nullopt};
    std::vector<std::optional<GraphName>> graphs;
    for (const RetentionRule& rule : of_graphs_)
      if (rule.keep) graphs.emplace_back(GraphName(rule.graph));
    return graphs;
  }
  // None: for ever.
  std::optional<Duration> keep_of(const GraphName& graph) const {
    for (const RetentionRule& rule : of_graphs_)
      if (rule.graph == graph.raw()) return rule.keep;
    return general_ ? general_->keep : std::nullopt;
  }
  Duration shortest() const {
    Duration least = Duration::max();
    if (general_ && general_->keep) least = *general_->keep;
    for (const RetentionRule& rule : of_graphs_)
      if (rule.keep) least = std::min(least, *rule.keep);
    return least;
  }

 private:
  std::optional<RetentionRule> general_;
  std::vector<RetentionRule> of_graphs_;
};

Status check_rule(const RetentionRule& rule) {
  if (rule.status && !core::is_closed(static_cast<JobStatus>(*rule.status)))
    return Error{ErrorCode::invalid, format("a rule is for jobs that have ended, and a {} job has not: use completed, "
                                            "failed or interrupted",
                                            name_of(*rule.status))};
  if (rule.graph.empty()) return {};
  if (const auto checked = check_name("graph name", rule.graph); !checked) return checked;
  if (name_of_rule(rule).size() > limits::name_bytes_max)
    return Error{ErrorCode::over_limit, format("the graph's name is too long for a rule: {} bytes", rule.graph.size())};
  return {};
}

}  // namespace

Result<std::vector<RetentionRule>> read_retention(store::Catalogue& store) {
  const auto rows = store.list_apps(rules_space());
  if (!rows) return rows.error();
  std::vector<RetentionRule> rules;
  for (const store::AppInfo& row : *rows)
    if (row.active)
      if (auto rule = rule_of(row)) rules.push_back(std::move(*rule));
  return rules;
}

Status Retention::put(const RetentionRule& rule, const std::string& keep) {
  const std::string name = name_of_rule(rule);
  const std::string version = format("{}@{}", keep, store_.now().micros());
  // One after the other: no store needs to take both in one group.
  for (store::Operation& operation : std::vector<store::Operation>{store::PutApp{rules_space(), name, version, "{}"},
                                                                   store::ActivateApp{rules_space(), name, version}}) {
    if (const auto taken = Requests::taken(commit_one(commit_, std::move(operation))); !taken) return taken;
  }
  return {};
}

Status Retention::set(const RetentionRule& rule) {
  if (const auto checked = check_rule(rule); !checked) return checked;
  if (rule.keep)
    if (const auto checked = check_duration("keep", *rule.keep, Zero::allowed); !checked) return checked;
  const auto known = rules();
  if (!known) return known.error();
  for (const RetentionRule& one : *known)
    if (name_of_rule(one) == name_of_rule(rule) && one.keep == rule.keep) return {};
  return put(rule, rule.keep ? format("{}", rule.keep->count()) : std::string(for_ever));
}

Status Retention::drop(const RetentionRule& rule) {
  if (const auto checked = check_rule(rule); !checked) return checked;
  const auto known = rules();
  if (!known) return known.error();
  for (const RetentionRule& one : *known)
    if (name_of_rule(one) == name_of_rule(rule)) return put(rule, std::string(no_rule));
  return Error{ErrorCode::not_found, format("there is no rule for {}; pawl retention lists the rules", describe(rule))};
}

namespace {

class PassRunner {
 public:
  PassRunner(store::Store& store, store::DuplexStore* duplex, const CommitAll& commit, const Retention::Pass& pass)
      : store_(store), duplex_(duplex), commit_(commit), pass_(pass) {}

  Result<RetentionSummary> run(const std::vector<RetentionRule>& rules) {
    for (const core::LaneId lane : pass_.lanes)
      for (const JobStatus status : ended) {
        const RulesOf of_status(rules, status);
        for (const auto& graph : of_status.queries())
          if (const auto done = look_through(lane, status, graph, of_status); !done) return done.error();
      }
    return summary_;
  }

 private:
  bool goes_on() const { return !pass_.goes_on || pass_.goes_on(); }

  Status look_through(core::LaneId lane, JobStatus status, const std::optional<GraphName>& graph,
                      const RulesOf& rules) {
    store::ListQuery query;
    query.lane = lane;
    query.status = status;
    query.graph = graph;
    query.names_only = true;
    query.rows_max = limits::retention_page_rows;
    RunId& place = place_of(lane, status, graph);
    if (pass_.depth == Retention::Depth::whole) place = RunId(0);
    query.after = place;
    bool all_kept = true;  // so far
    while (goes_on()) {
      const auto page = store_.list_jobs(query);
      if (!page) return page.error();
      for (const core::JobRow& row : *page) {
        if (pass_.depth == Retention::Depth::until_young && row.created_at > pass_.now - rules.shortest())
          return flush();
        all_kept = all_kept && (row.keep || !rules.keep_of(row.graph.name));
        if (all_kept) place = row.run;
        if (const auto done = look_at(row, rules); !done) return done;
      }
      if (page->size() < query.rows_max) break;
      query.after = page->back().run;
    }
    return flush();
  }

  RunId& place_of(core::LaneId lane, JobStatus status, const std::optional<GraphName>& graph) {
    auto& places = pass_.places == nullptr ? own_.after : pass_.places->after;
    return places.try_emplace({lane, status, graph ? graph->raw() : ""}, RunId(0)).first->second;
  }

  Status look_at(const core::JobRow& row, const RulesOf& rules) {
    const auto keep = rules.keep_of(row.graph.name);
    // A damaged row is listed with another status; it stays for a person to see.
    if (!keep || row.keep || !core::is_closed(row.status) || row.closed_at > pass_.now - *keep) return {};
    if (duplex_ != nullptr) {
      const auto view = duplex_->view(row.run, store::Place{});
      if (!view) return view.error();
      if (*view) {
        ++summary_.left;
        return {};
      }
    }
    if (row.completions == 0) {
      ++summary_.left;  // its end is still being told
      return {};
    }
    if (pass_.options.dry_run) {
      ++summary_.removed;
      return {};
    }
    batch_.emplace_back(store::RemoveJob{row.run, pass_.now + Duration(limits::start_key_keep)});
    return batch_.size() < limits::retention_batch_jobs ? Status{} : flush();
  }

  Status flush() {
    if (batch_.empty()) return {};
    for (const auto& result : commit_(std::exchange(batch_, {}))) {
      if (!result) return result.error();
      ++(result->done() ? summary_.removed : summary_.left);
    }
    if (pass_.options.progress) pass_.options.progress(summary_.removed);
    return {};
  }

  store::Store& store_;
  store::DuplexStore* duplex_;
  const CommitAll& commit_;
  const Retention::Pass& pass_;
  Retention::Places own_;  // of a pass without
  std::vector<store::Operation> batch_;
  RetentionSummary summary_;
};

}  // namespace

Result<RetentionSummary> Retention::apply(const Pass& pass) {
  const auto known = rules();
  if (!known) return known.error();
  std::string text;
  for (const RetentionRule& rule : *known) text += format("{}@{} ", name_of_rule(rule), rule.set_at.micros());
  if (pass.places != nullptr && pass.places->rules != text) *pass.places = {std::move(text), {}};
  return PassRunner(store_, duplex_, commit_, pass).run(*known);
}

}  // namespace pawl::runtime
