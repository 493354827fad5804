// pawl jobs: which jobs are in a store, page by page, also while another process runs it.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/job_filter.h"
#include "cli/job_report.h"
#include "cli/job_target.h"
#include "cli/terminal.h"
#include "serve/job_json.h"

namespace pawl::cli {

namespace {

constexpr std::uint32_t rows_default = 100;
constexpr std::uint32_t page_rows = 500;  // read at once of a list without an end

struct JobsArguments {
  StoreOptions store;
  FilterOptions filter;
  std::string after;
  bool newest = false;
  bool all = false;
  bool count = false;
  bool ids = false;
  std::uint32_t rows = rows_default;
};

// Names of one page are lined up; a page is what is known before it is printed.
void print_page(const std::vector<JobView>& jobs, const JobsArguments& options, const Paint& paint) {
  if (options.store.json) {
    for (const JobView& job : jobs) fmt::print("{}\n", job_json(job));
    return;
  }
  std::size_t width = 3;
  for (const JobView& job : jobs) width = std::max(width, job.id.raw().size());
  for (const JobView& job : jobs) {
    if (options.ids) {
      fmt::print("{}\n", job.id.raw());
      continue;
    }
    fmt::print("{:<{}}  {}  {:<14} {}  {}\n", printable(job.id.raw()), width,
               paint(ink_of(job.status), fmt::format("{:<11}", name_of(job.status))), job.graph.raw(),
               time_text(job.created_at), printable(job.reason));
  }
}

int count(Runtime& runtime, const JobFilter& filter, const JobsArguments& options) {
  const auto jobs = runtime.count(filter);
  if (!jobs) return fail("jobs", jobs.error());
  if (*jobs == 0)
    if (const auto known = check_graph(runtime, options.filter); !known) return fail("jobs", known.error());
  if (options.store.json)
    fmt::print("{{\"count\":{}}}\n", *jobs);
  else
    fmt::print("{}\n", *jobs);
  return 0;
}

// One page as one document, as it has always been; all of them as a document in each line.
int list(Runtime& runtime, JobFilter filter, const JobsArguments& options) {
  const Paint paint = Paint::for_stdout(!options.store.no_color);
  std::uint64_t seen = 0;
  for (;;) {
    const auto jobs = runtime.list(filter);
    if (!jobs) return fail("jobs", jobs.error());
    seen += jobs->size();
    if (seen == 0)
      if (const auto known = check_graph(runtime, options.filter); !known) return fail("jobs", known.error());
    if (options.store.json && !options.all) {
      fmt::print("{}\n", jobs_json(*jobs));
      return 0;
    }
    print_page(*jobs, options, paint);
    const bool full = jobs->size() == filter.rows_max;
    if (options.all && full) {
      filter.after = jobs->back().cursor;
      continue;
    }
    if (options.store.json || options.ids) return 0;
    if (full)
      fmt::print("{}\n",
                 paint(Ink::dim, fmt::format("there may be more: --after {}, --all, or --count", jobs->back().cursor)));
    else if (seen == 0)
      fmt::print("{}\n", paint(Ink::dim, "no job matches"));
    return 0;
  }
}

int run_jobs(const JobsArguments& options) {
  auto filter = filter_of(options.filter, clock_now());
  if (!filter) return fail("jobs", filter.error());
  filter->after = options.after;
  if (options.newest) filter->order = JobOrder::newest_first;
  filter->rows_max = options.all ? page_rows : options.rows;
  filter->without_data = !options.store.json;
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("jobs", runtime.error());
  return options.count ? count(*runtime, *filter, options) : list(*runtime, std::move(*filter), options);
}

}  // namespace

void add_jobs(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<JobsArguments>();
  CLI::App* command =
      app.add_subcommand("jobs", "List or count the jobs of a store; --status parked is the dead letter list");
  add_remote_options(*command, options->store);
  add_filter_options(*command, options->filter);
  command->add_option("--namespace", options->filter.name_space, "Only this namespace (default: all)");
  CLI::Option* newest = command->add_flag("--newest", options->newest, "The newest first, of those that are there now");
  command->add_flag("--oldest")->description("The oldest first (default)")->excludes(newest);
  CLI::Option* counts = command->add_flag("--count", options->count, "How many there are");
  command->add_option("--after", options->after,
                      "Go on behind this cursor, that of a job of an earlier page in the same order");
  command->add_option("--rows", options->rows, "Rows at the most")->capture_default_str()->check(CLI::Range(1, 10'000));
  command->add_flag("--all", options->all, "All of them; with --json a document in each line")->excludes(counts);
  command->add_flag("--ids", options->ids, "Only their ids, for other commands")->excludes(counts);
  command->callback([options, &exit_code] { exit_code = run_jobs(*options); });
}

}  // namespace pawl::cli
