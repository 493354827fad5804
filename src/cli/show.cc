// pawl show JOB: every activity of a job with its ledger in words, what its work waits for, and what is known of its
// effect.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "cli/commands.h"
#include "cli/job_json.h"
#include "cli/job_report.h"
#include "cli/job_target.h"

namespace pawl::cli {

namespace {

struct Options {
  StoreOptions store;
  JobTarget target;
};

int run(const Options& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("show", runtime.error());
  const auto found = find_job(*runtime, options.target);
  if (!found) return fail("show", found.error());
  const auto detail = runtime->job(*found).inspect();
  if (!detail) return fail("show", detail.error());
  if (options.store.json)
    fmt::print("{}\n", job_json(*detail));
  else
    fmt::print("{}", job_report(*detail, Paint::for_stdout(!options.store.no_color)));
  return 0;
}

}  // namespace

void add_show(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("show", "Show a job: activities, ledgers, what waits and until when");
  add_store_options(*command, options->store);
  add_job_target(*command, options->target);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pawl::cli
