// Event: what happens in jobs, reported when it is durable. Runtime::observe adds an observer.
//
//   void show(const pawl::Event& event) {
//     if (event.kind == pawl::Event::Kind::activity_closed)
//       std::printf("%s of %s: code %d\n", event.activity.raw().c_str(), event.job.raw().c_str(), event.code);
//   }
//   pawl::Subscription watch(pawl::Runtime& runtime) { return runtime.observe(show); }
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "pawl/ids.h"
#include "pawl/payload.h"
#include "pawl/time.h"
#include "pawl/view.h"

namespace pawl {

// An activity of another job.
struct ActivityOfJob {
  RunId run{0};
  std::uint32_t number = 0;
};

struct Event {
  enum class Kind : std::uint8_t {
    job_started,
    activity_opened,
    activity_pending,
    activity_closed,
    job_closed,
    job_parked,
    activity_retried,  // an attempt failed; `at` is when the next one begins
    activity_unknown,  // at most once, and it is unknown whether it acted
    job_paused,
    job_resumed,
    job_announced,  // what its graph publishes: `output` is the job's data, `code` 202 while it continues
  };
  Kind kind = Kind::job_started;
  JobId job{""};
  RunId run{0};
  ActivityName activity{""};
  std::string address;
  std::string ledger;
  std::int32_t code = 0;
  Instant at;
  std::optional<ActivityKind> activity_kind{};  // none: the event is about the job
  Payload output{};                             // of a closed activity, or of the pending reply
  std::optional<WaitView> waits_for{};          // of one that opened and waits
  Namespace name_space{""};                     // of the job
  GraphName graph{""};
  // For traces. An activity is known by its job's run and its number there.
  std::uint32_t number = 0;               // of the activity
  Instant began{};                        // of an activity or a job that closed
  std::string trace{};                    // what the job was started with (StartOptions::trace)
  Payload telemetry{};                    // of an activity that closed: its `telemetry`, as JSON
  std::optional<JobStatus> status{};      // of a job that closed
  std::optional<ActivityOfJob> parent{};  // of a job that another one started
  bool failed = false;                    // of an activity that closed
};

// Called by whichever thread does the engine's work (never by two at once): be quick, and do not wait for anything.
// What it throws is reported as a problem.
using Observer = std::function<void(const Event&)>;
// Problems that do not harm any job's state, for people: one line each, repeated at most every ten seconds.
using ProblemReporter = std::function<void(const std::string&)>;

}  // namespace pawl
