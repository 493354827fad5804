// pawl signals: the signals that no hook has taken yet; --drop takes them out of the store.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <boost/json.hpp>
#include <memory>
#include <vector>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/job_filter.h"
#include "cli/job_target.h"
#include "cli/terminal.h"
#include "serve/job_json.h"
#include "serve/people_json.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t data_shown_max = 100;

struct SignalsArguments {
  StoreOptions store;
  KeptSignalFilter filter;
  std::string older_than;
  std::vector<std::string> drop;
  bool drop_all = false;
  bool dry_run = false;
  bool all = false;
};

void print(const KeptSignal& one, const SignalsArguments& options, const Paint& paint) {
  if (options.store.json) {
    fmt::print("{}\n", printable_json(json::serialize(serve::json_of(one))));
    return;
  }
  const std::string until =
      one.expires_at == Instant() ? "not taken in by an owner yet" : "until " + time_text(one.expires_at);
  fmt::print("{}  {}  {}  {}  {}\n", one.id, printable(one.topic), printable(one.match), paint(Ink::dim, until),
             printable(cut_utf8(std::string(one.data.view()), data_shown_max)));
}

int list(Runtime& runtime, SignalsArguments& options) {
  const Paint paint = Paint::for_stdout(!options.store.no_color);
  std::uint64_t shown = 0;
  for (;;) {
    const auto page = runtime.kept_signals(options.filter);
    if (!page) return fail("signals", page.error());
    for (const KeptSignal& one : *page) print(one, options, paint);
    shown += page->size();
    if (page->size() < options.filter.rows_max) break;
    options.filter.after = page->back().cursor;
    if (options.all) continue;
    if (!options.store.json)
      fmt::print("{}\n", paint(Ink::dim, fmt::format("there may be more: --all, or --after {}", options.filter.after)));
    break;
  }
  if (shown == 0 && !options.store.json) fmt::print("no signal is kept: hooks have taken all of them\n");
  return 0;
}

std::string plural(std::uint64_t count) { return fmt::format("{} signal{}", count, count == 1 ? "" : "s"); }

int say_dropped(Runtime& runtime, const SignalsArguments& options, std::uint64_t count) {
  if (options.store.json)
    fmt::print("{{\"dry_run\":{},\"dropped\":{}}}\n", options.dry_run, count);
  else
    fmt::print("{} {}\n", plural(count), options.dry_run ? "would be dropped (--dry-run: none was)" : "dropped");
  if (count > 0 && !options.dry_run) warn_without_owner(runtime, JobStatus::running);
  return 0;
}

int drop_all(Runtime& runtime, SignalsArguments& options) {
  if (!options.dry_run) {
    const auto dropped = runtime.drop_signals(options.filter);
    return dropped ? say_dropped(runtime, options, *dropped) : fail("signals", dropped.error());
  }
  std::uint64_t count = 0;
  for (;;) {
    const auto page = runtime.kept_signals(options.filter);
    if (!page) return fail("signals", page.error());
    count += page->size();
    if (page->size() < options.filter.rows_max) return say_dropped(runtime, options, count);
    options.filter.after = page->back().cursor;
  }
}

int run_signals(SignalsArguments& options) {
  if (!options.older_than.empty()) {
    const auto age = parse_age("--older-than", options.older_than);
    if (!age) return fail("signals", age.error());
    options.filter.until = clock_now() - *age;
  }
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("signals", runtime.error());
  if (options.drop_all) return drop_all(*runtime, options);
  if (options.drop.empty()) return list(*runtime, options);
  std::uint64_t dropped = 0;
  for (const std::string& id : options.drop) {
    if (!options.dry_run)
      if (const auto done = runtime->drop_signal(id); !done) return fail("signals", done.error());
    ++dropped;
  }
  return say_dropped(*runtime, options, dropped);
}

}  // namespace

void add_signals(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<SignalsArguments>();
  CLI::App* command = app.add_subcommand("signals", "List the signals that no hook has taken yet, or drop them");
  add_remote_options(*command, options->store);
  command->add_option("--topic", options->filter.topic, "Only of this topic");
  command->add_option("--namespace", options->filter.name_space, "Only of this namespace (default: all)");
  command->add_option("--older-than", options->older_than, "Sent longer ago than this: 90s, 15m, 2h");
  command->add_option("--after", options->filter.after, "Go on behind this cursor, that of an earlier line (--json)");
  command->add_option("--rows", options->filter.rows_max, "Rows at the most")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  command->add_flag("--all", options->all, "Every one of them, however many");
  CLI::Option* drop = command->add_option("--drop", options->drop, "Drop the signal of this id; may be repeated")
                          ->allow_extra_args(false);
  command->add_flag("--drop-all", options->drop_all, "Drop all that the other options mean")->excludes(drop);
  command->add_flag("--dry-run", options->dry_run, "Say how many would be dropped, and drop none");
  command->callback([options, &exit_code] { exit_code = run_signals(*options); });
}

}  // namespace pawl::cli
