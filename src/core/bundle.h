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

// What becomes of the job's row. A closed job's semaphore is 0 whatever the step left.
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
  std::optional<Payload> data;  // none: as it was
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
struct PutMessage {  // into the entity's own inbox
  Message message;
  Instant due;  // a timer: not before then; 0: at once
  friend bool operator==(const PutMessage&, const PutMessage&) = default;
};
struct CountRedelivery {
  Guid guid;
  std::uint32_t before = 0;
  friend bool operator==(const CountRedelivery&, const CountRedelivery&) = default;
};
struct Consume {  // the ack: the message leaves the inbox
  Guid guid;
  friend bool operator==(const Consume&, const Consume&) = default;
};
struct PutWork {
  WorkItem item;
  friend bool operator==(const PutWork&, const PutWork&) = default;
};
struct DropWork {  // refused as a conflict when somebody else claimed the item since
  ActivitySeq activity{0};
  WorkToken token{0};
  friend bool operator==(const DropWork&, const DropWork&) = default;
};
struct Sweep {  // a closing transition: the job's messages (but the causing one) and work items go
  std::optional<Guid> keep;
  friend bool operator==(const Sweep&, const Sweep&) = default;
};
struct Send {  // the outbox
  Envelope envelope;
  LaneId lane{0};  // of a mailbox or a job by its key: where it belongs; the engine fills it in
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
struct OfferEntry {  // a signal that is stored: to whom it is out now
  std::uint64_t seq = 0;
  Guid signal;
  std::optional<Guid> to;  // none: it waits
  friend bool operator==(const OfferEntry&, const OfferEntry&) = default;
};

struct ChangeWork {  // refused as a conflict when somebody else claimed the item since
  ActivitySeq activity{0};
  WorkToken token{0};   // before
  bool release = true;  // false: whoever holds it keeps it
  Instant visible_at;
  WorkLife life;  // all of it but the progress, which is the workers' to write
  friend bool operator==(const ChangeWork&, const ChangeWork&) = default;
};
struct HoldWork {  // every item of the job: handed to nobody, or to whoever wants it again
  bool held = true;
  friend bool operator==(const HoldWork&, const HoldWork&) = default;
};

struct PutLabel {  // what is there already stays
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
// A job's word to whoever follows a topic; it is kept as long as the job is. Stored: never renumber.
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
  friend bool operator==(const Bundle&, const Bundle&) = default;
};

}  // namespace pawl::core
