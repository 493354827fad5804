// pawl settle JOB ACTIVITY: what a person found out about an unknown effect. pawl complete TOKEN: the reply of a worker
// that replies later.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/job_target.h"

namespace pawl::cli {

namespace {

struct SettleOptions {
  StoreOptions store;
  JobTarget target;
  std::string activity;
  std::string address;
  std::optional<std::string> done;
  std::optional<std::string> failed;
  bool retry = false;
  std::int32_t code = 0;
};

Result<Finding> finding_of(const SettleOptions& options) {
  const int said = (options.done ? 1 : 0) + (options.failed ? 1 : 0) + (options.retry ? 1 : 0);
  if (said != 1)
    return Error{ErrorCode::invalid,
                 "say one of --done OUTPUT (it happened), --failed ERROR (it did not and will not), "
                 "--retry (it did not: run it again)"};
  if (options.done) return Finding::done(Payload(*options.done), options.code != 0 ? options.code : 200);
  if (options.failed) return Finding::failed(Payload(*options.failed), options.code != 0 ? options.code : 500);
  return Finding::not_done();
}

struct CompleteOptions {
  StoreOptions store;
  std::string token;
  std::string output;
  std::optional<std::string> error;
  bool fatal = false;
  std::int32_t code = 0;
};

Reply reply_of(const CompleteOptions& options) {
  if (!options.error) return Reply::success(Payload(options.output), options.code != 0 ? options.code : 200);
  const std::int32_t code = options.code != 0 ? options.code : 500;
  return options.fatal ? Reply::fatal(Payload(*options.error), code) : Reply::error(Payload(*options.error), code);
}

int complete(const CompleteOptions& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("complete", runtime.error());
  const auto done = runtime->complete(options.token, reply_of(options));
  if (!done) return fail("complete", done.error());
  fmt::print("{}\n", options.store.json ? "{\"ok\":true}" : "answered");
  return 0;
}

}  // namespace

void add_settle(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<SettleOptions>();
  CLI::App* command = app.add_subcommand("settle", "Say what became of an effect that is unknown");
  add_remote_options(*command, options->store);
  add_job_target(*command, options->target);
  command->add_option("activity", options->activity, "The activity's name")->required();
  command->add_option("--address", options->address, "Its address, where it has several instances, such as ,0,1");
  command->add_option("--done", options->done, "It happened; its output");
  command->add_option("--failed", options->failed, "It did not happen and is not tried again; the error");
  command->add_flag("--retry", options->retry, "It did not happen: run it again");
  command->add_option("--code", options->code, "The code that decides which transitions fire");
  command->callback([options, &exit_code] {
    const auto finding = finding_of(*options);
    if (!finding) {
      exit_code = fail("settle", finding.error());
      return;
    }
    exit_code = act_on_job("settle", options->store, options->target, "settled", [&](Runtime& runtime, RunId run) {
      return runtime.job(run).settle({options->activity, options->address}, *finding);
    });
  });
}

void add_complete(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CompleteOptions>();
  CLI::App* command = app.add_subcommand("complete", "Answer work that was promised for later");
  add_remote_options(*command, options->store);
  command->add_option("token", options->token, "The token of the work (Work::token, or pawl show)")->required();
  command->add_option("--output", options->output, "The answer");
  command->add_option("--error", options->error, "The work failed; the error");
  command->add_flag("--fatal", options->fatal, "With --error: do not try again")->needs("--error");
  command->add_option("--code", options->code, "The code that decides which transitions fire");
  command->callback([options, &exit_code] { exit_code = complete(*options); });
}

}  // namespace pawl::cli
