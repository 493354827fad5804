// pawl pause, resume, interrupt, redrive, remove JOB, or with the filters of `pawl jobs`: what a person asks of a job,
// or of many. The request is durable when the command returns; whoever runs the store carries it out, at once or when
// it next starts.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <memory>
#include <optional>

#include "cli/bulk_report.h"
#include "cli/commands.h"
#include "cli/job_filter.h"
#include "cli/job_target.h"
#include "cli/json_argument.h"
#include "serve/job_json.h"

namespace pawl::cli {

namespace {

struct ControlArguments {
  StoreOptions store;
  JobTarget target;
  FilterOptions filter;
  BulkArguments bulk;
  std::string reason;
  double keep_id_seconds = 0;
  std::optional<std::string> answer;
  std::int32_t code = 200;
};

struct Verb {
  BulkVerb verb;
  const char* help;
  const char* done;
};

constexpr Verb verbs[] = {
    {BulkVerb::pause, "Stop jobs from handing out work; what runs may answer", "asked to pause"},
    {BulkVerb::resume, "Let paused jobs go on", "asked to go on"},
    {BulkVerb::interrupt, "End jobs as they are; their running workers are told", "asked to end"},
    {BulkVerb::cancel, "End jobs, after they have undone what they did", "asked to undo what it did and end"},
    {BulkVerb::redrive, "Let failed and parked jobs go on, from what failed", "goes on"},
    {BulkVerb::remove, "Take jobs that have ended out of the store", "removed"},
};

Result<BulkRequest> request_of(const Verb& verb, const ControlArguments& options) {
  BulkRequest request;
  request.verb = verb.verb;
  request.reason = options.reason;
  if (options.answer) {
    auto answer = read_json_argument("--answer", *options.answer);
    if (!answer) return answer.error();
    request.redrive.answer = std::move(*answer);
    request.redrive.code = options.code;
  }
  request.remove.keep_id = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.keep_id_seconds));
  return request;
}

Status ask_one(Runtime& runtime, RunId run, const BulkRequest& request) {
  const auto job = runtime.job(run);
  switch (request.verb) {
    case BulkVerb::pause:
      return job.pause(request.reason);
    case BulkVerb::resume:
      return job.resume();
    case BulkVerb::interrupt:
      return job.interrupt(request.reason);
    case BulkVerb::cancel:
      return job.cancel(request.reason);
    case BulkVerb::remove:
      return job.remove(request.remove);
    case BulkVerb::redrive:
    case BulkVerb::signal:
      break;
  }
  const auto going = job.redrive(request.redrive);
  if (!going) return going.error();
  return {};
}

int run_control(const Verb& verb, const ControlArguments& options) {
  const std::string name(name_of(verb.verb));
  auto request = request_of(verb, options);
  if (!request) return fail(name, request.error());
  const bool one = !options.target.id.empty() || options.target.run != 0;
  if (one != options.filter.is_empty())
    return fail(name,
                Error{ErrorCode::invalid, one ? "say either a job or filters, not both"
                                              : fmt::format("say which: a job's id, or filters such as --status failed "
                                                            "--error timeout (pawl {} --help)",
                                                            name)});
  auto runtime = open_existing(options.store);
  if (!runtime) return fail(name, runtime.error());
  if (!one) return run_bulk(name, *runtime, options.store, options.filter, options.bulk, *request);
  const auto run = find_job(*runtime, options.target);
  if (!run) return fail(name, run.error());
  if (options.bulk.dry_run) return try_on_one(name, *runtime, options.store, *run, *request);
  if (const auto asked = ask_one(*runtime, *run, *request); !asked) return fail(name, asked.error());
  if (options.store.json)
    fmt::print("{}\n", done_json(*run));
  else
    fmt::print("job {}: {}\n", options.target.id.empty() ? run_text(*run) : options.target.id, verb.done);
  if (verb.verb != BulkVerb::remove) warn_without_owner(*runtime, JobStatus::running);
  return 0;
}

}  // namespace

void add_control(CLI::App& app, int& exit_code) {
  for (const Verb& verb : verbs) {
    auto options = std::make_shared<ControlArguments>();
    CLI::App* command = app.add_subcommand(std::string(name_of(verb.verb)), verb.help);
    add_remote_options(*command, options->store);
    add_job_target(*command, options->target, JobTarget::Needed::no);
    add_filter_options(*command, options->filter);
    add_bulk_options(*command, options->bulk);
    if (verb.verb == BulkVerb::pause || verb.verb == BulkVerb::interrupt || verb.verb == BulkVerb::cancel)
      command->add_option("--reason", options->reason, "Why; it is kept with the job");
    if (verb.verb == BulkVerb::remove)
      command->add_option("--keep-id", options->keep_id_seconds, "Seconds that the id stays taken")
          ->check(CLI::Range(0.0, 1e9));
    if (verb.verb == BulkVerb::redrive) {
      CLI::Option* answer = command->add_option(
          "--answer", options->answer,
          "Of a job that refused a worker's answer: take this one instead, and do not ask the worker again: JSON, "
          "@FILE, or @-");
      command->add_option("--answer-code", options->code, "The code of that answer")
          ->needs(answer)
          ->check(CLI::Range(100, 999));
    }
    command->callback([options, &verb, &exit_code] { exit_code = run_control(verb, *options); });
  }
}

}  // namespace pawl::cli
