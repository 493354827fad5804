// pawl tasks: what waits for a person. pawl claim, release, resolve TASK.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <boost/json.hpp>
#include <cstdlib>
#include <memory>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/job_filter.h"
#include "cli/job_target.h"
#include "cli/json_argument.h"
#include "cli/terminal.h"
#include "serve/job_json.h"
#include "serve/people_json.h"

namespace pawl::cli {

namespace {

namespace json = boost::json;

constexpr std::size_t description_shown_max = 100;

struct TasksArguments {
  StoreOptions store;
  TaskFilter filter;
  bool all = false;
  std::string id;
  std::string who;
  std::string time = "30m";
  std::string data;
  ResolveOptions resolve;
};

// Whoever sits at the terminal, unless they say otherwise.
std::string default_who() {
  const char* user = std::getenv("USER");
  return user == nullptr ? "" : user;
}

void print(const Task& task, const TasksArguments& options, const Paint& paint) {
  if (options.store.json) {
    fmt::print("{}\n", printable_json(json::serialize(serve::json_of(task))));
    return;
  }
  std::string about = task.times_out_at == Instant() ? "" : "times out " + time_text(task.times_out_at);
  if (!task.claimed_by.empty())
    about += fmt::format("{}claimed by {} until {}", about.empty() ? "" : ", ", printable(task.claimed_by),
                         time_text(task.claimed_until));
  fmt::print("{}  {}  {}  {}  {}  {}\n", task.id, printable(task.role.empty() ? task.type : task.role),
             printable(task.job.raw()), printable(task.activity),
             printable(cut_utf8(task.description, description_shown_max)), paint(Ink::dim, about));
}

int list(TasksArguments& options) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("tasks", runtime.error());
  const Paint paint = Paint::for_stdout(!options.store.no_color);
  bool any = false;
  for (;;) {
    const auto page = runtime->tasks(options.filter);
    if (!page) return fail("tasks", page.error());
    for (const Task& task : *page) print(task, options, paint);
    any = any || !page->empty();
    if (page->size() < options.filter.rows_max) break;
    options.filter.after = page->back().cursor;
    if (options.all) continue;
    if (!options.store.json)
      fmt::print("{}\n", paint(Ink::dim, fmt::format("there may be more: --all, or --after {}", options.filter.after)));
    break;
  }
  if (!any && !options.store.json) fmt::print("no task is open: a hook with 'escalation' is one while it waits\n");
  return 0;
}

int act(const std::string& command, const TasksArguments& options, const std::string& done,
        const std::function<Status(Runtime&)>& ask) {
  auto runtime = open_existing(options.store);
  if (!runtime) return fail(command, runtime.error());
  if (const auto asked = ask(*runtime); !asked) return fail(command, asked.error());
  if (options.store.json)
    fmt::print("{{\"ok\":true}}\n");
  else
    fmt::print("{}\n", done);
  warn_without_owner(*runtime, JobStatus::running);
  return 0;
}

int claim(const TasksArguments& options) {
  const auto time = parse_age("--for", options.time);
  if (!time) return fail("claim", time.error());
  return act("claim", options, fmt::format("task {} is claimed by {} for {}", options.id, options.who, options.time),
             [&](Runtime& runtime) { return runtime.claim_task(options.id, options.who, *time); });
}

int release(const TasksArguments& options) {
  return act("release", options, fmt::format("task {} is free again", options.id),
             [&](Runtime& runtime) { return runtime.release_task(options.id, options.who); });
}

int resolve(const TasksArguments& options) {
  const auto data = read_json_argument("the answer", options.data);
  if (!data) return fail("resolve", data.error());
  ResolveOptions how = options.resolve;
  how.who = options.who;
  return act("resolve", options, fmt::format("task {} is resolved: its job goes on", options.id),
             [&](Runtime& runtime) { return runtime.resolve_task(options.id, *data, how); });
}

}  // namespace

void add_tasks(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TasksArguments>();
  options->who = default_who();
  CLI::App* lists = app.add_subcommand("tasks", "List what waits for a person: hooks with 'escalation'");
  add_remote_options(*lists, options->store);
  lists->add_option("--role", options->filter.role, "Only for this role");
  lists->add_option("--type", options->filter.type, "Only of this type");
  lists->add_option("--graph", options->filter.graph, "Only of jobs of this graph: APP/TOPIC");
  lists->add_option("--job", options->filter.job, "Only of this job");
  lists->add_option("--namespace", options->filter.name_space, "Only of this namespace (default: all)");
  lists->add_option("--claimed-by", options->filter.claimed_by, "Only claimed by this person");
  lists->add_flag("--unclaimed", options->filter.unclaimed, "Only those that nobody has claimed");
  lists->add_option("--after", options->filter.after, "Go on behind this cursor, that of an earlier line (--json)");
  lists->add_option("--rows", options->filter.rows_max, "Rows at the most")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  lists->add_flag("--all", options->all, "Every one of them, however many");
  lists->callback([options, &exit_code] { exit_code = list(*options); });

  const auto add = [&](const char* name, const char* help, int (*run)(const TasksArguments&)) {
    CLI::App* command = app.add_subcommand(name, help);
    add_remote_options(*command, options->store);
    command->add_option("task", options->id, "The task's id (pawl tasks)")->required();
    command->add_option("--as", options->who, "Who does it")->capture_default_str();
    command->callback([options, run, &exit_code] { exit_code = run(*options); });
    return command;
  };
  add("claim", "Claim a task: nobody else resolves it meanwhile", claim)
      ->add_option("--for", options->time, "How long, up to a day: 90s, 15m, 2h")
      ->capture_default_str();
  add("release", "Give a claimed task back", release);
  CLI::App* resolves = add("resolve", "Resolve a task: its hook goes on with this data", resolve);
  resolves->add_option("data", options->data, "JSON, @FILE, or @-")->required();
  resolves->add_option("--code", options->resolve.code, "The code that the hook answers with")
      ->capture_default_str()
      ->check(CLI::Range(100, 999));
}

}  // namespace pawl::cli
