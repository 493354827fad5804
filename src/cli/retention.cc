// pawl retention: how long ended jobs are kept. Rules of the store, which whoever runs its jobs carries out.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <boost/json.hpp>
#include <memory>
#include <optional>

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

struct RetentionArguments {
  StoreOptions store;
  std::string status;
  std::string graph;
  std::string keep;
  bool drop = false;
  bool apply = false;
  bool dry_run = false;
};

// As --keep reads it: job_report.h has the same for people.
std::string keep_text(Duration age) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  if (Duration(std::chrono::seconds(seconds)) != age)
    return fmt::format("{}ms", std::chrono::duration_cast<std::chrono::milliseconds>(age).count());
  if (seconds % 86400 == 0) return fmt::format("{}d", seconds / 86400);
  if (seconds % 3600 == 0) return fmt::format("{}h", seconds / 3600);
  return seconds % 60 == 0 ? fmt::format("{}m", seconds / 60) : fmt::format("{}s", seconds);
}

std::string jobs_of(const RetentionRule& rule) {
  return fmt::format("{} jobs of {}", rule.status ? name_of(*rule.status) : "ended",
                     rule.graph.empty() ? "all graphs" : printable(rule.graph));
}

std::string kept(const RetentionRule& rule) { return rule.keep ? "for " + keep_text(*rule.keep) : "for ever"; }

int list(Runtime& runtime, const RetentionArguments& options) {
  const auto rules = runtime.retention();
  if (!rules) return fail("retention", rules.error());
  if (options.store.json) {
    json::array all;
    for (const RetentionRule& rule : *rules) all.push_back(serve::json_of(rule));
    fmt::print("{}\n", printable_json(json::serialize(json::object{{"rules", std::move(all)}})));
    return 0;
  }
  for (const RetentionRule& rule : *rules)
    fmt::print("{} are kept {} after their end (set {})\n", jobs_of(rule), kept(rule), time_text(rule.set_at));
  if (rules->empty())
    fmt::print("there is no rule: ended jobs are kept for ever; pawl retention --keep 30d sets one\n");
  return 0;
}

int apply(Runtime& runtime, const RetentionArguments& options) {
  RetentionOptions how;
  how.dry_run = options.dry_run;
  const auto done = runtime.apply_retention(how);
  if (!done) return fail("retention", done.error());
  if (options.store.json)
    fmt::print("{{\"dry_run\":{},\"removed\":{},\"left\":{}}}\n", options.dry_run, done->removed, done->left);
  else
    fmt::print("{} {}{}\n", counted(done->removed, "job"),
               options.dry_run ? "would be removed (--dry-run: none was)" : "removed",
               done->left > 0
                   ? fmt::format("; {} stay: they are still being ended, or run under collation duplex", done->left)
                   : "");
  return 0;
}

Result<RetentionRule> rule_of(const RetentionArguments& options) {
  RetentionRule rule;
  rule.graph = options.graph;
  for (const JobStatus status : {JobStatus::completed, JobStatus::failed, JobStatus::interrupted})
    if (name_of(status) == options.status) rule.status = status;
  if (options.keep.empty() || options.keep == "forever") return rule;
  const auto keep = parse_age("--keep", options.keep);
  if (!keep) return Error{keep.error().code, keep.error().detail + ", or forever"};
  rule.keep = *keep;
  return rule;
}

int say_done(const RetentionArguments& options, const std::string& text) {
  if (options.store.json)
    fmt::print("{{\"ok\":true}}\n");
  else
    fmt::print("{}\n", text);
  return 0;
}

int run_retention(const RetentionArguments& options) {
  const auto rule = rule_of(options);
  if (!rule) return fail("retention", rule.error());
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("retention", runtime.error());
  if (options.apply) return apply(*runtime, options);
  if (options.drop) {
    if (const auto dropped = runtime->drop_retention(*rule); !dropped) return fail("retention", dropped.error());
    return say_done(options, fmt::format("the rule for {} is dropped", jobs_of(*rule)));
  }
  if (options.keep.empty()) return list(*runtime, options);
  if (const auto set = runtime->set_retention(*rule); !set) return fail("retention", set.error());
  const int code = say_done(options, fmt::format("{} are kept {} after their end", jobs_of(*rule), kept(*rule)));
  const auto alive = runtime->has_owner();
  if (alive && !*alive)
    fmt::print(stderr,
               "no process runs this store: the rule waits until one does; pawl retention --apply does it now\n");
  return code;
}

}  // namespace

void add_retention(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RetentionArguments>();
  CLI::App* command =
      app.add_subcommand("retention", "List, set, drop or carry out the rules for how long ended jobs are kept");
  add_remote_options(*command, options->store);
  command->add_option("--status,--state", options->status, "The rule is for jobs that ended so (default: any end)")
      ->check(CLI::IsMember({"completed", "failed", "interrupted"}));
  command->add_option("--graph", options->graph, "The rule is for this graph: APP/TOPIC (default: all)");
  CLI::Option* keep = command->add_option("--keep", options->keep, "Set it: how long, such as 12h or 30d, or forever");
  CLI::Option* drop = command->add_flag("--drop", options->drop, "Drop the rule of this status and graph");
  CLI::Option* apply = command->add_flag("--apply", options->apply, "Carry out all rules now");
  drop->excludes(keep);
  apply->excludes(keep)->excludes(drop);
  command->add_flag("--dry-run", options->dry_run, "With --apply: say how many would go, and remove none")
      ->needs(apply);
  command->callback([options, &exit_code] { exit_code = run_retention(*options); });
}

}  // namespace pawl::cli
