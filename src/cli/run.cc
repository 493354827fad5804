// pawl run FILE: deploys an app, runs a job of it with shell commands as workers, and shows what happens. Ctrl-C leaves
// the job in the store; the same command continues it.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/job_id.h"
#include "base/utf8.h"
#include "cli/app_topics.h"
#include "cli/commands.h"
#include "cli/interruption.h"
#include "cli/job_report.h"
#include "cli/job_target.h"
#include "cli/json_argument.h"
#include "cli/keeper.h"
#include "cli/progress.h"
#include "cli/shell_worker.h"
#include "graph/check.h"
#include "graph/report.h"
#include "mapping/json_parse.h"
#include "serve/job_json.h"

namespace pawl::cli {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds look_for_stop_every{200};  // for Ctrl-C
constexpr milliseconds owner_within{2000};  // until it is reported that another process runs the store

struct RunArguments {
  StoreOptions store;
  std::string file;
  std::string topic;
  std::string input;
  std::vector<std::string> workers;
  std::string job;
  std::uint32_t threads = 4;
  std::size_t compress_payloads = 0;
  bool fresh = false;
  bool reject = false;
  bool development = false;
  bool compat_hotmesh = false;
  bool quiet = false;
};

// The input of the command, read and checked before anything is started.
struct RunPlan {
  std::shared_ptr<const graph::App> app;
  const graph::Graph* graph = nullptr;
  Payload input;
  std::vector<WorkerSpec> workers;
  std::string graph_name() const { return app->id + "/" + graph->subscribes; }
};

Result<RunPlan> plan_run(const RunArguments& options) {
  RunPlan plan;
  for (const std::string& text : options.workers) {
    auto spec = parse_worker_spec(text);
    if (!spec) return spec.error();
    for (const WorkerSpec& other : plan.workers)
      if (other.topic == spec->topic)
        return Error{ErrorCode::invalid, fmt::format("--worker {} is given twice", spec->topic)};
    plan.workers.push_back(std::move(*spec));
  }
  if (!options.job.empty())
    if (const auto named = check_job_id("job id", options.job); !named) return named.error();
  auto input = options.input.empty() ? Result<Payload>(Payload("{}")) : read_json_argument("--input", options.input);
  if (!input) return input.error();
  plan.input = std::move(*input);
  const graph::Checked checked = graph::check_file(options.file, {.force_hotmesh = options.compat_hotmesh});
  if (!checked.could_read) return Error{ErrorCode::not_found, fmt::format("{} cannot be read", options.file)};
  if (checked.app == nullptr)
    return Error{ErrorCode::invalid,
                 fmt::format("{} has mistakes\n{}", options.file, graph::report_text(checked, graph::Colours::off))};
  plan.app = checked.app;
  const auto graph = choose_graph(*plan.app, options.topic);
  if (!graph) return graph.error();
  plan.graph = *graph;
  return plan;
}

void warn_about_topics(const RunPlan& plan, Progress& progress) {
  const WorkTopics work = work_topics(*plan.app, *plan.graph);
  std::set<std::string> served;
  for (const WorkerSpec& spec : plan.workers) {
    served.insert(spec.topic);
    if (!work.computed && !work.topics.contains(spec.topic))
      progress.warn(fmt::format("pawl run: no activity of {} has the topic {}", plan.graph->subscribes, spec.topic));
  }
  std::string unserved;
  for (const std::string& topic : work.topics)
    if (!served.contains(topic)) unserved += (unserved.empty() ? "" : ", ") + topic;
  if (!unserved.empty())
    progress.warn(
        fmt::format("pawl run: no --worker serves {}: the job waits there for somebody else who does", unserved));
}

class RunSession {
 public:
  RunSession(const RunArguments& options, const RunPlan& plan, Progress& progress, Runtime& runtime)
      : options_(options),
        plan_(plan),
        progress_(progress),
        runtime_(runtime),
        workers_([&runtime](RunId run) { return job_name(runtime, run); },
                 [&progress](const std::string& topic, std::string_view line) { progress.command_says(topic, line); },
                 [&progress](const std::string& text) { progress.warn("pawl run: " + printable(text)); }) {}

  Status start() {
    const auto deployed = runtime_.deploy(
        AppFile{options_.file}, {.development = options_.development, .compat_hotmesh = options_.compat_hotmesh});
    if (!deployed) return deployed.error();
    for (const WorkerSpec& spec : plan_.workers) {
      const auto served = runtime_.serve(spec.topic, [this, spec](Work& work) { return workers_.run(spec, work); });
      if (!served) return served;
    }
    runtime_.observe([this](const Event& event) { progress_.show(event); }).keep();
    runtime_.on_problem([this](const std::string& text) { progress_.warn("pawl run: " + printable(text)); }).keep();
    // Before the engine starts, otherwise it would continue an open job without a message.
    const bool named = !options_.job.empty() || names_its_jobs(*plan_.graph);
    const auto open = named || options_.fresh ? Result<std::optional<JobView>>(std::nullopt) : find_open();
    if (!open) return open.error();
    if (*open) adopt(**open);
    const auto started = runtime_.launch();
    if (!started) return started;
    started_ = std::chrono::steady_clock::now();
    return *open ? Status() : submit();
  }

  // None: Ctrl-C came first.
  Result<std::optional<JobView>> wait(const Interruption& interruption) {
    while (!interruption.asked()) {
      auto end = runtime_.job(run_).wait(look_for_stop_every);
      if (end) return std::optional(std::move(*end));
      if (end.error().code != ErrorCode::retry_later) return end.error();
      say_who_owns();
    }
    return std::optional<JobView>();
  }

  // The commands are ended at once: they see that their work is cancelled, and it is given back without a failed
  // attempt.
  void stop() { runtime_.stop(); }
  const std::string& job() const { return job_; }

 private:
  // The newest open job of the graph, by creation time: run numbers of two lanes have no common order.
  Result<std::optional<JobView>> find_open() {
    std::optional<JobView> newest;
    for (const JobStatus status : {JobStatus::running, JobStatus::paused, JobStatus::parked}) {
      JobFilter filter;
      filter.status = status;
      filter.graph = plan_.graph_name();
      filter.order = JobOrder::newest_first;
      filter.rows_max = 1;
      const auto jobs = runtime_.list(filter);
      if (!jobs) return jobs.error();
      for (const JobView& job : *jobs)
        if (!newest || newest->created_at < job.created_at) newest = job;
    }
    return newest;
  }

  void adopt(const JobView& job) {
    follow(job.id.raw(), job.run);
    progress_.say(fmt::format("{} is open in {} ({}): going on with it; --new starts another",
                              progress_.paint()(Ink::bold, job_), options_.store.shown(), name_of(job.status)));
    if (options_.input.empty()) return;
    const auto detail = runtime_.job(job.run).inspect();
    if (!detail || detail->input.empty()) return;
    const auto has = mapping::parse_json(detail->input.view());
    const auto given = mapping::parse_json(plan_.input.view());
    if (has && given && *has != *given)
      progress_.warn(fmt::format("pawl run: its input is {}, not what --input says", printable(detail->input.view())));
  }

  Status submit() {
    const auto job = runtime_.start(plan_.graph->subscribes, plan_.input,
                                    {.id = options_.job,
                                     .reuse = options_.reject  ? IdReuse::reject
                                              : options_.fresh ? IdReuse::after_close
                                                               : IdReuse::attach});
    if (!job) return job.error();
    follow(job->id(), job->run());
    if (job->created())
      progress_.say(
          fmt::format("{} accepted, durable in {}", progress_.paint()(Ink::bold, job_), options_.store.shown()));
    else if (options_.fresh)
      return Error{ErrorCode::already_exists,
                   fmt::format("job {} is open; interrupt it first, or give the new one another id with --job", job_)};
    else
      progress_.say(
          fmt::format("{} exists in {}: going on with it", progress_.paint()(Ink::bold, job_), options_.store.shown()));
    return {};
  }

  void follow(const std::string& job, RunId run) {
    job_ = job;
    run_ = run;
    progress_.follow(job);
  }

  // Once, when it is certain: a process that owns the store knows it after a moment.
  void say_who_owns() {
    if (said_who_owns_ || runtime_.owns()) said_who_owns_ = true;
    if (said_who_owns_ || std::chrono::steady_clock::now() - started_ < owner_within) return;
    said_who_owns_ = true;
    progress_.warn(fmt::format("pawl run: another process runs {}: its workers serve the job until it ends",
                               options_.store.shown()));
  }

  const RunArguments& options_;
  const RunPlan& plan_;
  Progress& progress_;
  Runtime& runtime_;
  ShellWorkers workers_;
  std::string job_;
  RunId run_{0};
  std::chrono::steady_clock::time_point started_;
  bool said_who_owns_ = false;
};

// A job under collation duplex has no data: its result is the answer of its last activity.
std::string outcome_of(const JobView& job, bool duplex) {
  if (duplex) return job.result.empty() ? "{}" : payload_json(job.result);
  return printable_json(job.data.empty() ? "{}" : job.data.str());
}

int report_run(const RunArguments& options, const RunPlan& plan, const JobView& job, Progress& progress) {
  const bool duplex = plan.graph->collation == graph::Collation::duplex;
  if (options.store.json) {
    fmt::print("{}\n", job_json(job));
  } else {
    std::string line = fmt::format("{} {}", progress.paint()(Ink::bold, job.id.raw()),
                                   progress.paint()(ink_of(job.status), name_of(job.status)));
    if (job.closed())
      line += fmt::format(" in {:.2f} s", static_cast<double>((job.closed_at - job.created_at).count()) / 1e6);
    if (!job.reason.empty()) line += ": " + printable(job.reason);
    progress.warn(line);
    if (job.status == JobStatus::parked)
      progress.warn(fmt::format("what is wrong: pawl show {}; try again: {}", job.id.raw(),
                                duplex ? "give it another id (--job)" : "pawl redrive " + job.id.raw()));
    fmt::print("{}\n", outcome_of(job, duplex));
  }
  std::fflush(stdout);
  // A graph that ends its job early with `throw: false` leaves no error: this end is intended.
  const bool on_purpose = job.status == JobStatus::interrupted && job.code == 0 && job.reason.empty();
  return job.status == JobStatus::completed || on_purpose ? 0 : 1;
}

int run_job(const RunArguments& options) {
  const auto plan = plan_run(options);  // it may read the standard input: Ctrl-C just ends that
  if (!plan) return fail("run", plan.error());
  const Interruption interruption;
  Progress progress(Paint::for_stderr(!options.store.no_color),
                    options.quiet ? Progress::Volume::quiet : Progress::Volume::lines);
  warn_about_topics(*plan, progress);
  std::optional<Keeper> keeper;  // created before there are threads, destroyed after them
  if (!plan->workers.empty()) keeper.emplace();
  auto runtime = pawl::open({.store = options.store.store,
                             .accept_weaker_store = options.store.accept_weaker,
                             .worker_threads = options.threads,
                             .compress_payloads = options.compress_payloads,
                             .stop_within = milliseconds(0)});
  if (!runtime) return fail("run", runtime.error());
  RunSession session(options, *plan, progress, *runtime);
  if (const auto started = session.start(); !started) {
    session.stop();
    return fail("run", started.error());
  }
  const auto end = session.wait(interruption);
  session.stop();
  if (!end) return fail("run", end.error());
  if (*end) return report_run(options, *plan, **end, progress);
  progress.warn(fmt::format("pawl run: stopped; job {} is left as it is in {}, the same command goes on with it",
                            session.job(), options.store.shown()));
  return exit_code_interrupted;
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Run a job of an app, with shell commands as its workers");
  command->add_option("file", options->file, "The app's main file")->required();
  command->add_option("--topic", options->topic, "Which graph (default: the only one, or the first public one)");
  command->add_option("--input", options->input, "The job's input: JSON, @FILE, or @- (default: {})");
  command
      ->add_option(
          "--worker", options->workers,
          "TOPIC=COMMAND, or TOPIC[attempts=3,timeout=30s,at-once=2]=COMMAND: a shell command that serves a topic")
      ->allow_extra_args(false);
  command->add_option("--job", options->job, "The job's id (default: the open job, the graph's own, or a fresh one)");
  command->add_flag("--dev", options->development,
                    "For development: changed content under a version that is deployed takes its place for new jobs");
  command->add_flag("--compat-hotmesh", options->compat_hotmesh,
                    "Read the app as HotMesh does, as if it said compat: hotmesh");
  command->add_flag("--new", options->fresh, "Start another job although one is open");
  command->add_flag("--reject", options->reject, "An id that is taken is an error, not the job that has it")
      ->needs("--job");
  command->add_option("--workers", options->threads, "How many commands run at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--compress-payloads", options->compress_payloads,
                      "Compress payloads of at least so many bytes when their job ends (a file only; 0: none)");
  command->add_flag("-q,--quiet", options->quiet, "No progress, only warnings and the result");
  add_store_options(*command, options->store);
  command->callback([options, &exit_code] { exit_code = run_job(*options); });
}

}  // namespace pawl::cli
