// Views: what can be seen of a job. Plain values, copied out of the store.
//
//   void show(const pawl::JobDetail& detail) {
//     std::printf("%s is %s\n", detail.job.id.raw().c_str(), std::string(name_of(detail.job.status)).c_str());
//     for (const pawl::ActivityView& activity : detail.activities)
//       if (activity.work) std::printf("%s: attempt %u\n", activity.name.raw().c_str(), activity.work->attempts);
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/graph.h"
#include "pawl/ids.h"
#include "pawl/payload.h"
#include "pawl/time.h"

namespace pawl {

enum class JobStatus : std::uint8_t { running, completed, failed, interrupted, parked, paused };
std::string_view name_of(JobStatus status);

struct JobView {
  Namespace name_space{""};
  JobId id{""};
  RunId run{0};
  GraphName graph{""};
  std::uint32_t version = 0;
  JobStatus status = JobStatus::running;
  std::int64_t semaphore = 0;  // open obligations
  Instant created_at;
  Instant closed_at;   // when closed
  Payload result;      // when completed; before that, if its end was announced (persist)
  std::string reason;  // when failed, interrupted, parked or paused
  std::int32_t priority = 0;
  Instant deadline;   // it is interrupted then; 0: none
  Instant remove_at;  // once closed, if it does not stay for ever
  std::uint32_t redrives = 0;
  Payload data;           // what its activities share so far, of a graph in the graph language
  std::int32_t code = 0;  // of the error that ends it; 0: none
  std::string cursor{};   // from Runtime::list: the place behind it, for JobFilter::after
  bool closed() const {
    return status == JobStatus::completed || status == JobStatus::failed || status == JobStatus::interrupted;
  }
};

struct MessageView {
  std::string ledger;       // 15 digits
  std::string explanation;  // the digits in words
};

// What is known of an activity's outside effect.
enum class Effect : std::uint8_t {
  none,      // it has none: a trigger
  intended,  // the request waits for a worker
  started,   // a worker has it
  done,
  failed,
  unknown,  // it may act at most once, its attempt was lost, and nobody knows whether it acted
};
std::string_view name_of(Effect effect);

// A request as it waits for, or is with, a worker.
struct WorkView {
  std::string token;  // names the attempt at hand; empty: nobody has it
  std::string worker;
  std::uint32_t attempts = 0;  // how often it was handed out
  std::uint32_t failures = 0;  // attempts that failed
  std::int32_t failure_code = 0;
  std::string failure;  // what the last of them said
  Instant next_try_at;  // when the next attempt may begin; 0: not waiting for a time
  Instant attempt_by;   // when the attempt must have ended; 0: no limit, or the process that runs it keeps that clock
  Instant deadline;     // 0: no limit
  Payload progress;     // of the last heartbeat
  bool held = false;    // its job is paused or parked
};

// What an open activity waits for. A field without a value: not for that.
struct WaitView {
  std::string topic;       // a worker's, or that of the signal
  std::string key;         // the values that the signal must agree with, as a JSON list
  Instant wakes_at;        // its sleep is over then; of an await: its next attempt begins
  Instant times_out_at;    // it fails then
  std::string child;       // the id of the job that it awaits
  std::uint32_t done = 0;  // of a join: arrivals that came; of a map: items that are done
  std::uint32_t of = 0;    // how many it waits for
};

// An answer that the job could not take: it is parked, and its reason says why. A redrive asks the worker again.
struct RefusedView {
  std::int32_t code = 0;
  bool error = false;
  Payload data;
};

// cancelled: it had begun, and was called off by a race or because its job is being undone.
enum class ActivityStatus : std::uint8_t { open, completed, errored, skipped, cancelled };
std::string_view name_of(ActivityStatus status);

struct ActivityView {
  ActivityName name{""};
  std::optional<ActivityKind> kind;  // none: its graph is not known here
  std::string address;               // its dimensional address, such as ,0,1,0
  std::string ledger;                // 15 digits
  std::string explanation;           // the digits in words
  std::vector<MessageView> messages;
  ActivityStatus status = ActivityStatus::open;
  bool open() const { return status == ActivityStatus::open; }
  bool errored() const { return status == ActivityStatus::errored; }
  std::int32_t code = 0;
  Instant opened_at;
  Instant closed_at;
  Payload output;
  // What it was sent, of a graph in the graph language whose activity has input.maps. Once it is answered it is made
  // again from the job as it stands; `input_sure` is false when it reads the job's data, which may have changed.
  Payload input;
  bool input_sure = true;
  Effect effect = Effect::none;
  std::optional<WorkView> work;  // while it is open, as is the next
  std::optional<WaitView> waits_for;
  std::string child;                   // the id of the job that it started, also after its end
  std::optional<RefusedView> refused;  // while its job is parked for it
};

// Something that the clock will say to the job.
struct TimerView {
  Instant due;
  std::string what;      // start, sleep, timeout, retry or deadline
  std::string activity;  // whose it is; empty: the job's
  std::string address;
};

struct JobDetail {
  JobView job;
  std::vector<ActivityView> activities;  // in the order they were opened
  // One digit per activity of the graph, ids in ascending order; an awaited job's own digits stand between 1 and 2.
  std::string collation_key;
  Payload input;
  std::vector<TimerView> timers;  // by due time
  // What keeps it from going on, as far as the asked process can tell: its graph is not deployed there, or work waits
  // for a topic that is paused or that nobody takes from. Empty: nothing. Why it is parked is its `reason`.
  std::vector<std::string> obstacles{};
};

}  // namespace pawl
