// pawl doctor: settings, clock, lanes, disk, stuck work, files, each with what to do. pawl verify: reads everything.
// pawl backup FILE: a copy of a file store, made while it is run, and verified.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <boost/json.hpp>
#include <memory>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/job_target.h"
#include "cli/terminal.h"
#include "serve/store_json.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;
using Grade = Diagnosis::Grade;

std::string_view word_of(Grade grade) {
  return grade == Grade::good ? "good" : grade == Grade::warning ? "warning" : "bad";
}

int doctor(const StoreOptions& options) {
  auto runtime = open_existing(options);
  if (!runtime) return fail("doctor", runtime.error());
  const auto found = runtime->diagnose();
  if (!found) return fail("doctor", found.error());
  bool bad = false;
  const Paint paint = Paint::for_stdout(!options.no_color);
  for (const Diagnosis& one : *found) {
    bad = bad || one.grade == Grade::bad;
    if (options.json) continue;
    const Ink ink = one.grade == Grade::good ? Ink::green : one.grade == Grade::warning ? Ink::yellow : Ink::red;
    fmt::print("{}  {}\n", paint(ink, fmt::format("{:<7}", word_of(one.grade))), printable(one.what));
    if (!one.advice.empty()) fmt::print("         {}\n", printable(one.advice));
  }
  if (options.json) fmt::print("{}\n", printable_json(json::serialize(diagnoses_array(*found))));
  return bad ? 1 : 0;
}

int report(const char* command, const StoreOptions& options, const Verified& verified) {
  if (options.json) {
    json::array damaged;
    for (const std::string& one : verified.damaged) damaged.emplace_back(one);
    fmt::print("{}\n", printable_json(json::serialize(json::object{{"jobs", verified.jobs}, {"damaged", damaged}})));
  } else {
    for (const std::string& one : verified.damaged) fmt::print("{}\n", printable(one));
    fmt::print("{}: {} read, {} damaged\n", command, counted(verified.jobs, "job"), verified.damaged.size());
  }
  return verified.damaged.empty() ? 0 : 1;
}

int verify(const StoreOptions& options) {
  auto runtime = open_existing(options);
  if (!runtime) return fail("verify", runtime.error());
  const bool bar = !options.json && isatty(STDERR_FILENO) == 1;
  const auto verified = runtime->verify([bar](std::uint64_t jobs) {
    if (bar) fmt::print(stderr, "\r{} jobs", jobs);
  });
  if (bar) fmt::print(stderr, "\r");
  if (!verified) return fail("verify", verified.error());
  return report("verify", options, *verified);
}

int backup(const StoreOptions& options, const std::string& path) {
  auto runtime = open_existing(options);
  if (!runtime) return fail("backup", runtime.error());
  const auto verified = runtime->backup(path);
  if (!verified) return fail("backup", verified.error());
  return report("backup", options, *verified);
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<StoreOptions>();
  auto path = std::make_shared<std::string>();
  CLI::App* doctors = app.add_subcommand("doctor", "What needs attention: settings, clock, disk, stuck work");
  add_remote_options(*doctors, *options);
  doctors->callback([options, &exit_code] { exit_code = doctor(*options); });
  CLI::App* verifies = app.add_subcommand("verify", "Read the whole store and every job in it");
  add_remote_options(*verifies, *options);
  verifies->callback([options, &exit_code] { exit_code = verify(*options); });
  CLI::App* backups = app.add_subcommand("backup", "Copy a file store while it is run, and verify the copy");
  add_remote_options(*backups, *options);
  backups->add_option("file", *path, "Where the copy goes; nothing may be there")->required();
  backups->callback([options, path, &exit_code] { exit_code = backup(*options, *path); });
}

}  // namespace pawl::cli
