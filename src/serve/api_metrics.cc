// /metrics: figures for Prometheus. What this process counted, and how the store is doing: jobs by state and graph,
// work by topic. The store is asked once for each reading, and counts without reading jobs.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "serve/handlers.h"
#include "serve/json_fields.h"

namespace pawl::serve {

namespace {

// One figure, in lines: its help, and a value for each set of labels.
class Figure {
 public:
  Figure(std::string_view name, std::string_view kind, std::string_view help) : name_(name) {
    text_ = format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, kind);
  }
  Figure& add(double value, std::string_view labels = {}) {
    text_ += labels.empty() ? format("{} {}\n", name_, value) : format("{}{{{}}} {}\n", name_, labels, value);
    return *this;
  }
  std::string text() && { return std::move(text_); }

 private:
  const std::string_view name_;
  std::string text_;
};

std::string one(std::string_view name, std::string_view kind, std::string_view help, std::uint64_t value) {
  return std::move(Figure(name, kind, help).add(static_cast<double>(value))).text();
}

std::string commit_text(const runtime::CommitTimes::Figures& figures) {
  std::string text =
      "# HELP pawl_commit_seconds How long commits of the store take.\n# TYPE pawl_commit_seconds histogram\n";
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < figures.counts.size(); ++i) {
    count += figures.counts[i];
    const std::string edge = i < runtime::CommitTimes::micros_up_to.size()
                                 ? format("{}", static_cast<double>(runtime::CommitTimes::micros_up_to[i]) / 1e6)
                                 : "+Inf";
    text += format("pawl_commit_seconds_bucket{{le=\"{}\"}} {}\n", edge, count);
  }
  text += format("pawl_commit_seconds_sum {}\npawl_commit_seconds_count {}\n",
                 static_cast<double>(figures.micros) / 1e6, count);
  return text + one("pawl_commit_operations_total", "counter",
                    "Operations in these commits: this by their count is the batch size.", figures.operations);
}

std::string survey_text(const Survey& survey) {
  Figure jobs("pawl_jobs", "gauge", "Jobs of the store by graph and state; state=\"parked\" waits for a person.");
  for (const GraphCount& graph : survey.graphs)
    for (const JobStatus status : job_states)
      jobs.add(static_cast<double>(graph.of(status)),
               format("graph=\"{}\",state=\"{}\"", label_text(graph.graph.raw()), name_of(status)));
  Figure work("pawl_topic_work", "gauge",
              "Requests for workers by topic: ready (the backlog), taken, later (their next attempt), held.");
  Figure lag("pawl_topic_oldest_ready_seconds", "gauge", "How long the oldest request waits that is ready.");
  Figure paused("pawl_topic_paused", "gauge", "1: the topic is paused.");
  for (const TopicView& topic : survey.topics) {
    const std::string name = format("topic=\"{}\"", label_text(topic.topic));
    work.add(static_cast<double>(topic.ready), name + ",state=\"ready\"");
    work.add(static_cast<double>(topic.taken), name + ",state=\"taken\"");
    work.add(static_cast<double>(topic.later), name + ",state=\"later\"");
    work.add(static_cast<double>(topic.held), name + ",state=\"held\"");
    lag.add(topic.ready == 0 ? 0 : static_cast<double>((survey.at - topic.since).count()) / 1e6, name);
    paused.add(topic.paused ? 1 : 0, name);
  }
  Figure lanes("pawl_lanes", "gauge", "Lanes that a process of the store has; a file has one owner and does not say.");
  for (const EngineView& engine : survey.engines)
    lanes.add(engine.lanes, format("process=\"{}\"", label_text(engine.name)));
  return std::move(jobs).text() + std::move(work).text() + std::move(lag).text() + std::move(paused).text() +
         std::move(lanes).text();
}

void metrics(Site& site, const ExchangePointer& exchange) {
  std::string text = site.metrics.text();
  const RuntimeStats stats = site.runtime.stats();
  text += commit_text(site.runtime.commit_times());
  text += one("pawl_row_writes_total", "counter", "Rows that were written.", stats.row_writes);
  text += one("pawl_log_bytes_total", "counter", "Bytes that were written to the log.", stats.bytes);
  text += one("pawl_runs_jobs", "gauge", "1: this process runs jobs.", site.runtime.owns() ? 1 : 0);
  text += one("pawl_event_streams", "gauge", "Event streams that are open.", site.events.streams());
  text += one("pawl_work_out", "gauge", "Attempts that remote workers have from here.", site.desk.out());
  if (site.spans != nullptr) {
    text += one("pawl_spans_sent_total", "counter", "Spans that a collector took.", site.spans->sent());
    text += one("pawl_spans_dropped_total", "counter", "Spans that no collector took.", site.spans->dropped());
  }
  Figure taken("pawl_topic_taken_total", "counter", "Attempts handed to remote workers.");
  Figure waiting("pawl_topic_workers_waiting", "gauge", "Takes and streams that wait for work.");
  for (const TopicFacts& topic : site.desk.topics()) {
    taken.add(static_cast<double>(topic.taken), format("topic=\"{}\"", label_text(topic.topic)));
    waiting.add(static_cast<double>(topic.waiting), format("topic=\"{}\"", label_text(topic.topic)));
  }
  text += std::move(taken).text() + std::move(waiting).text();
  // A store that does not answer is seen by what is missing; the rest is still good to know.
  const auto survey = site.runtime.survey({.errors_max = 0, .oldest_max = 0});
  text += one("pawl_store_up", "gauge", "1: the store answered.", survey ? 1 : 0);
  if (survey) text += survey_text(*survey);
  exchange->respond({200, "text/plain; version=0.0.4; charset=utf-8", std::move(text)});
}

}  // namespace

void add_metrics_routes(Router& router, Site& site) {
  router.add(
      {"GET", "/metrics", [&site](const Request&, const ExchangePointer& exchange) { metrics(site, exchange); }});
}

}  // namespace pawl::serve
