#include "cli/job_target.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>

#include "base/shown_store.h"
#include "base/utf8.h"
#include "cli/job_json.h"

namespace pawl::cli {

void add_store_options(CLI::App& command, StoreOptions& options) {
  command.add_option("--store", options.store, "Where the jobs are: a SQLite file, postgres://..., redis://...")
      ->envname("PAWL_STORE")
      ->capture_default_str();
  command.add_flag("--accept-weaker-store", options.accept_weaker,
                   "Use a server whose settings may lose what it acknowledged (fsync, appendfsync and the like)");
  command.add_flag("--json", options.json, "Machine-readable output");
  command.add_flag("--no-color", options.no_color, "No colours");
}

std::string StoreOptions::shown() const { return shown_store(store); }

void add_job_target(CLI::App& command, JobTarget& target) {
  command.add_option("job", target.id, "The job's id")->required();
  command.add_option("--namespace", target.name_space, "The job's namespace")->capture_default_str();
  command.add_option("--run", target.run, "One run of the id, by its number (default: the newest)");
}

Result<Runtime> open_existing(const StoreOptions& options) {
  std::error_code ignored;
  if (!options.is_server() && !std::filesystem::exists(options.store, ignored))
    return Error{ErrorCode::not_found,
                 fmt::format("there is no store {}; name the file with --store or in PAWL_STORE", options.store)};
  return pawl::open({.store = options.store, .accept_weaker_store = options.accept_weaker});
}

Result<RunId> find_job(Runtime& runtime, const JobTarget& target) {
  if (target.run != 0) return RunId(target.run);
  const auto found = runtime.find(target.id, {target.name_space});
  if (!found) return found.error();
  if (!*found)
    return Error{ErrorCode::not_found, fmt::format("there is no job {} in namespace {}; pawl jobs lists what there is",
                                                   target.id, target.name_space)};
  return (*found)->run();
}

int fail(const std::string& command, const Error& error) {
  fmt::print(stderr, "pawl {}: {}\n", command, printable(error.detail));
  return error.code == ErrorCode::invalid || error.code == ErrorCode::not_found ? 2 : 1;
}

int act_on_job(const std::string& command, const StoreOptions& options, const JobTarget& target,
               const std::string& done, const std::function<Status(Runtime&, RunId)>& act) {
  auto runtime = open_existing(options);
  if (!runtime) return fail(command, runtime.error());
  const auto run = find_job(*runtime, target);
  if (!run) return fail(command, run.error());
  const auto acted = act(*runtime, *run);
  if (!acted) return fail(command, acted.error());
  if (options.json)
    fmt::print("{}\n", done_json(*run));
  else
    fmt::print("job {}: {}\n", target.id, done);
  return 0;
}

}  // namespace pawl::cli
