// LocalRuntime: the engine's turns and who takes them, the committer's thread, and the engine's reports.
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/format.h"
#include "base/invariant.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "runtime/commit_group.h"
#include "runtime/events.h"
#include "runtime/local_runtime.h"
#include "runtime/user_call.h"
#include "runtime/views.h"

namespace pawl::runtime {

namespace {

// A group this small is committed by the engine's own thread: two thread switches less, and nothing else would have
// been decided meanwhile.
constexpr std::size_t inline_operations_max = 8;
// With the committer: one is being written, the next one waits, if it is large enough to justify a sync.
constexpr std::size_t groups_out_max = 2;
constexpr std::size_t next_group_operations_min = 24;
// For a remote store: after the first batch of reads the next ones have a minimum size.
constexpr std::size_t far_reads_min = 64;

}  // namespace

Error LocalRuntime::stopped() {
  return {ErrorCode::retry_later, "this runtime is stopped; open the store again to go on with it"};
}

void LocalRuntime::run_engine() {
  pthread_setname_np(pthread_self(), "pawl-engine");
  const std::lock_guard has_turn(door_->turn);  // except in sleep()
  engine_id_.store(std::this_thread::get_id());
  door_->turn.lend([this](EngineTurn::Borrower borrower) { return borrowed_turn(borrower); });
  // Topics that were served before launch() must be known before the first job is loaded.
  take_commands();
  while (!may_end()) {
    const bool busy = turn();
    if (!busy && may_end()) break;          // the last reply changed nothing: no commit will wake this thread
    note_ownership(engine_.owned_lanes());  // before it sleeps, not after
    // Every turn takes the commands of others: a job that never pauses has something to commit each time.
    if (!busy) sleep();
    take_commands();
  }
  door_->turn.lend(nullptr);
  transaction_desk_.close();
  engine_.release_lanes();
  while (auto group = engine_.take_group()) commit_here(std::move(*group));
  note_ownership({});
  for (auto& [ticket, done] : std::exchange(submits_, {})) done(stopped());
  duplex_.refuse_requests(stopped());
  for (auto& [ticket, done] : std::exchange(asked_, {})) done(stopped());
}

void LocalRuntime::take_commands() {
  if (batch_.empty()) commands_.take_all(batch_, Duration{0});
  for (Command& command : batch_) {
    taken_ += bytes_of_command(command);
    handle(command);
  }
  batch_.clear();
  engine_.tick();
}

bool LocalRuntime::turn() {
  transaction_desk_.look();  // first: a job that was held for it continues
  engine_.pump();
  gate_.turn(std::exchange(taken_, 0), engine_.waiting_bytes() + duplex_.waiting_bytes(), engine_.store_refuses());
  own_duplex();
  tell_workers();
  look_after_workers();
  return commit_something();
}

void LocalRuntime::sleep() {
  const auto wait = time_to_sleep();
  if (wait && *wait <= Duration{0}) return;
  // Under load, and while a transaction is open, it is its own thread that goes on.
  if (!is_quiet() || stopping_ || transaction_desk_.until()) return commands_.take_all(batch_, wait);
  asleep_until_ = wait ? std::optional(clock_.monotonic() + *wait) : std::nullopt;
  engine_id_.store({});
  door_->turn.unlock();
  commands_.lend(wait);
  door_->turn.lock();
  engine_id_.store(std::this_thread::get_id());
}

// With a remote store the end of the one small group is in the queue soon, and its thread takes the turn.
bool LocalRuntime::is_quiet() const {
  if (store_threads_ == nullptr) return committing_ == 0;
  return reading_ == 0 && (committing_ == 0 || (committing_ == 1 && last_sent_ <= inline_operations_max));
}

// A reply, its commit, and what follows from it go to the pool: two turns.
EngineTurn::Call LocalRuntime::borrowed_turn(EngineTurn::Borrower borrower) {
  constexpr int turns_max = 3;
  engine_id_.store(std::this_thread::get_id());
  borrower_ = borrower;
  bool busy = true;
  for (int i = 0; busy && i < turns_max && !stopping_; ++i) {
    take_commands();
    busy = turn();
  }
  note_ownership(engine_.owned_lanes());
  const auto wait = time_to_sleep();
  const bool loaded = store_threads_ != nullptr && !is_quiet();
  const bool due_sooner = wait && (!asleep_until_ || clock_.monotonic() + *wait < *asleep_until_);
  if (busy || stopping_ || loaded || due_sooner) commands_.wake();
  borrower_ = EngineTurn::Borrower::none;
  engine_id_.store({});
  if (borrowers_group_ == nullptr) return {};
  return [this, group = std::exchange(borrowers_group_, nullptr)] {
    auto result = commit_group(*store_.store, *group, commit_times_);
    const auto door = door_;  // its end may be the end of this runtime
    if (door->commands.push_quietly(StoreThreads::Committed{std::move(*group), std::move(result)})) door->turn.owe();
  };
}

void LocalRuntime::note_ownership(const std::vector<std::pair<core::LaneId, core::Epoch>>& owned) {
  std::vector<core::LaneId> lanes;
  for (const auto& [lane, epoch] : owned) lanes.push_back(lane);
  owns_.store(!lanes.empty());
  if (!lanes_here_.set(std::move(lanes))) return;
  waiters_.look_again();  // another process handles these ends from now on, and does not notify this one
  ends_.look_again();
}

// Nothing that is dropped here was promised to a caller: a reply that is not committed is asked for again.
bool LocalRuntime::may_end() const {
  if (!stopping_ || committing_ > 0 || transaction_desk_.until()) return false;
  if (engine_.drained() && duplex_.drained()) return true;
  return (engine_.store_refuses() || duplex_.store_refuses()) && clock_.monotonic() > stop_by_;
}

// The owner of the lanes runs their duplex jobs too.
void LocalRuntime::own_duplex() {
  std::vector<duplex::OwnedLane> lanes;
  for (const auto& [lane, epoch] : engine_.owned_lanes()) lanes.push_back({lane, epoch});
  duplex_.own(std::move(lanes));
}

void LocalRuntime::commit_here(Group group) {
  auto result = commit_group(*store_.store, group, commit_times_);
  engine_.finished(std::move(group), std::move(result));
}

// A worker's transaction has the store's one writer alone, after a group of others if one waits.
bool LocalRuntime::begin_transaction() {
  if (!transactions_turn_ && engine_.operations_waiting() > 0) return false;
  if (!transaction_desk_.begin_next()) return false;
  transactions_turn_ = false;
  return true;
}

bool LocalRuntime::send_to_store() {
  while (auto group = engine_.take_group_with_transaction()) store_threads_->push(std::move(*group));
  // Like groups: while one batch is on its way the next one gathers.
  while (reading_ < store_.store->connections() && (reading_ == 0 || engine_.reads_waiting() >= far_reads_min)) {
    auto batch = engine_.take_reads();
    if (!batch) break;
    ++reading_;
    read_threads_->push(std::move(*batch));
  }
  // If each lane is a domain, the engine ensures that each has one group under way. Otherwise there is one for each
  // connection.
  const bool islands = !store_.store->spans_lanes();
  while (islands || committing_ < store_.store->connections()) {
    auto group = engine_.take_group();
    if (!group) break;
    ++committing_;
    last_sent_ = group->operations.size();
    // Who borrowed the turn commits the one small group itself: no thread is woken for it.
    const bool has_time = borrower_ == EngineTurn::Borrower::idle_worker || borrower_ == EngineTurn::Borrower::store;
    if (has_time && borrowers_group_ == nullptr && is_quiet())
      borrowers_group_ = std::make_shared<Group>(std::move(*group));
    else
      store_threads_->push(std::move(*group));
  }
  if (auto batch = duplex_.take_batch()) store_threads_->push(std::move(*batch));
  return false;  // their outcomes come as commands
}

// On this thread: the store is local.
bool LocalRuntime::commit_duplex() {
  const auto carry = [this](const DuplexBatch& batch) {
    duplex_.carried_out(batch, carry_out(batch, *store_.duplex, *store_.store));
  };
  bool busy = false;  // also after reads alone: they may have brought work that the workers do not know of yet
  while (auto reads = duplex_.take_reads()) {
    carry(*reads);
    busy = true;
  }
  const auto batch = duplex_.take_batch();
  if (batch) carry(*batch);
  return busy || batch;
}

bool LocalRuntime::commit_something() {
  if (store_threads_ != nullptr) return send_to_store();
  if (transaction_desk_.is_open()) {  // nothing else can be written
    auto group = engine_.take_group_with_transaction();
    if (group) commit_here(std::move(*group));
    return group.has_value();
  }
  if (committing_ > 0) {
    // While one group is written the next one is decided: it is ready when the disk is.
    if (committing_ >= groups_out_max || engine_.operations_waiting() < next_group_operations_min) return false;
    auto next = engine_.take_group();
    if (!next) return false;
    ++committing_;
    groups_.push(std::move(*next));
    return false;
  }
  if (begin_transaction()) return true;
  const bool duplex = commit_duplex();  // first: the engine may always have groups
  auto group = engine_.take_group();
  if (!group) return duplex;
  transactions_turn_ = true;
  if (group->operations.size() <= inline_operations_max) {
    commit_here(std::move(*group));
    return true;
  }
  ++committing_;
  groups_.push(std::move(*group));
  return false;
}

std::optional<Duration> LocalRuntime::time_to_sleep() const {
  if (committing_ > 0 && store_threads_ == nullptr) {  // its end comes as a command
    if (engine_.has_due() || engine_.has_ready()) return Duration{0};
    return std::nullopt;
  }
  if (const auto until = transaction_desk_.until()) return std::max(*until - clock_.monotonic(), Duration{0});
  auto wake = engine_.next_wake();
  for (const auto& at : {look_at_workers_, look_for_silent_, stop_tell_at_, stop_leave_at_})
    if (at && (!wake || *at < *wake)) wake = at;
  if (const auto duplex = duplex_.next_wake(); duplex && (!wake || *duplex < *wake)) wake = duplex;
  if (!wake) return std::nullopt;
  // A longer wait would overflow in the clock's own unit, and not wait at all.
  return std::clamp(*wake - clock_.monotonic(), Duration{0}, Duration(limits::duration_max));
}

void LocalRuntime::run_committer() {
  pthread_setname_np(pthread_self(), "pawl-commit");
  std::vector<std::optional<Group>> batch;
  for (;;) {
    groups_.take_all(batch, std::nullopt);
    for (std::optional<Group>& group : batch) {
      if (!group) return;
      auto result = commit_group(*store_.store, *group, commit_times_);
      commands_.push(StoreThreads::Committed{std::move(*group), std::move(result)});
    }
    batch.clear();
  }
}

void LocalRuntime::handle(Command& command) {
  std::visit(
      Overloaded{
          [&](WorkerMessage& word) { handle(word); },
          [&](SubmitCommand& submit) {
            const Ticket ticket = next_ticket_++;
            submits_.emplace(ticket, std::move(submit.done));
            if (duplex_.takes(submit.request)) {
              const core::LaneId lane = engine_.lane_for(submit.request.name_space, submit.request.id.raw());
              return duplex_.submit(std::move(submit.request), lane, ticket);
            }
            engine_.submit(std::move(submit.request), ticket);
          },
          [&](RequestCommand& request) {
            const Ticket ticket = next_ticket_++;
            if (auto* submit = std::get_if<store::Submit>(&request.operation)) {
              submits_.emplace(ticket, [done = std::move(request.done)](const Result<Submission>& made) {
                done(outcome_of(made ? Result(Submitted{made->run, made->created}) : made.error()));
              });
              return engine_.submit(request_of(std::move(*submit)), ticket);
            }
            asked_.emplace(ticket, std::move(request.done));
            engine_.request(std::move(request.operation), ticket);
          },
          [&](DuplexCommand& request) { duplex_.request(std::move(request.operation), std::move(request.done)); },
          [&](StoreThreads::Committed& told) {
            if (store_threads_ == nullptr || told.group.transaction == nullptr) --committing_;
            engine_.finished(std::move(told.group), std::move(told.result));
          },
          [&](StoreThreads::Answered& told) {
            --reading_;
            engine_.answered(std::move(told.batch), std::move(told.answers));
          },
          [&](StoreThreads::CarriedOut& told) { duplex_.carried_out(told.batch, std::move(told.answers)); },
          [&](ServeCommand& serve_command) {
            workers_.insert_or_assign(serve_command.topic.raw(), std::move(serve_command.worker));
            engine_.serve(serve_command.topic);
            if (serve_command.way == ServedTopics::Way::plain) duplex_.serve(serve_command.topic);
          },
          [&](ProbeCommand& probe_command) {
            probes_.insert_or_assign(probe_command.topic.raw(), std::move(probe_command.probe));
            engine_.offer_probe(probe_command.topic);
          },
          [&](Signal signal) {
            if (signal == Signal::look) {
              std::unique_lock lock(rung_mutex_);
              const store::Change change = std::exchange(rung_, {});
              lock.unlock();
              engine_.changed(change);
              if (change.duplex || change.graphs) duplex_.look();
            }
            if (signal == Signal::owner_gone) engine_.ownership_changed();
            if (signal == Signal::clock) say_if_set_back();  // what is due is checked after every command
            if (signal == Signal::stop) begin_stop();
          },
      },
      command);
}

void LocalRuntime::handle(WorkerMessage& word) {
  std::visit(Overloaded{
                 [&](WorkReply& answer) {
                   if (!duplex_.answer(answer)) engine_.answer(std::move(answer));
                 },
                 [&](const std::shared_ptr<Heartbeat>& heartbeat) {
                   Payload progress = heartbeat->take();
                   if (!duplex_.heartbeat(heartbeat->run())) engine_.heartbeat(heartbeat->run(), std::move(progress));
                 },
                 [&](const Detached& detached) {
                   if (!duplex_.leave(detached.run, detached.within)) engine_.detach(detached.run, detached.within);
                 },
                 [&](ProbeAnswer& answer) { engine_.probed(std::move(answer)); },
                 [&](const Begun& begun) { engine_.begun(begun.run); },
                 [&](const GivenBack& back) { give_back(back.item, back.began); },
                 [&](const Hung& hung) {
                   if (!duplex_.write_off(hung.run)) engine_.write_off(hung.run);
                 },
                 [&](const WorkerProblem& trouble) {
                   problem_of_many(trouble.about.empty() ? trouble.text : trouble.about, trouble.text);
                 },
                 [&](const Undone& undone) { engine_.undone(undone.run); },
                 [&](TransactionWanted& wanted) {
                   if (stopping_)
                     wanted.opened->set_value(Error{ErrorCode::fenced, "this process stops"});
                   else
                     transaction_desk_.want(std::move(wanted));
                 },
             },
             word);
}

void LocalRuntime::begin_stop() {
  stopping_ = true;
  stop_by_ = clock_.monotonic() + limits::stop_without_store_max;
  // The grace of workers that are told to stop is part of the remaining time.
  const Duration at_most{stop_at_most_.load()};
  stop_tell_at_ = clock_.monotonic() + std::max(at_most - options_.worker_grace, Duration{0});
  stop_leave_at_ = clock_.monotonic() + at_most;
  engine_.stop();
  duplex_.stop();
  transaction_desk_.refuse_all(Error{ErrorCode::fenced, "this process stops"});
  // The job's next owner asks a probe that did not begin again.
  for (const WorkerPool::Task& task : pool_->take_back())
    if (!task.is_probe()) give_back(task.item, core::Began::no);
}

void LocalRuntime::give_back(const core::WorkItem& item, core::Began began) {
  constexpr Duration at_once = std::chrono::milliseconds(1);
  const bool duplex = began == core::Began::yes ? duplex_.leave(run_of(item), at_once) : duplex_.give_back(item);
  if (!duplex) engine_.give_back(item, began);
}

void LocalRuntime::tell_workers() {
  tell_far_desk();
  std::vector<WorkerPool::Task> tasks = std::exchange(dispatched_, {});
  if (!tasks.empty() && !look_for_silent_ && options_.worker_silence > Duration{0})
    look_for_silent_ = clock_.monotonic() + options_.worker_silence;
  if (!stopping_) {
    // A borrower takes the next one itself, unless it has to commit first.
    const bool is_worker = borrower_ == EngineTurn::Borrower::worker || borrower_ == EngineTurn::Borrower::idle_worker;
    const bool free_soon = is_worker && engine_.operations_waiting() == 0 && duplex_.drained();
    pool_->give(std::move(tasks), free_soon ? WorkerPool::Takers::caller_is_first : WorkerPool::Takers::woken);
  } else {
    for (const WorkerPool::Task& task : tasks)
      if (!task.is_probe()) give_back(task.item, core::Began::no);
  }
  pool_->cancel(std::exchange(cancelled_, {}));  // afterwards: what was just handed out may not be needed any more
  pool_->withdraw(std::exchange(withdrawn_, {}));
}

void LocalRuntime::look_after_workers() {
  look_at_workers_ = pool_->look();
  const Duration now = clock_.monotonic();
  if (look_for_silent_ && now >= *look_for_silent_) look_for_silent_ = pool_->look_for_silent();
  if (const std::size_t silent = pool_->silent(); silent != std::exchange(silent_, silent))
    engine_.set_threads(options_.worker_threads + silent);
  if (!stopping_) return;
  if (stop_tell_at_ && now >= *stop_tell_at_) {
    stop_tell_at_.reset();
    pool_->cancel_all();
  }
  if (!stop_leave_at_ || now < *stop_leave_at_) return;
  stop_leave_at_.reset();
  for (const std::string& worker : pool_->running())
    problem(format("{} does not return: stop() leaves it behind, and its work is handed out again by the next owner",
                   worker));
  engine_.leave_runs();
  duplex_.leave_runs();
}

void LocalRuntime::say_if_set_back() {
  const Duration ahead = clock_.ahead();
  if (ahead - set_back_ >= limits::clock_set_back_min)
    problem(
        format("the clock was set back by {:.3f} s: this process goes on by elapsed time, so that nobody waits longer; "
               "its times of day are ahead by that much until the clock has caught up or the process is started anew",
               static_cast<double>((ahead - set_back_).count()) / 1e6));
  set_back_ = ahead;
}

void LocalRuntime::refuse(Command& command) {
  if (auto* submit = std::get_if<SubmitCommand>(&command)) submit->done(stopped());
  if (auto* request = std::get_if<RequestCommand>(&command)) request->done(stopped());
  if (auto* request = std::get_if<DuplexCommand>(&command)) request->done(stopped());
}

void LocalRuntime::dispatch(const core::WorkItem& item) {
  dispatched_.push_back(WorkerPool::Task{item, workers_.at(item.topic.raw())});
}

void LocalRuntime::probe(const core::WorkItem& item) {
  dispatched_.push_back(WorkerPool::Task{item, probes_.at(item.topic.raw())});
}

std::optional<FarTaker> LocalRuntime::find_far_taker(const core::WorkItem& item) {
  if (far_desk_ == nullptr) return std::nullopt;
  return far_desk_->find_taker(item.topic.raw(), item.input.size() + item.life.progress.size());
}

void LocalRuntime::give_far(std::uint64_t taker, const core::WorkItem& item, const core::JobRow* job) {
  handouts_.remember(item);
  FarDesk::Given& given = far_given_.emplace_back(
      FarDesk::Given{taker, {facts_of(item, store_.store->id()), item.lease_until, std::nullopt}});
  if (job != nullptr) given.work.job = TakenWork::JobName{job->id.raw(), job->name_space.raw()};
}

void LocalRuntime::work_waits(const Topic& topic) {
  if (far_desk_ != nullptr) ++work_waits_[topic.raw()];
}

void LocalRuntime::tell_far_desk() {
  if (!far_given_.empty()) far_desk_->give(std::exchange(far_given_, {}));
  for (const auto& [topic, count] : work_waits_) far_desk_->work_waits(topic, count);
  work_waits_.clear();
}

void LocalRuntime::answered(Ticket ticket, Result<store::Outcome> outcome) {
  if (auto asked = asked_.extract(ticket)) asked.mapped()(std::move(outcome));
}

void LocalRuntime::submitted(Ticket ticket, Result<Submitted> result) {
  auto waiting = submits_.extract(ticket);
  if (!waiting) return;
  // Over a remote store a read before the wait would be one more round trip.
  if (result && result->created && store_threads_ != nullptr && lanes_here_.has(result->run))
    waiters_.begun(result->run);
  if (result)
    waiting.mapped()(Submission{result->run, result->created});
  else
    waiting.mapped()(result.error());
}

void LocalRuntime::committed(const core::JobState& after, const core::Bundle& bundle) {
  if (after.job.status == core::JobStatus::parked) {
    waiters_.tell(after.job);
    ends_.tell(after.job.run);
  }
  if (!observers_.any()) return;
  if (const auto graph = graphs_.find(after.job.graph))
    for_each_event(after, bundle, *graph, clock_.now(), [this](const Event& event) { observers_.tell(event); });
}

void LocalRuntime::closed(const core::JobRow& job) {
  waiters_.tell(job);
  ends_.tell(job.run);
}

void LocalRuntime::problem_of_many(const std::string& about, const std::string& text) {
  for (const std::string& line : problems_.pass(about, text, clock_.monotonic())) {
    if (reporters_.any())
      reporters_.tell(line);
    else
      print_problem(line);
  }
}

void LocalRuntime::report(const std::string& text) {
  if (life_ == Life::stopped) return reporters_.any() ? reporters_.tell(text) : print_problem(text);
  Command command(WorkerMessage(WorkerProblem{text}));
  gate_.add(bytes_of_command(command));  // the engine takes them off again
  commands_.push(std::move(command));
}

void LocalRuntime::print_problem(const std::string& text) {
  std::fprintf(stderr, "pawl: %s\n", printable(text).c_str());
}

}  // namespace pawl::runtime
