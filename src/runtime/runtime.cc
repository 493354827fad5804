// pawl::Runtime and pawl::JobHandle: the values that users hold, in front of the backend.
#include "pawl/runtime.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "runtime/backend.h"

namespace pawl {

namespace {

Error gone() {
  return {ErrorCode::retry_later, "the runtime of this job is gone; open the store again and find the job by its id"};
}

}  // namespace

Runtime& Runtime::operator=(Runtime&& other) noexcept {
  if (this != &other) {
    if (backend_) backend_->stop();
    backend_ = std::move(other.backend_);
  }
  return *this;
}
Runtime::~Runtime() {
  if (backend_) backend_->stop();  // also if a call on a job handle keeps it alive for a moment longer
}

Result<AppVersion> Runtime::deploy(const AppSource& source, const DeployOptions& options) {
  return backend_->deploy(source, options);
}
Result<AppFiles> Runtime::app(const AppName& app) { return backend_->app(app); }
Status Runtime::activate_app(const AppName& app) { return backend_->activate_app(app); }
Result<std::vector<AppVersion>> Runtime::apps() { return backend_->apps(); }
Status Runtime::serve_worker(const std::string& topic, Worker worker) {
  return backend_->serve(topic, std::move(worker));
}
Status Runtime::serve_with_transaction(const std::string& topic, TransactionWorker worker) {
  return backend_->serve_transaction(topic, std::move(worker));
}
Status Runtime::serve_probe(const std::string& topic, Probe probe) { return backend_->probe(topic, std::move(probe)); }
Subscription Runtime::observe(Observer observer) { return backend_->observe(std::move(observer)); }
Subscription Runtime::on_problem(ProblemReporter reporter) { return backend_->on_problem(std::move(reporter)); }

Status Runtime::launch() { return backend_->launch(); }
void Runtime::stop() { backend_->stop(); }
void Runtime::stop(Duration at_most) { backend_->stop(at_most); }
bool Runtime::owns() const { return backend_->owns(); }
Result<bool> Runtime::has_owner() { return backend_->has_owner(); }
RuntimeStats Runtime::stats() const { return backend_->stats(); }

Result<JobHandle> Runtime::start_bytes(const std::string& graph, Payload input, StartOptions options) {
  runtime::JobRequest request{graph, std::move(input), std::move(options)};
  const auto started = backend_->start(request);
  if (!started) return started.error();
  return JobHandle(backend_, started->run, std::move(request.options.id), started->created);
}

void Runtime::start_bytes_async(const std::string& graph, Payload input, StartOptions options,
                                std::function<void(Result<JobHandle>)> done) {
  backend_->start_async({graph, std::move(input), std::move(options)},
                        [done = std::move(done), backend = std::weak_ptr(backend_)](
                            const std::string& id, const Result<runtime::Submission>& started) {
                          if (started)
                            done(JobHandle(backend, started->run, id, started->created));
                          else
                            done(started.error());
                        });
}

std::vector<Result<JobHandle>> Runtime::start_all(const std::string& graph,
                                                  std::vector<Result<StartItem<Payload>>> items) {
  std::vector<Result<runtime::JobRequest>> requests;
  requests.reserve(items.size());
  for (Result<StartItem<Payload>>& item : items) {
    if (item)
      requests.push_back(runtime::JobRequest{graph, std::move(item->input), std::move(item->options)});
    else
      requests.push_back(item.error());
  }
  const auto started = backend_->start_many(requests);
  std::vector<Result<JobHandle>> jobs;
  jobs.reserve(started.size());
  for (std::size_t i = 0; i < started.size(); ++i) {
    if (started[i])
      jobs.push_back(JobHandle(backend_, started[i]->run, std::move(requests[i]->options.id), started[i]->created));
    else
      jobs.push_back(started[i].error());
  }
  return jobs;
}

Result<std::optional<JobHandle>> Runtime::find_job(const std::string& id, const FindOptions& options) {
  const auto run = backend_->find(id, options);
  if (!run) return run.error();
  if (!*run) return std::optional<JobHandle>();
  return std::optional(JobHandle(backend_, **run, id, false));
}

JobHandle Runtime::handle_of(RunId run) const { return JobHandle(backend_, run, {}, false); }

Status Runtime::signal_bytes(const std::string& topic, const Payload& data, const SignalOptions& options) {
  return backend_->signal(topic, data, options);
}
Result<SignalFate> Runtime::fate_of_signal(const std::string& topic, const Payload& data,
                                           const std::string& name_space) {
  return backend_->fate_of_signal(topic, data, name_space);
}
Result<std::vector<KeptSignal>> Runtime::kept_signals(const KeptSignalFilter& filter) {
  return backend_->kept_signals(filter);
}
Status Runtime::drop_signal(const std::string& id) { return backend_->drop_signal(id); }
Result<std::uint64_t> Runtime::drop_signals(const KeptSignalFilter& filter) { return backend_->drop_signals(filter); }
Result<std::vector<Task>> Runtime::tasks(const TaskFilter& filter) { return backend_->tasks(filter); }
Status Runtime::claim_task(const std::string& id, const std::string& who, Duration time) {
  return backend_->claim_task(id, who, time);
}
Status Runtime::release_task(const std::string& id, const std::string& who) { return backend_->release_task(id, who); }
Status Runtime::resolve_task(const std::string& id, const Payload& data, const ResolveOptions& options) {
  return backend_->resolve_task(id, data, options);
}
Result<std::vector<RetentionRule>> Runtime::retention() { return backend_->retention(); }
Status Runtime::set_retention(const RetentionRule& rule) { return backend_->set_retention(rule); }
Status Runtime::drop_retention(const RetentionRule& rule) { return backend_->drop_retention(rule); }
Result<RetentionSummary> Runtime::apply_retention(const RetentionOptions& options) {
  return backend_->apply_retention(options);
}
Result<std::vector<JobView>> Runtime::list(const JobFilter& filter) { return backend_->list(filter); }
Result<std::uint64_t> Runtime::count(const JobFilter& filter) { return backend_->count(filter); }
Result<Survey> Runtime::survey(const SurveyOptions& options) { return backend_->survey(options); }
Result<std::vector<Diagnosis>> Runtime::diagnose() { return backend_->diagnose(); }
Result<Verified> Runtime::verify(const std::function<void(std::uint64_t)>& progress) {
  return backend_->verify(progress);
}
Result<Verified> Runtime::backup(const std::string& path) { return backend_->backup(path); }
Result<BulkSummary> Runtime::bulk(const JobFilter& filter, const BulkRequest& request, const BulkOptions& options) {
  return backend_->bulk(filter, request, options);
}
Result<std::vector<MeasureView>> Runtime::measures(const MeasureFilter& filter) { return backend_->measures(filter); }
Result<std::vector<Announcement>> Runtime::announcements(const AnnouncementFilter& filter) {
  return backend_->announcements(filter);
}
Status Runtime::pause_topic(const std::string& topic) { return backend_->pause_topic(topic); }
Status Runtime::resume_topic(const std::string& topic) { return backend_->resume_topic(topic); }
Result<std::vector<std::string>> Runtime::paused_topics() { return backend_->paused_topics(); }
Status Runtime::complete_work(const std::string& token, const Reply& reply) { return backend_->complete(token, reply); }
Status Runtime::extend_work(const std::string& token, Payload progress, const HeartbeatOptions& options) {
  return backend_->heartbeat(token, std::move(progress), options);
}

std::string JobHandle::id() const {
  if (!id_.empty()) return id_;
  const auto known = view();
  return known ? known->id.raw() : std::string();
}

Result<JobView> JobHandle::view() const {
  const auto runtime = runtime_.lock();
  return runtime ? runtime->read(run_) : gone();
}
Result<JobStatus> JobHandle::status() const {
  const auto known = view();
  if (!known) return known.error();
  return known->status;
}
Result<JobDetail> JobHandle::inspect() const {
  const auto runtime = runtime_.lock();
  return runtime ? runtime->inspect(run_) : gone();
}
Result<JobView> JobHandle::wait(Duration at_most) const {
  const auto runtime = runtime_.lock();
  return runtime ? runtime->wait(run_, at_most) : gone();
}
void JobHandle::when_ended(std::function<void(Result<JobView>)> done) const {
  if (const auto runtime = runtime_.lock()) return runtime->on_end(run_, std::move(done));
  done(gone());
}

// The error of the activity that closed last with the job's code ended the job.
Result<std::optional<Failure>> JobHandle::failure() const {
  const auto detail = inspect();
  if (!detail) return detail.error();
  if (detail->job.status != JobStatus::failed) return std::optional<Failure>();
  const ActivityView* last = nullptr;
  for (const ActivityView& activity : detail->activities)
    if (activity.errored() && activity.code == detail->job.code)
      if (last == nullptr || activity.closed_at >= last->closed_at) last = &activity;
  if (last == nullptr) return std::optional<Failure>();
  return std::optional(failure_of(last->code, last->output));
}

Status JobHandle::signal_bytes(const std::string& topic, const Payload& data, SignalOptions options) const {
  const auto runtime = runtime_.lock();
  return runtime ? runtime->signal_job(run_, topic, data, options) : gone();
}
Status JobHandle::pause(const std::string& reason) const {
  const auto runtime = runtime_.lock();
  return runtime ? runtime->pause(run_, reason) : gone();
}
Status JobHandle::resume() const {
  const auto runtime = runtime_.lock();
  return runtime ? runtime->resume(run_) : gone();
}
Status JobHandle::cancel(const std::string& reason) const {
  const auto runtime = runtime_.lock();
  return runtime ? runtime->cancel(run_, reason) : gone();
}

Status JobHandle::interrupt(const std::string& reason) const {
  const auto runtime = runtime_.lock();
  return runtime ? runtime->interrupt(run_, reason) : gone();
}
Result<JobHandle> JobHandle::redrive(const RedriveOptions& options) const {
  const auto runtime = runtime_.lock();
  if (!runtime) return gone();
  const auto run = runtime->redrive(run_, options);
  if (!run) return run.error();
  return JobHandle(runtime_, *run, id_, *run != run_);
}
Result<JobHandle> JobHandle::rerun(const RerunOptions& options) const {
  const auto runtime = runtime_.lock();
  if (!runtime) return gone();
  auto again = runtime->rerun(run_, options);
  if (!again) return again.error();
  return JobHandle(runtime_, again->first, std::move(again->second), true);
}
Status JobHandle::remove(const RemoveOptions& options) const {
  const auto runtime = runtime_.lock();
  return runtime ? runtime->remove(run_, options) : gone();
}
Status JobHandle::settle(const ActivityPlace& place, const Finding& finding) const {
  const auto runtime = runtime_.lock();
  return runtime ? runtime->settle(run_, place, finding) : gone();
}

Result<Payload> JobHandle::result_bytes(const JobView& end) {
  if (end.status == JobStatus::completed) return end.result;
  const std::string why = end.reason.empty() ? std::string() : ": " + end.reason;
  if (end.status == JobStatus::parked)
    return Error{ErrorCode::failed, format("job {} is parked{}; redrive() lets it go on", end.id.raw(), why)};
  return Error{ErrorCode::failed, format("job {} {}{}", end.id.raw(),
                                         end.status == JobStatus::interrupted ? "was interrupted" : "failed", why)};
}

}  // namespace pawl
