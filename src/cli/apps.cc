// pawl deploy FILE, pawl activate APP VERSION, pawl apps: the versions of the apps in a store, and which of them new
// jobs start on.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <boost/json.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/job_json.h"
#include "cli/job_target.h"
#include "cli/terminal.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

struct Options {
  StoreOptions store;
  std::string file;
  std::string app;
  std::string version;
  bool no_activate = false;
  bool development = false;
};

json::object object_of(const AppVersion& version) {
  json::array topics;
  for (const std::string& topic : version.topics) topics.emplace_back(topic);
  return {{"app", version.app},
          {"version", version.version},
          {"active", version.active},
          {"deployed_at", time_text(version.deployed_at)},
          {"topics", std::move(topics)}};
}

int deploy(const Options& options) {
  auto runtime = pawl::open({.store = options.store.store, .accept_weaker_store = options.store.accept_weaker});
  if (!runtime) return fail("deploy", runtime.error());
  const auto deployed =
      runtime->deploy(AppFile{options.file}, {.activate = !options.no_activate, .development = options.development});
  if (!deployed) return fail("deploy", deployed.error());
  if (options.store.json) {
    fmt::print("{}\n", json::serialize(object_of(*deployed)));
    return 0;
  }
  fmt::print("app {} version {} is deployed{}\n", deployed->app, deployed->version,
             options.no_activate
                 ? fmt::format("; pawl activate {} {} lets new jobs start on it", deployed->app, deployed->version)
                 : " and active");
  for (const std::string& topic : deployed->topics) fmt::print("  {}\n", topic);
  return 0;
}

int activate(const Options& options) {
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

int list(const Options& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("apps", runtime.error());
  const auto versions = runtime->apps();
  if (!versions) return fail("apps", versions.error());
  if (options.store.json) {
    json::array rows;
    for (const AppVersion& version : *versions) rows.push_back(object_of(version));
    fmt::print("{}\n", json::serialize(rows));
    return 0;
  }
  const Paint paint = Paint::for_stdout(!options.store.no_color);
  for (const AppVersion& version : *versions) {
    std::string topics;
    for (const std::string& topic : version.topics) topics += (topics.empty() ? "" : ", ") + topic;
    fmt::print("{:<16} {:<8} {}  {}  {}\n", version.app, version.version,
               paint(version.active ? Ink::green : Ink::dim, version.active ? "active  " : "inactive"),
               time_text(version.deployed_at), topics);
  }
  if (versions->empty()) fmt::print("{}\n", paint(Ink::dim, "no app is deployed; pawl deploy FILE does it"));
  return 0;
}

}  // namespace

void add_apps(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* deploys = app.add_subcommand("deploy", "Check an app's file and keep it in a store; new jobs start on it");
  add_store_options(*deploys, options->store);
  deploys->add_option("file", options->file, "The app's main file; $refs stay inside its folder")->required();
  deploys->add_flag("--no-activate", options->no_activate, "New jobs go on starting on the version that is active");
  deploys->add_flag("--dev", options->development,
                    "For development: changed content under a version that is deployed takes its place for new jobs");
  deploys->callback([options, &exit_code] { exit_code = deploy(*options); });

  CLI::App* activates = app.add_subcommand("activate", "Let new jobs start on a version that is deployed");
  add_store_options(*activates, options->store);
  activates->add_option("app", options->app, "The app's id")->required();
  activates->add_option("version", options->version, "Its version")->required();
  activates->callback([options, &exit_code] { exit_code = activate(*options); });

  CLI::App* lists = app.add_subcommand("apps", "List the apps of a store, all versions");
  add_store_options(*lists, options->store);
  lists->callback([options, &exit_code] { exit_code = list(*options); });
}

}  // namespace pawl::cli
