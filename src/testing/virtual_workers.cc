// VirtualRuntime: which worker is called when, and how time passes.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "runtime/views.h"
#include "runtime/worker_call.h"
#include "testing/mock.h"
#include "testing/virtual_runtime.h"

namespace pawl::testing {

namespace {

Attempt::Outcome outcome_of(core::ReplyStatus status) {
  switch (status) {
    case core::ReplyStatus::success:
    case core::ReplyStatus::pending:
      return Attempt::Outcome::success;
    case core::ReplyStatus::error:
      return Attempt::Outcome::error;
    case core::ReplyStatus::fatal:
      return Attempt::Outcome::fatal;
  }
  return Attempt::Outcome::fatal;
}

}  // namespace

MockWorker& VirtualRuntime::mock(const std::string& topic) {
  if (const auto found = mocks_.find(topic); found != mocks_.end()) return found->second;
  auto state = std::make_shared<MockWorker::State>();
  state->topic = topic;
  state->history = &attempts_;
  // If the topic cannot be served, this is reported here, and the first call that needs it fails.
  const Status served = serve(topic, [this, state](Work& work) {
    auto answer = state->answer(work.key());
    call_ = {answer.after, answer.silent};
    return std::move(answer.reply);
  });
  if (!served) problems_.push_back(to_string(served.error()));
  return mocks_.emplace(topic, MockWorker(std::move(state))).first->second;
}

// --- work

void VirtualRuntime::crashed() {
  work_.clear();
  asks_.clear();
  words_.clear();
  for (const auto& [place, run] : std::exchange(unsettled_, {})) {
    const auto stored = driver_.store().read_job(run.ref.run);
    const core::WorkItem* item = stored && *stored ? (*stored)->state.find_work(run.ref.activity) : nullptr;
    const bool left = attempts_[place].outcome == Attempt::Outcome::later;  // another caller has it
    Attempt& attempt = attempts_[place];
    attempt.lost = !left && item != nullptr && item->token == run.token;
    const auto mock = mocks_.find(attempt.topic);
    if (attempt.lost && mock != mocks_.end()) mock->second.state_->take_back(attempt.key);
  }
}

void VirtualRuntime::give_back(const runtime::WorkRun& run) {
  const auto found = std::find_if(work_.begin(), work_.end(),
                                  [&](const core::WorkItem& item) { return runtime::run_of(item) == run; });
  if (found == work_.end()) return;  // its worker was called: the engine ignores its reply
  words_.push_back(runtime::GivenBack{std::move(*found), core::Began::no});
  work_.erase(found);
}

core::WorkItem VirtualRuntime::take_work() {
  // As the threads of a pool: the largest priority first.
  std::int32_t most = work_.front().priority;
  for (const core::WorkItem& item : work_) most = std::max(most, item.priority);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < work_.size(); ++i)
    if (work_[i].priority == most) places.push_back(i);
  const std::size_t chosen = options_.seed == 0 ? places.front() : places[random_.below(places.size())];
  core::WorkItem item = std::move(work_[chosen]);
  work_.erase(work_.begin() + static_cast<std::ptrdiff_t>(chosen));
  return item;
}

Attempt VirtualRuntime::attempt_at(const core::WorkItem& item) {
  Attempt attempt;
  attempt.run = item.run;
  attempt.topic = item.topic.raw();
  attempt.key = core::idempotency_key(item, driver_.store().id()).text();
  attempt.number = item.runs;
  attempt.at = driver_.clock().now();
  attempt.input = item.input;
  if (const auto stored = driver_.store().read_job(item.run); stored && *stored) {
    attempt.job = (*stored)->state.job.id.raw();
    const auto graph = graphs_.find((*stored)->state.job.graph);
    if (const core::Activity* activity = (*stored)->state.find(item.activity))
      attempt.activity = runtime::name_in(graph.get(), activity->node).raw();
  }
  return attempt;
}

bool VirtualRuntime::call_worker() {
  if (work_.empty()) return false;
  const core::WorkItem item = take_work();
  const auto worker = workers_.at(item.topic.raw());
  const std::uint64_t life = driver_.life();
  driver_.engine().begun(runtime::run_of(item));
  const std::size_t place = attempts_.size();
  attempts_.push_back(attempt_at(item));
  unsettled_.emplace(place, runtime::run_of(item));
  call_ = {};
  std::vector<runtime::WorkerMessage> said;
  const std::function<void(runtime::WorkerMessage)> tell = [&](runtime::WorkerMessage word) {
    said.push_back(std::move(word));
  };
  const core::Guid store = driver_.store().id();
  runtime::call_worker(item, *worker, runtime::CallSite{store, never_, never_, tell});
  const Call call = std::exchange(call_, {});
  Attempt& attempt = attempts_[place];
  for (const runtime::WorkerMessage& word : said) {
    if (const auto* answer = std::get_if<runtime::WorkReply>(&word)) {
      attempt.outcome = outcome_of(answer->status);
      attempt.code = answer->code;
      attempt.data = answer->data;
    } else if (std::holds_alternative<runtime::Detached>(word)) {
      attempt.outcome = Attempt::Outcome::later;
    }
  }
  if (call.silent) attempt.outcome = Attempt::Outcome::silent;
  if (call.silent || life != driver_.life()) return true;  // its process died while it ran
  for (runtime::WorkerMessage& word : said) {
    if (call.takes <= Duration{0}) {
      handle(word);
    } else {
      auto kept = std::make_shared<runtime::WorkerMessage>(std::move(word));
      later_.emplace(driver_.clock().monotonic() + call.takes, Later{life, [this, kept] { handle(*kept); }});
    }
  }
  return true;
}

bool VirtualRuntime::call_probe() {
  if (asks_.empty()) return false;
  const core::WorkItem item = std::move(asks_.front());
  asks_.pop_front();
  const auto probe = probes_.at(item.topic.raw());
  const std::uint64_t life = driver_.life();
  std::vector<runtime::WorkerMessage> said;
  const std::function<void(runtime::WorkerMessage)> tell = [&](runtime::WorkerMessage word) {
    said.push_back(std::move(word));
  };
  const core::Guid store = driver_.store().id();
  runtime::call_probe(item, *probe, runtime::CallSite{store, never_, never_, tell});
  if (life == driver_.life())
    for (runtime::WorkerMessage& word : said) handle(word);
  return true;
}

void VirtualRuntime::handle(runtime::WorkerMessage& word) {
  runtime::Engine& engine = driver_.engine();
  std::visit(Overloaded{
                 [&](runtime::WorkReply& answer) { engine.answer(std::move(answer)); },
                 [&](const std::shared_ptr<runtime::Heartbeat>& heartbeat) {
                   engine.heartbeat(heartbeat->run(), heartbeat->take());
                 },
                 [&](const runtime::Detached& detached) { engine.detach(detached.run, detached.within); },
                 [&](runtime::ProbeAnswer& answer) { engine.probed(std::move(answer)); },
                 [&](const runtime::Begun& begun) { engine.begun(begun.run); },
                 [&](const runtime::GivenBack& back) { engine.give_back(back.item, back.began); },
                 [&](const runtime::Hung& hung) { engine.write_off(hung.run); },
                 [&](const runtime::WorkerProblem& trouble) { problems_.push_back(trouble.text); },
                 [&](const runtime::Undone& undone) { engine.undone(undone.run); },
                 [](const runtime::TransactionWanted&) {},  // no worker with a transaction is served here
             },
             word);
}

// --- time

void VirtualRuntime::call_after(Duration time, std::function<void()> what) {
  later_.emplace(driver_.clock().monotonic() + std::max(time, Duration{0}), Later{0, std::move(what)});
}

bool VirtualRuntime::come_due() {
  if (!words_.empty()) {
    runtime::WorkerMessage word = std::move(words_.front());
    words_.pop_front();
    handle(word);
    return true;
  }
  if (later_.empty() || later_.begin()->first > driver_.clock().monotonic()) return false;
  const Later later = std::move(later_.begin()->second);
  later_.erase(later_.begin());
  if (later.life == 0 || later.life == driver_.life()) later.what();
  return true;
}

std::optional<Duration> VirtualRuntime::next_due() const {
  auto next = driver_.next_wake();
  for (const auto& [at, later] : later_) {
    if (later.life != 0 && later.life != driver_.life()) continue;
    if (!next || at < *next) next = at;
    break;
  }
  return next;
}

Status VirtualRuntime::run_until_idle() {
  if (running_)
    return Error{ErrorCode::invalid,
                 "a worker, an observer or a call_after() cannot wait for the runtime that calls it"};
  running_ = true;
  while (!driver_.exhausted() &&
         (driver_.step() || come_due() || call_worker() || call_probe() || driver_.look_at_clock() || tell_an_end()))
    continue;
  running_ = false;
  if (driver_.exhausted()) return driver_.too_many_commits();
  return {};
}

Status VirtualRuntime::advance(Duration by) {
  const Duration until = driver_.clock().monotonic() + std::max(by, Duration{0});
  for (;;) {
    if (auto ran = run_until_idle(); !ran) return ran;
    const auto next = next_due();
    if (driver_.clock().monotonic() >= until) return {};
    driver_.move_clock_to(next ? std::min(*next, until) : until);
  }
}

bool VirtualRuntime::has_open_jobs() {
  store::ListQuery query;
  query.status = core::JobStatus::running;
  query.rows_max = 1;
  const auto jobs = driver_.store().list_jobs(query);
  return !jobs || !jobs->empty();
}

Status VirtualRuntime::run_to_end() {
  for (;;) {
    if (auto ran = run_until_idle(); !ran) return ran;
    const auto next = next_due();
    const bool comes =
        std::any_of(later_.begin(), later_.end(), [](const auto& entry) { return entry.second.life == 0; });
    if (!next || (!comes && !has_open_jobs())) return {};
    driver_.move_clock_to(*next);
  }
}

}  // namespace pawl::testing
