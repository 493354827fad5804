// LocalRuntime: how jobs are started.
#include "runtime/local_runtime.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "base/entropy.h"
#include "base/format.h"
#include "base/limits.h"
#include "runtime/parts.h"
#include "runtime/request_checks.h"

namespace pawl::runtime {

namespace {

// Between two attempts to start a job while the engine is full.
constexpr Duration full_pause_min = std::chrono::milliseconds(1);
constexpr Duration full_pause_max = std::chrono::milliseconds(50);

Error taken(const std::string& id, RunId run) {
  return {ErrorCode::already_exists, format("job id {} is taken by run {}", id, run.raw())};
}

}  // namespace

Result<Submission> LocalRuntime::start(JobRequest& request) {
  if (std::this_thread::get_id() == engine_id_.load())
    return Error{ErrorCode::invalid, "an observer cannot wait for a job to be started: use start_async"};
  const auto wait = request.options.when_full == WhenFull::wait ? ByteGate::Wait::yes : ByteGate::Wait::no;
  const Payload input = request.input;
  for (Duration pause = full_pause_min;; pause = std::min(pause * 2, full_pause_max)) {
    std::promise<Result<Submission>> promise;
    auto future = promise.get_future();
    submit_job(
        request, [&](Result<Submission> result) { promise.set_value(std::move(result)); }, wait);
    auto made = future.get();
    if (wait == ByteGate::Wait::no || made || !is_no_room(made.error())) return made;
    // The engine filled up between the gate and its turn: the caller wants to wait.
    request.input = input;
    std::this_thread::sleep_for(pause);
  }
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
  std::vector<Payload> inputs;
  for (const Result<JobRequest>& request : requests) inputs.push_back(request ? request->input : Payload());
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
  lock.unlock();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool waits = requests[i] && requests[i]->options.when_full == WhenFull::wait;
    if (results[i] || !waits || !is_no_room(results[i].error())) continue;
    requests[i]->input = inputs[i];
    results[i] = start(*requests[i]);
  }
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
  const auto graph = options.trace.empty() ? nullptr : graphs_.find(version);
  Payload input = input_to_submit(request, graph.get());
  SubmitCommand command{
      SubmitRequest{Namespace(options.name_space), JobId(options.id), GraphName(request.graph), std::move(input),
                    core::JobSecret(core::Guid{secret->high, secret->low}), store_reuse(options.reuse), options.delay,
                    options.end_within, options.keep, options.priority, version},
      done};
  if (options.reuse == IdReuse::reject)
    command.done = [done, id = options.id](Result<Submission> result) {
      if (result && !result->created) return done(taken(id, result->run));
      done(std::move(result));
    };
  if (const auto given = give_command(std::move(command), wait); !given) done(given.error());
}

}  // namespace pawl::runtime
