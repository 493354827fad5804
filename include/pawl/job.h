// Job<T>: a handle to one job whose result is a T. Runtime::start and Runtime::find give one.
//
//   pawl::Result<int> total(pawl::Runtime& runtime) {
//     auto job = runtime.start<int>("order", pawl::Payload("{}"), {.id = "order-17"});
//     if (!job) return job.error();
//     job->on_end([](const pawl::Result<int>& sum) { std::printf("%d\n", sum ? *sum : -1); });
//     if (auto paused = job->pause("the shop is closed"); !paused) return paused.error();
//     if (auto resumed = job->resume(); !resumed) return resumed.error();
//     return job->result(std::chrono::seconds(10));
//   }
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pawl/codec.h"
#include "pawl/failure.h"
#include "pawl/finding.h"
#include "pawl/ids.h"
#include "pawl/options.h"
#include "pawl/result.h"
#include "pawl/time.h"
#include "pawl/view.h"

namespace pawl {

class Runtime;
namespace detail {
class RuntimeBackend;
}

// What can be done with any job, without its result type. A small value: copy it, keep it, use it on any thread. It
// does not keep its runtime alive: after the runtime is gone every call returns retry_later.
class JobHandle {
 public:
  RunId run() const { return run_; }
  std::string id() const;                    // read from the store if the handle was made from a run id
  bool created() const { return created_; }  // false: the id was taken, this is the existing job

  Result<JobStatus> status() const;
  Result<JobView> view() const;
  Result<JobDetail> inspect() const;  // with its activities, timers and attempts
  // Waits until the job is closed or parked; retry_later when the time is over first.
  Result<JobView> wait(Duration at_most) const;
  // Of a job that failed: its worker's failure. None: it did not fail, or not because of a worker.
  Result<std::optional<Failure>> failure() const;

  // A signal for the hook of this job that waits for the topic, now or later. It need not contain the values that the
  // hook matches: it is for this job. Returns when it is durable.
  template <class T>
  Status signal(const std::string& topic, const T& data, const SignalOptions& options = {}) const {
    const auto bytes = encode(data);
    if (!bytes) return bytes.error();
    return signal_bytes(topic, *bytes, options);
  }

  // Each returns when the request is durable; the process that owns the job, this one or another, carries it out at
  // once or when it next runs. not_found: there is no such job; invalid: the job's state does not allow it, and the
  // error names the state.
  Status pause(const std::string& reason = "") const;
  Status resume() const;
  Status interrupt(const std::string& reason = "") const;  // it ends as it is
  // It ends as interrupted too, but first undoes what it did (Undo, `compensate`).
  Status cancel(const std::string& reason = "") const;
  // A parked job goes on, and everything may be tried as often again. A failed one goes on in a new run under its id,
  // from what failed: the handle that is returned is that one's.
  Result<JobHandle> redrive(const RedriveOptions& options = {}) const;
  Status remove(const RemoveOptions& options = {}) const;  // a job that has ended
  // A new job with the same input, or another one; or from the middle of this one, with what was answered before that.
  Result<JobHandle> rerun(const RerunOptions& options = {}) const;
  // What a person found out about an effect that was unknown.
  Status settle(const ActivityPlace& place, const Finding& finding) const;

 protected:
  friend class Runtime;
  JobHandle(std::weak_ptr<detail::RuntimeBackend> runtime, RunId run, std::string id, bool created)
      : runtime_(std::move(runtime)), run_(run), id_(std::move(id)), created_(created) {}

  // The bytes of the result of a job that ended; the error tells why there are none.
  static Result<Payload> result_bytes(const JobView& end);
  void when_ended(std::function<void(Result<JobView>)> done) const;

 private:
  Status signal_bytes(const std::string& topic, const Payload& data, SignalOptions options) const;

  std::weak_ptr<detail::RuntimeBackend> runtime_;
  RunId run_;
  std::string id_;
  bool created_;
};

template <class T = Payload>
class Job : public JobHandle {
 public:
  explicit Job(JobHandle handle) : JobHandle(std::move(handle)) {
    if constexpr (!std::is_void_v<T>) detail::require_codec<T>();
  }

  // Waits until the job has ended. retry_later: the time is over; failed: it ended without a result, or is parked, and
  // the error has the reason (failure() has the rest); invalid: its result is not a T, and the error names the field.
  Result<T> result(Duration at_most) const { return result_in(wait(at_most)); }

  // Calls `done` once when the job has ended or is parked, on a separate thread of the runtime: it may call everything
  // except stop(); other callbacks wait until it returns. If the runtime stops first it is called with retry_later.
  // What it throws is reported as a problem.
  void on_end(std::function<void(const Result<T>&)> done) const {
    when_ended([done = std::move(done)](const Result<JobView>& end) { done(result_in(end)); });
  }

  // The same job, with its result read as another type.
  template <class U>
  Job<U> as() const {
    return Job<U>(*this);
  }

 private:
  static Result<T> result_in(const Result<JobView>& end) {
    if (!end) return end.error();
    const auto bytes = result_bytes(*end);
    if (!bytes) return bytes.error();
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      auto value = decode<T>(*bytes);
      if (value) return value;
      return Error{ErrorCode::invalid, "the result of job " + end->id.raw() + ": " + value.error().detail};
    }
  }
};

// The results of all jobs, in their order, each as from Job::result. The time is for all of them together.
template <class T>
std::vector<Result<T>> wait_all(const std::vector<Job<T>>& jobs, Duration at_most) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Result<T>> results;
  results.reserve(jobs.size());
  for (const Job<T>& job : jobs) {
    const auto passed = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begin);
    results.push_back(job.result(passed < at_most ? at_most - passed : Duration{0}));
  }
  return results;
}

}  // namespace pawl
