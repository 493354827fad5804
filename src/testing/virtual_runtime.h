// VirtualRuntime: the backend of a pawl::Runtime on the caller's thread. Workers are called one after the other,
// between two commits, by the same code as on the threads of a pool. Their replies reach the engine at once, or later
// if a mock is set so.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "pawl/testing.h"
#include "runtime/apps.h"
#include "runtime/backend.h"
#include "runtime/bulk.h"
#include "runtime/graph_catalog.h"
#include "runtime/observers.h"
#include "runtime/requests.h"
#include "runtime/signal_fate.h"
#include "runtime/tasks.h"
#include "runtime/worker_message.h"
#include "testing/driver.h"

namespace pawl::testing {

class VirtualRuntime final : public detail::RuntimeBackend {
 public:
  VirtualRuntime(const TestOptions& options, PlannedFault fault);

  // --- RuntimeBackend
  Result<AppVersion> deploy(const AppSource& source, const DeployOptions& options) override;
  Result<AppFiles> app(const AppName& app) override { return apps_.files(app.app, app.version); }
  Status activate_app(const AppName& app) override { return apps_.activate(app.app, app.version); }
  Result<std::vector<AppVersion>> apps() override { return apps_.list(); }
  Status signal(const std::string& topic, const Payload& data, const SignalOptions& options) override;
  Status serve(const std::string& topic, Worker worker) override;
  Status serve_transaction(const std::string& topic, TransactionWorker worker) override;
  Status probe(const std::string& topic, Probe probe) override;
  Subscription observe(Observer observer) override { return observers_.add(std::move(observer)); }
  Subscription on_problem(ProblemReporter reporter) override { return reporters_.add(std::move(reporter)); }
  Status launch() override { return {}; }
  void stop() override {}
  void stop(Duration) override {}
  Result<Submission> start(JobRequest& request) override;
  void start_async(JobRequest request, std::function<void(const std::string&, Result<Submission>)> done) override {
    const auto started = start(request);
    done(request.options.id, started);
  }
  std::vector<Result<Submission>> start_many(std::vector<Result<JobRequest>>& requests) override;
  Result<JobView> wait(RunId run, Duration at_most) override;
  // Handled when the runtime has nothing else to do.
  void on_end(RunId run, std::function<void(Result<JobView>)> done) override {
    ends_.emplace_back(run, std::move(done));
  }
  Result<std::optional<RunId>> find(const std::string& id, const FindOptions& options) override;
  Result<JobView> read(RunId run) override;
  Result<JobDetail> inspect(RunId run) override;
  Result<std::vector<JobView>> list(const JobFilter& filter) override;
  Result<std::vector<MeasureView>> measures(const MeasureFilter& filter) override;
  Result<std::vector<Announcement>> announcements(const AnnouncementFilter& filter) override;
  Status interrupt(RunId run, const std::string& reason) override { return requests_.interrupt(run, reason); }
  Status cancel(RunId run, const std::string& reason) override { return requests_.cancel(run, reason); }
  Status pause(RunId run, const std::string& reason) override { return requests_.pause(run, reason); }
  Status resume(RunId run) override { return requests_.resume(run); }
  Result<RunId> redrive(RunId run, const RedriveOptions& options) override { return requests_.redrive(run, options); }
  Result<std::pair<RunId, std::string>> rerun(RunId run, const RerunOptions& options) override;
  Result<BulkSummary> bulk(const JobFilter& filter, const BulkRequest& request, const BulkOptions& options) override;
  Result<std::uint64_t> count(const JobFilter& filter) override;
  Result<Survey> survey(const SurveyOptions& options) override;
  Result<std::vector<Diagnosis>> diagnose() override { return no_store(); }
  Result<Verified> verify(const std::function<void(std::uint64_t)>&) override { return no_store(); }
  Result<Verified> backup(const std::string&) override { return no_store(); }
  Result<std::vector<RetentionRule>> retention() override { return no_store(); }
  Status set_retention(const RetentionRule&) override { return no_store(); }
  Status drop_retention(const RetentionRule&) override { return no_store(); }
  Result<RetentionSummary> apply_retention(const RetentionOptions&) override { return no_store(); }
  Result<std::vector<KeptSignal>> kept_signals(const KeptSignalFilter& filter) override;
  Status drop_signal(const std::string& id) override;
  Result<std::uint64_t> drop_signals(const KeptSignalFilter& filter) override;
  static Error no_store() {
    return {ErrorCode::unsupported, "the test kit has no store to look after: list() and count() say what there is"};
  }
  Result<SignalFate> fate_of_signal(const std::string& topic, const Payload& data,
                                    const std::string& name_space) override {
    return runtime::fate_of_signal(driver_.store(), apps_, topic, data, name_space);
  }
  Status signal_job(RunId run, const std::string& topic, const Payload& data, const SignalOptions& options) override {
    return requests_.signal_job(run, topic, data, options);
  }
  Status settle(RunId run, const ActivityPlace& place, const Finding& finding) override {
    return requests_.settle(run, place, finding);
  }
  Status remove(RunId run, const RemoveOptions& options) override { return requests_.remove(run, options.keep_id); }
  Result<std::vector<Task>> tasks(const TaskFilter& filter) override { return tasks_.list(filter); }
  Status claim_task(const std::string& id, const std::string& who, Duration time) override {
    return tasks_.claim(id, who, time);
  }
  Status release_task(const std::string& id, const std::string& who) override { return tasks_.release(id, who); }
  Status resolve_task(const std::string& id, const Payload& data, const ResolveOptions& options) override {
    return tasks_.resolve(id, data, options);
  }
  Status pause_topic(const std::string& topic) override { return requests_.pause_topic(topic, true); }
  Status resume_topic(const std::string& topic) override { return requests_.pause_topic(topic, false); }
  Result<std::vector<std::string>> paused_topics() override;
  Status complete(const std::string& token, const Reply& reply) override { return requests_.complete(token, reply); }
  Status heartbeat(const std::string& token, Payload progress, const HeartbeatOptions& options) override {
    return requests_.heartbeat(token, std::move(progress), options.lease);
  }
  bool owns() const override { return true; }
  Result<bool> has_owner() override { return true; }
  RuntimeStats stats() const override;

  // --- what TestRuntime adds
  MockWorker& mock(const std::string& topic);
  Status run_until_idle();
  Status advance(Duration by);
  Status run_to_end();
  std::optional<Duration> next_due() const;  // monotonic
  void call_after(Duration time, std::function<void()> what);
  void crash() { driver_.crash(); }
  const Driver& driver() const { return driver_; }
  const std::vector<Attempt>& attempts() const { return attempts_; }
  const std::vector<Event>& events() const { return events_; }
  const std::vector<std::string>& problems() const { return problems_; }
  void note_problem(std::string text) { problems_.push_back(std::move(text)); }
  void note(std::string name, std::string value) { notes_.insert_or_assign(std::move(name), std::move(value)); }
  const std::map<std::string, std::string>& notes() const { return notes_; }
  const PlannedFault& fault() const { return fault_; }

 private:
  runtime::CommitAll commit_all();
  Driver::Hooks hooks();
  void crashed();
  void give_back(const runtime::WorkRun& run);  // if no worker has begun it
  bool call_worker();
  bool call_probe();
  bool come_due();  // signals and calls from outside, and replies that take time
  void handle(runtime::WorkerMessage& word);
  Attempt attempt_at(const core::WorkItem& item);
  core::WorkItem take_work();
  Result<bool> has_ended(const core::JobRow& job);
  bool tell_an_end();  // to a caller of on_end()
  bool has_open_jobs();

  const TestOptions options_;
  const PlannedFault fault_;
  runtime::GraphCatalog graphs_;
  std::map<std::string, std::shared_ptr<const Worker>> workers_;
  std::map<std::string, std::shared_ptr<const Probe>> probes_;
  std::map<std::string, MockWorker> mocks_;
  runtime::Observers<Event> observers_{[this](const std::string& text) { note_problem(text); }};
  runtime::Observers<std::string> reporters_{[this](const std::string& text) { note_problem(text); }};
  std::vector<std::pair<RunId, std::function<void(Result<JobView>)>>> ends_;
  Random random_;
  std::uint64_t secrets_ = 0;
  std::uint64_t ids_ = 0;

  std::deque<core::WorkItem> work_;  // handed out, no worker called yet
  std::deque<core::WorkItem> asks_;  // the same for probes
  std::deque<runtime::WorkerMessage> words_;
  struct Later {
    std::uint64_t life = 0;  // a reply is lost with its process; 0: it comes from outside
    std::function<void()> what;
  };
  std::multimap<Duration, Later> later_;  // by the time when it arrives
  struct Call {                           // of the worker that runs now
    Duration takes{0};
    bool silent = false;
  };
  Call call_;
  bool running_ = false;            // run_until_idle() is under way
  std::atomic<bool> never_{false};  // no attempt is cancelled while it runs, because nothing else runs then

  std::vector<Attempt> attempts_;
  std::map<std::size_t, runtime::WorkRun> unsettled_;  // attempts of this life, by their place in attempts_
  std::vector<Event> events_;
  std::vector<std::string> problems_;
  std::map<std::string, std::string> notes_;

  Driver driver_;
  runtime::Apps apps_;
  runtime::Requests requests_;
  runtime::Tasks tasks_;
};

}  // namespace pawl::testing
