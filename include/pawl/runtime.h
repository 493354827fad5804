// Runtime: a store, an engine and local workers in this process. Start here:
//
//   pawl::Result<int> sell(const pawl::GraphBuilder& order) {
//     auto runtime = pawl::open("orders.db");
//     if (!runtime) return runtime.error();
//     if (auto deployed = runtime->deploy(order); !deployed) return deployed.error();
//     auto served = runtime->serve("payments.charge", [](const int& cents, pawl::Work& work) {
//       std::printf("charge %d under the key %s\n", cents, work.key().c_str());
//       return cents;
//     });
//     if (!served) return served.error();
//     auto job = runtime->start<int>("order", 1999, {.id = "order-17"});  // durable when it returns
//     if (!job) return job.error();
//     return job->result(std::chrono::seconds(10));
//   }
//
// A job that was started survives kill -9 and power loss. Workers run at least once, with a key that stays the same.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pawl/bulk.h"
#include "pawl/callable.h"
#include "pawl/codec.h"
#include "pawl/event.h"
#include "pawl/finding.h"
#include "pawl/graph.h"
#include "pawl/ids.h"
#include "pawl/job.h"
#include "pawl/options.h"
#include "pawl/query.h"
#include "pawl/result.h"
#include "pawl/retention.h"
#include "pawl/subscription.h"
#include "pawl/survey.h"
#include "pawl/task.h"
#include "pawl/time.h"
#include "pawl/transaction.h"
#include "pawl/view.h"
#include "pawl/worker.h"

namespace pawl {

// One of the jobs that start_many() starts.
template <class In>
struct StartItem {
  In input;
  StartOptions options{};
};

// A movable value. Any thread may call any method, also workers and observers; but an observer must not call methods
// that wait: start(), wait(), result(), requests, stop().
class Runtime {
 public:
  explicit Runtime(std::shared_ptr<detail::RuntimeBackend> backend) : backend_(std::move(backend)) {}
  Runtime(Runtime&&) noexcept = default;
  Runtime& operator=(Runtime&& other) noexcept;
  ~Runtime();  // stops the runtime, if it is not stopped yet

  // Checks an app, from a file (AppFile), a text (AppText) or a builder, and keeps it in the store for every process on
  // it (docs/GRAPHS.md). Running jobs stay on their version. If the app has mistakes, the error has a line for each;
  // already_exists: this version has other content, so give the changed app a new version.
  Result<AppVersion> deploy(const AppSource& source, const DeployOptions& options = {});
  // The files of a version, as the store keeps them: the main file first. No version: the active one.
  Result<AppFiles> app(const AppName& app);
  Status activate_app(const AppName& app);
  Result<std::vector<AppVersion>> apps();

  // A worker for a topic: any function that takes (const Input&), (const Input&, Work&), (Work&) or nothing (worker.h).
  template <class F>
  Status serve(const std::string& topic, F worker) {
    return serve_worker(topic, worker_of(std::move(worker)));
  }
  // A worker whose own SQL is committed with its reply: what it writes counts exactly once (docs/TRANSACTIONS.md). On
  // SQLite and PostgreSQL; unsupported: this store cannot do it, or a graph under collation duplex has the topic.
  template <class F>
  Status serve_transaction(const std::string& topic, F worker) {
    return serve_with_transaction(topic, transaction_worker_of(std::move(worker)));
  }
  // The function to ask when the effect of an at-most-once activity of this topic is unknown (WhenUnknown::ask_probe).
  template <class F>
  Status probe(const std::string& topic, F probe) {
    return serve_probe(topic, probe_of(std::move(probe)));
  }

  // --- Start and stop ---

  // Begins to run jobs. The first start() does this too; call it in a process that only serves workers. Deploy, serve
  // and observe first: then waiting jobs find their graphs and workers at once.
  Status launch();
  // Takes nothing new, gives back what no worker has begun, lets running workers finish and commits their replies.
  // After stop_within it tells them to stop (Work::cancelled). A reply that comes then counts if it is a success;
  // otherwise the next owner hands the work out again, without counting a failed attempt. Returns within stop_within +
  // worker_grace: a worker that does not return is left running, and its work is handed out again as after a crash.
  void stop();
  // The same within this time: workers are told to stop worker_grace before its end, or at once if the time is shorter.
  void stop(Duration at_most);
  // True while this process runs jobs; false while another process owns the store.
  bool owns() const;
  // Whether some process runs the jobs of this store, this one or another.
  Result<bool> has_owner();
  RuntimeStats stats() const;

  // Several observers may be added and removed, at any time.
  Subscription observe(Observer observer);
  // Problems that no call returns: workers that do not return, a graph that is not deployed here, a topic that no
  // worker serves (after 10 s, unserved_after), parked jobs, a store that refuses. Each is reported once, not once per
  // job. Without a reporter it goes to standard error.
  Subscription on_problem(ProblemReporter reporter);

  // --- Jobs ---

  // Starts a job of a graph, which is given by the name of a graph that was deployed here, or by a topic that the
  // active version of an app subscribes to. Returns when the job is durable.
  template <class Out = Payload, class In>
  Result<Job<Out>> start(const std::string& graph, const In& input, StartOptions options = {}) {
    auto bytes = encode(input);
    if (!bytes) return wrong_input(graph, bytes.error());
    return typed<Out>(start_bytes(graph, std::move(*bytes), std::move(options)));
  }
  // The same without waiting: `done` is called by the thread that does the engine's work, or at once if the job cannot
  // be started. It never waits for room: retry_later.
  template <class Out = Payload, class In>
  void start_async(const std::string& graph, const In& input, StartOptions options,
                   std::type_identity_t<std::function<void(Result<Job<Out>>)>> done) {
    auto bytes = encode(input);
    if (!bytes) return done(wrong_input(graph, bytes.error()));
    start_bytes_async(graph, std::move(*bytes), std::move(options),
                      [done = std::move(done)](Result<JobHandle> job) { done(typed<Out>(std::move(job))); });
  }
  // All of them, in their order, many in one commit: much faster than one after the other. Waits for room.
  template <class Out = Payload, class In>
  std::vector<Result<Job<Out>>> start_many(const std::string& graph, const std::vector<StartItem<In>>& items) {
    std::vector<Result<StartItem<Payload>>> all;
    all.reserve(items.size());
    for (const StartItem<In>& item : items) {
      auto bytes = encode(item.input);
      if (bytes)
        all.push_back(StartItem<Payload>{std::move(*bytes), item.options});
      else
        all.push_back(wrong_input(graph, bytes.error()));
    }
    std::vector<Result<Job<Out>>> jobs;
    jobs.reserve(items.size());
    for (Result<JobHandle>& job : start_all(graph, std::move(all))) jobs.push_back(typed<Out>(std::move(job)));
    return jobs;
  }

  // The newest job of an id; none: there is no such job.
  template <class Out = Payload>
  Result<std::optional<Job<Out>>> find(const std::string& id, const FindOptions& options = {}) {
    auto found = find_job(id, options);
    if (!found) return found.error();
    if (!*found) return std::optional<Job<Out>>();
    return std::optional(Job<Out>(std::move(**found)));
  }
  // A handle by the number of the run, without a look-up: each call on it reports whether there is such a job.
  template <class Out = Payload>
  Job<Out> job(RunId run) const {
    return Job<Out>(handle_of(run));
  }

  // A signal for the hook that waits for it, now or later. Returns when it is durable. over_limit: the store keeps too
  // many signals of this topic and key that no hook has taken; this one is not kept.
  template <class T>
  Status signal(const std::string& topic, const T& data, const SignalOptions& options = {}) {
    const auto bytes = encode(data);
    if (!bytes) return wrong_input(topic, bytes.error());
    return signal_bytes(topic, *bytes, options);
  }

  // A signal for the hooks of all running jobs that have one for this topic and that the filter means. With an id
  // (SignalOptions) it may be repeated: each job gets it once. If the outcome is unknown the error names the id.
  template <class T>
  Result<BulkSummary> signal_all(const std::string& topic, const T& data, const JobFilter& filter = {},
                                 const SignalOptions& options = {}) {
    auto bytes = encode(data);
    if (!bytes) return wrong_input(topic, bytes.error());
    BulkRequest request;
    request.verb = BulkVerb::signal;
    request.topic = topic;
    request.data = std::move(*bytes);
    request.signal = options;
    return bulk(filter, request);
  }

  // Whom a signal with this data would reach now. not_found, invalid: no hook of any graph would ever take it.
  Result<SignalFate> fate_of_signal(const std::string& topic, const Payload& data,
                                    const std::string& name_space = "default");

  Result<std::vector<KeptSignal>> kept_signals(const KeptSignalFilter& filter = {});
  // The signal goes, if no hook takes it first. not_found: it is not kept any more.
  Status drop_signal(const std::string& id);
  // All that the filter means, whatever its page; how many. A signal that a hook is being told of stays.
  Result<std::uint64_t> drop_signals(const KeptSignalFilter& filter);

  Result<std::vector<JobView>> list(const JobFilter& filter);
  // How many jobs a filter means, whatever its page. At once if it has no more than a status and a graph.
  Result<std::uint64_t> count(const JobFilter& filter);
  // How the store is doing, in one look.
  Result<Survey> survey(const SurveyOptions& options = {});
  // Settings, clock, lanes, disk, stuck work, files: each with what to do about it.
  Result<std::vector<Diagnosis>> diagnose();
  // Reads the whole store and every job in it.
  Result<Verified> verify(const std::function<void(std::uint64_t jobs)>& progress = {});
  // A copy of a file, made while it is run, and verified. unsupported: a server has its own way to do that.
  Result<Verified> backup(const std::string& path);
  // Asks the same of all jobs that a filter means, each of them once.
  Result<BulkSummary> bulk(const JobFilter& filter, const BulkRequest& request, const BulkOptions& options = {});
  Result<std::vector<MeasureView>> measures(const MeasureFilter& filter);
  Result<std::vector<Announcement>> announcements(const AnnouncementFilter& filter);

  // --- Retention ---

  // How long jobs are kept after their end: rules of the store, which the processes that run its jobs carry out.
  Result<std::vector<RetentionRule>> retention();
  Status set_retention(const RetentionRule& rule);
  Status drop_retention(const RetentionRule& rule);  // by its status and graph; not_found: there is none
  // Carries them out now, over the whole store.
  Result<RetentionSummary> apply_retention(const RetentionOptions& options = {});

  // --- Tasks: hooks that wait for a person ---

  Result<std::vector<Task>> tasks(const TaskFilter& filter = {});
  // For up to a day; again to go on. conflict: somebody else has it. not_found (also the next two): it is not open.
  Status claim_task(const std::string& id, const std::string& who, Duration time = std::chrono::minutes(30));
  Status release_task(const std::string& id, const std::string& who);
  // Its hook goes on with this data, as if it were signalled.
  Status resolve_task(const std::string& id, const Payload& data, const ResolveOptions& options = {});

  // --- Topics ---

  // No process on this store hands out work of a paused topic. Running attempts continue.
  Status pause_topic(const std::string& topic);
  Status resume_topic(const std::string& topic);
  Result<std::vector<std::string>> paused_topics();

  // --- Workers that reply later (Reply::later), from any process on this store ---

  // With anything that a worker may return: a value, a Failure, a Reply. conflict: the token is no longer valid;
  // retry_later (collation duplex): the worker has not returned yet, or its pending replies are being served.
  template <class T>
  Status complete(const std::string& token, const T& answer) {
    return complete_work(token, reply_of(answer));
  }
  template <class T = Payload>
  Status heartbeat(const std::string& token, const T& progress = {}, const HeartbeatOptions& options = {}) {
    auto bytes = encode(progress);
    if (!bytes) return bytes.error();
    return extend_work(token, std::move(*bytes), options);
  }

 private:
  template <class Out>
  static Result<Job<Out>> typed(Result<JobHandle> handle) {
    if (!handle) return handle.error();
    return Job<Out>(std::move(*handle));
  }
  static Error wrong_input(const std::string& of, const Error& error) {
    return {error.code, "the data for " + of + ": " + error.detail};
  }
  Status serve_worker(const std::string& topic, Worker worker);
  Status serve_with_transaction(const std::string& topic, TransactionWorker worker);
  Status serve_probe(const std::string& topic, Probe probe);
  Result<JobHandle> start_bytes(const std::string& graph, Payload input, StartOptions options);
  void start_bytes_async(const std::string& graph, Payload input, StartOptions options,
                         std::function<void(Result<JobHandle>)> done);
  std::vector<Result<JobHandle>> start_all(const std::string& graph, std::vector<Result<StartItem<Payload>>> items);
  Result<std::optional<JobHandle>> find_job(const std::string& id, const FindOptions& options);
  JobHandle handle_of(RunId run) const;
  Status signal_bytes(const std::string& topic, const Payload& data, const SignalOptions& options);
  Status complete_work(const std::string& token, const Reply& reply);
  Status extend_work(const std::string& token, Payload progress, const HeartbeatOptions& options);

  std::shared_ptr<detail::RuntimeBackend> backend_;
};

// Opens or creates the store. Nothing runs before launch(), or before the first job is started.
Result<Runtime> open(RuntimeOptions options);
// The same with a path or an address, and the default options.
template <class Text>
requires std::convertible_to<Text, std::string> Result<Runtime> open(const Text& store) {
  return open(RuntimeOptions{.store = store});
}

}  // namespace pawl
