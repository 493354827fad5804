// JobState: all that is known of one job: its row, activity instances, message ledgers and open work. A value: the
// store and `decide` read it, `apply` applies one bundle to it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/guid.h"
#include "core/ids.h"
#include "core/message.h"
#include "core/secret.h"
#include "ledger/activity_ledger.h"
#include "ledger/dimensions.h"
#include "ledger/message_ledger.h"
#include "ledger/semaphore.h"
#include "pawl/payload.h"
#include "pawl/time.h"

namespace pawl::core {

// Stored: never renumber. Only `running` is active. Parked and paused jobs have not ended: a person can resume them.
enum class JobStatus : std::uint8_t { running = 0, completed = 1, failed = 2, interrupted = 3, parked = 4, paused = 5 };
enum class ActivityStatus : std::uint8_t { open = 0, completed = 1, errored = 2, skipped = 3 };

std::string_view name_of(JobStatus status);
std::string_view name_of(ActivityStatus status);
constexpr bool is_closed(JobStatus status) {
  return status == JobStatus::completed || status == JobStatus::failed || status == JobStatus::interrupted;
}

// Neither running nor over: it waits for a person.
constexpr bool is_stopped(JobStatus status) { return status == JobStatus::parked || status == JobStatus::paused; }

struct JobRow {
  RunId run{0};
  Namespace name_space{""};
  JobId id{""};
  GraphRef graph{GraphName(""), 0, 0};
  Rev rev{0};
  BundleId bundle{0};  // the last bundle that wrote this row
  JobStatus status = JobStatus::running;
  std::int64_t semaphore = 1;       // open obligations; the trigger is the first
  std::int64_t threshold = 0;       // the semaphore value that closes the job
  std::uint32_t completions = 0;    // how often the completion tasks ran: 0 or 1
  std::uint32_t next_activity = 0;  // the next ActivitySeq
  Instant created_at;
  Instant closed_at;
  Payload result;
  std::string reason;            // why it failed, was parked or paused
  std::int32_t priority = 0;     // larger goes first
  std::optional<Duration> keep;  // how long it is kept after its end; none: for ever
  Instant remove_at;             // set when it is closed, unless it is kept for ever
  Instant deadline;              // it is interrupted then; 0: none
  std::uint32_t redrives = 0;    // each one grants all attempts again
  Payload data;                  // what its activities share; empty: nothing yet
  // The error code that ends the job, perhaps after other branches finish; 0: none. Negative: the job failed with this
  // code and is undoing what it did (Draft::undoing); with cancelled_bit, because somebody cancelled it.
  std::int32_t code = 0;
  std::optional<ParentLink> parent;  // the job that started it, if any
  JobSecret secret{Guid{}};          // the names of its work are derived from it; never shown
  friend bool operator==(const JobRow&, const JobRow&) = default;

  static constexpr std::int32_t cancelled_bit = 1 << 30;  // no code of an error is that large
  std::int32_t error_code() const { return code < 0 ? -code & ~cancelled_bit : code; }
};

struct Activity {
  ActivitySeq seq{0};
  std::uint32_t node = 0;
  ledger::Dimensions at;
  std::optional<ActivitySeq> parent;
  ledger::ActivityLedger ledger;
  ActivityStatus status = ActivityStatus::open;
  std::int32_t code = 0;  // of the concluding response
  Instant opened_at;
  Instant closed_at;
  Payload output;
  Payload state;  // what its kind remembers between messages
  friend bool operator==(const Activity&, const Activity&) = default;
};

struct MessageRecord {
  Guid guid;
  ActivitySeq activity{0};
  ledger::MessageLedger ledger;
  Payload output;  // of its plane; empty if it concluded the activity: then the activity has it
  friend bool operator==(const MessageRecord&, const MessageRecord&) = default;
};

// The times, attempts and uncertainties of a work item. Most items have none of them and store nothing here.
struct WorkLife {
  Duration queue_timeout{0};  // 0: none, as for all of these
  Duration attempt_timeout{0};
  Duration heartbeat_timeout{0};
  Instant deadline;  // of all attempts together
  bool at_most_once = false;
  bool unknown = false;           // at most once, and it is unknown whether the last attempt had an effect
  Instant queue_by;               // of the current wait: a worker must begin by then
  Instant attempt_by;             // of the current attempt, if it is leased
  Instant heartbeat_by;           // of the current attempt, if it is leased
  std::uint32_t failures = 0;     // failed attempts
  std::int32_t failure_code = 0;  // of the last one
  std::string failure;            // its error text
  Payload progress;               // of the last heartbeat: the next attempt may read it
  // The W3C trace context of its job. Stored last, and only if set: items that were stored before can still be read.
  std::optional<std::string> trace;
  friend bool operator==(const WorkLife&, const WorkLife&) = default;
};

// A request that waits for, or is with, a worker. Claimed means token != 0.
struct WorkItem {
  RunId run{0};
  ActivitySeq activity{0};
  Topic topic{""};
  Guid request;  // names the work, stable over attempts; never shown
  WorkToken token{0};
  std::string worker;
  Epoch epoch{0};          // of the lane's owner, when the claim came with a bundle; 0 otherwise
  Instant lease_until;     // for claims by remote workers
  std::uint32_t runs = 0;  // how often it was handed to a worker (attempts)
  Payload input;
  std::int32_t priority = 0;  // larger goes first
  Instant visible_at;         // not handed out before then; 0: at once
  bool held = false;          // its job is paused or parked: not handed out
  bool plain_key = false;     // created before secrets existed: workers know it by its request
  WorkLife life;
  friend bool operator==(const WorkItem&, const WorkItem&) = default;
};

// The first instant later than `after` at which the engine must look at this item without a message; 0: never. Stores
// index the smallest of these.
Instant wake_of(const WorkItem& item, Instant after = {});
// Hands the item out once more, under a new token. `lease_until` 0: until the owner of `epoch` is gone. A leased
// attempt begins with its claim. A local attempt begins when a thread of its process takes it; that process keeps its
// clocks.
void begin_run(WorkItem& item, std::string worker, Epoch epoch, Instant lease_until, Instant now);
// The key that workers pass to services that must not act twice: the same for every attempt at this work, different for
// all other work. `store`: the store's id, for work that was created before secrets existed.
Guid idempotency_key(const WorkItem& item, const Guid& store);
// Releases the item. A local claim that is given back is not a lost attempt: it is not counted. If no thread began it,
// its queue time continues.
enum class Began : std::uint8_t { no, yes };
void release(WorkItem& item, Instant now, Began began = Began::yes);

class JobState {
 public:
  JobRow job;

  const Activity* find(ActivitySeq seq) const;
  const Activity* find(std::uint32_t node, const ledger::Dimensions& at) const;
  const MessageRecord* find_message(const Guid& guid) const;
  // The message that entered the activity in this plane; none: no message entered, or it concluded the activity.
  const MessageRecord* find_message(ActivitySeq activity, std::uint32_t plane) const;
  const WorkItem* find_work(ActivitySeq seq) const;

  const std::deque<Activity>& activities() const { return activities_; }  // by seq
  const std::unordered_map<Guid, MessageRecord>& messages() const { return messages_; }
  const std::unordered_map<ActivitySeq, WorkItem>& work() const { return work_; }
  // Approximate size in memory: the payloads and what is stored with them.
  std::size_t bytes() const { return bytes_ + job.data.size() + job.result.size(); }
  // The message that has step 1 but not step 2, if any: recovery finishes it first.
  std::optional<Guid> half_done() const;

  // For `apply` and for stores that read rows. Activities must come in the order of their seq.
  void put(Activity activity);
  void put(MessageRecord record);
  void put(WorkItem item);
  void drop_work(ActivitySeq seq);
  void drop_all_work();
  void hold_work(bool held) {
    for (auto& [seq, item] : work_) item.held = held;
  }

  friend bool operator==(const JobState&, const JobState&);

 private:
  struct Place {
    std::uint32_t node;
    ledger::Dimensions at;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const noexcept {
      return std::hash<ledger::Dimensions>{}(place.at) * 31 + place.node;
    }
  };
  std::deque<Activity> activities_;  // index is the seq: a 10,000-step chain stays flat
  std::unordered_map<Place, ActivitySeq, PlaceHash> by_place_;
  std::unordered_map<Guid, MessageRecord> messages_;
  std::unordered_map<std::uint64_t, Guid> by_plane_;  // activity << 32 | plane, of messages with an output of their own
  std::unordered_map<ActivitySeq, WorkItem> work_;
  std::optional<Guid> half_done_;
  std::size_t bytes_ = 0;  // of activities, messages and work
};

}  // namespace pawl::core
