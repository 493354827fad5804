// pawl export JOB: the whole job as one JSON document, for tools and for a bug report.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "cli/commands.h"
#include "cli/job_target.h"
#include "serve/job_json.h"

namespace pawl::cli {

namespace {

struct ExportArguments {
  StoreOptions store;
  JobTarget target;
  bool children = false;
};

int run_export(const ExportArguments& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("export", runtime.error());
  const auto found = find_job(*runtime, options.target);
  if (!found) return fail("export", found.error());
  const auto detail = runtime->job(*found).inspect();
  if (!detail) return fail("export", detail.error());
  ReadChild read_child;
  if (options.children)
    read_child = [&](const std::string& name_space, const std::string& id) -> std::optional<JobDetail> {
      const auto run = runtime->find(id, {name_space});
      if (!run || !*run) return std::nullopt;
      const auto child = (*run)->inspect();
      return child ? std::optional(*child) : std::nullopt;
    };
  fmt::print("{}\n", export_json(*detail, read_child));
  return 0;
}

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ExportArguments>();
  CLI::App* command = app.add_subcommand("export", "Write a job as one JSON document");
  add_remote_options(*command, options->store);
  add_job_target(*command, options->target);
  command->add_flag("--children", options->children, "With the jobs that it started, and theirs");
  command->callback([options, &exit_code] { exit_code = run_export(*options); });
}

}  // namespace pawl::cli
