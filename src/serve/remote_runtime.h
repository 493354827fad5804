// RemoteRuntime: the backend of pawl::Runtime that asks a server. One method, one request.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/json.hpp>

#include "pawl/connect.h"
#include "runtime/backend.h"
#include "runtime/end_watch.h"
#include "runtime/observers.h"
#include "serve/crew.h"
#include "serve/ends_ahead.h"
#include "serve/http_client.h"
#include "serve/remote_workers.h"

namespace pawl::serve {

class RemoteRuntime final : public detail::RuntimeBackend {
 public:
  RemoteRuntime(std::shared_ptr<HttpClient> client, std::shared_ptr<HttpClient> workers, ConnectOptions options);
  ~RemoteRuntime() override;

  Status check();  // whether a server answers

  Result<AppVersion> deploy(const AppSource& source, const DeployOptions& options) override;
  Result<AppFiles> app(const AppName& app) override;
  Status activate_app(const AppName& app) override;
  Result<std::vector<AppVersion>> apps() override;
  Status serve(const std::string& topic, Worker worker) override;
  Status serve_transaction(const std::string& topic, TransactionWorker worker) override;
  Status probe(const std::string& topic, Probe probe) override;
  Subscription observe(Observer observer) override;
  Subscription on_problem(ProblemReporter reporter) override { return reporters_.add(std::move(reporter)); }

  Status launch() override;
  void stop() override;
  void stop(Duration at_most) override;
  bool owns() const override;
  Result<bool> has_owner() override;
  RuntimeStats stats() const override { return {}; }

  Result<Submission> start(JobRequest& request) override;
  void start_async(JobRequest request, std::function<void(const std::string&, Result<Submission>)> done) override;
  std::vector<Result<Submission>> start_many(std::vector<Result<JobRequest>>& requests) override;

  Result<JobView> wait(RunId run, Duration at_most) override;
  void on_end(RunId run, std::function<void(Result<JobView>)> done) override { ends_.watch(run, std::move(done)); }
  Result<std::optional<RunId>> find(const std::string& id, const FindOptions& options) override;
  Result<JobView> read(RunId run) override;
  Result<JobDetail> inspect(RunId run) override;
  Result<std::vector<JobView>> list(const JobFilter& filter) override;
  Result<std::uint64_t> count(const JobFilter& filter) override;
  Result<Survey> survey(const SurveyOptions& options) override;
  Result<std::vector<Diagnosis>> diagnose() override;
  Result<Verified> verify(const std::function<void(std::uint64_t)>& progress) override;
  Result<Verified> backup(const std::string& path) override;
  Result<std::vector<MeasureView>> measures(const MeasureFilter& filter) override;
  Result<std::vector<Announcement>> announcements(const AnnouncementFilter& filter) override;

  Status signal(const std::string& topic, const Payload& data, const SignalOptions& options) override;
  Status signal_job(RunId run, const std::string& topic, const Payload& data, const SignalOptions& options) override;
  Result<SignalFate> fate_of_signal(const std::string& topic, const Payload& data,
                                    const std::string& name_space) override;
  Status cancel(RunId run, const std::string& reason) override;
  Status interrupt(RunId run, const std::string& reason) override;
  Status pause(RunId run, const std::string& reason) override;
  Status resume(RunId run) override;
  Result<RunId> redrive(RunId run, const RedriveOptions& options) override;
  Result<std::pair<RunId, std::string>> rerun(RunId run, const RerunOptions& options) override;
  Result<BulkSummary> bulk(const JobFilter& filter, const BulkRequest& request, const BulkOptions& options) override;
  Status settle(RunId run, const ActivityPlace& place, const Finding& finding) override;
  Status remove(RunId run, const RemoveOptions& options) override;

  // remote_people.cc
  Result<std::vector<KeptSignal>> kept_signals(const KeptSignalFilter& filter) override;
  Status drop_signal(const std::string& id) override;
  Result<std::uint64_t> drop_signals(const KeptSignalFilter& filter) override;
  Result<std::vector<RetentionRule>> retention() override;
  Status set_retention(const RetentionRule& rule) override;
  Status drop_retention(const RetentionRule& rule) override;
  Result<RetentionSummary> apply_retention(const RetentionOptions& options) override;
  Result<std::vector<Task>> tasks(const TaskFilter& filter) override;
  Status claim_task(const std::string& id, const std::string& who, Duration time) override;
  Status release_task(const std::string& id, const std::string& who) override;
  Status resolve_task(const std::string& id, const Payload& data, const ResolveOptions& options) override;

  Status pause_topic(const std::string& topic) override;
  Status resume_topic(const std::string& topic) override;
  Result<std::vector<std::string>> paused_topics() override;
  Status complete(const std::string& token, const Reply& reply) override;
  Status heartbeat(const std::string& token, Payload progress, const HeartbeatOptions& options) override;

 private:
  using Call = HttpClient::Call;
  // The answer as JSON; a problem becomes the error that it was.
  Result<boost::json::value> ask(const Call& call) const;
  Result<boost::json::object> ask_object(const Call& call) const;
  Status tell(const Call& call) const;
  Status verb(RunId run, const std::string& name, const boost::json::object& body);
  Result<std::optional<JobView>> look_for_end(RunId run);
  Result<JobView> ask_for_end(RunId run, Duration at_most);
  void follow_events();
  void report(const std::string& text);

  const std::shared_ptr<HttpClient> client_;
  const std::shared_ptr<HttpClient> events_client_;  // its own: it is closed to end the stream
  const ConnectOptions options_;
  runtime::Observers<std::string> reporters_{[](const std::string&) {}};
  runtime::Observers<Event> observers_{[this](const std::string& text) { report(text); }};
  EndsAhead ends_ahead_;
  runtime::EndWatch ends_;
  RemoteWorkers workers_;
  Crew crew_;  // for start_async
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::thread events_thread_;  // made with the first observer; guarded by mutex_
};

}  // namespace pawl::serve
