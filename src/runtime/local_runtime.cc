// LocalRuntime: the methods for callers. runtime_threads.cc has the threads behind them.
#include "runtime/local_runtime.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <future>
#include <system_error>

#include "base/entropy.h"
#include "base/format.h"
#include "base/limits.h"
#include "runtime/bytes.h"
#include "runtime/family.h"
#include "runtime/job_search.h"
#include "runtime/obstacles.h"
#include "runtime/parts.h"
#include "runtime/request_checks.h"
#include "runtime/views.h"

namespace pawl::runtime {

namespace {

constexpr Duration wait_max = std::chrono::hours(24 * 365);
// An owner is notified of an end; a read from time to time finds what was not reported, such as a duplex job that
// another process ended.
constexpr Duration wait_look_owner = std::chrono::seconds(10);
// Another process's engine does not notify this one. So the row is read: soon at first, then after an eighth of the
// time waited so far.
constexpr Duration wait_look_guest_min = std::chrono::milliseconds(1);
constexpr Duration wait_look_guest_max = std::chrono::milliseconds(50);
constexpr int wait_look_guest_share = 8;

std::uint64_t unique_seed(const Clock& clock) {
  static std::atomic<std::uint64_t> count{0};
  return Random::mix(static_cast<std::uint64_t>(clock.now().micros()) ^ (static_cast<std::uint64_t>(getpid()) << 40)) +
         count.fetch_add(1);
}

store::Reuse store_reuse(IdReuse reuse) {
  switch (reuse) {
    case IdReuse::attach:
    case IdReuse::reject:
      return store::Reuse::never;
    case IdReuse::after_close:
      return store::Reuse::after_close;
    case IdReuse::replace:
      return store::Reuse::replace;
  }
  return store::Reuse::never;
}

Error taken(const std::string& id, RunId run) {
  return {ErrorCode::already_exists, format("job id {} is taken by run {}", id, run.raw())};
}

// Processes of several machines share a server: people want to know which of them has a lane.
std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("somewhere");
}

EngineOptions engine_options(const RuntimeOptions& options, const OpenedStore& store, const Clock& clock) {
  EngineOptions result;
  result.seed = unique_seed(clock);
  result.name = format("{}-{}-{:x}", host_name(), getpid(), result.seed & 0xffffff);
  result.lease = store.lease;
  result.reads_later = store.store->connections() > 0;
  result.looks_with_renewals = !store.rings_with_commits;
  result.fusion = options.fusion ? core::Fusion::on : core::Fusion::off;
  // The gate keeps waiting bytes at half of this limit: a request that the gate admitted is not refused here.
  result.bytes_max.waiting = 2 * options.memory.waiting;
  result.bytes_max.hot_jobs = options.memory.hot_jobs;
  result.bytes_max.worker_queue = options.memory.worker_queue;
  return result;
}

}  // namespace

LocalRuntime::LocalRuntime(RuntimeOptions options, OpenedStore store, store::PoolInfo pool, const SteadyClock& clock)
    : options_(std::move(options)),
      clock_(clock),
      door_(std::make_shared<Door>(options_.memory.waiting)),
      store_(std::move(store)),
      store_clock_(*store_.store, clock_),
      apps_(*store_.store, graphs_,
            [this](store::Operation operation) { return commit_request(std::move(operation)); }),
      ends_([this](RunId run) { return look_for_end(run); }, [this] { return owns(); },
            [this](const std::string& text) { report(text); }),
      requests_(*store_.store, pool, graphs_, unique_seed(clock_),
                [this](store::Operation operation) { return commit_request(std::move(operation)); },
                {store_.duplex,
                 [this](store::DuplexOperation operation) { return commit_duplex_request(std::move(operation)); }}),
      engine_(engine_options(options_, store_, clock_), pool, *store_.store, store_clock_, graphs_, *this),
      duplex_({unique_seed(clock_), store_.duplex, options_.memory}, store_clock_, graphs_, *this, observers_),
      transaction_desk_(store_.transactions.get(), clock_, engine_) {
  graphs_.admit_if([this](const Graph& graph) {
    const auto admitted = duplex_.admits(graph);
    return admitted ? topics_.admits(graph) : admitted;
  });
}

LocalRuntime::~LocalRuntime() {
  stop();
  store_.store->stop_listening(*this);
}

// Changes that the engine has not processed yet are one command, however many they are.
void LocalRuntime::rung(const store::Change& change) {
  const std::lock_guard lock(rung_mutex_);
  const bool waits = !rung_.empty();
  rung_.add(change);
  if (!waits && !rung_.empty()) commands_.push(Signal::look);
}

// Jobs may wait for the graph that was deployed.
void LocalRuntime::look_at_graphs() {
  store::Change change;
  change.graphs = true;
  rung(change);
}

Result<AppVersion> LocalRuntime::deploy(const AppSource& source, const DeployOptions& options) {
  auto deployed = apps_.deploy(source, options);
  if (deployed) look_at_graphs();
  return deployed;
}

Status LocalRuntime::serve(const std::string& topic, Worker worker) {
  const auto checked = check_name("topic", topic);
  if (!checked) return checked;
  if (!worker) return Error{ErrorCode::invalid, format("the worker for topic {} is empty", topic)};
  const auto served = topics_.serve(topic, ServedTopics::Way::plain, graphs_);
  if (!served) return served;
  commands_.push(
      ServeCommand{Topic(topic), std::make_shared<const Worker>(std::move(worker)), ServedTopics::Way::plain});
  return {};
}

Status LocalRuntime::serve_transaction(const std::string& topic, TransactionWorker worker) {
  const auto checked = check_name("topic", topic);
  if (!checked) return checked;
  if (!worker) return Error{ErrorCode::invalid, format("the worker for topic {} is empty", topic)};
  if (store_.transactions == nullptr) return Error{ErrorCode::unsupported, store_.no_transactions};
  const auto served = topics_.serve(topic, ServedTopics::Way::transaction, graphs_);
  if (!served) return served;
  commands_.push(ServeCommand{Topic(topic), std::make_shared<const TransactionWorker>(std::move(worker)),
                              ServedTopics::Way::transaction});
  return {};
}

Status LocalRuntime::probe(const std::string& topic, Probe probe) {
  const auto checked = check_name("topic", topic);
  if (!checked) return checked;
  if (!probe) return Error{ErrorCode::invalid, format("the probe for topic {} is empty", topic)};
  commands_.push(ProbeCommand{Topic(topic), std::make_shared<const Probe>(std::move(probe))});
  return {};
}

Status LocalRuntime::launch() {
  const std::scoped_lock lock(life_mutex_, direct_mutex_);
  if (life_ == Life::running) return Error{ErrorCode::already_done, "the runtime runs already"};
  if (life_ == Life::stopped) return Error{ErrorCode::invalid, "a stopped runtime stays stopped; open the store again"};
  const auto started = start_threads();
  if (!started) return started;
  life_ = Life::running;
  return {};
}

// All of them or none: if one cannot be created, the others are ended again.
Status LocalRuntime::start_threads() {
  const bool far = store_.store->connections() > 0;
  auto pool = WorkerPool::start({options_.worker_threads, store_.store->id(), options_.worker_grace,
                                 [door = door_](WorkerMessage word) { door->tell(std::move(word)); },
                                 far ? store_.transactions : nullptr, options_.worker_silence});
  if (!pool) return pool.error();
  try {
    store_.store->listen(*this);
    store_.on_problem([this](const std::string& text) { report(text); });
    clock_watch_ = ClockWatch::start([this] { clock_was_set(); });
    const std::size_t connections = store_.store->connections();
    const auto tell = [this](StoreThreads::Told told) {
      std::visit([this](auto& one) { commands_.push(std::move(one)); }, told);
    };
    if (connections > 0) {
      store_threads_ = std::make_unique<StoreThreads>(*store_.store, store_.duplex, connections, tell);
      read_threads_ = std::make_unique<StoreThreads>(*store_.store, store_.duplex, connections, tell);
    } else if (!committer_.joinable()) {
      committer_ = std::thread([this] { run_committer(); });
    }
    pool_ = std::move(*pool);
    engine_thread_ = std::thread([this] {
      engine_.add_slots(options_.worker_queue);
      engine_.set_threads(options_.worker_threads);
      duplex_.add_slots(options_.worker_queue);
      run_engine();
    });
  } catch (const std::system_error& error) {
    pool_.reset();
    clock_watch_.reset();
    return Error{ErrorCode::retry_later,
                 format("a thread of the runtime cannot be made: {}; raise the system's limit on "
                        "threads and memory, and start it again",
                        error.code().message())};
  }
  return {};
}

void LocalRuntime::stop(Duration at_most) {
  const std::lock_guard lock(life_mutex_);
  if (life_ == Life::running) {
    stop_at_most_ = std::clamp(at_most, Duration{0}, Duration(limits::duration_max)).count();
    commands_.push(Signal::stop);
    engine_thread_.join();
    clock_watch_.reset();
    gate_.close();  // threads that wait there would wait for ever
    // Workers that were left running had their time; the others have nothing left to do, except a probe.
    pool_->close(stop_leave_at_ ? options_.worker_grace : Duration{0});
    pool_.reset();
    life_ = Life::stopped;
  }
  if (committer_.joinable()) {
    groups_.push(std::nullopt);
    committer_.join();
  }
  store_threads_.reset();
  read_threads_.reset();
  if (life_ == Life::stopped)
    for (Command& command : commands_.close()) refuse(command);
  ends_.close(stopped());
}

Result<Submission> LocalRuntime::start(JobRequest& request) {
  if (std::this_thread::get_id() == engine_id_.load())
    return Error{ErrorCode::invalid, "an observer cannot wait for a job to be started: use start_async"};
  const auto wait = request.options.when_full == WhenFull::wait ? ByteGate::Wait::yes : ByteGate::Wait::no;
  std::promise<Result<Submission>> promise;
  auto future = promise.get_future();
  submit_job(
      request, [&](Result<Submission> result) { promise.set_value(std::move(result)); }, wait);
  return future.get();
}

void LocalRuntime::start_async(JobRequest request, std::function<void(const std::string&, Result<Submission>)> done) {
  const auto version = prepare(request);
  if (!version) return done(request.options.id, version.error());
  submit_prepared(
      request, *version,
      [done = std::move(done), id = request.options.id](Result<Submission> result) { done(id, std::move(result)); },
      ByteGate::Wait::no);
}

// Many requests are on their way at once, and share commits. Each waits for room as start() does.
std::vector<Result<Submission>> LocalRuntime::start_many(std::vector<Result<JobRequest>>& requests) {
  const Error unset{ErrorCode::invalid, "an observer cannot wait for jobs to be started: use start_async"};
  std::vector<Result<Submission>> results(requests.size(), unset);
  if (std::this_thread::get_id() == engine_id_.load()) return results;
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t out = 0;  // guarded by mutex
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i]) {
      results[i] = requests[i].error();
      continue;
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return out < limits::start_many_at_once_max; });
    ++out;
    lock.unlock();
    const auto wait = requests[i]->options.when_full == WhenFull::wait ? ByteGate::Wait::yes : ByteGate::Wait::no;
    submit_job(
        *requests[i],
        [&, i](Result<Submission> result) {
          const std::lock_guard guard(mutex);
          results[i] = std::move(result);
          --out;
          changed.notify_one();  // under the lock: the caller may be gone right after it
        },
        wait);
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return out == 0; });
  return results;
}

Result<core::GraphRef> LocalRuntime::prepare(JobRequest& request) {
  if (const auto named = check_name("graph name", request.graph); !named) return named.error();
  const bool has_id = !request.options.id.empty();
  if (has_id)
    if (const auto checked = check_request(request); !checked) return checked.error();
  auto version = apps_.prepare(request);
  if (version && !has_id)
    if (const auto checked = check_request(request); !checked) return checked.error();
  return version;
}

void LocalRuntime::submit_job(JobRequest& request, std::function<void(Result<Submission>)> done, ByteGate::Wait wait) {
  const auto version = prepare(request);
  if (!version) return done(version.error());
  submit_prepared(request, *version, std::move(done), wait);
}

void LocalRuntime::submit_prepared(JobRequest& request, const core::GraphRef& version,
                                   std::function<void(Result<Submission>)> done, ByteGate::Wait wait) {
  if (life_ == Life::made)
    if (const auto launched = launch(); !launched && launched.error().code != ErrorCode::already_done)
      return done(launched.error());
  const auto secret = draw_entropy();
  if (!secret) return done(secret.error());
  const StartOptions& options = request.options;
  SubmitCommand command{SubmitRequest{Namespace(options.name_space), JobId(options.id), GraphName(request.graph),
                                      std::move(request.input), core::JobSecret(core::Guid{secret->high, secret->low}),
                                      store_reuse(options.reuse), options.delay, options.end_within, options.keep,
                                      options.priority, version},
                        done};
  if (options.reuse == IdReuse::reject)
    command.done = [done, id = options.id](Result<Submission> result) {
      if (result && !result->created) return done(taken(id, result->run));
      done(std::move(result));
    };
  if (const auto given = give_command(std::move(command), wait); !given) done(given.error());
}

template <class Answer>
Result<Answer> LocalRuntime::ask_engine(const std::function<Result<Answer>()>& direct,
                                        const std::function<Command(std::function<void(Result<Answer>)>)>& make) {
  if (std::this_thread::get_id() == engine_id_.load())
    return Error{ErrorCode::invalid,
                 "an observer runs on the engine's thread and cannot wait for it: ask from another thread"};
  if (life_ == Life::made) {
    const std::lock_guard lock(direct_mutex_);
    if (life_ == Life::made) return direct();
  }
  std::promise<Result<Answer>> promise;
  auto future = promise.get_future();
  const auto given =
      give_command(make([&](Result<Answer> outcome) { promise.set_value(std::move(outcome)); }), ByteGate::Wait::yes);
  if (!given) return given.error();
  return future.get();
}

Result<store::Outcome> LocalRuntime::commit_request(store::Operation operation) {
  return ask_engine<store::Outcome>(
      [&]() -> Result<store::Outcome> {
        auto outcomes = store_.store->commit({&operation, 1});
        if (!outcomes) return outcomes.error();
        return std::move(outcomes->front());
      },
      [&](auto done) {
        return RequestCommand{std::move(operation), std::move(done)};
      });
}

Result<store::DuplexOutcome> LocalRuntime::commit_duplex_request(store::DuplexOperation operation) {
  return ask_engine<store::DuplexOutcome>([&] { return store_.duplex->commit_one(operation); },
                                          [&](auto done) {
                                            return DuplexCommand{std::move(operation), std::move(done)};
                                          });
}

std::size_t LocalRuntime::bytes_of_command(const Command& command) {
  if (const auto* submit = std::get_if<SubmitCommand>(&command)) return sizeof(Command) + submit->request.input.size();
  if (const auto* request = std::get_if<RequestCommand>(&command))
    return sizeof(Command) + bytes_of(request->operation);
  if (const auto* request = std::get_if<DuplexCommand>(&command)) return sizeof(Command) + bytes_of(request->operation);
  const auto* word = std::get_if<WorkerMessage>(&command);
  if (word == nullptr) return 0;
  if (const auto* answer = std::get_if<WorkReply>(word)) return sizeof(Command) + answer->data.size();
  if (const auto* answer = std::get_if<ProbeAnswer>(word)) return sizeof(Command) + answer->data.size();
  return sizeof(Command);
}

Status LocalRuntime::give_command(Command command, ByteGate::Wait wait) {
  const std::size_t bytes = bytes_of_command(command);
  // A request to a job, such as an interrupt, must get in even when nothing else does.
  const bool request =
      std::holds_alternative<RequestCommand>(command) || std::holds_alternative<DuplexCommand>(command);
  const bool light = request && bytes <= limits::light_request_bytes;
  if (light)
    gate_.add(bytes);
  else if (const auto pass = gate_.enter(bytes, wait); pass == ByteGate::Pass::closed)
    return stopped();
  else if (pass == ByteGate::Pass::full)
    return Error{ErrorCode::retry_later, no_room(options_.memory.waiting)};
  const auto taken = wait == ByteGate::Wait::yes
                         ? commands_.push_when_room(std::move(command), limits::submits_waiting_max)
                         : commands_.try_push(std::move(command), limits::submits_waiting_max);
  if (taken == CommandQueue<Command>::Taken::yes) return {};
  gate_.leave(bytes);
  if (taken == CommandQueue<Command>::Taken::closed) return stopped();
  return Error{ErrorCode::retry_later,
               format("{} commands wait already (submits_waiting_max)", limits::submits_waiting_max)};
}

void LocalRuntime::Door::tell(WorkerMessage word) {
  Command command(std::move(word));
  gate.add(bytes_of_command(command));
  commands.push(std::move(command));
  // The engine's thread reports attempts that were cancelled before they began. It never waits for itself.
  if (std::this_thread::get_id() != engine_id.load()) gate.wait_for_room();
}

// Closed with its completion tasks done, or stopped until a person acts, and none did.
Result<bool> LocalRuntime::has_ended(const core::JobRow& job) {
  if (job.status != core::JobStatus::parked) return core::is_closed(job.status) && job.completions > 0;
  const auto stored = store_.store->read_job(job.run);  // a redrive may be on its way
  if (!stored) return stored.error();
  return *stored && status_to_come(**stored) == core::JobStatus::parked;
}

Result<JobView> LocalRuntime::wait(RunId run, Duration at_most) {
  EndWaiters::Place place(waiters_, run);
  const Duration begin = clock_.monotonic();
  const Duration until = begin + std::min(at_most, wait_max);
  for (;;) {
    const bool notified = owns();  // before the read: an end after the read is reported
    const auto job = store_.store->read_job_row(run);
    if (!job) return job.error();
    if (!*job) return no_job(run);
    const auto ended = has_ended(**job);
    if (!ended) return ended.error();
    if (*ended) return view_of(**job);
    const Duration now = clock_.monotonic();
    if (now >= until)
      return Error{ErrorCode::retry_later,
                   format("job {} has not ended yet{}", (*job)->id.raw(),
                          life_ == Life::made ? "; this runtime runs nothing before launch()" : "")};
    const Duration look =
        notified ? wait_look_owner
                 : std::clamp((now - begin) / wait_look_guest_share, wait_look_guest_min, wait_look_guest_max);
    if (auto end = place.wait(std::min(until - now, look))) return std::move(*end);
  }
}

Result<std::optional<JobView>> LocalRuntime::look_for_end(RunId run) {
  const auto job = store_.store->read_job_row(run);
  if (!job) return job.error();
  if (!*job) return no_job(run);
  const auto ended = has_ended(**job);
  if (!ended) return ended.error();
  return *ended ? std::optional(view_of(**job)) : std::nullopt;
}

Result<std::optional<RunId>> LocalRuntime::find(const std::string& id, const FindOptions& options) {
  return store_.store->find_run(Namespace(options.name_space), JobId(id));
}

Result<JobView> LocalRuntime::read(RunId run) {
  const auto job = store_.store->read_job_row(run);
  if (!job) return job.error();
  if (!*job) return no_job(run);
  return view_of(**job);
}

Result<JobDetail> LocalRuntime::inspect(RunId run) {
  if (store_.duplex != nullptr) {
    const auto duplex = store_.duplex->read(run);
    if (!duplex) return duplex.error();
    if (*duplex) {
      const auto graph = graphs_.find((*duplex)->job.graph);
      JobDetail detail = duplex_detail_of(**duplex, graph.get());
      if (life_ == Life::running) detail.obstacles = obstacles_of((*duplex)->job, graph.get(), 0);
      return detail;
    }
  }
  const auto stored = store_.store->read_job(run);
  if (!stored) return stored.error();
  if (!*stored) return no_job(run);
  const core::JobState& state = (*stored)->state;
  const auto graph = graphs_.find(state.job.graph);
  JobDetail detail = detail_of(state, graph.get(), store_.store->id());
  add_waiting(detail, **stored, graph.get());
  detail.obstacles = obstacles_of(**stored, {graph.get(), life_ == Life::running, clock_.now(),
                                             [this](const Topic& topic) { return topics_.serves(topic.raw()); },
                                             [this] { return paused_topics(); }});
  if (graph != nullptr) Family(*store_.store, graphs_).complete(detail, state, *graph);
  return detail;
}

Result<std::vector<JobView>> LocalRuntime::list(const JobFilter& filter) {
  return list_jobs(*store_.store, graphs_, filter);
}

Result<std::vector<MeasureView>> LocalRuntime::measures(const MeasureFilter& filter) {
  const auto graph = apps_.graph_of(filter.topic);
  if (!graph) return graph.error();
  return read_measures(*store_.store, *graph, filter);
}

Result<std::vector<std::string>> LocalRuntime::paused_topics() {
  const auto topics = store_.store->read_paused_topics();
  if (!topics) return topics.error();
  std::vector<std::string> names;
  for (const Topic& topic : *topics) names.push_back(topic.raw());
  return names;
}

}  // namespace pawl::runtime
