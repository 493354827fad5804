// pawl jobs: the jobs of a store, page by page, also while another process runs it.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/job_json.h"
#include "cli/job_report.h"
#include "cli/job_target.h"
#include "cli/terminal.h"

namespace pawl::cli {

namespace {

struct Options {
  StoreOptions store;
  std::string status;
  std::string name_space;
  std::string after;
  bool newest = false;
  std::uint32_t rows = 100;
  std::string graph;
  std::vector<std::string> where;
  std::string label;
  std::string key;
};

constexpr JobStatus all_statuses[] = {JobStatus::running,     JobStatus::completed, JobStatus::failed,
                                      JobStatus::interrupted, JobStatus::parked,    JobStatus::paused};

Result<JobFilter> filter_of(const Options& options) {
  JobFilter filter;
  for (const JobStatus status : all_statuses)
    if (name_of(status) == options.status) filter.status = status;
  filter.name_space = options.name_space;
  filter.after = options.after;
  if (options.newest) filter.order = JobOrder::newest_first;
  filter.rows_max = options.rows;
  filter.graph = options.graph;
  for (const std::string& one : options.where) {
    const auto equals = one.find('=');
    if (equals == std::string::npos)
      return Error{ErrorCode::invalid, fmt::format("--where {}: write ACTIVITY=STATE, such as charge=errored", one)};
    filter.where.emplace_back(one.substr(0, equals), one.substr(equals + 1));
  }
  if (!options.label.empty() || !options.key.empty()) {
    const auto equals = options.label.find('=');
    if (!options.label.empty() && equals == std::string::npos)
      return Error{ErrorCode::invalid, fmt::format("--label {}: write NAME=VALUE, such as shop=north", options.label)};
    filter.label.emplace();
    if (!options.label.empty()) filter.label->name = options.label.substr(0, equals);
    if (!options.label.empty()) filter.label->value = options.label.substr(equals + 1);
    if (!options.key.empty()) filter.label->key = options.key;
  }
  return filter;
}

int run(const Options& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("jobs", runtime.error());
  const auto filter = filter_of(options);
  if (!filter) return fail("jobs", filter.error());
  const auto jobs = runtime->list(*filter);
  if (!jobs) return fail("jobs", jobs.error());
  if (options.store.json) {
    fmt::print("{}\n", jobs_json(*jobs));
    return 0;
  }
  const Paint paint = Paint::for_stdout(!options.store.no_color);
  std::size_t width = 3;
  for (const JobView& job : *jobs) width = std::max(width, job.id.raw().size());
  for (const JobView& job : *jobs)
    fmt::print("{:<{}}  {}  {:<14} {}  {}\n", job.id.raw(), width,
               paint(ink_of(job.status), fmt::format("{:<11}", name_of(job.status))), job.graph.raw(),
               time_text(job.created_at), printable(job.reason));
  if (jobs->size() == options.rows)
    fmt::print("{}\n", paint(Ink::dim, fmt::format("there may be more: --after {}", jobs->back().cursor)));
  else if (jobs->empty())
    fmt::print("{}\n", paint(Ink::dim, "no job matches"));
  return 0;
}

}  // namespace

void add_jobs(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("jobs", "List the jobs of a store; --status parked is the dead letter list");
  add_store_options(*command, options->store);
  command->add_option("--status", options->status, "Only jobs in this state")
      ->check(CLI::IsMember({"running", "completed", "failed", "interrupted", "parked", "paused"}));
  command->add_option("--namespace", options->name_space, "Only this namespace (default: all)");
  command->add_option("--graph", options->graph, "Only jobs of this graph");
  command
      ->add_option("--where", options->where, "Only jobs whose activity stands so: ACTIVITY=STATE, e.g. charge=errored")
      ->needs("--graph");
  command
      ->add_option("--label", options->label, "Only jobs that the graph's stats index so: NAME=VALUE, e.g. shop=north")
      ->needs("--graph");
  command->add_option("--key", options->key, "Only jobs with this stats.key")->needs("--graph");
  CLI::Option* newest = command->add_flag("--newest", options->newest, "The newest first, of those that are there now");
  command->add_flag("--oldest")->description("The oldest first (default)")->excludes(newest);
  command->add_option("--after", options->after,
                      "Go on behind this cursor, that of a job of an earlier page in the same order");
  command->add_option("--rows", options->rows, "Rows at the most")->capture_default_str()->check(CLI::Range(1, 10'000));
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pawl::cli
