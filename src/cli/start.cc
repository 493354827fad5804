// pawl start TOPIC: starts one job, or one per line of a file, and does not wait. pawl rerun JOB: a new job from the
// input of another one, or from the middle of it.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/job_target.h"
#include "cli/json_argument.h"
#include "cli/terminal.h"
#include "mapping/json_parse.h"
#include "serve/job_json.h"

namespace pawl::cli {

namespace {

constexpr std::size_t lines_at_once = 1'000;
constexpr std::size_t mistakes_shown_max = 10;

struct StartArguments {
  StoreOptions store;
  std::string topic;
  std::string input;
  std::string lines;
  StartOptions start;
  std::string id_from;
  bool reject = false;
};

struct Counts {
  std::uint64_t lines = 0, started = 0, existed = 0, failed = 0;
};

// The id of a line's job: the value of a field of its input, if the caller says which.
Result<std::string> id_of(const std::string& field, const Payload& input) {
  if (field.empty()) return std::string();
  const auto value = mapping::parse_json(input.view());
  const boost::json::value* id = value && value->is_object() ? value->get_object().if_contains(field) : nullptr;
  if (id == nullptr) return Error{ErrorCode::invalid, fmt::format("has no field {} to take the id from", field)};
  return id->is_string() ? std::string(id->get_string()) : boost::json::serialize(*id);
}

class LineStarter {
 public:
  LineStarter(Runtime& runtime, const StartArguments& options) : runtime_(runtime), options_(options) {}

  Status read(std::istream& from) {
    for (std::string line; std::getline(from, line);) {
      ++counts_.lines;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      if (const auto parsed = mapping::parse_json(line); !parsed) {
        wrong(counts_.lines, parsed.error().detail);
        continue;
      }
      Payload input(line);
      const auto id = id_of(options_.id_from, input);
      if (!id) {
        wrong(counts_.lines, id.error().detail);
        continue;
      }
      StartOptions start = options_.start;
      start.id = *id;
      items_.push_back({std::move(input), std::move(start)});
      numbers_.push_back(counts_.lines);
      if (items_.size() == lines_at_once)
        if (const auto started = flush(); !started) return started;
    }
    return flush();
  }
  const Counts& counts() const { return counts_; }

 private:
  void wrong(std::uint64_t line, const std::string& why) {
    if (++counts_.failed <= mistakes_shown_max) fmt::print(stderr, "pawl start: line {}: {}\n", line, printable(why));
  }

  Status flush() {
    if (items_.empty()) return {};
    const auto jobs = runtime_.start_many(options_.topic, items_);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!jobs[i])
        wrong(numbers_[i], jobs[i].error().detail);
      else
        ++(jobs[i]->created() ? counts_.started : counts_.existed);
    }
    items_.clear();
    numbers_.clear();
    return {};
  }

  Runtime& runtime_;
  const StartArguments& options_;
  std::vector<StartItem<Payload>> items_;
  std::vector<std::uint64_t> numbers_;
  Counts counts_;
};

int start_lines(Runtime& runtime, const StartArguments& options) {
  LineStarter starter(runtime, options);
  std::ifstream file;
  if (options.lines != "-") {
    file.open(options.lines);
    if (!file) return fail("start", Error{ErrorCode::not_found, fmt::format("{} cannot be read", options.lines)});
  }
  if (const auto read = starter.read(options.lines == "-" ? std::cin : file); !read) return fail("start", read.error());
  const Counts& counts = starter.counts();
  if (options.store.json)
    fmt::print("{{\"lines\":{},\"started\":{},\"existed\":{},\"failed\":{}}}\n", counts.lines, counts.started,
               counts.existed, counts.failed);
  else
    fmt::print("{} started{}{}\n", counted(counts.started, "job"),
               counts.existed > 0 ? fmt::format(", {} there already", counts.existed) : "",
               counts.failed > 0 ? fmt::format(", {} refused", counted(counts.failed, "line")) : "");
  return counts.failed == 0 ? 0 : 1;
}

int start_one(Runtime& runtime, const StartArguments& options) {
  auto input = options.input.empty() ? Result<Payload>(Payload("{}")) : read_json_argument("--input", options.input);
  if (!input) return fail("start", input.error());
  const auto job = runtime.start(options.topic, *input, options.start);
  if (!job) return fail("start", job.error());
  if (options.store.json)
    fmt::print("{}\n", started_json(options.start.name_space, job->id(), job->run(), job->created()));
  else
    fmt::print("{} {}\n", job->id(), job->created() ? "started" : "was there already");
  return 0;
}

int start(StartArguments& options) {
  if (options.reject) options.start.reuse = IdReuse::reject;
  auto runtime = open_existing(options.store);
  if (!runtime) return fail("start", runtime.error());
  const auto alive = runtime->has_owner();
  const int code = options.lines.empty() ? start_one(*runtime, options) : start_lines(*runtime, options);
  runtime->stop();
  if (code == 0 && alive && !*alive)
    fmt::print(stderr,
               "no process runs this store: the jobs wait until one does (pawl serve, pawl run, or your program)\n");
  return code;
}

struct RerunArguments {
  StoreOptions store;
  JobTarget target;
  RerunOptions options;
  std::string input;
};

int rerun(const RerunArguments& arguments) {
  RerunOptions options = arguments.options;
  if (!arguments.input.empty()) {
    auto input = read_json_argument("--input", arguments.input);
    if (!input) return fail("rerun", input.error());
    options.input = std::move(*input);
  }
  auto runtime = open_existing(arguments.store);
  if (!runtime) return fail("rerun", runtime.error());
  const auto run = find_job(*runtime, arguments.target);
  if (!run) return fail("rerun", run.error());
  const auto job = runtime->job(*run).rerun(options);
  if (!job) return fail("rerun", job.error());
  const auto view = job->view();
  if (!view) return fail("rerun", view.error());
  if (arguments.store.json)
    fmt::print("{}\n", started_json(view->name_space.raw(), view->id.raw(), view->run, true));
  else
    fmt::print("{} started{}\n", job->id(),
               options.from.empty() ? "" : fmt::format(" from {}, with what was answered before it", options.from));
  warn_without_owner(*runtime, JobStatus::running);
  return 0;
}

}  // namespace

void add_start(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<StartArguments>();
  CLI::App* command = app.add_subcommand("start", "Start a job, or one per line of a file, and do not wait for it");
  add_remote_options(*command, options->store);
  command->add_option("topic", options->topic, "A topic that an app subscribes to, or the name of a graph")->required();
  CLI::Option* input =
      command->add_option("--input", options->input, "The job's input: JSON, @FILE, or @- (default: {})");
  CLI::Option* lines =
      command->add_option("--lines", options->lines, "A file with an input in each line; - is the standard input");
  lines->excludes(input);
  command->add_option("--job", options->start.id, "The job's id (default: the graph's own, or a fresh one)")
      ->excludes(lines);
  command->add_option("--id-from", options->id_from, "With --lines: the field of each input that is its job's id")
      ->needs(lines);
  command->add_flag("--reject", options->reject, "An id that is taken is an error, not the job that has it");
  command->add_flag("--compat-hotmesh", options->start.compat_hotmesh,
                    "On the app as HotMesh reads it, as if its file said compat: hotmesh");
  command->add_option("--namespace", options->start.name_space, "The job's namespace")->capture_default_str();
  command->add_option("--priority", options->start.priority, "Larger goes first")->capture_default_str();
  command->callback([options, &exit_code] { exit_code = start(*options); });

  auto again = std::make_shared<RerunArguments>();
  CLI::App* reruns =
      app.add_subcommand("rerun", "Start a new job from the input of another one, or from the middle of it");
  add_remote_options(*reruns, again->store);
  add_job_target(*reruns, again->target);
  reruns->add_option("--input", again->input, "Another input: JSON, @FILE, or @-");
  reruns->add_option("--from", again->options.from, "Begin with this activity: what was answered before it counts");
  reruns->add_option("--job", again->options.id, "The new job's id (default: the old one's with .again1 behind it)");
  reruns->callback([again, &exit_code] { exit_code = rerun(*again); });
}

}  // namespace pawl::cli
