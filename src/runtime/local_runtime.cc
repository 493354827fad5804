// LocalRuntime: how it is made, launched and stopped, and what it serves. runtime_starts, runtime_requests and
// runtime_reads have the other methods for callers, runtime_threads has the threads behind them.
#include "runtime/local_runtime.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "base/format.h"
#include "base/limits.h"
#include "base/random.h"
#include "runtime/request_checks.h"

namespace pawl::runtime {

namespace {

std::uint64_t unique_seed(const Clock& clock) {
  static std::atomic<std::uint64_t> count{0};
  return Random::mix(static_cast<std::uint64_t>(clock.now().micros()) ^ (static_cast<std::uint64_t>(getpid()) << 40)) +
         count.fetch_add(1);
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
      ends_([this](RunId run) { return look_for_end(run); }, [this](RunId run) { return lanes_here_.has(run); },
            [this](const std::string& text) { report(text); }),
      lanes_(pool),
      requests_(*store_.store, pool, graphs_, unique_seed(clock_),
                [this](store::Operation operation) { return commit_request(std::move(operation)); },
                {store_.duplex,
                 [this](store::DuplexOperation operation) { return commit_duplex_request(std::move(operation)); }}),
      retention_(*store_.store, store_.duplex, commit_all()),
      tasks_(*store_.store, pool, apps_, graphs_, commit_all()),
      handouts_(*store_.store, pool,
                [this](store::Operation operation, std::function<void(Result<store::Outcome>)> done) {
                  commit_later(std::move(operation), std::move(done));
                }),
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
  if (change.graphs && retention_thread_ != nullptr) retention_thread_->look();
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
                                 far ? store_.transactions : nullptr, options_.worker_silence,
                                 std::shared_ptr<EngineTurn>(door_, &door_->turn)});
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
      const auto tell_quietly = [this](StoreThreads::Told told) {
        const bool owed = std::visit([this](auto& one) { return commands_.push_quietly(std::move(one)); }, told);
        if (owed) door_->turn.owe();
      };
      store_threads_ = std::make_shared<StoreThreads>(*store_.store, store_.duplex, commit_times_, connections,
                                                      tell_quietly, &door_->turn);
      commands_.set_stand_in([weak = std::weak_ptr(store_threads_)] {
        const auto threads = weak.lock();  // a worker that never returned outlives them
        return threads != nullptr && threads->stand_in();
      });
      read_threads_ = std::make_unique<StoreThreads>(*store_.store, store_.duplex, commit_times_, connections, tell);
    } else if (!committer_.joinable()) {
      committer_ = std::thread([this] { run_committer(); });
    }
    pool_ = std::move(*pool);
    auto retention = std::make_unique<RetentionThread>(
        retention_,
        RetentionThread::Hooks{[this] { return lanes_owned_here(); }, [this] { return store_.store->now(); },
                               [this](const std::string& text) { report(text); }});
    {
      const std::lock_guard lock(rung_mutex_);
      retention_thread_ = std::move(retention);
    }
    // The last one: nothing behind it can fail, so it need not be ended again.
    engine_thread_ = std::thread([this] {
      engine_.add_slots(options_.worker_queue);
      engine_.set_threads(options_.worker_threads);
      duplex_.add_slots(options_.worker_queue);
      run_engine();
    });
  } catch (const std::system_error& error) {
    take_retention_thread().reset();
    pool_.reset();
    clock_watch_.reset();
    return Error{ErrorCode::retry_later,
                 format("a thread of the runtime cannot be made: {}; raise the system's limit on "
                        "threads and memory, and start it again",
                        error.code().message())};
  }
  return {};
}

std::unique_ptr<RetentionThread> LocalRuntime::take_retention_thread() {
  const std::lock_guard lock(rung_mutex_);
  return std::move(retention_thread_);
}

void LocalRuntime::stop(Duration at_most) {
  const std::lock_guard lock(life_mutex_);
  if (retention_thread_ != nullptr) retention_thread_->end();
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
  if (store_threads_ != nullptr) store_threads_->end();
  store_threads_.reset();
  read_threads_.reset();
  if (life_ == Life::stopped)
    for (Command& command : commands_.close()) refuse(command);
  take_retention_thread().reset();  // nothing that it waits for is left
  ends_.close(stopped());
}

}  // namespace pawl::runtime
