// pawl signal TOPIC DATA: sends a signal to the hook that waits for it, now or later.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "cli/commands.h"
#include "cli/job_target.h"
#include "cli/json_argument.h"

namespace pawl::cli {

namespace {

struct Options {
  StoreOptions store;
  std::string topic;
  std::string data;
  SignalOptions signal;
};

int run(const Options& options) {
  const auto data = read_json_argument("the signal's data", options.data);
  if (!data) return fail("signal", data.error());
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("signal", runtime.error());
  if (const auto sent = runtime->signal(options.topic, *data, options.signal); !sent)
    return fail("signal", sent.error());
  if (options.store.json)
    fmt::print("{{\"ok\":true}}\n");
  else
    fmt::print("signal {} is kept for the hook that waits for it, or the first that will\n", options.topic);
  return 0;
}

}  // namespace

void add_signal(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("signal", "Tell a waiting hook what it waits for");
  add_store_options(*command, options->store);
  command->add_option("topic", options->topic, "A topic of some graph's hooks")->required();
  command->add_option("data", options->data, "JSON, @FILE, or @-")->required();
  command->add_flag("--pending", options->signal.pending, "The hook waits on for the next one");
  command
      ->add_option("--code", options->signal.code,
                   "The code that the hook answers with (default: 200, or 202 if pending)")
      ->check(CLI::Range(100, 999));
  command->add_option("--id", options->signal.id, "Names the signal: told again under the same id, it counts once");
  command->add_option("--namespace", options->signal.name_space, "The namespace of the waiting job")
      ->capture_default_str();
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pawl::cli
