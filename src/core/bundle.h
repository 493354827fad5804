// Bundle: everything that one step commits, as one value, applied atomically or not at all.
//
// Invariants:
// 1. Two guards: the lane's epoch and the entity's rev. A bundle requires rev == rev_before and writes
//    rev + 1 and its own id; that is the compare-and-set of every mark in it.
// 2. Every ledger write names the value it was computed from; a difference is corruption, not a race.
// 3. A bundle has at most one write per row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/job_state.h"
#include "core/labels.h"
#include "core/mailbox_state.h"
#include "core/message.h"
#include "pawl/payload.h"
#include "pawl/time.h"

namespace pawl::core {

// The compound step: the store computes `hit` again and refuses on a difference.
struct SemaphoreStep {
  std::int64_t before = 0;
  std::int64_t delta = 0;
  std::int64_t threshold = 0;
  bool hit = false;
  friend bool operator==(const SemaphoreStep&, const SemaphoreStep&) = default;
};

// The changes of the job's row. A closed job's semaphore is 0, whatever the step left.
struct JobHead {
  JobStatus status = JobStatus::running;
  std::optional<SemaphoreStep> semaphore;
  std::uint32_t completions_before = 0;
  std::uint32_t completions = 0;
  std::uint32_t next_activity = 0;
  Instant closed_at;
  std::optional<Payload> result;
  std::optional<std::string> reason;
  Instant remove_at;
  std::uint32_t redrives = 0;
  std::optional<Payload> data;  // none: unchanged
  std::int32_t code = 0;
  friend bool operator==(const JobHead&, const JobHead&) = default;
};

struct MailboxHead {
  std::uint64_t next_entry = 0;
  friend bool operator==(const MailboxHead&, const MailboxHead&) = default;
};

struct PutActivity {
  std::optional<ledger::ActivityLedger> before;  // none: a new row
  Activity after;
  friend bool operator==(const PutActivity&, const PutActivity&) = default;
};
struct PutRecord {
  std::optional<ledger::MessageLedger> before;  // none: a new row
  MessageRecord after;
  friend bool operator==(const PutRecord&, const PutRecord&) = default;
};
struct PutMessage {  // into the inbox of the same entity
  Message message;
  Instant due;  // a timer: not before this instant; 0: at once
  friend bool operator==(const PutMessage&, const PutMessage&) = default;
};
struct CountRedelivery {
  Guid guid;
  std::uint32_t before = 0;
  friend bool operator==(const CountRedelivery&, const CountRedelivery&) = default;
};
struct Consume {  // acknowledges a message: it leaves the inbox
  Guid guid;
  friend bool operator==(const Consume&, const Consume&) = default;
};
struct PutWork {
  WorkItem item;
  friend bool operator==(const PutWork&, const PutWork&) = default;
};
struct DropWork {  // refused as a conflict when the item was claimed since
  ActivitySeq activity{0};
  WorkToken token{0};
  friend bool operator==(const DropWork&, const DropWork&) = default;
};
struct Sweep {  // closing the job removes its work items and its messages, except the causing one
  std::optional<Guid> keep;
  friend bool operator==(const Sweep&, const Sweep&) = default;
};
struct Send {  // the outbox
  Envelope envelope;
  LaneId lane{0};  // the lane of a mailbox or of a job that is named by its key; the engine fills it in
  friend bool operator==(const Send&, const Send&) = default;
};
struct PutEntry {
  MailboxEntry entry;
  friend bool operator==(const PutEntry&, const PutEntry&) = default;
};
struct DropEntry {
  std::uint64_t seq = 0;
  friend bool operator==(const DropEntry&, const DropEntry&) = default;
};
struct OfferEntry {  // the registration that a stored signal is offered to now
  std::uint64_t seq = 0;
  Guid signal;
  std::optional<Guid> to;  // none: the signal waits
  friend bool operator==(const OfferEntry&, const OfferEntry&) = default;
};

struct ChangeWork {  // refused as a conflict when the item was claimed since
  ActivitySeq activity{0};
  WorkToken token{0};   // before
  bool release = true;  // false: the current holder keeps it
  Instant visible_at;
  WorkLife life;  // all fields except the progress, which only workers write
  friend bool operator==(const ChangeWork&, const ChangeWork&) = default;
};
struct HoldWork {  // every item of the job: hold it back from workers, or release it
  bool held = true;
  friend bool operator==(const HoldWork&, const HoldWork&) = default;
};

struct PutLabel {  // a label that exists already stays
  Label label;
  friend bool operator==(const PutLabel&, const PutLabel&) = default;
};
struct DropLabel {
  Label label;
  friend bool operator==(const DropLabel&, const DropLabel&) = default;
};
struct AddMeasure {
  Measure measure;
  friend bool operator==(const AddMeasure&, const AddMeasure&) = default;
};
// A job's announcement to the subscribers of a topic. It is kept as long as the job is. Stored: never renumber.
struct Announce {
  enum class What : std::uint8_t { progress = 0, end = 1 };
  Topic topic{""};
  What what = What::progress;
  ReplyStatus status = ReplyStatus::success;
  std::int32_t code = 200;
  Instant at;
  Payload data;
  friend bool operator==(const Announce&, const Announce&) = default;
};

// Append only.
using Write =
    std::variant<PutActivity, PutRecord, PutMessage, CountRedelivery, Consume, PutWork, DropWork, Sweep, Send, PutEntry,
                 DropEntry, ChangeWork, HoldWork, PutLabel, DropLabel, AddMeasure, Announce, OfferEntry>;

struct Bundle {
  RunId entity{0};
  Epoch epoch{0};
  Rev rev_before{0};
  BundleId id{0};
  std::variant<JobHead, MailboxHead> head;
  std::vector<Write> writes;
  // Of activities that close: the attributes of their spans. For observers; no store keeps them.
  std::vector<std::pair<ActivitySeq, Payload>> telemetry{};
  // The first step of a job that is submitted right before it, in the same group. `entity` is the number that its
  // engine expects for the job: a conflict unless the job got it.
  bool with_submit = false;
  friend bool operator==(const Bundle&, const Bundle&) = default;
};

}  // namespace pawl::core
