// Messages: the durable hand-offs between activities, workers, mailboxes and jobs. A closed set: adding a
// kind breaks the build everywhere it must be handled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/guid.h"
#include "core/ids.h"
#include "ledger/dimensions.h"
#include "pawl/payload.h"
#include "pawl/time.h"

namespace pawl::core {

// Stored: never renumber. Fatal is an error that no further try mends.
enum class ReplyStatus : std::uint8_t { success = 0, pending = 1, error = 2, fatal = 3 };
constexpr bool is_error(ReplyStatus status) { return status == ReplyStatus::error || status == ReplyStatus::fatal; }

// Opens the job: the trigger's leg 2 (its leg 1 was the caller).
struct Start {
  Payload input;
  friend bool operator==(const Start&, const Start&) = default;
};

// Asks for leg 1 of an activity.
struct Transition {
  std::uint32_t node = 0;         // index in the job's graph
  ledger::Dimensions at;          // where the new instance stands
  ActivitySeq parent{0};          // the instance that spawned it
  Payload input;
  friend bool operator==(const Transition&, const Transition&) = default;
};

// A worker's answer: leg 2 of an activity.
struct Response {
  ActivitySeq activity{0};
  ReplyStatus status = ReplyStatus::success;
  std::int32_t code = 200;
  WorkToken token{0};
  Payload data;
  friend bool operator==(const Response&, const Response&) = default;
};

// To a mailbox: somebody waits here. `reply_to` is resumed with guid H(signal, registration).
struct Register {
  RunId reply_to{0};
  ActivitySeq activity{0};
  friend bool operator==(const Register&, const Register&) = default;
};

// To a mailbox: a signal for whoever waits, or for the first who will.
struct Signal {
  Payload data;
  friend bool operator==(const Signal&, const Signal&) = default;
};

// From a mailbox to a job: the signal that its registration met.
struct Resume {
  ActivitySeq activity{0};
  Guid registration;
  Payload data;
  friend bool operator==(const Resume&, const Resume&) = default;
};

// The engine's word in place of a worker's: no answer came under this token. Stored: never renumber.
struct NoAnswer {
  enum class Why : std::uint8_t {
    queue = 0,      // no worker took it in time
    attempt = 1,    // the run took too long
    heartbeat = 2,  // the run fell silent
    total = 3,      // all tries together took too long
    lost = 4,       // the process that ran it is gone
  };
  ActivitySeq activity{0};
  WorkToken token{0};
  Why why = Why::attempt;
  friend bool operator==(const NoAnswer&, const NoAnswer&) = default;
};
std::string_view name_of(NoAnswer::Why why);

// What a person, a program or a deadline asks of a job.
struct Interrupt {
  std::int32_t code = 410;
  std::string reason;
  friend bool operator==(const Interrupt&, const Interrupt&) = default;
};
struct Pause {
  std::string reason;
  friend bool operator==(const Pause&, const Pause&) = default;
};
struct Proceed {  // after a pause
  friend bool operator==(const Proceed&, const Proceed&) = default;
};
struct Redrive {  // after the job was parked: everything may be tried as often again
  friend bool operator==(const Redrive&, const Redrive&) = default;
};

// Somebody found out what became of an effect that was unknown.
struct Verdict {
  enum class Kind : std::uint8_t { done = 0, failed = 1, retry = 2 };  // stored: never renumber
  ActivitySeq activity{0};
  Kind kind = Kind::done;
  std::int32_t code = 200;
  Payload data;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

using Body = std::variant<Start, Transition, Response, Register, Signal, Resume, NoAnswer, Interrupt, Pause, Proceed,
                          Redrive, Verdict>;  // stored index: append only

// What is asked of a job as a whole, also of one that is stopped.
inline bool is_control(const Body& body) {
  return std::holds_alternative<Interrupt>(body) || std::holds_alternative<Pause>(body) ||
         std::holds_alternative<Proceed>(body) || std::holds_alternative<Redrive>(body);
}

struct Message {
  Guid guid;
  Body body;
  friend bool operator==(const Message&, const Message&) = default;
};

// The message that opens a run: its name follows from the run, so whoever makes it makes the same one.
inline Message start_message(RunId run, Payload input) {
  return Message{Guid::of_run(run).derive(Guid::Purpose::start, 0), Start{std::move(input)}};
}

// Ends a job that runs beyond its time: a timer, put with the job and consumed when it closes.
inline Guid deadline_guid(RunId run) { return Guid::of_run(run).derive(Guid::Purpose::deadline, 0); }
inline Message deadline_message(RunId run) {
  return Message{deadline_guid(run), Interrupt{408, "the job ran out of its time"}};
}

// A message as it waits in an inbox.
struct InboxMessage {
  Message message;
  std::uint32_t redeliveries = 0;  // engine entries beyond the first hand-over
  Instant due;                     // a timer: not before then; 0: at once
  friend bool operator==(const InboxMessage&, const InboxMessage&) = default;
};

// The name of a mailbox: signals meet registrations by (namespace, topic, key).
struct MailboxKey {
  Namespace name_space{""};
  Topic topic{""};
  std::string key;
  friend auto operator<=>(const MailboxKey&, const MailboxKey&) = default;
};

using Target = std::variant<RunId, MailboxKey>;  // stored index: append only

// A message on its way to another entity, possibly of another lane.
struct Envelope {
  Target to{RunId(0)};
  Message message;
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

}  // namespace pawl::core
