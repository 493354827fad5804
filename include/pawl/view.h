// Views: the visible state of a job. Plain values, copied from the store.
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
  Payload result;      // when completed; earlier if its end was announced (persist)
  std::string reason;  // when failed, interrupted, parked or paused
  std::int32_t priority = 0;
  Instant deadline;   // it is interrupted then; 0: none
  Instant remove_at;  // set when it is closed, unless it is kept for ever
  std::uint32_t redrives = 0;
  Payload data;           // what its activities share so far, in a graph of the graph language
  std::int32_t code = 0;  // of the error that ends it; 0: none
  std::string cursor{};   // from Runtime::list: the position after it, for JobFilter::after
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
  unknown,  // at most once, its attempt was lost, and it is unknown whether it acted
};
std::string_view name_of(Effect effect);

// A request that waits for, or is with, a worker.
struct WorkView {
  std::string token;  // names the current attempt; empty: no worker has it
  std::string worker;
  std::uint32_t attempts = 0;  // how often it was handed out
  std::uint32_t failures = 0;  // attempts that failed
  std::int32_t failure_code = 0;
  std::string failure;  // the error text of the last one
  Instant next_try_at;  // when the next attempt may begin; 0: not waiting for a time
  Instant attempt_by;   // when the attempt must have ended; 0: no limit, or the process of the attempt keeps that clock
  Instant deadline;     // 0: no limit
  Payload progress;     // of the last heartbeat
  bool held = false;    // its job is paused or parked
};

// What an open activity waits for. An empty field: not for that.
struct WaitView {
  std::string topic;       // a worker's, or that of the signal
  std::string key;         // the values that the signal must agree with, as a JSON list
  Instant wakes_at;        // when its sleep is over; of an await: when its next attempt begins
  Instant times_out_at;    // when it fails
  std::string child;       // the id of the job that it awaits
  std::uint32_t done = 0;  // of a join: arrivals so far; of a map: finished items
  std::uint32_t of = 0;    // how many it waits for
};

// A reply that the job could not take: the job is parked with the reason. A redrive asks the worker again.
struct RefusedView {
  std::int32_t code = 0;
  bool error = false;
  Payload data;
};

// cancelled: it had begun, and was cancelled by a race or because its job is being undone.
enum class ActivityStatus : std::uint8_t { open, completed, errored, skipped, cancelled };
std::string_view name_of(ActivityStatus status);

// An attempt that failed, and after which there was another one.
struct AttemptView {
  Instant at;  // it failed then
  std::int32_t code = 0;
  std::string error;
};

struct ActivityView {
  ActivityName name{""};
  std::optional<ActivityKind> kind;       // none: its graph is not known here
  std::string address;                    // its dimensional address, such as ,0,1,0
  std::optional<std::uint32_t> parent{};  // the activity that it follows, by its place in JobDetail::activities
  std::uint32_t plane = 0;  // of its parent: the round of a cycle, the item of a map (from 1), a pending reply
  std::string ledger;       // 15 digits
  std::string explanation;  // the digits in words
  std::vector<MessageView> messages;
  ActivityStatus status = ActivityStatus::open;
  bool open() const { return status == ActivityStatus::open; }
  bool errored() const { return status == ActivityStatus::errored; }
  std::int32_t code = 0;
  Instant opened_at;
  Instant closed_at;
  Payload output;
  // Its input, in a graph of the graph language whose activity has input.maps. After the reply it is computed again
  // from the job's current state; `input_sure` is false when it reads the job's data, which may have changed.
  Payload input;
  bool input_sure = true;
  Effect effect = Effect::none;
  std::optional<WorkView> work;  // while it is open; the same for the next one
  std::optional<WaitView> waits_for;
  std::vector<AttemptView> attempts;   // the last 20 that failed (attempts_kept), the oldest first
  std::string child;                   // the id of the job that it started, also after its end
  bool carried = false;                // it was answered in an earlier run, or in the job that this one was made from
  std::optional<RefusedView> refused;  // while its job is parked for it
};

// Who waits for a signal now.
struct SignalFate {
  std::vector<JobId>
      reaches{};           // it is for the first hook of these jobs; empty: it is kept for the first that will wait
  std::uint64_t kept = 0;  // signals like it that no hook has taken yet
};

// A timer of the job.
struct TimerView {
  Instant due;
  std::string what;      // start, sleep, timeout, retry or deadline
  std::string activity;  // its activity; empty: it belongs to the job
  std::string address;
};

// A run of the same id that failed before this one went on for it.
struct EarlierRunView {
  RunId run{0};
  Instant ended_at;
  std::int32_t code = 0;
  std::string reason;
};

struct JobDetail {
  JobView job;
  std::vector<ActivityView> activities;  // in the order they were opened
  // One digit per activity of the graph, ids in ascending order; the digits of an awaited job are between 1 and 2.
  std::string collation_key;
  Payload input;
  std::vector<TimerView> timers;  // by due time
  // What keeps it from continuing, as far as this process knows: its graph is not deployed here, or work waits for a
  // topic that is paused or has no worker. Empty: nothing. If it is parked, `reason` tells why.
  std::vector<std::string> obstacles{};
  std::vector<EarlierRunView> earlier{};  // the first one first
};

}  // namespace pawl
