#include "runtime/survey.h"

#include <algorithm>
#include <map>

#include "base/format.h"
#include "base/limits.h"
#include "base/shown_store.h"
#include "base/utf8.h"
#include "runtime/job_search.h"
#include "runtime/unserved_topics.h"
#include "runtime/views.h"
#include "runtime/wait_view.h"
#include "store/lists.h"

namespace pawl::runtime {

namespace {

constexpr std::uint32_t errors_read_max = 10'000;
constexpr std::size_t error_text_bytes = 160;

// Errors that differ by an order's number or a time are one error.
std::string without_numbers(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (digit && !plain.empty() && plain.back() == '#') continue;
    plain.push_back(digit ? '#' : text[i]);
  }
  return plain;
}

// "activity charge failed with code 503: ..." keeps its code: it has few digits and says much.
std::string error_text(const core::JobRow& row) {
  std::string text(cut_utf8(row.reason, error_text_bytes));
  const auto behind = text.find(": ");
  if (behind == std::string::npos) return without_numbers(text);
  return text.substr(0, behind + 2) + without_numbers(std::string_view(text).substr(behind + 2));
}

Status add_errors(Survey& survey, store::Store& store, const SurveyOptions& options) {
  if (options.errors_max == 0) return {};
  store::JobQuery query;
  query.statuses = {core::JobStatus::failed, core::JobStatus::parked};
  query.filter.names_only = true;
  auto list = store::JobList::begin(store, std::move(query), store::ListOrder::newest_first, "", errors_read_max);
  if (!list) return list.error();
  std::map<std::pair<std::int32_t, std::string>, ErrorCount> counts;
  for (std::uint32_t i = 0; i < errors_read_max; ++i) {
    const auto row = list->next();
    if (!row) return row.error();
    if (!*row) break;
    const std::int32_t code = (*row)->error_code();
    ErrorCount& count = counts[{code, error_text(**row)}];
    if (count.jobs++ > 0) continue;
    count.code = code;
    count.text = error_text(**row);
    count.example = (*row)->id;
    count.last = (*row)->created_at;
  }
  for (auto& [of, count] : counts) survey.errors.push_back(std::move(count));
  std::stable_sort(survey.errors.begin(), survey.errors.end(),
                   [](const ErrorCount& a, const ErrorCount& b) { return a.jobs > b.jobs; });
  if (survey.errors.size() > options.errors_max) survey.errors.resize(options.errors_max);
  return {};
}

Status add_counts(Survey& survey, store::Store& store) {
  const auto counts = store.count_jobs();
  if (!counts) return counts.error();
  std::map<GraphName, GraphCount> graphs;
  for (const store::JobCount& one : *counts) {
    const auto status = static_cast<std::size_t>(public_status(one.status));
    GraphCount& graph = graphs[one.graph];
    graph.graph = one.graph;
    graph.jobs[status] += one.jobs;
    survey.jobs[status] += one.jobs;
  }
  for (auto& [name, graph] : graphs) survey.graphs.push_back(std::move(graph));
  return {};
}

Status add_topics(Survey& survey, store::Store& store, bool engines_say) {
  const auto work = store.count_work(survey.at);
  if (!work) return work.error();
  const auto paused = store.read_paused_topics();
  if (!paused) return paused.error();
  std::map<std::string, TopicView> topics;
  for (const Topic& topic : *paused) topics[topic.raw()].paused = true;
  for (const store::TopicWork& one : *work) {
    TopicView& topic = topics[one.topic.raw()];
    topic.ready = one.ready;
    topic.taken = one.taken;
    topic.later = one.later;
    topic.held = one.held;
    topic.since = one.since;
  }
  for (auto& [name, topic] : topics) {
    topic.topic = name;
    if (engines_say)
      topic.servers = static_cast<std::uint32_t>(
          std::count_if(survey.engines.begin(), survey.engines.end(), [&](const EngineView& engine) {
            return std::find(engine.serves.begin(), engine.serves.end(), name) != engine.serves.end();
          }));
    topic.stuck = !topic.paused && topic.ready > 0 && topic.taken == 0 &&
                  survey.at - topic.since >= limits::unserved_after && topic.servers.value_or(0) == 0;
    survey.topics.push_back(std::move(topic));
  }
  return {};
}

std::string words_of(const core::JobState& state, const core::Activity& activity, const Graph* graph) {
  if (const core::WorkItem* item = state.find_work(activity.seq))
    return format("{} worker of {}", item->token == core::WorkToken(0) ? "a" : "the", item->topic.raw());
  const auto wait = wait_of(state, activity, graph);
  if (!wait) return "";
  if (!wait->topic.empty()) return format("signal {} {}", wait->topic, wait->key);
  if (!wait->child.empty()) return format("job {}", wait->child);
  if (wait->wakes_at != Instant()) return "its time";
  return "";
}

Status add_oldest(Survey& survey, const SurveySources& from, const SurveyOptions& options) {
  if (options.oldest_max == 0) return {};
  JobFilter filter;
  filter.status = JobStatus::running;
  filter.rows_max = options.oldest_max;
  filter.without_data = true;
  const auto jobs = list_jobs(*from.opened.store, from.graphs, filter);
  if (!jobs) return jobs.error();
  for (const JobView& job : *jobs) {
    WaitingJob waiting{job.id, job.run, job.graph, job.created_at};
    const auto stored = from.opened.store->read_job(job.run);
    if (!stored) return stored.error();
    if (*stored) {
      const core::JobState& state = (*stored)->state;
      const auto graph = from.graphs.find(state.job.graph);
      for (const core::Activity& activity : state.activities()) {
        if (activity.status != core::ActivityStatus::open) continue;
        waiting.activity = name_in(graph.get(), activity.node).raw();
        waiting.waits_for = words_of(state, activity, graph.get());
        break;
      }
    }
    survey.oldest.push_back(std::move(waiting));
  }
  return {};
}

}  // namespace

Result<std::vector<EngineView>> engines_of(OpenedStore& opened, const store::PoolInfo& pool, Instant now) {
  std::vector<EngineView> views;
  if (opened.lease == Duration{0}) {  // one process owns the file, and the system says which
    if (const auto process = opened.owner()) views.push_back({format("process {}", *process)});
    return views;
  }
  const auto engines = opened.store->read_engines(pool.pool, now);
  if (!engines) return engines.error();
  for (const store::EngineInfo& engine : *engines) {
    EngineView view{engine.name};
    for (const Topic& topic : engine.serves) view.serves.push_back(topic.raw());
    view.lanes = static_cast<std::uint32_t>(engine.holds.size());
    view.leaving = engine.leaving;
    views.push_back(std::move(view));
  }
  return views;
}

Result<Survey> survey_of(const SurveySources& from, const SurveyOptions& options) {
  store::Store& store = *from.opened.store;
  Survey survey;
  survey.at = store.now();
  auto engines = engines_of(from.opened, from.pool, survey.at);
  if (!engines) return engines.error();
  survey.engines = std::move(*engines);
  survey.owner_alive = from.runs_here || !survey.engines.empty();
  const bool engines_say = from.opened.lease != Duration{0};
  for (const Status& added : {add_counts(survey, store), add_errors(survey, store, options),
                              add_topics(survey, store, engines_say), add_oldest(survey, from, options)})
    if (!added) return added.error();
  survey.store = shown_store(from.store_name);
  survey.store_bytes = from.opened.bytes();
  survey.store_settings = from.opened.settings();
  return survey;
}

}  // namespace pawl::runtime
