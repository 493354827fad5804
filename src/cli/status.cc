// pawl status: how a store is doing, in one look: who runs it, jobs by state and graph, the errors that are most
// frequent, work that waits, what is stuck.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <boost/json.hpp>
#include <memory>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/job_filter.h"
#include "cli/job_report.h"
#include "cli/job_target.h"
#include "cli/terminal.h"
#include "serve/job_json.h"
#include "serve/json_fields.h"
#include "serve/store_json.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

using serve::job_states;

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 10'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
}

class Printer {
 public:
  Printer(const Survey& survey, const Paint& paint) : survey_(survey), paint_(paint) {}

  void print() const {
    owner();
    jobs();
    errors();
    topics();
    oldest();
  }

 private:
  void title(const char* text) const { fmt::print("\n{}\n", paint_(Ink::bold, text)); }

  void owner() const {
    if (!survey_.owner_alive) {
      fmt::print(
          "{}\n",
          paint_(Ink::red,
                 "nobody runs this store: what is asked of jobs waits until a process does (pawl serve, pawl run)"));
    } else {
      std::string names;
      for (const EngineView& engine : survey_.engines) names += (names.empty() ? "" : ", ") + printable(engine.name);
      fmt::print("{} {}\n", paint_(Ink::green, "run by"), names.empty() ? "this process" : names);
    }
    std::string about = survey_.store;
    if (survey_.store_bytes) about += fmt::format(", {}", bytes_text(*survey_.store_bytes));
    for (const auto& [name, value] : survey_.store_settings)
      about += name == "kind" ? ", " + value : fmt::format(", {} {}", name, value);
    fmt::print("{}\n", paint_(Ink::dim, printable(about)));
  }

  std::string cell(JobStatus status, std::uint64_t jobs) const {
    const std::string text = fmt::format("{:>12}", jobs);
    return jobs == 0 ? paint_(Ink::dim, text) : paint_(ink_of(status), text);
  }

  void jobs() const {
    title("Jobs");
    std::size_t width = 5;
    for (const GraphCount& graph : survey_.graphs) width = std::max(width, graph.graph.raw().size());
    fmt::print("  {:<{}}", "", width);
    for (const JobStatus status : job_states) fmt::print("{:>12}", name_of(status));
    fmt::print("\n");
    for (const GraphCount& graph : survey_.graphs) {
      fmt::print("  {:<{}}", printable(graph.graph.raw()), width);
      for (const JobStatus status : job_states) fmt::print("{}", cell(status, graph.of(status)));
      fmt::print("\n");
    }
    if (survey_.graphs.size() == 1) return;
    fmt::print("  {:<{}}", "all", width);
    for (const JobStatus status : job_states) fmt::print("{}", cell(status, survey_.of(status)));
    fmt::print("\n");
  }

  void errors() const {
    if (survey_.errors.empty()) return;
    title("Most frequent errors (failed and parked jobs)");
    for (const ErrorCount& error : survey_.errors)
      fmt::print("  {:>7}  {}  {}\n", error.jobs, paint_(Ink::red, printable(error.text)),
                 paint_(Ink::dim, fmt::format("e.g. {}", printable(error.example.raw()))));
  }

  std::string servers(const TopicView& topic) const {
    if (topic.paused) return paint_(Ink::yellow, "the topic is paused");
    if (topic.stuck)
      return paint_(Ink::red, fmt::format("nobody has taken any for {}", age_text(survey_.at - topic.since)));
    std::string text = topic.servers ? (*topic.servers == 1 ? "1 process serves it"
                                                            : fmt::format("{} processes serve it", *topic.servers))
                                     : "";
    if (topic.ready > 0)
      text += fmt::format("{}the oldest waits for {}", text.empty() ? "" : ", ", age_text(survey_.at - topic.since));
    return text;
  }

  void topics() const {
    if (survey_.topics.empty()) return;
    title("Work by topic");
    std::size_t width = 5;
    for (const TopicView& topic : survey_.topics) width = std::max(width, topic.topic.size());
    fmt::print("  {:<{}}  {:>8} {:>8} {:>8} {:>8}\n", "", width, "ready", "taken", "later", "held");
    for (const TopicView& topic : survey_.topics)
      fmt::print("  {:<{}}  {:>8} {:>8} {:>8} {:>8}  {}\n", printable(topic.topic), width, topic.ready, topic.taken,
                 topic.later, topic.held, servers(topic));
  }

  void oldest() const {
    if (survey_.oldest.empty()) return;
    title("Running for the longest time");
    for (const WaitingJob& job : survey_.oldest)
      fmt::print("  {}  {}  {}\n", printable(job.id.raw()), age_text(survey_.at - job.since),
                 job.activity.empty()
                     ? "not started"
                     : fmt::format("at {}{}", printable(job.activity),
                                   job.waits_for.empty() ? "" : ", waits for " + printable(job.waits_for)));
  }

  const Survey& survey_;
  const Paint& paint_;
};

int run(const StoreOptions& options) {
  auto runtime = open_existing(options);
  if (!runtime) return fail("status", runtime.error());
  const auto survey = runtime->survey();
  if (!survey) return fail("status", survey.error());
  if (options.json) {
    fmt::print("{}\n", printable_json(json::serialize(survey_object(*survey))));
    return 0;
  }
  const Paint paint = Paint::for_stdout(!options.no_color);
  Printer(*survey, paint).print();
  return 0;
}

}  // namespace

void add_status(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<StoreOptions>();
  CLI::App* command =
      app.add_subcommand("status", "How a store is doing: who runs it, jobs, errors, work, what is stuck");
  add_remote_options(*command, *options);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pawl::cli
