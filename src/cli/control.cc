// pawl pause, resume, interrupt, redrive, remove JOB: a person's requests to a job. The request is durable when the
// command returns; the process that runs the store carries it out, at once or when it next starts.
#include <CLI/CLI.hpp>

#include <memory>

#include "cli/commands.h"
#include "cli/job_target.h"

namespace pawl::cli {

namespace {

struct Options {
  StoreOptions store;
  JobTarget target;
  std::string reason;
  double keep_id_seconds = 0;
};

using Act = Status (*)(Runtime&, RunId, const Options&);

struct Verb {
  const char* name;
  const char* help;
  const char* done;
  bool has_reason;
  Act act;
};

constexpr Verb verbs[] = {
    {"pause", "Stop a job from handing out work; what runs may answer", "asked to pause", true,
     [](Runtime& runtime, RunId run, const Options& options) { return runtime.job(run).pause(options.reason); }},
    {"resume", "Let a paused job go on", "asked to go on", false,
     [](Runtime& runtime, RunId run, const Options&) { return runtime.job(run).resume(); }},
    {"interrupt", "End a job; its running workers are told", "asked to end", true,
     [](Runtime& runtime, RunId run, const Options& options) { return runtime.job(run).interrupt(options.reason); }},
    {"redrive", "Try a parked job again: every try and limit counts afresh", "asked to try again", false,
     [](Runtime& runtime, RunId run, const Options&) { return runtime.job(run).redrive(); }},
    {"remove", "Take a job that has ended out of the store", "removed", false,
     [](Runtime& runtime, RunId run, const Options& options) {
       const std::chrono::duration<double> keep(options.keep_id_seconds);
       return runtime.job(run).remove({.keep_id = std::chrono::duration_cast<Duration>(keep)});
     }},
};

}  // namespace

void add_control(CLI::App& app, int& exit_code) {
  for (const Verb& verb : verbs) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand(verb.name, verb.help);
    add_store_options(*command, options->store);
    add_job_target(*command, options->target);
    if (verb.has_reason) command->add_option("--reason", options->reason, "Why; it is kept with the job");
    if (std::string_view(verb.name) == "remove")
      command->add_option("--keep-id", options->keep_id_seconds, "Seconds that the id stays taken")
          ->check(CLI::Range(0.0, 1e9));
    command->callback([options, &verb, &exit_code] {
      exit_code = act_on_job(verb.name, options->store, options->target, verb.done,
                             [&](Runtime& runtime, RunId run) { return verb.act(runtime, run, *options); });
    });
  }
}

}  // namespace pawl::cli
