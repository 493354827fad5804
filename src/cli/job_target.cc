#include "cli/job_target.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>

#include "base/shown_store.h"
#include "base/utf8.h"
#include "cli/token.h"
#include "serve/job_json.h"
#include "serve/job_version.h"

namespace pawl::cli {

namespace {

CLI::Option* add_store(CLI::App& command, StoreOptions& options) {
  command.add_flag("--accept-weaker-store", options.accept_weaker,
                   "Use a server whose settings may lose what it acknowledged (fsync, appendfsync and the like)");
  return command.add_option("--store", options.store, "Where the jobs are: a SQLite file, postgres://..., redis://...")
      ->capture_default_str();
}

void add_output(CLI::App& command, StoreOptions& options) {
  command.add_flag("--json", options.json, "Machine-readable output");
  command.add_flag("--no-color", options.no_color, "No colours");
}

CLI::Option* add_url(CLI::App& command, StoreOptions& options) {
  command.add_option("--token-file", options.token_file, "A file with the server's token; or the variable PAWL_TOKEN")
      ->envname("PAWL_TOKEN_FILE");
  command
      .add_option("--ca-file", options.ca_file,
                  "PEM file of the authorities that may have signed the server's certificate (default: the system's)")
      ->envname("PAWL_CA_FILE");
  return command.add_option("--url", options.url, "A server to ask instead of a store, such as http://127.0.0.1:8210");
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

void add_served_store_options(CLI::App& command, StoreOptions& options) {
  add_store(command, options)->envname("PAWL_STORE");
}

void add_store_options(CLI::App& command, StoreOptions& options) {
  add_served_store_options(command, options);
  add_output(command, options);
}

void add_url_options(CLI::App& command, StoreOptions& options) { add_url(command, options)->envname("PAWL_URL"); }

void add_remote_options(CLI::App& command, StoreOptions& options) {
  CLI::Option* store = add_store(command, options);
  CLI::Option* url = add_url(command, options)->excludes(store);
  store->description(store->get_description() + " (Env:PAWL_STORE)");
  url->description(url->get_description() + " (Env:PAWL_URL)");
  add_output(command, options);
  // The library cannot tell a variable from a flag, and a flag of one kind counts before a variable of the other.
  command.parse_complete_callback([&options, store, url] {
    if (store->count() > 0 || url->count() > 0) return;
    options.url = variable("PAWL_URL");
    if (const std::string named = variable("PAWL_STORE"); options.url.empty() && !named.empty()) options.store = named;
  });
}

Result<ConnectOptions> connect_options(const StoreOptions& options) {
  auto token = read_token(options.token_file);
  if (!token) return token.error();
  ConnectOptions connect;
  connect.url = options.url;
  connect.ca_file = options.ca_file;
  connect.token = std::move(*token);
  return connect;
}

Result<Runtime> open_or_connect(const StoreOptions& options) {
  if (options.url.empty()) return pawl::open({.store = options.store, .accept_weaker_store = options.accept_weaker});
  auto connect = connect_options(options);
  if (!connect) return connect.error();
  return pawl::connect(std::move(*connect));
}

std::string StoreOptions::shown() const { return url.empty() ? shown_store(store) : url; }

void add_job_target(CLI::App& command, JobTarget& target, JobTarget::Needed needed) {
  command.add_option("job", target.id, "The job's id")->required(needed == JobTarget::Needed::yes);
  command.add_option("--namespace", target.name_space, "The job's namespace")->capture_default_str();
  command.add_option("--run", target.run, "One run of the id, by its number (default: the newest)");
}

Result<Runtime> open_existing(const StoreOptions& options) {
  if (!options.url.empty()) return open_or_connect(options);
  std::error_code ignored;
  if (!options.is_server() && !std::filesystem::exists(options.store, ignored))
    return Error{ErrorCode::not_found,
                 fmt::format("there is no store {}; name the file with --store or in PAWL_STORE", options.store)};
  return open_or_connect(options);
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

void warn_without_owner(Runtime& runtime, JobStatus status) {
  if (status == JobStatus::parked || status == JobStatus::paused) return;
  const auto alive = runtime.has_owner();
  if (alive && !*alive)
    fmt::print(
        stderr,
        "no process runs this store: nothing of it goes on until one does (pawl serve, pawl run, or your program)\n");
}

Result<std::string> version_of(Runtime& runtime, const JobView& job) {
  const auto apps = runtime.apps();
  if (!apps) return apps.error();
  return version_name(*apps, job);
}

std::optional<std::string> job_name(Runtime& runtime, RunId run) {
  const auto view = runtime.job(run).view();
  if (view) return view->id.raw();
  if (view.error().code == ErrorCode::not_found) return run_text(run);
  return std::nullopt;
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
