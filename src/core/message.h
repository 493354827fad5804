// Messages: the durable hand-offs between activities, workers, mailboxes and jobs. A closed set: adding a
// kind breaks the build everywhere it must be handled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/invariant.h"
#include "core/guid.h"
#include "core/ids.h"
#include "core/labels.h"
#include "core/secret.h"
#include "ledger/dimensions.h"
#include "pawl/payload.h"
#include "pawl/time.h"

namespace pawl::core {

// Stored: never renumber. Fatal is an error that another attempt would not change.
enum class ReplyStatus : std::uint8_t { success = 0, pending = 1, error = 2, fatal = 3 };
constexpr bool is_error(ReplyStatus status) { return status == ReplyStatus::error || status == ReplyStatus::fatal; }

// Opens the job: the trigger's leg 2 (its leg 1 was the caller).
struct Start {
  Payload input;
  friend bool operator==(const Start&, const Start&) = default;
};

// Asks for leg 1 of an activity.
struct Transition {
  std::uint32_t node = 0;  // index in the job's graph
  ledger::Dimensions at;   // the address of the new instance
  ActivitySeq parent{0};   // the instance that spawned it
  Payload input;
  friend bool operator==(const Transition&, const Transition&) = default;
};

// A worker's reply: leg 2 of an activity.
struct Reply {
  ActivitySeq activity{0};
  ReplyStatus status = ReplyStatus::success;
  std::int32_t code = 200;
  WorkToken token{0};
  Payload data;
  friend bool operator==(const Reply&, const Reply&) = default;
};

// To a mailbox: a hook waits here. `reply_to` is resumed with guid H(signal, registration).
struct Register {
  RunId reply_to{0};
  ActivitySeq activity{0};
  friend bool operator==(const Register&, const Register&) = default;
};

// To a mailbox: a signal for the oldest registration, or the next one. After a pending signal the registration stays.
struct Signal {
  Payload data;
  ReplyStatus status = ReplyStatus::success;
  std::int32_t code = 200;
  friend bool operator==(const Signal&, const Signal&) = default;
};

// From a mailbox to a job: the signal that its registration met.
struct Resume {
  ActivitySeq activity{0};
  Guid registration;
  Payload data;
  ReplyStatus status = ReplyStatus::success;
  std::int32_t code = 200;
  friend bool operator==(const Resume&, const Resume&) = default;
};

// From the engine, in place of a worker's reply: no reply came under this token. Stored: never renumber.
struct NoReply {
  enum class Why : std::uint8_t {
    queue = 0,      // no worker took it in time
    attempt = 1,    // the attempt took too long
    heartbeat = 2,  // the attempt sent no heartbeat in time
    total = 3,      // all attempts together took too long
    lost = 4,       // the process of the attempt is gone
  };
  ActivitySeq activity{0};
  WorkToken token{0};
  Why why = Why::attempt;
  friend bool operator==(const NoReply&, const NoReply&) = default;
};
std::string_view name_of(NoReply::Why why);

// What a person, a program or a deadline asks of a job.
struct Interrupt {
  std::int32_t code = 410;
  std::string reason;
  friend bool operator==(const Interrupt&, const Interrupt&) = default;
};
// Ends the job like an interrupt, but first undoes what it did, if its graph says how.
struct Cancel {
  std::int32_t code = 410;
  std::string reason;
  friend bool operator==(const Cancel&, const Cancel&) = default;
};
struct Pause {
  std::string reason;
  friend bool operator==(const Pause&, const Pause&) = default;
};
struct Proceed {  // after a pause
  friend bool operator==(const Proceed&, const Proceed&) = default;
};
struct Redrive {  // after the job was parked: grants all attempts again
  friend bool operator==(const Redrive&, const Redrive&) = default;
};

// A person or a probe found out whether an unknown effect happened.
struct Verdict {
  enum class Kind : std::uint8_t { done = 0, failed = 1, retry = 2 };  // stored: never renumber
  ActivitySeq activity{0};
  Kind kind = Kind::done;
  std::int32_t code = 200;
  Payload data;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// A timer of an activity: the end of its sleep, its timeout, or the end of the pause before the next attempt. Stored:
// never renumber.
struct TimeUp {
  enum class What : std::uint8_t { sleep = 0, timeout = 1, retry = 2 };
  ActivitySeq activity{0};
  What what = What::sleep;
  friend bool operator==(const TimeUp&, const TimeUp&) = default;
};
std::string_view name_of(TimeUp::What what);

// From a cycle to its pivot: another round, in a new plane.
struct Reenter {
  ActivitySeq pivot{0};
  Payload data;
  friend bool operator==(const Reenter&, const Reenter&) = default;
};

// To a join: an edge that leads to it fired, or never will (then it brings no obligation).
struct Arrive {
  std::uint32_t node = 0;  // the join
  ledger::Dimensions at;   // the address of its instance
  ActivitySeq parent{0};   // the nearest activity that all its edges come from
  std::uint32_t edge = 0;  // which of the edges that lead to it
  bool skipped = false;
  friend bool operator==(const Arrive&, const Arrive&) = default;
};

// To a map: begin with this item; or: this item is done.
struct Item {
  ActivitySeq map{0};
  std::uint32_t index = 0;
  bool done = false;
  friend bool operator==(const Item&, const Item&) = default;
};

// The job that started this one, and whether it waits for the end.
struct ParentLink {
  RunId run{0};
  ActivitySeq activity{0};
  Guid request;  // the message that reports the end has a name derived from it
  bool awaits = true;
  friend bool operator==(const ParentLink&, const ParentLink&) = default;
};

// The graph that a job uses until its end.
struct GraphRef {
  GraphName name{""};
  std::uint32_t version = 0;
  std::uint64_t fingerprint = 0;
  friend bool operator==(const GraphRef&, const GraphRef&) = default;
};

// Creates the job that it is addressed to.
struct StartChild {
  GraphRef graph;
  Payload input;
  ParentLink parent;
  std::int32_t priority = 0;
  JobSecret secret{Guid{}};  // of the child
  friend bool operator==(const StartChild&, const StartChild&) = default;
};

// From a child to the job that awaits it: its end or, if pending, its data so far.
struct ChildDone {
  ActivitySeq activity{0};
  ReplyStatus status = ReplyStatus::success;
  std::int32_t code = 200;
  Payload data;
  friend bool operator==(const ChildDone&, const ChildDone&) = default;
};

// From another job: end. A parent's request counts only for the child that it started itself.
struct EndJob {
  std::optional<RunId> parent;
  std::int32_t code = 410;
  std::string reason;
  bool throws = true;    // false: it ends without an error
  bool descend = false;  // its children end too
  std::optional<Duration> keep;
  friend bool operator==(const EndJob&, const EndJob&) = default;
};

// To a mailbox: the registration under this guid is over. Signals that it was offered and did not take (`Taken`) can be
// offered to others again.
struct Withdraw {
  Guid registration;
  friend bool operator==(const Withdraw&, const Withdraw&) = default;
};

// A mailbox's timer: a signal that no hook took expires. It only wakes the mailbox: the entry holds the time of expiry.
struct Expire {
  Guid signal;
  friend bool operator==(const Expire&, const Expire&) = default;
};

// To a job that signals all jobs with a label: send to the next page of them. The engine brings the page.
struct Expand {
  ActivitySeq activity{0};
  GraphName graph{""};  // of those jobs
  Label label;
  RunId after{0};  // the cursor: the last job that the signal was sent to
  std::uint32_t page = 0;
  std::uint64_t told = 0;
  bool scrub = false;  // they lose the label
  Topic topic{""};
  Payload data;
  ReplyStatus status = ReplyStatus::success;
  std::int32_t code = 200;
  friend bool operator==(const Expand&, const Expand&) = default;
};

// From a job that signalled all jobs with this label: remove the label.
struct Unlabel {
  Label label;
  friend bool operator==(const Unlabel&, const Unlabel&) = default;
};

// To a mailbox: the hook used the signal that this Resume brought; no other hook gets it. If the signal was not
// pending, the hook is concluded and its registration over.
struct Taken {
  Guid registration;
  Guid resume;
  friend bool operator==(const Taken&, const Taken&) = default;
};

// In the inbox of a parked job: the reply that it could not take, for people to see. When the job continues, this
// message is removed and the worker is asked again.
struct Refused {
  ActivitySeq activity{0};
  ReplyStatus status = ReplyStatus::success;
  std::int32_t code = 200;
  Payload data;
  friend bool operator==(const Refused&, const Refused&) = default;
};

// A person answers in the place of a worker whose answer a parked job could not take: the job goes on with this one.
struct GiveAnswer {
  ActivitySeq activity{0};
  std::int32_t code = 200;
  Payload data;
  friend bool operator==(const GiveAnswer&, const GiveAnswer&) = default;
};

// To a mailbox, from a person: a signal that waits there goes. One that is offered to a hook stays: the hook may have
// taken it.
struct DropSignal {
  Guid signal;
  friend bool operator==(const DropSignal&, const DropSignal&) = default;
};

using Body =
    std::variant<Start, Transition, Reply, Register, Signal, Resume, NoReply, Interrupt, Pause, Proceed, Redrive,
                 Verdict, TimeUp, Reenter, Arrive, Item, StartChild, ChildDone, EndJob, Withdraw, Expire, Expand,
                 Unlabel, Taken, Refused, GiveAnswer, DropSignal, Cancel>;  // stored index: append only

// Requests to a job as a whole; a stopped job receives them too.
inline bool is_control(const Body& body) {
  return std::visit(
      Overloaded{
          each_of<Interrupt, Cancel, Pause, Proceed, Redrive, EndJob, GiveAnswer>([] { return true; }),
          each_of<Start, Transition, Reply, Register, Signal, Resume, NoReply, Verdict, TimeUp, Reenter, Arrive, Item,
                  StartChild, ChildDone, Withdraw, Expire, Expand, Unlabel, Taken, Refused, DropSignal>(
              [] { return false; }),
      },
      body);
}

struct Message {
  Guid guid;
  Body body;
  friend bool operator==(const Message&, const Message&) = default;
};

// The message that opens a run. Its name is derived from the run, so a repeated start makes the same message.
inline Message start_message(RunId run, Payload input) {
  return Message{Guid::of_run(run).derive(Guid::Purpose::start, 0), Start{std::move(input)}};
}

// Ends a job that exceeds its time: a timer, stored with the job and consumed when it closes.
inline Guid deadline_guid(RunId run) { return Guid::of_run(run).derive(Guid::Purpose::deadline, 0); }
inline Message deadline_message(RunId run) {
  return Message{deadline_guid(run), Interrupt{408, "the job ran out of its time"}};
}

// A message as it waits in an inbox.
struct InboxMessage {
  Message message;
  std::uint32_t redeliveries = 0;  // engine entries beyond the first hand-over
  Instant due;                     // a timer: not before this instant; 0: at once
  friend bool operator==(const InboxMessage&, const InboxMessage&) = default;
};

// The name of a mailbox: signals meet registrations by (namespace, topic, key).
struct MailboxKey {
  Namespace name_space{""};
  Topic topic{""};
  std::string key;
  friend auto operator<=>(const MailboxKey&, const MailboxKey&) = default;
};

// A job by its id: the run that has the id now.
struct JobKey {
  Namespace name_space{""};
  JobId id{""};
  friend auto operator<=>(const JobKey&, const JobKey&) = default;
};

using Target = std::variant<RunId, MailboxKey, JobKey>;  // stored index: append only

// A message on its way to another entity, possibly of another lane.
struct Envelope {
  Target to{RunId(0)};
  Message message;
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

// The lane that a message goes to. `of_key`: the lane of the key, if the target is a key.
inline LaneId lane_of(const Target& to, LaneId of_key) {
  const auto* run = std::get_if<RunId>(&to);
  return run == nullptr ? of_key : lane_of(*run);
}

// The name of a child's last message, and of the ones before it. The first half of the latter is derived from the
// request alone: a parent that started several children knows which of them sent it.
inline Guid last_word_of(const Guid& request) { return request.derive(Guid::Purpose::child_result, 0); }
inline Guid word_of(const Guid& request, const Guid& cause) {
  const Guid words = request.derive(Guid::Purpose::child_result, 1);
  return Guid{words.high, words.derive(Guid::Purpose::response_pending, cause.low).low};
}
inline bool is_word_of(const Guid& request, const Guid& word) {
  return word == last_word_of(request) || word.high == request.derive(Guid::Purpose::child_result, 1).high;
}

// What a parent receives when the id of its child is taken.
inline Envelope refused_child(const StartChild& start, const JobId& id) {
  return Envelope{start.parent.run, Message{last_word_of(start.parent.request),
                                            ChildDone{start.parent.activity, ReplyStatus::error, 409,
                                                      Payload("\"the job id " + id.raw() + " is taken\"")}}};
}

}  // namespace pawl::core
