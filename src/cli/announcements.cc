// pawl announcements: what jobs announced on the topic that their graph publishes; --follow waits for more.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/interruption.h"
#include "cli/job_target.h"
#include "cli/terminal.h"
#include "serve/job_json.h"

namespace pawl::cli {

namespace {

// The writing process does not notify readers: they poll.
constexpr std::chrono::milliseconds look_for_news_every{100};

struct AnnouncementsArguments {
  StoreOptions store;
  AnnouncementFilter filter;
  std::string job;
  bool follow = false;
};

void print(const Announcement& one, const AnnouncementsArguments& options, const Paint& paint) {
  if (options.store.json) {
    fmt::print("{}\n", announcement_json(one));
  } else {
    const Ink ink = one.error ? Ink::red : one.end ? Ink::green : Ink::cyan;
    fmt::print("{}  {}  {}  {}  {}\n", paint(Ink::dim, time_text(one.at)), one.topic, one.job.raw(),
               paint(ink, fmt::format("{} {}", one.end ? "end" : "progress", one.code)), printable(one.data.view()));
  }
  std::fflush(stdout);
}

int run_announcements(AnnouncementsArguments& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("announcements", runtime.error());
  if (!options.job.empty()) {
    const auto job = find_job(
        *runtime, JobTarget{options.job, options.filter.name_space.empty() ? "default" : options.filter.name_space});
    if (!job) return fail("announcements", job.error());
    options.filter.run = *job;
  }
  const Paint paint = Paint::for_stdout(!options.store.no_color);
  const Interruption interruption;
  bool any = false;
  while (!interruption.asked()) {
    const auto page = runtime->announcements(options.filter);
    if (!page) return fail("announcements", page.error());
    for (const Announcement& one : *page) {
      print(one, options, paint);
      options.filter.after = one.cursor;
      any = true;
    }
    const bool more = page->size() == options.filter.rows_max;
    if (more && options.follow) continue;
    if (more && !options.store.json)
      fmt::print("{}\n", paint(Ink::dim, fmt::format("there may be more: --after {}", options.filter.after)));
    if (!options.follow) break;
    std::this_thread::sleep_for(look_for_news_every);
  }
  if (!any && !options.follow && !options.store.json)
    fmt::print("{}\n", paint(Ink::dim, "nothing was announced: a graph announces where it says 'publishes'"));
  return 0;
}

}  // namespace

void add_announcements(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<AnnouncementsArguments>();
  CLI::App* command =
      app.add_subcommand("announcements", "Show what jobs announced on the topic that their graph publishes");
  add_remote_options(*command, options->store);
  command->add_option("--topic", options->filter.topic, "Only this topic (default: all)");
  command->add_option("--job", options->job, "Only this job");
  command->add_option("--namespace", options->filter.name_space, "Only this namespace (default: all)");
  command->add_option("--after", options->filter.after, "Go on behind this cursor, that of an earlier line (--json)");
  command->add_option("--rows", options->filter.rows_max, "Rows at the most, or at once with --follow")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  command->add_flag("--follow", options->follow, "Wait for more, until Ctrl-C");
  command->callback([options, &exit_code] { exit_code = run_announcements(*options); });
}

}  // namespace pawl::cli
