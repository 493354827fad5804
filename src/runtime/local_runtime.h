// LocalRuntime: the backend of pawl::Runtime, with threads (local_runtime.cc has the calls, runtime_threads.cc the
// threads). One thread owns the engine and everything it uses, and lends it to another thread while it sleeps
// (engine_turn.h); a second one commits large groups, so that the next group is decided while the last one is being
// synced; for a remote store there is one for each of its connections. The worker pool runs activities. All other
// threads push commands.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "runtime/apps.h"
#include "runtime/backend.h"
#include "runtime/byte_gate.h"
#include "runtime/clock_watch.h"
#include "runtime/command_queue.h"
#include "runtime/commit_times.h"
#include "runtime/duplex_runner.h"
#include "runtime/end_waiters.h"
#include "runtime/end_watch.h"
#include "runtime/engine.h"
#include "runtime/engine_turn.h"
#include "runtime/far_desk.h"
#include "runtime/graph_catalog.h"
#include "runtime/handouts.h"
#include "runtime/label_views.h"
#include "runtime/lanes_here.h"
#include "runtime/observers.h"
#include "runtime/open_store.h"
#include "runtime/problem_filter.h"
#include "runtime/requests.h"
#include "runtime/retention_thread.h"
#include "runtime/served_topics.h"
#include "runtime/signal_fate.h"
#include "runtime/store_clock.h"
#include "runtime/store_threads.h"
#include "runtime/tasks.h"
#include "runtime/transaction_desk.h"
#include "runtime/worker_message.h"
#include "runtime/worker_pool.h"

namespace pawl::runtime {

class LocalRuntime final : public detail::RuntimeBackend, private EngineEvents, private store::Listener {
 public:
  // `clock` must outlive it; the store uses it too.
  LocalRuntime(RuntimeOptions options, OpenedStore store, store::PoolInfo pool,
               const SteadyClock& clock = process_clock());
  ~LocalRuntime() override;

  Result<AppVersion> deploy(const AppSource& source, const DeployOptions& options) override;
  Result<AppFiles> app(const AppName& app) override { return apps_.files(app.app, app.version); }
  Status activate_app(const AppName& app) override { return apps_.activate(app.app, app.version); }
  Result<std::vector<AppVersion>> apps() override { return apps_.list(); }
  Status signal(const std::string& topic, const Payload& data, const SignalOptions& options) override {
    return requests_.signal(apps_, topic, data, options);
  }
  Result<SignalFate> fate_of_signal(const std::string& topic, const Payload& data,
                                    const std::string& name_space) override {
    return runtime::fate_of_signal(*store_.store, apps_, topic, data, name_space);
  }
  Status signal_job(RunId run, const std::string& topic, const Payload& data, const SignalOptions& options) override {
    return requests_.signal_job(run, topic, data, options);
  }
  Status serve(const std::string& topic, Worker worker) override;
  Status serve_transaction(const std::string& topic, TransactionWorker worker) override;
  Status probe(const std::string& topic, Probe probe) override;
  Subscription observe(Observer observer) override { return observers_.add(std::move(observer)); }
  Subscription on_problem(ProblemReporter reporter) override { return reporters_.add(std::move(reporter)); }
  Status launch() override;
  void stop() override { stop(options_.stop_within + options_.worker_grace); }
  void stop(Duration at_most) override;
  Result<Submission> start(JobRequest& request) override;
  void start_async(JobRequest request, std::function<void(const std::string&, Result<Submission>)> done) override;
  std::vector<Result<Submission>> start_many(std::vector<Result<JobRequest>>& requests) override;
  Result<JobView> wait(RunId run, Duration at_most) override;
  void on_end(RunId run, std::function<void(Result<JobView>)> done) override { ends_.watch(run, std::move(done)); }
  EndWatch& ends() { return ends_; }  // for callers who may stop waiting
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
  Result<std::vector<Announcement>> announcements(const AnnouncementFilter& filter) override {
    return read_announcements(*store_.store, filter);
  }
  Result<std::vector<KeptSignal>> kept_signals(const KeptSignalFilter& filter) override;
  Status drop_signal(const std::string& id) override;
  Result<std::uint64_t> drop_signals(const KeptSignalFilter& filter) override;
  Status interrupt(RunId run, const std::string& reason) override { return requests_.interrupt(run, reason); }
  Status cancel(RunId run, const std::string& reason) override { return requests_.cancel(run, reason); }
  Status pause(RunId run, const std::string& reason) override { return requests_.pause(run, reason); }
  Status resume(RunId run) override { return requests_.resume(run); }
  Result<RunId> redrive(RunId run, const RedriveOptions& options) override { return requests_.redrive(run, options); }
  Result<std::pair<RunId, std::string>> rerun(RunId run, const RerunOptions& options) override;
  Result<BulkSummary> bulk(const JobFilter& filter, const BulkRequest& request, const BulkOptions& options) override;
  Status settle(RunId run, const ActivityPlace& place, const Finding& finding) override {
    return requests_.settle(run, place, finding);
  }
  Status remove(RunId run, const RemoveOptions& options) override { return requests_.remove(run, options.keep_id); }
  Result<std::vector<RetentionRule>> retention() override { return retention_.rules(); }
  Status set_retention(const RetentionRule& rule) override;
  Status drop_retention(const RetentionRule& rule) override { return retention_.drop(rule); }
  Result<RetentionSummary> apply_retention(const RetentionOptions& options) override;
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
  bool owns() const override { return owns_.load(); }
  Result<bool> has_owner() override;
  RuntimeStats stats() const override { return store_.stats(); }
  Handouts& handouts() { return handouts_; }
  // Work is claimed for those who wait there. REQUIRES: before launch(); it outlives the engine's thread.
  void hand_work_to(FarDesk& desk) { far_desk_ = &desk; }
  CommitTimes::Figures commit_times() const { return commit_times_.read(); }
  void clock_was_set() { commands_.push(Signal::clock); }  // check what is due now

 private:
  struct SubmitCommand {
    SubmitRequest request;
    std::function<void(Result<Submission>)> done;
  };
  struct RequestCommand {
    store::Operation operation;
    std::function<void(Result<store::Outcome>)> done;
  };
  struct DuplexCommand {
    store::DuplexOperation operation;
    DuplexRunner::Done done;
  };
  struct ServeCommand {
    Topic topic;
    WorkerPool::Task::Code worker;
    ServedTopics::Way way;
  };
  struct ProbeCommand {
    Topic topic;
    std::shared_ptr<const Probe> probe;
  };
  enum class Signal : std::uint8_t { look, owner_gone, clock, stop };
  using Command = std::variant<WorkerMessage, SubmitCommand, RequestCommand, DuplexCommand, StoreThreads::Committed,
                               StoreThreads::Answered, StoreThreads::CarriedOut, ServeCommand, ProbeCommand, Signal>;

  // The way into the engine's thread. Shared with the workers' threads: one that never returns outlives this runtime,
  // and its messages are dropped then.
  struct Door {
    explicit Door(std::size_t bytes_max) : gate(bytes_max) {}
    void tell(WorkerMessage word);
    CommandQueue<Command> commands;
    ByteGate gate;
    EngineTurn turn{[this] { commands.wake(); }};
    std::atomic<std::thread::id> engine_id{};
  };

  static Error stopped();

  // EngineEvents, on the engine's thread.
  void dispatch(const core::WorkItem& item) override;
  void cancel(const WorkRun& run) override { cancelled_.push_back(run); }
  void withdraw(const WorkRun& run) override { withdrawn_.push_back(run); }
  void probe(const core::WorkItem& item) override;
  std::optional<FarTaker> find_far_taker(const core::WorkItem& item) override;
  void give_far(std::uint64_t taker, const core::WorkItem& item, const core::JobRow* job) override;
  void free_far_room(std::uint64_t taker) override { far_desk_->free_room(taker); }
  void work_waits(const Topic& topic) override;
  void answered(Ticket ticket, Result<store::Outcome> outcome) override;
  void submitted(Ticket ticket, Result<Submitted> result) override;
  void committed(const core::JobState& after, const core::Bundle& bundle) override;
  void closed(const core::JobRow& job) override;
  void problem(const std::string& text) override { problem_of_many(text, text); }
  void problem_of_many(const std::string& about, const std::string& text) override;
  void report(const std::string& text);  // a problem, from any thread
  static void print_problem(const std::string& text);
  void ring(core::LaneId lane, const store::Change& change) override { store_.store->ring(lane, change); }

  // store::Listener, on any thread.
  void rung(const store::Change& change) override;
  void owner_gone() override { commands_.push(Signal::owner_gone); }

  Status start_threads();
  std::unique_ptr<RetentionThread> take_retention_thread();  // ended outside of the lock
  void run_engine();
  void take_commands();  // those that wait
  bool turn();           // everything that can be done now. True: there is more
  void sleep();          // until the next command, or something is due
  // on a worker's thread or one of the store, while the engine's thread sleeps
  EngineTurn::Call borrowed_turn(EngineTurn::Borrower borrower);
  bool is_quiet() const;  // nothing is under way at the store but a small group
  void run_committer();
  void handle(Command& command);
  void handle(WorkerMessage& word);
  void begin_stop();
  void say_if_set_back();
  void look_at_graphs();
  void give_back(const core::WorkItem& item, core::Began began);
  void tell_workers();  // passes on what the engine wants of them
  void tell_far_desk();
  // finds those that do not return; while stopping, tells them to stop and leaves them running
  void look_after_workers();
  void refuse(Command& command);  // it came after the engine's last turn
  // Commits a caller's operation: on the engine's thread while there is one, on the caller's before launch().
  CommitResults commit_requests(std::vector<store::Operation> operations);
  CommitAll commit_all();
  Result<std::vector<core::LaneId>> lanes_owned_here();
  Result<store::Outcome> commit_request(store::Operation operation);
  Result<store::DuplexOutcome> commit_duplex_request(store::DuplexOperation operation);
  // Never waits for room. `done` is called on the engine's thread, or at once if it cannot be asked.
  void commit_later(store::Operation operation, std::function<void(Result<store::Outcome>)> done);
  // `direct` commits before launch(), `make` wraps the operation into a command.
  template <class Answer>
  Result<Answer> ask_engine(const std::function<Result<Answer>()>& direct,
                            const std::function<Command(std::function<void(Result<Answer>)>)>& make);
  // Checks and completes the request: finds the graph and fills in the id.
  Result<core::GraphRef> prepare(JobRequest& request);
  void submit_job(JobRequest& request, std::function<void(Result<Submission>)> done, ByteGate::Wait wait);
  void submit_prepared(JobRequest& request, const core::GraphRef& version, std::function<void(Result<Submission>)> done,
                       ByteGate::Wait wait);
  // What a command counts for at the gate; 0: it does not pass the gate.
  static std::size_t bytes_of_command(const Command& command);
  Status give_command(Command command, ByteGate::Wait wait);
  void tell(WorkerMessage word);  // called by worker threads
  bool commit_something();        // false: nothing to commit now
  bool commit_duplex();           // false: nothing to commit now
  bool send_to_store();           // the same for a remote store
  void commit_here(Group group);
  bool begin_transaction();
  bool may_end() const;
  void note_ownership(const std::vector<std::pair<core::LaneId, core::Epoch>>& owned);
  Result<bool> has_ended(const core::JobRow& job);
  Result<std::optional<JobView>> look_for_end(RunId run);
  void own_duplex();
  std::optional<Duration> time_to_sleep() const;

  const RuntimeOptions options_;
  const SteadyClock& clock_;
  // Before the store: its threads push into it for as long as the store is open.
  const std::shared_ptr<Door> door_;
  CommandQueue<Command>& commands_ = door_->commands;
  ByteGate& gate_ = door_->gate;
  std::atomic<std::thread::id>& engine_id_ = door_->engine_id;
  std::mutex rung_mutex_;
  store::Change rung_;      // guarded by rung_mutex_; not empty: a command is queued for it
  OpenedStore store_;       // after commands_: its notifications are pushed there
  StoreClock store_clock_;  // the time for the engine
  GraphCatalog graphs_;
  ServedTopics topics_;
  Apps apps_;
  LanesHere lanes_here_;
  EndWaiters waiters_;
  EndWatch ends_;
  // Called on the engine's thread, which may report.
  Observers<Event> observers_{[this](const std::string& text) { problem(text); }};
  Observers<std::string> reporters_{print_problem};
  CommandQueue<std::optional<Group>> groups_;  // to the committer; none: end
  FarDesk* far_desk_ = nullptr;
  std::atomic<bool> owns_{false};
  std::mutex life_mutex_;
  std::mutex direct_mutex_;  // held by commits before launch(), and by launch()
  enum class Life : std::uint8_t { made, running, stopped };
  std::atomic<Life> life_{Life::made};  // written under life_mutex_

  const store::PoolInfo lanes_;
  Requests requests_;
  Retention retention_;
  Tasks tasks_;
  Handouts handouts_;
  CommitTimes commit_times_;

  // Owned by who has the engine's turn.
  Engine engine_;
  DuplexRunner duplex_;
  TransactionDesk transaction_desk_;
  bool transactions_turn_ = true;  // a group was committed since the last one began
  std::unordered_map<std::string, WorkerPool::Task::Code> workers_;
  std::unordered_map<std::string, std::shared_ptr<const Probe>> probes_;
  std::unordered_map<Ticket, std::function<void(Result<Submission>)>> submits_;
  std::unordered_map<Ticket, std::function<void(Result<store::Outcome>)>> asked_;
  std::vector<WorkerPool::Task> dispatched_;
  std::vector<FarDesk::Given> far_given_;  // in this turn, as the next one
  std::map<std::string, std::size_t> work_waits_;
  std::vector<WorkRun> cancelled_;
  ProblemFilter problems_;
  std::vector<WorkRun> withdrawn_;
  std::optional<Duration> look_at_workers_;
  std::optional<Duration> look_for_silent_;  // when to check for silent workers; none: no worker has work
  std::size_t silent_ = 0;                   // silent workers whose thread was replaced
  std::atomic<Duration::rep> stop_at_most_{0};
  std::vector<Command> batch_;            // being handled
  std::size_t taken_ = 0;                 // bytes since the last report to the gate
  std::optional<Duration> asleep_until_;  // the engine's thread, unless it is woken
  EngineTurn::Borrower borrower_ = EngineTurn::Borrower::none;  // who has the turn; none: the engine's thread
  std::shared_ptr<Group> borrowers_group_;                      // the borrower commits it itself, after its turn
  Ticket next_ticket_ = 1;
  std::size_t committing_ = 0;  // groups that another thread is committing
  std::size_t last_sent_ = 0;   // the operations of the last one of them, if the store is remote
  std::size_t reading_ = 0;     // batches that another thread is reading
  bool stopping_ = false;
  Duration stop_by_{0};                    // even if the store takes no writes by then
  Duration set_back_{0};                   // of the wall clock, as far as it was reported
  std::optional<Duration> stop_tell_at_;   // when workers are told to stop; none: they were, or there is no stop
  std::optional<Duration> stop_leave_at_;  // when workers that have not returned are left running

  std::unique_ptr<ClockWatch> clock_watch_;
  std::unique_ptr<WorkerPool> pool_;
  std::thread committer_;
  std::shared_ptr<StoreThreads> store_threads_;  // instead, if the store is remote
  std::unique_ptr<StoreThreads> read_threads_;   // beside them: reads and commits do not wait for each other
  std::thread engine_thread_;
  std::unique_ptr<RetentionThread> retention_thread_;  // guarded by rung_mutex_, except in stop()
};

// pawl::open, for who needs more than pawl::Runtime shows.
Result<std::shared_ptr<LocalRuntime>> open_local(RuntimeOptions options);

}  // namespace pawl::runtime
