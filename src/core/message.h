// Messages: the durable hand-offs between activities, workers, mailboxes and jobs. A closed set: adding a
// kind breaks the build everywhere it must be handled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/guid.h"
#include "core/ids.h"
#include "ledger/dimensions.h"
#include "pawl/payload.h"

namespace pawl::core {

enum class ReplyStatus : std::uint8_t { success = 0, pending = 1, error = 2 };  // stored: never renumber

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

using Body = std::variant<Start, Transition, Response, Register, Signal, Resume>;  // stored index: append only

struct Message {
  Guid guid;
  Body body;
  friend bool operator==(const Message&, const Message&) = default;
};

// The message that opens a run: its name follows from the run, so whoever makes it makes the same one.
inline Message start_message(RunId run, Payload input) {
  return Message{Guid::of_run(run).derive(Guid::Purpose::start, 0), Start{std::move(input)}};
}

// A message as it waits in an inbox.
struct InboxMessage {
  Message message;
  std::uint32_t redeliveries = 0;  // engine entries beyond the first hand-over
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
