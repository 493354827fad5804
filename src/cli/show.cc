// pawl show JOB: what a job is, what it waits for or why it stopped, and its activities. pawl watch JOB: the same,
// drawn again whenever something changes, until it has ended. pawl history JOB: what happened to it, by time, as
// far as its rows tell.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <memory>
#include <thread>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/interruption.h"
#include "cli/job_filter.h"
#include "cli/job_history.h"
#include "cli/job_report.h"
#include "cli/job_target.h"
#include "serve/job_json.h"

namespace pawl::cli {

namespace {

constexpr std::chrono::milliseconds show_again_every{300};

struct ShowArguments {
  StoreOptions store;
  JobTarget target;
  ReportOptions report;
};

Result<JobDetail> read(Runtime& runtime, const JobTarget& target) {
  const auto found = find_job(runtime, target);
  if (!found) return found.error();
  return runtime.job(*found).inspect();
}

int show(const ShowArguments& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("show", runtime.error());
  const auto detail = read(*runtime, options.target);
  if (!detail) return fail("show", detail.error());
  const auto version = version_of(*runtime, detail->job);
  if (!version) return fail("show", version.error());
  if (options.store.json) {
    fmt::print("{}\n", job_json(*detail, *version));
    return 0;
  }
  ReportOptions report = options.report;
  report.version = *version;
  report.now = clock_now();
  fmt::print("{}", job_report(*detail, report, Paint::for_stdout(!options.store.no_color)));
  if (!detail->job.closed() && options.target.run == 0) warn_without_owner(*runtime, detail->job.status);
  return 0;
}

// A fingerprint of what would be shown: what only the clock changes does not count.
std::string look_of(const JobDetail& detail) {
  ReportOptions still;
  still.now = detail.job.created_at;
  return job_report(detail, still, Paint(false));
}

int watch(const ShowArguments& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("watch", runtime.error());
  const Interruption interruption;
  const bool terminal = isatty(STDOUT_FILENO) == 1 && !options.store.json;
  const Paint paint = Paint::for_stdout(!options.store.no_color);
  std::string last;
  std::string version;
  while (!interruption.asked()) {
    const auto detail = read(*runtime, options.target);
    if (!detail) return fail("watch", detail.error());
    if (version.empty()) {
      const auto named = version_of(*runtime, detail->job);
      if (!named) return fail("watch", named.error());
      version = *named;
    }
    const std::string look = look_of(*detail);
    ReportOptions report = options.report;
    report.version = version;
    report.now = clock_now();
    if (terminal) fmt::print("\x1b[H\x1b[2J{}", job_report(*detail, report, paint));
    if (!terminal && look != last && options.store.json) fmt::print("{}\n", job_json(*detail, version));
    if (!terminal && look != last && !options.store.json)
      fmt::print("--- {}\n{}", time_text(report.now), job_report(*detail, report, paint));
    std::fflush(stdout);
    last = look;
    if (detail->job.closed()) return detail->job.status == JobStatus::completed ? 0 : 1;
    for (auto waited = std::chrono::milliseconds(0); waited < show_again_every && !interruption.asked();
         waited += show_again_every / 6)
      std::this_thread::sleep_for(show_again_every / 6);
  }
  return exit_code_interrupted;
}

int history(const ShowArguments& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("history", runtime.error());
  const auto detail = read(*runtime, options.target);
  if (!detail) return fail("history", detail.error());
  AnnouncementFilter filter;
  filter.run = detail->job.run;
  filter.rows_max = 10'000;
  const auto said = runtime->announcements(filter);
  if (!said) return fail("history", said.error());
  const auto version = version_of(*runtime, detail->job);
  if (!version) return fail("history", version.error());
  const std::vector<HistoryEvent> events = history_of(*detail, *said, *version);
  if (options.store.json)
    fmt::print("{}\n", printable_json(boost::json::serialize(history_array(events, HistoryData::show))));
  else
    fmt::print("{}", history_text(events, *detail, Paint::for_stdout(!options.store.no_color)));
  return 0;
}

}  // namespace

void add_show(CLI::App& app, int& exit_code) {
  const struct {
    const char* name;
    const char* help;
    int (*run)(const ShowArguments&);
  } entries[] = {{"show", "Show a job: what it waits for or why it stopped, its activities", show},
                 {"watch", "Show a job again whenever something changes, until it has ended", watch},
                 {"history", "What happened to a job, by time: its start, activities, announcements and end", history}};
  for (const auto& one : entries) {
    auto options = std::make_shared<ShowArguments>();
    CLI::App* command = app.add_subcommand(one.name, one.help);
    add_remote_options(*command, options->store);
    add_job_target(*command, options->target);
    if (one.run != history) {
      command->add_flag("--ledger", options->report.ledger, "The ledgers, digit by digit, as well");
      command->add_flag("--full", options->report.full, "Payloads whole, every round and item");
    }
    command->callback([options, run = one.run, &exit_code] { exit_code = run(*options); });
  }
}

}  // namespace pawl::cli
