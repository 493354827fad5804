// LocalRuntime: what callers call. runtime_threads.cc has the threads behind it.
#include "runtime/local_runtime.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <system_error>

#include "base/format.h"
#include "base/limits.h"
#include "runtime/family.h"
#include "runtime/job_search.h"
#include "runtime/request_checks.h"
#include "runtime/views.h"

namespace pawl::runtime {

namespace {

constexpr Duration wait_max = std::chrono::hours(24 * 365);
constexpr Duration wait_slice_owner = std::chrono::seconds(10);
constexpr Duration wait_slice_guest = std::chrono::milliseconds(50);


// Closed with its completion tasks done, or stopped until a person sees to it, and none did.
bool has_ended(const store::StoredJob& job) {
  const core::JobRow& row = job.state.job;
  if (row.status == core::JobStatus::parked) return status_to_come(job) == core::JobStatus::parked;
  return core::is_closed(row.status) && row.completions > 0;
}

std::uint64_t unique_seed(const Clock& clock) {
  static std::atomic<std::uint64_t> count{0};
  return Random::mix(static_cast<std::uint64_t>(clock.now().micros()) ^ (static_cast<std::uint64_t>(getpid()) << 40)) +
         count.fetch_add(1);
}

store::Reuse store_reuse(IdReuse reuse) {
  switch (reuse) {
    case IdReuse::attach:
    case IdReuse::reject: return store::Reuse::never;
    case IdReuse::after_close: return store::Reuse::after_close;
    case IdReuse::replace: return store::Reuse::replace;
  }
  return store::Reuse::never;
}

Error taken(const std::string& id, RunId run) {
  return {ErrorCode::already_exists, format("job id {} is taken by run {}", id, run.raw())};
}

EngineOptions engine_options(const RuntimeOptions& options, Duration lease, const Clock& clock) {
  EngineOptions result;
  result.seed = unique_seed(clock);
  result.name = format("{}-{:x}", getpid(), result.seed & 0xffffff);
  result.lease = lease;
  result.fusion = options.fusion ? core::Fusion::on : core::Fusion::off;
  return result;
}

}  // namespace

LocalRuntime::LocalRuntime(RuntimeOptions options, OpenedStore store, store::PoolInfo pool)
    : options_(std::move(options)),
      store_(std::move(store)),
      apps_(*store_.store, graphs_, [this](store::Operation operation) { return commit_request(std::move(operation)); }),
      requests_(*store_.store, pool, graphs_, unique_seed(clock_),
                [this](store::Operation operation) { return commit_request(std::move(operation)); }),
      engine_(engine_options(options_, store_.lease, clock_), pool, *store_.store, clock_, graphs_, *this),
      duplex_(unique_seed(clock_), *store_.store, clock_, graphs_, *this, observer_) {}

LocalRuntime::~LocalRuntime() { stop(); }

Status LocalRuntime::deploy(Graph graph) {
  auto added = graphs_.add(std::move(graph));
  if (added) commands_.push(Signal::look);  // jobs may have waited for it
  return added;
}

Result<AppVersion> LocalRuntime::deploy_app(const std::string& path, bool activate) {
  auto deployed = apps_.deploy(path, activate);
  if (deployed) commands_.push(Signal::look);  // jobs may have waited for it
  return deployed;
}

Status LocalRuntime::serve(const std::string& topic, Worker worker) {
  const auto checked = check_name("topic", topic);
  if (!checked) return checked;
  if (!worker) return Error{ErrorCode::invalid, format("the worker for topic {} is empty", topic)};
  commands_.push(ServeCommand{Topic(topic), std::make_shared<const Worker>(std::move(worker))});
  return {};
}

Status LocalRuntime::probe(const std::string& topic, Probe probe) {
  const auto checked = check_name("topic", topic);
  if (!checked) return checked;
  if (!probe) return Error{ErrorCode::invalid, format("the probe for topic {} is empty", topic)};
  commands_.push(ProbeCommand{Topic(topic), std::make_shared<const Probe>(std::move(probe))});
  return {};
}

Status LocalRuntime::start() {
  const std::scoped_lock lock(life_mutex_, direct_mutex_);
  if (life_ == Life::running) return Error{ErrorCode::already_done, "the runtime runs already"};
  if (life_ == Life::stopped) return Error{ErrorCode::invalid, "a stopped runtime stays stopped; open the store again"};
  const auto started = start_threads();
  if (!started) return started;
  life_ = Life::running;
  return {};
}

// All of them or none: what was made before one could not be made goes again.
Status LocalRuntime::start_threads() {
  auto pool = WorkerPool::start({options_.worker_threads, store_.store->id(), options_.worker_grace,
                                 [queue = queue_](WorkerWord word) { queue->push(std::move(word)); }});
  if (!pool) return pool.error();
  try {
    store_.on_doorbell([this] { commands_.push(Signal::look); });
    store_.on_owner_gone([this] { commands_.push(Signal::owner_gone); });
    if (!committer_.joinable()) committer_ = std::thread([this] { run_committer(); });
    pool_ = std::move(*pool);
    engine_thread_ = std::thread([this] {
      engine_.add_slots(options_.worker_queue);
      engine_.set_threads(options_.worker_threads);
      duplex_.add_slots(options_.worker_queue);
      run_engine();
    });
  } catch (const std::system_error& error) {
    pool_.reset();
    return Error{ErrorCode::retry_later, format("a thread of the runtime cannot be made: {}; raise the system's limit on "
                                                "threads and memory, and start it again",
                                                error.code().message())};
  }
  return {};
}

void LocalRuntime::stop() {
  const std::lock_guard lock(life_mutex_);
  if (life_ == Life::running) {
    commands_.push(Signal::stop);
    engine_thread_.join();
    // Those that were left behind had their time; the others have nothing left to do, but for a probe.
    pool_->close(stop_leave_at_ ? options_.worker_grace : Duration{0});
    pool_.reset();
    life_ = Life::stopped;
  }
  if (committer_.joinable()) {
    groups_.push(std::nullopt);
    committer_.join();
  }
  if (life_ == Life::stopped)
    for (Command& command : commands_.close()) refuse(command);
}

Result<Submission> LocalRuntime::submit(JobRequest request) {
  if (std::this_thread::get_id() == engine_id_.load())
    return Error{ErrorCode::invalid, "an observer cannot wait for a submit: use the form with a callback"};
  std::promise<Result<Submission>> promise;
  auto future = promise.get_future();
  submit(std::move(request), [&](Result<Submission> result) { promise.set_value(std::move(result)); });
  return future.get();
}

void LocalRuntime::submit(JobRequest request, std::function<void(Result<Submission>)> done) {
  std::optional<core::GraphRef> version;
  if (!request.topic.empty()) {
    auto found = apps_.prepare(request);
    if (!found) return done(found.error());
    version = std::move(*found);
  }
  const auto checked = check_request(request);
  if (!checked) return done(checked.error());
  if (life_ == Life::made)
    return done(Error{ErrorCode::invalid, format("job {} cannot be submitted before start()", request.id)});
  SubmitCommand command{SubmitRequest{Namespace(request.name_space), JobId(request.id), GraphName(request.graph),
                                      std::move(request.input), store_reuse(request.reuse), request.delay,
                                      request.end_within, request.keep, request.priority, std::move(version)},
                        done};
  if (request.reuse == IdReuse::reject)
    command.done = [done, id = request.id](Result<Submission> result) {
      if (result && !result->created) return done(taken(id, result->run));
      done(std::move(result));
    };
  if (const auto given = give_command(std::move(command)); !given) done(given.error());
}

Result<store::Outcome> LocalRuntime::commit_request(store::Operation operation) {
  if (std::this_thread::get_id() == engine_id_.load())
    return Error{ErrorCode::invalid, "an observer runs on the engine's thread and cannot wait for it: ask from another thread"};
  if (life_ == Life::made) {
    const std::lock_guard lock(direct_mutex_);
    if (life_ == Life::made) {
      auto outcomes = store_.store->commit({&operation, 1});
      if (!outcomes) return outcomes.error();
      return std::move(outcomes->front());
    }
  }
  std::promise<Result<store::Outcome>> promise;
  auto future = promise.get_future();
  const auto given = give_command(RequestCommand{
      std::move(operation), [&](Result<store::Outcome> outcome) { promise.set_value(std::move(outcome)); }});
  if (!given) return given.error();
  return future.get();
}

template <class C>
Status LocalRuntime::give_command(C command) {
  switch (commands_.try_push(std::move(command), limits::submits_waiting_max)) {
    case CommandQueue<Command>::Taken::yes: return {};
    case CommandQueue<Command>::Taken::closed: return stopped();
    case CommandQueue<Command>::Taken::full: break;
  }
  return Error{ErrorCode::retry_later,
               format("{} commands wait already (submits_waiting_max)", limits::submits_waiting_max)};
}

Result<JobView> LocalRuntime::wait(RunId run, Duration at_most) {
  Waiters::Place place(waiters_, run);
  const auto stored = store_.store->read_job(run);
  if (!stored) return stored.error();
  if (!*stored) return no_job(run);
  const core::JobRow& job = (*stored)->state.job;
  if (has_ended(**stored)) return view_of(job);
  const Duration until = clock_.monotonic() + std::min(at_most, wait_max);
  for (;;) {
    // The owner's engine tells us. Another process tells nobody here, so then the store is asked now and then.
    const Duration left = until - clock_.monotonic();
    if (auto end = place.wait(owns() ? std::min(left, wait_slice_owner) : std::min(left, wait_slice_guest)))
      return std::move(*end);
    // An owner looks, too, when a slice is over: an interrupt of a duplex job from another process tells nobody here.
    const auto again = store_.store->read_job(run);
    if (!again) return again.error();
    if (!*again) return no_job(run);  // it ended and was removed
    if (has_ended(**again)) return view_of((*again)->state.job);
    if (left <= Duration{0}) return Error{ErrorCode::retry_later, format("job {} has not ended yet", job.id.raw())};
  }
}

Result<std::optional<RunId>> LocalRuntime::find(const std::string& job_id, const std::string& name_space) {
  return store_.store->find_run(Namespace(name_space), JobId(job_id));
}

Result<JobDetail> LocalRuntime::inspect(RunId run) {
  const auto duplex = store_.store->read_duplex(run);
  if (!duplex) return duplex.error();
  if (*duplex) return duplex_detail_of(**duplex, graphs_.find((*duplex)->job.graph).get());
  const auto stored = store_.store->read_job(run);
  if (!stored) return stored.error();
  if (!*stored) return no_job(run);
  const core::JobState& state = (*stored)->state;
  const auto graph = graphs_.find(state.job.graph);
  JobDetail detail = detail_of(state, graph.get(), store_.store->id());
  add_waiting(detail, **stored, graph.get());
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
