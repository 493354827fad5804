// pawl signal TOPIC DATA: tells a waiting hook, or the first that will wait, what it waits for. With --all or filters:
// the hooks of all jobs that these mean.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <boost/json.hpp>
#include <memory>

#include "base/utf8.h"
#include "cli/bulk_report.h"
#include "cli/commands.h"
#include "cli/job_filter.h"
#include "cli/job_target.h"
#include "cli/json_argument.h"
#include "serve/store_json.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

struct SignalArguments {
  StoreOptions store;
  FilterOptions filter;
  BulkArguments bulk;
  std::string topic;
  std::string data;
  SignalOptions signal;
  bool all = false;
};

void print_fate(const SignalArguments& options, const SignalFate& fate) {
  if (options.store.json) {
    fmt::print("{}\n", printable_json(json::serialize(fate_object(fate))));
    return;
  }
  const bool dry = options.bulk.dry_run;
  const std::string end = dry ? " (--dry-run: it was not sent)" : "";
  if (fate.reaches.empty()) {
    const std::string behind = fate.kept == 1  ? ", behind 1 other"
                               : fate.kept > 1 ? fmt::format(", behind {} others", fate.kept)
                                               : "";
    fmt::print("signal {} {} kept for the first hook that waits for it{}{}\n", options.topic, dry ? "would be" : "is",
               behind, end);
    return;
  }
  for (const JobId& job : fate.reaches)
    fmt::print("signal {} {} job {}{}\n", options.topic, dry ? "would reach" : "reaches", printable(job.raw()), end);
}

int run_signal(const SignalArguments& options) {
  auto data = read_json_argument("the signal's data", options.data);
  if (!data) return fail("signal", data.error());
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("signal", runtime.error());
  if (options.all || !options.filter.is_empty()) {
    BulkRequest request;
    request.verb = BulkVerb::signal;
    request.topic = options.topic;
    request.data = std::move(*data);
    request.signal = options.signal;
    FilterOptions filter = options.filter;
    filter.name_space = options.signal.name_space;
    return run_bulk("signal", *runtime, options.store, filter, options.bulk, request);
  }
  const auto fate = runtime->fate_of_signal(options.topic, *data, options.signal.name_space);
  if (!fate) return fail("signal", fate.error());
  if (options.bulk.dry_run) {
    print_fate(options, *fate);
    return 0;
  }
  if (const auto sent = runtime->signal(options.topic, *data, options.signal); !sent)
    return fail("signal", sent.error());
  print_fate(options, *fate);
  warn_without_owner(*runtime, JobStatus::running);
  return 0;
}

}  // namespace

void add_signal(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<SignalArguments>();
  CLI::App* command = app.add_subcommand("signal", "Tell a waiting hook, or those of many jobs, what they wait for");
  add_remote_options(*command, options->store);
  command->add_option("topic", options->topic, "A topic of some graph's hooks")->required();
  command->add_option("data", options->data, "JSON, @FILE, or @-")->required();
  command->add_flag("--pending", options->signal.pending, "The hook goes on waiting for the next one");
  command
      ->add_option("--code", options->signal.code,
                   "The code that the hook answers with (default: 200, or 202 if pending)")
      ->check(CLI::Range(100, 999));
  command->add_flag("--all", options->all, "Send it to every running job that has a hook for the topic, once to each");
  command->add_option("--id", options->signal.id,
                      "A name for the signal: if it is sent again under this name, each job takes it once");
  command->add_option("--namespace", options->signal.name_space, "The namespace of the waiting job")
      ->capture_default_str();
  add_filter_options(*command, options->filter, OwnCode::yes);
  add_bulk_options(*command, options->bulk);
  command->callback([options, &exit_code] { exit_code = run_signal(*options); });
}

}  // namespace pawl::cli
