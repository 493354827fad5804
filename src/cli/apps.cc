// pawl deploy FILE, pawl activate APP VERSION, pawl apps: the versions of the apps in a store, and which of them new
// jobs start on.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/job_target.h"
#include "cli/terminal.h"
#include "serve/job_json.h"

namespace pawl::cli {

namespace {

struct AppsArguments {
  StoreOptions store;
  std::string file;
  std::string app;
  std::string version;
  bool no_activate = false;
  bool development = false;
  bool compat_hotmesh = false;
};

int deploy(const AppsArguments& options) {
  auto runtime = open_or_connect(options.store);
  if (!runtime) return fail("deploy", runtime.error());
  const auto deployed = runtime->deploy(
      AppFile{options.file},
      {.activate = !options.no_activate, .development = options.development, .compat_hotmesh = options.compat_hotmesh});
  if (!deployed) return fail("deploy", deployed.error());
  if (options.store.json) {
    fmt::print("{}\n", app_json(*deployed));
    return 0;
  }
  fmt::print("app {} version {} is deployed{}\n", deployed->app, deployed->version,
             options.no_activate
                 ? fmt::format("; pawl activate {} {} lets new jobs start on it", deployed->app, deployed->version)
                 : " and active");
  for (const std::string& topic : deployed->topics) fmt::print("  {}\n", topic);
  return 0;
}

int activate(const AppsArguments& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("activate", runtime.error());
  if (const auto done = runtime->activate_app({options.app, options.version}); !done)
    return fail("activate", done.error());
  if (options.store.json)
    fmt::print("{{\"ok\":true}}\n");
  else
    fmt::print("new jobs of app {} start on version {}; jobs that run stay on theirs\n", options.app, options.version);
  return 0;
}

int list(const AppsArguments& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("apps", runtime.error());
  const auto versions = runtime->apps();
  if (!versions) return fail("apps", versions.error());
  if (options.store.json) {
    fmt::print("{}\n", apps_json(*versions));
    return 0;
  }
  const Paint paint = Paint::for_stdout(!options.store.no_color);
  std::size_t app_width = 16, version_width = 8;
  for (const AppVersion& version : *versions) {
    app_width = std::max(app_width, version.app.size());
    version_width = std::max(version_width, version.version.size());
  }
  for (const AppVersion& version : *versions) {
    std::string topics;
    for (const std::string& topic : version.topics) topics += (topics.empty() ? "" : ", ") + topic;
    fmt::print("{:<{}} {:<{}} {}  {}  {}\n", version.app, app_width, version.version, version_width,
               paint(version.active ? Ink::green : Ink::dim, version.active ? "active  " : "inactive"),
               time_text(version.deployed_at), topics);
  }
  if (versions->empty()) fmt::print("{}\n", paint(Ink::dim, "no app is deployed; pawl deploy FILE does it"));
  return 0;
}

}  // namespace

void add_apps(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<AppsArguments>();
  CLI::App* deploys = app.add_subcommand("deploy", "Check an app's file and keep it in a store; new jobs start on it");
  add_remote_options(*deploys, options->store);
  deploys->add_option("file", options->file, "The app's main file; $refs stay inside its folder")->required();
  deploys->add_flag("--no-activate", options->no_activate, "New jobs go on starting on the version that is active");
  deploys->add_flag("--dev", options->development,
                    "For development: changed content under a version that is deployed takes its place for new jobs");
  deploys->add_flag("--compat-hotmesh", options->compat_hotmesh,
                    "Read it as HotMesh does, as if it said compat: hotmesh");
  deploys->callback([options, &exit_code] { exit_code = deploy(*options); });

  CLI::App* activates = app.add_subcommand("activate", "Let new jobs start on a version that is deployed");
  add_remote_options(*activates, options->store);
  activates->add_option("app", options->app, "The app's id")->required();
  activates->add_option("version", options->version, "Its version")->required();
  activates->callback([options, &exit_code] { exit_code = activate(*options); });

  CLI::App* lists = app.add_subcommand("apps", "List the apps of a store, all versions");
  add_remote_options(*lists, options->store);
  lists->callback([options, &exit_code] { exit_code = list(*options); });
}

}  // namespace pawl::cli
