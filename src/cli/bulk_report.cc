#include "cli/bulk_report.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <boost/json.hpp>

#include "base/utf8.h"
#include "cli/job_report.h"
#include "serve/store_json.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::uint64_t bar_columns = 40;

void draw(std::uint64_t seen, std::uint64_t all) {
  const std::uint64_t part = all == 0 ? bar_columns : seen * bar_columns / all;
  std::string bar;
  for (std::uint64_t i = 0; i < bar_columns; ++i) bar += i < part ? "█" : "░";
  fmt::print(stderr, "\r{} {} of {}", bar, seen, all);
}

}  // namespace

void add_bulk_options(CLI::App& command, BulkArguments& arguments) {
  command.add_flag("--dry-run", arguments.dry_run, "Say what would be done, and do nothing");
  command.add_flag("-q,--quiet", arguments.quiet, "No progress bar");
}

int try_on_one(const std::string& command, Runtime& runtime, const StoreOptions& store, RunId run,
               const BulkRequest& request) {
  const auto job = runtime.job(run).view();
  if (!job) return fail(command, job.error());
  // The dry run of the library is by filter: this one means the jobs that were made in the same microsecond.
  JobFilter filter;
  filter.status = job->status;
  filter.name_space = job->name_space.raw();
  filter.graph = job->graph.raw();
  filter.since = job->created_at;
  filter.until = job->created_at + Duration(1);
  const auto tried = runtime.bulk(filter, request, {.dry_run = true});
  if (!tried) return fail(command, tried.error());
  BulkSummary one;
  one.matched = 1;
  one.first = {*job};
  for (const BulkRefusal& refusal : tried->refused)
    if (tried->matched == 1 || refusal.example == job->id) one.refused = {{refusal.why, 1, job->id}};
  one.done = one.refused.empty() ? 1 : 0;
  const std::string state = fmt::format("job {} is {}", printable(job->id.raw()), name_of(job->status));
  if (store.json)
    fmt::print("{}\n", printable_json(json::serialize(bulk_object(one, true))));
  else if (one.refused.empty())
    fmt::print("{}: {} would be asked of it (--dry-run: nothing was)\n", state, command);
  else
    fmt::print("{}: {} would be refused: {}\n", state, command, printable(one.refused.front().why));
  return one.refused.empty() ? 0 : 1;
}

int run_bulk(const std::string& command, Runtime& runtime, const StoreOptions& store, const FilterOptions& filter,
             const BulkArguments& arguments, const BulkRequest& request) {
  auto meant = filter_of(filter, clock_now());
  if (!meant) return fail(command, meant.error());
  BulkOptions options;
  options.dry_run = arguments.dry_run;
  const bool bar = !arguments.quiet && !store.json && isatty(STDERR_FILENO) == 1;
  if (bar) options.progress = draw;
  const auto summary = runtime.bulk(*meant, request, options);
  if (bar) fmt::print(stderr, "\n");
  if (!summary) return fail(command, summary.error());
  if (summary->matched == 0)
    if (const auto known = check_graph(runtime, filter); !known) return fail(command, known.error());
  std::uint64_t refused = 0;
  for (const BulkRefusal& one : summary->refused) refused += one.jobs;
  if (store.json) {
    fmt::print("{}\n", printable_json(json::serialize(bulk_object(*summary, arguments.dry_run))));
    return refused == 0 ? 0 : 1;
  }
  const Paint paint = Paint::for_stdout(!store.no_color);
  fmt::print("{}: {} {}, {} {}\n", command, counted(summary->matched, "job"),
             summary->matched == 1 ? "matches" : "match", summary->done,
             arguments.dry_run ? "would be asked (--dry-run: nothing was)" : "asked");
  if (arguments.dry_run)
    for (const JobView& job : summary->first)
      fmt::print("  {}  {}  {}\n", printable(job.id.raw()), paint(ink_of(job.status), name_of(job.status)),
                 printable(cut_utf8(job.reason, 100)));
  if (arguments.dry_run && summary->matched > summary->first.size())
    fmt::print("  {}\n", paint(Ink::dim, fmt::format("and {} more", summary->matched - summary->first.size())));
  for (const BulkRefusal& one : summary->refused)
    fmt::print("  {}\n", paint(Ink::red, fmt::format("{} refused: {} (e.g. {})", one.jobs, printable(one.why),
                                                     printable(one.example.raw()))));
  if (!arguments.dry_run && summary->done > 0 && request.verb != BulkVerb::remove)
    warn_without_owner(runtime, JobStatus::running);
  return refused == 0 ? 0 : 1;
}

}  // namespace pawl::cli
