// RuntimeBackend: what pawl::Runtime and its jobs call. LocalRuntime implements it. Any thread may call any method.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pawl/bulk.h"
#include "pawl/event.h"
#include "pawl/finding.h"
#include "pawl/graph.h"
#include "pawl/options.h"
#include "pawl/query.h"
#include "pawl/result.h"
#include "pawl/retention.h"
#include "pawl/subscription.h"
#include "pawl/survey.h"
#include "pawl/task.h"
#include "pawl/transaction.h"
#include "pawl/view.h"
#include "pawl/worker.h"
#include "runtime/job_request.h"

namespace pawl::detail {

class RuntimeBackend {
 public:
  using JobRequest = runtime::JobRequest;
  using Submission = runtime::Submission;

  virtual ~RuntimeBackend() = default;

  virtual Result<AppVersion> deploy(const AppSource& source, const DeployOptions& options) = 0;
  virtual Result<AppFiles> app(const AppName& app) = 0;
  virtual Status activate_app(const AppName& app) = 0;
  virtual Result<std::vector<AppVersion>> apps() = 0;
  virtual Status serve(const std::string& topic, Worker worker) = 0;
  virtual Status serve_transaction(const std::string& topic, TransactionWorker worker) = 0;
  virtual Status probe(const std::string& topic, Probe probe) = 0;
  virtual Subscription observe(Observer observer) = 0;
  virtual Subscription on_problem(ProblemReporter reporter) = 0;

  virtual Status launch() = 0;
  virtual void stop() = 0;
  virtual void stop(Duration at_most) = 0;
  virtual bool owns() const = 0;
  virtual Result<bool> has_owner() = 0;
  virtual RuntimeStats stats() const = 0;

  // Completes the request: sets its id, if it had none.
  virtual Result<Submission> start(JobRequest& request) = 0;
  // `done` gets the id too. It never waits.
  virtual void start_async(JobRequest request, std::function<void(const std::string&, Result<Submission>)> done) = 0;
  // Like start() for each, in their order; a request that is an error stays one.
  virtual std::vector<Result<Submission>> start_many(std::vector<Result<JobRequest>>& requests) = 0;

  virtual Result<JobView> wait(RunId run, Duration at_most) = 0;
  virtual void on_end(RunId run, std::function<void(Result<JobView>)> done) = 0;
  virtual Result<std::optional<RunId>> find(const std::string& id, const FindOptions& options) = 0;
  virtual Result<JobView> read(RunId run) = 0;
  virtual Result<JobDetail> inspect(RunId run) = 0;
  virtual Result<std::vector<JobView>> list(const JobFilter& filter) = 0;
  virtual Result<std::uint64_t> count(const JobFilter& filter) = 0;
  virtual Result<Survey> survey(const SurveyOptions& options) = 0;
  virtual Result<std::vector<Diagnosis>> diagnose() = 0;
  virtual Result<Verified> verify(const std::function<void(std::uint64_t)>& progress) = 0;
  virtual Result<Verified> backup(const std::string& path) = 0;
  virtual Result<std::vector<MeasureView>> measures(const MeasureFilter& filter) = 0;
  virtual Result<std::vector<Announcement>> announcements(const AnnouncementFilter& filter) = 0;

  virtual Status signal(const std::string& topic, const Payload& data, const SignalOptions& options) = 0;
  virtual Status signal_job(RunId run, const std::string& topic, const Payload& data, const SignalOptions& options) = 0;
  virtual Result<SignalFate> fate_of_signal(const std::string& topic, const Payload& data,
                                            const std::string& name_space) = 0;
  virtual Result<std::vector<KeptSignal>> kept_signals(const KeptSignalFilter& filter) = 0;
  virtual Status drop_signal(const std::string& id) = 0;
  virtual Result<std::uint64_t> drop_signals(const KeptSignalFilter& filter) = 0;
  virtual Status interrupt(RunId run, const std::string& reason) = 0;
  virtual Status cancel(RunId run, const std::string& reason) = 0;
  virtual Status pause(RunId run, const std::string& reason) = 0;
  virtual Status resume(RunId run) = 0;
  virtual Result<RunId> redrive(RunId run, const RedriveOptions& options) = 0;  // the run that goes on
  virtual Result<std::pair<RunId, std::string>> rerun(RunId run, const RerunOptions& options) = 0;  // and its id
  virtual Result<BulkSummary> bulk(const JobFilter& filter, const BulkRequest& request, const BulkOptions& options) = 0;
  virtual Status settle(RunId run, const ActivityPlace& place, const Finding& finding) = 0;
  virtual Status remove(RunId run, const RemoveOptions& options) = 0;

  virtual Result<std::vector<RetentionRule>> retention() = 0;
  virtual Status set_retention(const RetentionRule& rule) = 0;
  virtual Status drop_retention(const RetentionRule& rule) = 0;
  virtual Result<RetentionSummary> apply_retention(const RetentionOptions& options) = 0;

  virtual Result<std::vector<Task>> tasks(const TaskFilter& filter) = 0;
  virtual Status claim_task(const std::string& id, const std::string& who, Duration time) = 0;
  virtual Status release_task(const std::string& id, const std::string& who) = 0;
  virtual Status resolve_task(const std::string& id, const Payload& data, const ResolveOptions& options) = 0;

  virtual Status pause_topic(const std::string& topic) = 0;
  virtual Status resume_topic(const std::string& topic) = 0;
  virtual Result<std::vector<std::string>> paused_topics() = 0;
  virtual Status complete(const std::string& token, const Reply& reply) = 0;
  virtual Status heartbeat(const std::string& token, Payload progress, const HeartbeatOptions& options) = 0;
};

}  // namespace pawl::detail
