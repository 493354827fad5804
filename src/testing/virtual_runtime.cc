// VirtualRuntime: the calls of the public API. virtual_workers.cc handles work and time.
#include "testing/virtual_runtime.h"

#include <algorithm>

#include "base/format.h"
#include "core/guid.h"
#include "runtime/family.h"
#include "runtime/job_search.h"
#include "runtime/kept_signals.h"
#include "runtime/label_views.h"
#include "runtime/obstacles.h"
#include "runtime/request_checks.h"
#include "runtime/views.h"
#include "testing/mock.h"

namespace pawl::testing {

VirtualRuntime::VirtualRuntime(const TestOptions& options, PlannedFault fault)
    : options_(options),
      fault_(fault),
      random_(options.seed),
      driver_(options, fault, graphs_, hooks()),
      // An app is deployed before the workflow begins, so its commits are not counted.
      apps_(driver_.store(), graphs_,
            [this](const store::Operation& operation) -> Result<store::Outcome> {
              auto outcomes = driver_.store().commit({&operation, 1});
              if (!outcomes) return outcomes.error();
              return std::move(outcomes->front());
            }),
      requests_(driver_.store(), driver_.pool(), graphs_, Random::mix(options.seed + 1),
                [this](const store::Operation& operation) { return driver_.ask(operation); }, {}),
      tasks_(driver_.store(), driver_.pool(), apps_, graphs_, commit_all()) {
  graphs_.admit_if([](const core::Graph& graph) -> Status {
    if (graph.collation() == Collation::ledger) return {};
    return Error{ErrorCode::unsupported,
                 format("graph {} has collation duplex, which the test kit does not run", graph.name().raw())};
  });
}

Driver::Hooks VirtualRuntime::hooks() {
  Driver::Hooks hooks;
  hooks.work = [this](const core::WorkItem& item) { work_.push_back(item); };
  hooks.probe = [this](const core::WorkItem& item) { asks_.push_back(item); };
  hooks.unwanted = [this](const runtime::WorkRun& run) { give_back(run); };
  hooks.event = [this](const Event& event) {
    events_.push_back(event);
    observers_.tell(event);
  };
  hooks.problem = [this](const std::string& text) {
    problems_.push_back(text);
    reporters_.tell(text);
  };
  hooks.crashed = [this] { crashed(); };
  return hooks;
}

Result<AppVersion> VirtualRuntime::deploy(const AppSource& source, const DeployOptions& options) {
  auto deployed = apps_.deploy(source, options);
  if (deployed) driver_.graphs_changed();
  return deployed;
}

Status VirtualRuntime::signal(const std::string& topic, const Payload& data, const SignalOptions& options) {
  return requests_.signal(apps_, topic, data, options);
}

Status VirtualRuntime::serve(const std::string& topic, Worker worker) {
  if (const auto checked = check_name("topic", topic); !checked) return checked;
  if (!worker) return Error{ErrorCode::invalid, format("the worker for topic {} is empty", topic)};
  workers_.insert_or_assign(topic, std::make_shared<const Worker>(std::move(worker)));
  driver_.serve(Topic(topic));
  return {};
}

Status VirtualRuntime::serve_transaction(const std::string& topic, TransactionWorker) {
  return Error{ErrorCode::unsupported,
               format("topic {}: the store of the test kit has no transactions for a worker's own SQL", topic)};
}

Status VirtualRuntime::probe(const std::string& topic, Probe probe) {
  if (const auto checked = check_name("topic", topic); !checked) return checked;
  if (!probe) return Error{ErrorCode::invalid, format("the probe for topic {} is empty", topic)};
  probes_.insert_or_assign(topic, std::make_shared<const Probe>(std::move(probe)));
  driver_.offer_probe(Topic(topic));
  return {};
}

Result<runtime::Submission> VirtualRuntime::start(JobRequest& request) {
  if (const auto named = check_name("graph name", request.graph); !named) return named.error();
  const std::string asked = request.graph;
  StartOptions& options = request.options;
  JobRequest second = request;
  const auto version = apps_.prepare(request);
  if (!version) return version.error();
  // If the graph does not define the id, the engine would draw a random one. Here it must be the same in every run of
  // the test.
  if (second.options.id.empty() && apps_.prepare(second) && second.options.id != options.id)
    options.id = format("{}-{}", asked, ++ids_);
  if (const auto checked = runtime::check_request(request); !checked) return checked.error();
  const std::uint64_t number = ++secrets_;
  const core::JobSecret secret(core::Guid{Random::mix(options_.seed ^ 0x7365637265740000u), Random::mix(number)});
  const auto graph = graphs_.find(*version);
  const auto made = driver_.submit(runtime::SubmitRequest{
      Namespace(options.name_space), JobId(options.id), GraphName(request.graph),
      runtime::input_to_submit(request, graph.get()), secret, runtime::store_reuse(options.reuse), options.delay,
      options.end_within, options.keep, options.priority, *version});
  if (!made) return made.error();
  if (options.reuse == IdReuse::reject && !made->created)
    return Error{ErrorCode::already_exists, format("job id {} is taken by run {}", options.id, made->run.raw())};
  return Submission{made->run, made->created};
}

Result<bool> VirtualRuntime::has_ended(const core::JobRow& job) {
  if (job.status != core::JobStatus::parked) return core::is_closed(job.status) && job.completions > 0;
  const auto stored = driver_.store().read_job(job.run);
  if (!stored) return stored.error();
  return *stored && runtime::status_to_come(**stored) == core::JobStatus::parked;
}

Result<JobView> VirtualRuntime::wait(RunId run, Duration at_most) {
  const Duration until =
      driver_.clock().monotonic() + std::clamp(at_most, Duration{0}, Duration(std::chrono::hours(24 * 365)));
  for (;;) {
    if (const auto ran = run_until_idle(); !ran) return ran.error();
    const auto job = driver_.store().read_job_row(run);
    if (!job) return job.error();
    if (!*job) return runtime::no_job(run);
    const auto ended = has_ended(**job);
    if (!ended) return ended.error();
    if (*ended) return runtime::view_of(**job);
    const auto next = next_due();
    const bool over = driver_.clock().monotonic() >= until;
    if (over) return Error{ErrorCode::retry_later, format("job {} has not ended yet", (*job)->id.raw())};
    driver_.move_clock_to(next ? std::min(*next, until) : until);
  }
}

Result<std::optional<RunId>> VirtualRuntime::find(const std::string& id, const FindOptions& options) {
  return driver_.store().find_run(Namespace(options.name_space), JobId(id));
}

Result<JobView> VirtualRuntime::read(RunId run) {
  const auto job = driver_.store().read_job_row(run);
  if (!job) return job.error();
  if (!*job) return runtime::no_job(run);
  return runtime::view_of(**job);
}

std::vector<Result<runtime::Submission>> VirtualRuntime::start_many(std::vector<Result<JobRequest>>& requests) {
  std::vector<Result<Submission>> started;
  for (Result<JobRequest>& request : requests)
    started.push_back(request ? start(*request) : Result<Submission>(request.error()));
  return started;
}

bool VirtualRuntime::tell_an_end() {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const RunId run = ends_[i].first;
    const auto job = driver_.store().read_job_row(run);
    const auto ended = job && *job ? has_ended(**job) : Result<bool>(true);
    if (!ended || !*ended) continue;
    const auto done = std::move(ends_[i].second);
    ends_.erase(ends_.begin() + static_cast<std::ptrdiff_t>(i));
    done(read(run));
    return true;
  }
  return false;
}

Result<JobDetail> VirtualRuntime::inspect(RunId run) {
  store::memory::Store& store = driver_.store();
  const auto stored = store.read_job(run);
  if (!stored) return stored.error();
  if (!*stored) return runtime::no_job(run);
  const auto graph = graphs_.find((*stored)->state.job.graph);
  JobDetail detail = runtime::detail_of((*stored)->state, graph.get(), store.id());
  runtime::add_waiting(detail, **stored, graph.get());
  detail.obstacles =
      runtime::obstacles_of(**stored, {graph.get(), true, driver_.clock().now(),
                                       [this](const Topic& topic) { return workers_.contains(topic.raw()); },
                                       [this] { return paused_topics(); }});
  if (graph != nullptr) runtime::Family(store, graphs_).complete(detail, (*stored)->state, *graph);
  return detail;
}

Result<std::vector<JobView>> VirtualRuntime::list(const JobFilter& filter) {
  return runtime::list_jobs(driver_.store(), graphs_, filter);
}

Result<std::uint64_t> VirtualRuntime::count(const JobFilter& filter) {
  return runtime::count_jobs(driver_.store(), graphs_, filter);
}

Result<Survey> VirtualRuntime::survey(const SurveyOptions&) { return no_store(); }

Result<std::pair<RunId, std::string>> VirtualRuntime::rerun(RunId run, const RerunOptions& options) {
  auto again = requests_.rerun(run, options);
  if (!again) return again.error();
  return std::pair(again->run, std::move(again->id));
}

runtime::CommitAll VirtualRuntime::commit_all() {
  return [this](std::vector<store::Operation> operations) {
    runtime::CommitResults results;
    for (const store::Operation& operation : operations) results.push_back(driver_.ask(operation));
    return results;
  };
}

Result<BulkSummary> VirtualRuntime::bulk(const JobFilter& filter, const BulkRequest& request,
                                         const BulkOptions& options) {
  return runtime::ask_many(driver_.store(), graphs_, requests_, commit_all(), filter, request, options);
}

Result<std::vector<KeptSignal>> VirtualRuntime::kept_signals(const KeptSignalFilter& filter) {
  return runtime::list_kept(driver_.store(), filter, driver_.store().now());
}

Status VirtualRuntime::drop_signal(const std::string& id) {
  return runtime::drop_kept(driver_.store(), driver_.pool(), commit_all(), id);
}

Result<std::uint64_t> VirtualRuntime::drop_signals(const KeptSignalFilter& filter) {
  return runtime::drop_all_kept(driver_.store(), driver_.pool(), commit_all(), filter, driver_.store().now());
}

Result<std::vector<MeasureView>> VirtualRuntime::measures(const MeasureFilter& filter) {
  const auto graph = apps_.graph_of(filter.topic);
  if (!graph) return graph.error();
  return runtime::read_measures(driver_.store(), *graph, filter);
}

Result<std::vector<Announcement>> VirtualRuntime::announcements(const AnnouncementFilter& filter) {
  return runtime::read_announcements(driver_.store(), filter);
}

Result<std::vector<std::string>> VirtualRuntime::paused_topics() {
  const auto topics = driver_.store().read_paused_topics();
  if (!topics) return topics.error();
  std::vector<std::string> names;
  for (const Topic& topic : *topics) names.push_back(topic.raw());
  return names;
}

RuntimeStats VirtualRuntime::stats() const {
  RuntimeStats stats;
  stats.commits = driver_.commits();
  return stats;
}

}  // namespace pawl::testing
