#include "runtime/local_runtime.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <future>

#include "base/format.h"
#include "base/invariant.h"
#include "base/limits.h"
#include "runtime/views.h"

namespace pawl {

namespace runtime {

namespace {

// A group this small is committed by the engine's own thread: two thread switches less, and nothing else
// would have been decided meanwhile.
constexpr std::size_t inline_operations_max = 8;

constexpr Duration wait_max = std::chrono::hours(24 * 365);
constexpr Duration wait_slice_owner = std::chrono::seconds(10);
constexpr Duration wait_slice_guest = std::chrono::milliseconds(50);

// Closed with its completion tasks done, or stopped until a person sees to it.
bool has_ended(const core::JobRow& job) {
  return (core::is_closed(job.status) && job.completions > 0) || job.status == core::JobStatus::parked;
}

std::uint64_t unique_seed(const Clock& clock) {
  static std::atomic<std::uint64_t> count{0};
  return Random::mix(static_cast<std::uint64_t>(clock.now().micros()) ^ (static_cast<std::uint64_t>(getpid()) << 40)) +
         count.fetch_add(1);
}

EngineOptions engine_options(const RuntimeOptions& options, Duration lease, const Clock& clock) {
  EngineOptions result;
  result.seed = unique_seed(clock);
  result.name = format("{}-{:x}", getpid(), result.seed & 0xffffff);
  result.lease = lease;
  result.fusion = options.fusion ? core::Fusion::on : core::Fusion::off;
  return result;
}

Error stopped() { return {ErrorCode::retry_later, "this runtime is stopped; open the store again to submit"}; }

Status check_request(const JobRequest& request) {
  for (const auto& [what, name] : {std::pair<const char*, const std::string&>{"job id", request.id},
                                   {"graph name", request.graph},
                                   {"namespace", request.name_space}}) {
    const auto checked = check_name(what, name);
    if (!checked) return checked;
  }
  if (request.input.size() > limits::payload_bytes_max)
    return Error{ErrorCode::over_limit, format("the input of job {} has {} bytes; at most {} are allowed (payload_bytes_max)",
                                               request.id, request.input.size(), limits::payload_bytes_max)};
  return {};
}

}  // namespace

LocalRuntime::LocalRuntime(RuntimeOptions options, OpenedStore store, store::PoolInfo pool)
    : options_(std::move(options)),
      store_(std::move(store)),
      engine_(engine_options(options_, store_.lease, clock_), pool, *store_.store, clock_, graphs_, *this),
      duplex_(unique_seed(clock_), *store_.store, clock_, graphs_, *this, observer_) {}

LocalRuntime::~LocalRuntime() { stop(); }

Status LocalRuntime::deploy(Graph graph) {
  auto added = graphs_.add(std::move(graph));
  if (added) commands_.push(Signal::look);  // jobs may have waited for it
  return added;
}

Status LocalRuntime::serve(const std::string& topic, Worker worker) {
  const auto checked = check_name("topic", topic);
  if (!checked) return checked;
  if (!worker) return Error{ErrorCode::invalid, format("the worker for topic {} is empty", topic)};
  commands_.push(ServeCommand{Topic(topic), std::make_shared<const Worker>(std::move(worker))});
  return {};
}

Status LocalRuntime::start() {
  const std::lock_guard lock(life_mutex_);
  if (life_ == Life::running) return Error{ErrorCode::already_done, "the runtime runs already"};
  if (life_ == Life::stopped) return Error{ErrorCode::invalid, "a stopped runtime stays stopped; open the store again"};
  life_ = Life::running;
  store_.on_doorbell([this] { commands_.push(Signal::look); });
  store_.on_owner_gone([this] { commands_.push(Signal::owner_gone); });
  pool_ = std::make_unique<WorkerPool>(options_.worker_threads, store_.store->id(), [this](WorkAnswer answer) { commands_.push(std::move(answer)); });
  engine_.add_slots(options_.worker_queue);
  duplex_.add_slots(options_.worker_queue);
  committer_ = std::thread([this] { run_committer(); });
  engine_thread_ = std::thread([this] { run_engine(); });
  return {};
}

void LocalRuntime::stop() {
  const std::lock_guard lock(life_mutex_);
  if (life_ != Life::running) return;
  commands_.push(Signal::stop);
  engine_thread_.join();
  pool_.reset();
  groups_.push(std::nullopt);
  committer_.join();
  life_ = Life::stopped;
  // Submits that came after the engine's last look: their callers wait for an answer.
  for (Command& command : commands_.close())
    if (auto* late = std::get_if<SubmitCommand>(&command)) late->done(stopped());
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
  const auto checked = check_request(request);
  if (!checked) return done(checked.error());
  SubmitCommand command{SubmitRequest{Namespace(request.name_space), JobId(request.id), GraphName(request.graph),
                                      std::move(request.input)},
                        done};
  if (life_ == Life::made)
    return done(Error{ErrorCode::invalid, format("job {} cannot be submitted before start()", request.id)});
  switch (commands_.try_push(std::move(command), limits::submits_waiting_max)) {
    case CommandQueue<Command>::Taken::yes: return;
    case CommandQueue<Command>::Taken::closed: return done(stopped());
    case CommandQueue<Command>::Taken::full:
      return done(Error{ErrorCode::retry_later,
                        format("{} commands wait already (submits_waiting_max)", limits::submits_waiting_max)});
  }
}

Result<JobView> LocalRuntime::wait(RunId run, Duration at_most) {
  Waiters::Place place(waiters_, run);
  const auto stored = store_.store->read_job(run);
  if (!stored) return stored.error();
  if (!*stored) return Error{ErrorCode::not_found, format("no job has run id {}", run.raw())};
  const core::JobRow& job = (*stored)->state.job;
  if (has_ended(job)) return view_of(job);
  const Duration until = clock_.monotonic() + std::min(at_most, wait_max);
  for (;;) {
    // The owner's engine tells us. Another process tells nobody here, so then the store is asked now and then.
    const Duration left = until - clock_.monotonic();
    if (auto end = place.wait(owns() ? std::min(left, wait_slice_owner) : std::min(left, wait_slice_guest)))
      return std::move(*end);
    if (!owns()) {
      const auto again = store_.store->read_job(run);
      if (!again) return again.error();
      if (*again && has_ended((*again)->state.job)) return view_of((*again)->state.job);
    }
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
  if (!*stored) return Error{ErrorCode::not_found, format("no job has run id {}", run.raw())};
  const auto graph = graphs_.find((*stored)->state.job.graph);
  return detail_of((*stored)->state, graph.get());
}

Result<std::vector<JobView>> LocalRuntime::list(const JobFilter& filter) {
  store::ListQuery query;
  if (!filter.name_space.empty()) query.name_space = Namespace(filter.name_space);
  if (filter.status) query.status = core_status(*filter.status);
  query.after = filter.after;
  query.rows_max = filter.rows_max;
  const auto rows = store_.store->list_jobs(query);
  if (!rows) return rows.error();
  std::vector<JobView> views;
  for (const core::JobRow& row : *rows) views.push_back(view_of(row));
  return views;
}

void LocalRuntime::run_engine() {
  pthread_setname_np(pthread_self(), "pawl-engine");
  engine_id_.store(std::this_thread::get_id());
  std::vector<Command> batch;
  // What was served before start() is known before the first job is looked at.
  commands_.take_all(batch, Duration{0});
  for (Command& command : batch) obey(command);
  batch.clear();
  engine_.tick();
  while (!may_end()) {
    engine_.pump();
    own_duplex();
    pool_->give(std::exchange(dispatched_, {}));
    if (commit_something()) continue;
    owns_.store(engine_.owns_anything(), std::memory_order_relaxed);  // true before it sleeps, not after
    commands_.take_all(batch, time_to_sleep());
    for (Command& command : batch) obey(command);
    batch.clear();
    engine_.tick();
  }
  engine_.release_lanes();
  if (auto group = engine_.take_group()) {
    auto result = store_.store->commit(group->operations);
    engine_.finished(std::move(*group), std::move(result));
  }
  owns_.store(false);
  for (auto& [ticket, done] : tickets_) done(stopped());
  tickets_.clear();
}

// What is given up here was not promised to anybody: an answer that is not committed is asked for again.
bool LocalRuntime::may_end() const {
  if (!stopping_ || committing_) return false;
  if (engine_.drained() && duplex_.drained()) return true;
  return (engine_.store_refuses() || duplex_.store_refuses()) && clock_.monotonic() > stop_by_;
}

// Who owns the lanes runs their duplex jobs too.
void LocalRuntime::own_duplex() {
  std::vector<duplex::OwnedLane> lanes;
  for (const auto& [lane, epoch] : engine_.owned_lanes()) lanes.push_back({lane, epoch});
  duplex_.own(std::move(lanes));
}

bool LocalRuntime::commit_something() {
  if (committing_) return false;
  const bool duplex = duplex_.commit_something();  // first: the engine may never run out of groups
  auto group = engine_.take_group();
  if (!group) return duplex;
  if (group->operations.size() <= inline_operations_max) {
    auto result = store_.store->commit(group->operations);
    engine_.finished(std::move(*group), std::move(result));
    return true;
  }
  committing_ = true;
  groups_.push(std::move(*group));
  return false;
}

std::optional<Duration> LocalRuntime::time_to_sleep() const {
  if (committing_) return std::nullopt;  // its end comes as a command
  auto wake = engine_.next_wake();
  if (const auto duplex = duplex_.next_wake(); duplex && (!wake || *duplex < *wake)) wake = duplex;
  if (!wake) return std::nullopt;
  return std::max(*wake - clock_.monotonic(), Duration{0});
}

void LocalRuntime::run_committer() {
  pthread_setname_np(pthread_self(), "pawl-commit");
  std::vector<std::optional<Group>> batch;
  for (;;) {
    groups_.take_all(batch, std::nullopt);
    for (std::optional<Group>& group : batch) {
      if (!group) return;
      auto result = store_.store->commit(group->operations);
      commands_.push(Committed{std::move(*group), std::move(result)});
    }
    batch.clear();
  }
}

void LocalRuntime::obey(Command& command) {
  std::visit(Overloaded{
                 [&](WorkAnswer& answer) {
                   if (!duplex_.answer(answer)) engine_.answer(std::move(answer));
                 },
                 [&](SubmitCommand& submit) {
                   const Ticket ticket = next_ticket_++;
                   tickets_.emplace(ticket, std::move(submit.done));
                   if (duplex_.takes(submit.request.graph)) {
                     const core::LaneId lane = engine_.lane_for(submit.request.name_space, submit.request.id.raw());
                     return duplex_.submit(std::move(submit.request), lane, ticket);
                   }
                   engine_.submit(std::move(submit.request), ticket);
                 },
                 [&](Committed& committed_group) {
                   committing_ = false;
                   engine_.finished(std::move(committed_group.group), std::move(committed_group.result));
                 },
                 [&](ServeCommand& serve_command) {
                   workers_.insert_or_assign(serve_command.topic.raw(), std::move(serve_command.worker));
                   engine_.serve(serve_command.topic);
                   duplex_.serve(serve_command.topic);
                 },
                 [&](Signal signal) {
                   if (signal == Signal::look) {
                     engine_.inbox_changed();
                     duplex_.look();
                   }
                   if (signal == Signal::owner_gone) engine_.ownership_changed();
                   if (signal == Signal::stop) {
                     stopping_ = true;
                     stop_by_ = clock_.monotonic() + limits::stop_without_store_max;
                     engine_.stop();
                     duplex_.stop();
                     const auto give_back = [&](const core::WorkItem& item) {
                       if (!duplex_.give_back(item)) engine_.give_back(item);
                     };
                     for (const WorkerPool::Task& task : pool_->take_back()) give_back(task.item);
                     for (const WorkerPool::Task& task : std::exchange(dispatched_, {})) give_back(task.item);
                   }
                 },
             },
             command);
}

void LocalRuntime::dispatch(const core::WorkItem& item) {
  dispatched_.push_back(WorkerPool::Task{item, workers_.at(item.topic.raw())});
}

void LocalRuntime::submitted(Ticket ticket, Result<Submitted> result) {
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return;
  const auto done = std::move(found->second);
  tickets_.erase(found);
  if (result) done(Submission{result->run, result->created});
  else done(result.error());
}

void LocalRuntime::committed(const core::JobState& after, const core::Bundle& bundle) {
  if (after.job.status == core::JobStatus::parked) waiters_.tell(view_of(after.job));
  if (!observer_) return;
  if (const auto graph = graphs_.find(after.job.graph)) for_each_event(after, bundle, *graph, clock_.now(), observer_);
}

void LocalRuntime::closed(const core::JobRow& job) { waiters_.tell(view_of(job)); }

void LocalRuntime::problem(const std::string& text) {
  if (reporter_) reporter_(text);
}

}  // namespace runtime

Result<std::unique_ptr<Runtime>> Runtime::open(RuntimeOptions options) {
  const auto named = check_name("pool", options.pool);
  if (!named) return named.error();
  const auto within = [](const char* what, std::uint64_t value, std::uint64_t most) -> Status {
    if (value >= 1 && value <= most) return {};
    return Error{ErrorCode::invalid, format("{} is {}; it must be between 1 and {}", what, value, most)};
  };
  for (const Status& checked : {within("worker_threads", options.worker_threads, limits::worker_threads_max),
                                within("worker_queue", options.worker_queue, limits::worker_queue_max),
                                within("lanes", options.lanes, limits::lanes_per_pool_max)})
    if (!checked) return checked.error();

  static const SystemClock clock;
  auto opened = runtime::open_store(options.store, clock);
  if (!opened) return opened.error();
  const Pool pool(options.pool);
  auto info = opened->store->read_pool(pool);
  if (!info) return info.error();
  if (!*info) {
    const store::Operation open_pool = store::OpenPool{pool, options.lanes};
    const auto made = opened->store->commit({&open_pool, 1});
    if (!made) return made.error();
    info = opened->store->read_pool(pool);
    if (!info) return info.error();
    if (!*info) return Error{ErrorCode::retry_later, format("pool {}: {}", options.pool, made->front().reason)};
  }
  return std::unique_ptr<Runtime>(std::make_unique<runtime::LocalRuntime>(std::move(options), std::move(*opened), **info));
}

}  // namespace pawl
