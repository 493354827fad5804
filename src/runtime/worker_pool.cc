#include "runtime/worker_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "runtime/run_clocks.h"
#include "runtime/worker_call.h"

namespace pawl::runtime {

namespace {

std::string text_of(const WorkerPool::Task& task) {
  return format("the {} of topic {} (run {}, activity {})", task.is_probe() ? "probe" : "worker", task.item.topic.raw(),
                task.item.run.raw(), task.item.activity.raw());
}

bool is_one_of(const WorkerPool::Task* task, const std::unordered_set<WorkRun, WorkRunHash>& runs) {
  return task != nullptr && !task->is_probe() && runs.contains(run_of(task->item));
}

}  // namespace

Result<std::unique_ptr<WorkerPool>> WorkerPool::start(Options options) {
  std::unique_ptr<WorkerPool> pool(new WorkerPool(std::move(options)));
  const std::size_t threads = pool->shared_->options.threads;
  for (std::size_t i = 0; i < threads; ++i) {
    const Status added = pool->add_slot();
    if (added) continue;
    pool->close(std::chrono::seconds(1));
    return Error{added.error().code,
                 format("worker thread {} of {} cannot be made: {}; ask for fewer (worker_threads) or "
                        "raise the system's limit on threads and memory",
                        i + 1, threads, added.error().detail)};
  }
  return pool;
}

Status WorkerPool::add_slot() {
  auto slot = std::make_shared<ThreadSlot>();
  try {
    slot->thread = std::thread([shared = shared_, slot] { serve(shared, slot); });
  } catch (const std::system_error& error) {
    return Error{ErrorCode::retry_later, error.code().message()};
  }
  const std::lock_guard lock(slots_mutex_);
  slots_.push_back(std::move(slot));
  return {};
}

void WorkerPool::close(Duration wait) {
  const std::lock_guard slots_lock(slots_mutex_);
  std::unique_lock lock(shared_->mutex);
  shared_->closing = true;
  shared_->tasks.clear();
  shared_->ready.notify_all();
  const auto all_ended = [&] {
    return std::all_of(slots_.begin(), slots_.end(), [](const auto& slot) { return slot->ended || slot->written_off; });
  };
  // An idle thread ends at once, even with little time left: only busy ones need a wait.
  const auto all_idle_ended = [&] {
    return std::all_of(slots_.begin(), slots_.end(),
                       [](const auto& slot) { return slot->ended || slot->written_off || slot->task != nullptr; });
  };
  shared_->ended.wait_for(lock, wait, all_ended);
  shared_->ended.wait(lock, all_idle_ended);
  for (const std::shared_ptr<ThreadSlot>& slot : slots_) {
    if (!slot->thread.joinable()) continue;
    if (slot->ended) {
      lock.unlock();  // it only has to exit
      slot->thread.join();
      lock.lock();
    } else {
      slot->thread.detach();
    }
  }
  slots_.clear();
}

void WorkerPool::give(std::vector<Task> tasks, Takers takers) {
  if (tasks.empty()) return;
  std::size_t wake = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    wake = std::min(shared_->sleeping, tasks.size() - (takers == Takers::caller_is_first ? 1 : 0));
    for (Task& task : tasks) {
      auto& queue = shared_->tasks[task.item.priority];
      // At-most-once work counts as started: it is the next to begin.
      if (task.item.life.at_most_once)
        queue.push_front(std::move(task));
      else
        queue.push_back(std::move(task));
    }
  }
  for (std::size_t i = 0; i < wake; ++i) shared_->ready.notify_one();
}

// REQUIRES: the shared mutex is held.
std::vector<WorkerPool::Task> WorkerPool::take_if(const std::function<bool(const Task&)>& unwanted) {
  std::vector<Task> taken;
  for (auto it = shared_->tasks.begin(); it != shared_->tasks.end();) {
    std::deque<Task>& queue = it->second;
    const auto gone =
        std::stable_partition(queue.begin(), queue.end(), [&](const Task& task) { return !unwanted(task); });
    std::move(gone, queue.end(), std::back_inserter(taken));
    queue.erase(gone, queue.end());
    it = queue.empty() ? shared_->tasks.erase(it) : std::next(it);
  }
  return taken;
}

void WorkerPool::cancel(const std::vector<WorkRun>& runs) {
  if (runs.empty()) return;
  const std::unordered_set<WorkRun, WorkRunHash> unwanted(runs.begin(), runs.end());
  std::vector<Task> dropped;
  {
    const std::lock_guard slots_lock(slots_mutex_);
    const std::lock_guard lock(shared_->mutex);
    for (const std::shared_ptr<ThreadSlot>& slot : slots_) {
      if (!is_one_of(slot->task, unwanted)) continue;
      slot->stopping.store(false, std::memory_order_relaxed);
      slot->cancelled.store(true, std::memory_order_relaxed);
      if (!slot->hung_at && !slot->reported) {
        slot->hung_at = shared_->clock.monotonic() + shared_->options.grace;
        shared_->awaited.store(true, std::memory_order_relaxed);
      }
    }
    // A probe is about an attempt that is over: it is not dropped.
    dropped = take_if([&](const Task& task) { return is_one_of(&task, unwanted); });
  }
  for (Task& task : dropped) shared_->options.tell(GivenBack{std::move(task.item), core::Began::no});
}

void WorkerPool::withdraw(const std::vector<WorkRun>& runs) {
  if (runs.empty()) return;
  const std::unordered_set<WorkRun, WorkRunHash> late(runs.begin(), runs.end());
  std::vector<Task> taken;
  {
    const std::lock_guard lock(shared_->mutex);
    taken = take_if([&](const Task& task) { return is_one_of(&task, late); });
  }
  for (Task& task : taken) shared_->options.tell(GivenBack{std::move(task.item), core::Began::no});
}

std::vector<WorkerPool::Task> WorkerPool::take_back() {
  const std::lock_guard lock(shared_->mutex);
  return take_if([](const Task&) { return true; });
}

void WorkerPool::cancel_all() {
  const std::lock_guard slots_lock(slots_mutex_);
  const std::lock_guard lock(shared_->mutex);
  for (const std::shared_ptr<ThreadSlot>& slot : slots_) {
    if (slot->task == nullptr || slot->cancelled.load(std::memory_order_relaxed)) continue;
    slot->stopping.store(true, std::memory_order_relaxed);
    slot->cancelled.store(true, std::memory_order_relaxed);
  }
}

std::vector<std::string> WorkerPool::running() const {
  const std::lock_guard slots_lock(slots_mutex_);
  const std::lock_guard lock(shared_->mutex);
  std::vector<std::string> workers;
  for (const std::shared_ptr<ThreadSlot>& slot : slots_)
    if (slot->task != nullptr) workers.push_back(text_of(*slot->task));
  return workers;
}

std::optional<Duration> WorkerPool::look() {
  if (!shared_->awaited.load(std::memory_order_relaxed)) return std::nullopt;
  std::vector<std::shared_ptr<ThreadSlot>> hung;
  std::optional<Duration> next;
  {
    const std::lock_guard slots_lock(slots_mutex_);
    const std::lock_guard lock(shared_->mutex);
    for (const std::shared_ptr<ThreadSlot>& slot : slots_) {
      if (!slot->hung_at) continue;
      if (*slot->hung_at <= shared_->clock.monotonic())
        hung.push_back(slot);
      else if (!next || *slot->hung_at < *next)
        next = slot->hung_at;
    }
    shared_->awaited.store(next.has_value(), std::memory_order_relaxed);
  }
  for (const std::shared_ptr<ThreadSlot>& slot : hung) write_off(slot);
  return next;
}

void WorkerPool::write_off(const std::shared_ptr<ThreadSlot>& slot) {
  std::string text;
  std::optional<WorkRun> run;
  bool replaced = false;
  {
    const std::lock_guard slots_lock(slots_mutex_);
    const std::lock_guard lock(shared_->mutex);
    if (!slot->hung_at || slot->task == nullptr) return;  // it returned meanwhile
    slot->hung_at.reset();
    slot->reported = true;  // once
    if (!slot->task->is_probe()) run = run_of(slot->task->item);
    text = slot->task->is_probe() ? format("{} has not returned within {} s (probe_within)", text_of(*slot->task),
                                           std::chrono::seconds(limits::probe_within).count())
                                  : format("{} was told to stop {} ms ago and has not returned", text_of(*slot->task),
                                           shared_->options.grace.count() / 1000);
    if (slot->replaced) {
      --shared_->silent;
      text += ": another thread took the place of its own before";
    } else {
      replaced = replace(*slot, text);
    }
    if (slot->replaced) {
      slot->written_off = true;
      slot->thread.detach();
      slots_.remove(slot);
    }
  }
  shared_->options.tell(WorkerProblem{text});
  if (run) shared_->options.tell(Hung{*run});
  if (replaced) add_replacement();
}

bool WorkerPool::replace(ThreadSlot& slot, std::string& text) {
  if (shared_->closing || shared_->replaced >= limits::hung_threads_max) {
    text += format(
        ": it keeps its thread, for {} others were replaced already (hung_threads_max). Let workers look at "
        "Work::cancelled(), and restart this process",
        shared_->replaced);
    return false;
  }
  slot.replaced = true;
  ++shared_->replaced;
  text += format(": another thread takes the place of its own ({} such threads of at most {}, hung_threads_max)",
                 shared_->replaced, limits::hung_threads_max);
  return true;
}

void WorkerPool::add_replacement() {
  if (const Status added = add_slot(); !added)
    shared_->options.tell(WorkerProblem{
        format("no thread can be made in its place, so there is one worker thread less: {}", added.error().detail)});
}

std::optional<Duration> WorkerPool::look_for_silent() {
  const Duration silence = shared_->options.silence;
  if (silence <= Duration{0}) return std::nullopt;
  const Duration now = shared_->clock.monotonic();
  std::optional<Duration> next;
  std::vector<WorkerProblem> problems;
  std::size_t replaced = 0;
  std::list<std::shared_ptr<ThreadSlot>> ended;
  {
    const std::lock_guard slots_lock(slots_mutex_);
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->tasks.empty()) next = now + silence;
    for (auto it = slots_.begin(); it != slots_.end();) {
      const auto place = it++;
      ThreadSlot& slot = **place;
      if (slot.replaced && slot.ended) ended.splice(ended.end(), slots_, place);
      if (slot.task == nullptr || slot.silence_said || slot.reported) continue;
      const Duration at = Duration(slot.last_sign_at.load(std::memory_order_relaxed)) + silence;
      if (at > now) {
        next = std::min(next.value_or(at), at);
        continue;
      }
      slot.silence_said = true;
      std::string text = format("{} has given neither an answer nor a heartbeat for {} s (worker_silence)",
                                text_of(*slot.task), std::chrono::duration_cast<std::chrono::seconds>(silence).count());
      if (replace(slot, text)) {
        ++shared_->silent;
        ++replaced;
      }
      problems.push_back({std::move(text), "silent workers of topic " + slot.task->item.topic.raw()});
    }
  }
  for (const std::shared_ptr<ThreadSlot>& slot : ended) slot->thread.join();
  for (WorkerProblem& problem : problems) shared_->options.tell(std::move(problem));
  for (; replaced > 0; --replaced) add_replacement();
  return next;
}

std::optional<WorkerPool::Task> WorkerPool::Shared::next_task() {
  if (tasks.empty()) return std::nullopt;
  const auto first = tasks.begin();
  Task task = std::move(first->second.front());
  first->second.pop_front();
  if (first->second.empty()) tasks.erase(first);
  return task;
}

// The last thread that waits for tasks makes no call to a store: a slow server would keep a worker from beginning.
EngineTurn::Borrower WorkerPool::Shared::borrower() {
  const std::lock_guard lock(mutex);
  if (!tasks.empty() || closing) return EngineTurn::Borrower::none;
  return sleeping > 0 ? EngineTurn::Borrower::idle_worker : EngineTurn::Borrower::worker;
}

void WorkerPool::serve(const std::shared_ptr<Shared>& shared, const std::shared_ptr<ThreadSlot>& slot) {
  pthread_setname_np(pthread_self(), "pawl-worker");
  std::optional<Task> places[2];  // the current one, and the last one, which is destroyed without the lock
  std::size_t at = 0;
  std::unique_lock lock(shared->mutex);
  for (;; at ^= 1) {
    std::optional<Task>& task = places[at];
    std::optional<Task>& last = places[at ^ 1];
    while (shared->tasks.empty() && !shared->closing) {
      if (last) {
        lock.unlock();
        last.reset();
        lock.lock();
        continue;
      }
      ++shared->sleeping;
      shared->ready.wait(lock);
      --shared->sleeping;
    }
    task = shared->next_task();
    if (!task) break;
    slot->cancelled.store(false, std::memory_order_relaxed);
    slot->stopping.store(false, std::memory_order_relaxed);
    slot->last_sign_at.store(shared->clock.monotonic().count(), std::memory_order_relaxed);
    slot->task = &*task;
    if (task->is_probe()) {
      slot->hung_at = shared->clock.monotonic() + limits::probe_within;
      shared->awaited.store(true, std::memory_order_relaxed);
    }
    lock.unlock();
    last.reset();
    run(*shared, *task, *slot);
    lock.lock();
    slot->task = nullptr;
    slot->hung_at.reset();
    slot->reported = false;
    slot->silence_said = false;
    if (slot->replaced) {
      --shared->replaced;
      if (!slot->written_off) --shared->silent;
      break;
    }
    if (EngineTurn* turn = shared->options.turn.get(); turn != nullptr && turn->is_owed()) {
      lock.unlock();
      turn->settle([&] { return shared->borrower(); });
      lock.lock();
    }
  }
  slot->ended = true;
  shared->ended.notify_all();
  if (!shared->tasks.empty()) shared->ready.notify_one();  // this thread may have been expected to take one
  lock.unlock();
  if (shared->options.turn != nullptr) shared->options.turn->settle([] { return EngineTurn::Borrower::none; });
}

void WorkerPool::run(const Shared& shared, const Task& task, ThreadSlot& slot) {
  const CallSite site{
      shared.options.store, slot.cancelled, slot.stopping, shared.options.tell, shared.options.transactions.get(),
      &slot.last_sign_at};
  if (const auto* worker = std::get_if<2>(&task.code)) return call_transaction(task.item, **worker, site);
  // The report of a probe only wakes the engine, which checks for workers that do not return.
  if (task.is_probe() || RunClocks::watches(task.item.life)) shared.options.tell(Begun{run_of(task.item)});
  if (const auto* worker = std::get_if<0>(&task.code))
    call_worker(task.item, **worker, site);
  else
    call_probe(task.item, **std::get_if<1>(&task.code), site);
}

}  // namespace pawl::runtime
