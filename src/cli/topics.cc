// pawl topics: which topics are paused; --pause and --resume change it, for every process on the store.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "cli/commands.h"
#include "cli/job_target.h"

namespace pawl::cli {

namespace {

struct TopicsArguments {
  StoreOptions store;
  std::vector<std::string> pause;
  std::vector<std::string> resume;
};

int run_topics(const TopicsArguments& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("topics", runtime.error());
  for (const std::string& topic : options.pause)
    if (const auto paused = runtime->pause_topic(topic); !paused) return fail("topics", paused.error());
  for (const std::string& topic : options.resume)
    if (const auto resumed = runtime->resume_topic(topic); !resumed) return fail("topics", resumed.error());
  const auto paused = runtime->paused_topics();
  if (!paused) return fail("topics", paused.error());
  if (options.store.json) {
    std::string list;
    for (const std::string& topic : *paused) list += fmt::format("{}\"{}\"", list.empty() ? "" : ",", topic);
    fmt::print("{{\"paused\":[{}]}}\n", list);
    return 0;
  }
  for (const std::string& topic : *paused) fmt::print("{} is paused\n", topic);
  if (paused->empty()) fmt::print("no topic is paused\n");
  return 0;
}

}  // namespace

void add_topics(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TopicsArguments>();
  CLI::App* command = app.add_subcommand("topics", "Show, pause and resume topics: a paused one hands out no work");
  add_remote_options(*command, options->store);
  command->add_option("--pause", options->pause, "A topic to pause");
  command->add_option("--resume", options->resume, "A topic to resume");
  command->callback([options, &exit_code] { exit_code = run_topics(*options); });
}

}  // namespace pawl::cli
