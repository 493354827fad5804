// The single operations of `collation: duplex` (docs/decisions/060-duplex-applier.md). Each is one commit, and each may
// be repeated by anyone: a name that was used before (a cell, a mark, a closer, an address, a guid of the stream)
// changes nothing and answers already_done. So an operation whose reply was lost is simply sent again.
//
// Rules for all of them:
// 1. A closed or parked job accepts only Ack and EndDuplex; everything else is a `conflict`.
// 2. Names are never reused while the job is open: a closed address is not opened again, an acknowledged message is not
//    enqueued again. EndDuplex deletes the names; rule 1 keeps them from coming back.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "core/guid.h"
#include "core/ids.h"
#include "core/job_state.h"
#include "core/message.h"
#include "ledger/dimensions.h"
#include "pawl/payload.h"
#include "pawl/time.h"
#include "store/outcome_kind.h"

namespace pawl::store {

// The place of an instance in its job: which activity, at which dimensional address.
struct Place {
  std::uint32_t node = 0;
  ledger::Dimensions at;
  friend bool operator==(const Place&, const Place&) = default;
  friend std::strong_ordering operator<=>(const Place&, const Place&) = default;
};

// The content of a message in a job's stream. A closed set: code that serves messages visits it, so a kind without a
// handler does not compile. Stored by its index: append only.
namespace stream {
struct Start {  // the job begins
  Payload input;
  friend bool operator==(const Start&, const Start&) = default;
};
struct Transition {  // leg 1 of an activity
  Place place;
  Payload data;  // from its parent
  friend bool operator==(const Transition&, const Transition&) = default;
};
struct Request {  // for a worker; it waits in the stream of its topic, all others in the engine's stream
  Place place;
  Topic topic{""};
  Payload data;
  friend bool operator==(const Request&, const Request&) = default;
};
struct Reply {  // leg 2 of an activity
  Place place;
  core::ReplyStatus status = core::ReplyStatus::success;
  std::int32_t code = 0;
  std::uint32_t number = 0;  // pending reply: its index; final reply: how many pending ones came before it
  Payload data;
  friend bool operator==(const Reply&, const Reply&) = default;
};
struct Cleanup {  // the job is over
  struct Failure {
    std::int32_t code = 0;
    Payload reason;
    friend bool operator==(const Failure&, const Failure&) = default;
  };
  std::optional<Failure> failure;  // none: it completed
  friend bool operator==(const Cleanup&, const Cleanup&) = default;
};
using Body = std::variant<Start, Transition, Request, Reply, Cleanup>;
}  // namespace stream

struct StreamMessage {
  RunId run{0};
  core::Guid guid;
  stream::Body body;
  friend bool operator==(const StreamMessage&, const StreamMessage&) = default;
};

// The stream in which a message waits; empty: the engine's.
Topic stream_of(const stream::Body& body);
// A body from its stored columns; each kind uses the columns that it has. None: there is no such kind.
std::optional<stream::Body> body_of(std::int64_t kind, Place place, Topic topic, core::ReplyStatus status,
                                    std::int32_t code, std::uint32_t number, Payload data);
// The payload of any kind; null: this kind has none.
const Payload* payload_of(const stream::Body& body);
const Place* place_of(const stream::Body& body);  // of its activity; null: it is about the job

// The message that starts a run. Its guid is derived from the run.
StreamMessage duplex_start(RunId run, Payload input);

using ClaimId = Strong<struct ClaimIdTag, std::uint64_t>;  // names one dequeue; 0: not claimed

// A message that was handed out.
struct ClaimedMessage {
  StreamMessage message;
  ClaimId claim{0};
  std::uint32_t deliveries = 0;  // how often it was handed out and not given back, including this time
  std::uint32_t given_back = 0;
  friend bool operator==(const ClaimedMessage&, const ClaimedMessage&) = default;
};

// A: SET IF UNIQUE <JOBID>. Writes the job's row and its start message; `exists` with the run that holds the id.
struct StartDuplex {
  Namespace name_space{""};
  JobId id{""};
  core::LaneId lane{0};
  core::GraphRef graph{GraphName(""), 0, 0};
  Payload input;
  Instant at;
  core::JobSecret secret{core::Guid{}};  // drawn by the caller that submits
};

// B, E, q: sets a cell if it is absent. value() is the cell's value now.
struct SetCell {
  RunId run{0};
  Place place;
  std::int64_t value = 0;
  Instant at;
};

// c, e, m, o, p and the undo: adds to a cell, once per `mark`. Answers the cell's value now. A cell that was never set
// is rejected: its preset comes first.
struct AddToCell {
  RunId run{0};
  Place place;
  std::int64_t delta = 0;
  core::Guid mark;
};

// Decides who concludes an instance, and stores the conclusion: the first closer wins. `exists`: another closer was
// first.
struct NameCloser {
  RunId run{0};
  Place place;
  core::Guid closer;
  core::ActivityStatus status = core::ActivityStatus::completed;
  std::int32_t code = 0;
  Instant at;
  Payload output;
};

// The open obligations of a job: a set of addresses. Both answer whether the set is empty now.
struct OpenAddress {
  RunId run{0};
  Place place;
};
struct CloseAddress {
  RunId run{0};
  Place place;
};

// C, d, j, n, r. `renew`: a message that already waits becomes free at once, even if it is claimed (the clean-up of leg
// 1).
struct Enqueue {
  StreamMessage message;
  bool renew = false;
};
// a, g, l: claims the oldest messages of a stream that are free, whose lease is over, or that were claimed under an
// earlier epoch of their lane. The same claim id again gets the same messages, until its lease is over. The cost does
// not grow with the number of waiting messages: of the others, the store reports only when the next one becomes free.
struct Dequeue {
  core::LaneId lane{0};
  Topic topic{""};
  std::size_t items_max = 1;
  ClaimId claim{0};
  core::Epoch epoch{0};
  Duration lease{0};
  std::size_t bytes_max = limits::duplex_bytes_max;  // of the payloads; the first message is claimed whatever its size
};
// f, k, s: the message is done. `conflict` when another claim has taken it since.
struct Ack {
  RunId run{0};
  core::Guid guid;
  ClaimId claim{0};
};
// The message came too early: it is free again after `delay`, and this delivery does not count. `conflict` as for Ack.
struct GiveBack {
  RunId run{0};
  core::Guid guid;
  ClaimId claim{0};
  Duration delay{0};
};

// The clean-up tasks of a job: sets its end and deletes everything that only an open job needs, except the message
// `keep`. The first end wins; the same again is already_done.
struct EndDuplex {
  RunId run{0};
  core::JobStatus status = core::JobStatus::completed;  // completed or failed
  Payload result;
  std::string reason;
  Instant at;
  core::Guid keep;
  std::int32_t code = 0;  // of the error that ended it; 0: none
};
// The job stops, with a reason. Its messages stay until it is resumed.
struct ParkDuplex {
  RunId run{0};
  std::string reason;
};

// A closed set: these are all the durable writes under `collation: duplex`.
using DuplexOperation = std::variant<StartDuplex, SetCell, AddToCell, NameCloser, OpenAddress, CloseAddress, Enqueue,
                                     Dequeue, Ack, GiveBack, EndDuplex, ParkDuplex>;
// The run that it changes. None: a dequeue concerns a stream, a start creates its run.
std::optional<RunId> run_of(const DuplexOperation& operation);

// What an operation answers in addition to its outcome, when the outcome is done() or `exists`.
struct Started {  // StartDuplex: the run that has the id
  RunId run{0};
  friend bool operator==(const Started&, const Started&) = default;
};
struct CellHolds {  // SetCell, AddToCell
  std::int64_t value = 0;
  friend bool operator==(const CellHolds&, const CellHolds&) = default;
};
struct Obligations {  // OpenAddress, CloseAddress
  bool none_left = false;
  friend bool operator==(const Obligations&, const Obligations&) = default;
};
struct Handed {  // Dequeue
  std::vector<ClaimedMessage> messages;
  std::optional<Instant> next_free;  // when the next of the others may be claimed; none: there is none
  friend bool operator==(const Handed&, const Handed&) = default;
};
struct DuplexOutcome {
  OutcomeKind kind = OutcomeKind::committed;
  std::string reason;
  std::variant<std::monostate, Started, CellHolds, Obligations, Handed> answer;

  bool done() const { return kind == OutcomeKind::committed || kind == OutcomeKind::already_done; }
  // REQUIRES: the operation was of the kind that answers this.
  RunId run() const { return std::get<Started>(answer).run; }
  std::int64_t value() const { return std::get<CellHolds>(answer).value; }
  bool none_left() const { return std::get<Obligations>(answer).none_left; }
  const Handed& handed() const { return std::get<Handed>(answer); }
  Handed take_handed() { return std::move(std::get<Handed>(answer)); }
};

// What a reader gets.
struct DuplexCell {
  Place place;
  std::int64_t value = 0;
  Instant opened_at;
  std::optional<core::Guid> closer;
  core::ActivityStatus status = core::ActivityStatus::open;
  std::int32_t code = 0;
  Instant closed_at;
  Payload output;
  friend bool operator==(const DuplexCell&, const DuplexCell&) = default;
};
// The activities of these messages, each once.
std::set<Place> places_of(const std::vector<ClaimedMessage>& messages);
struct DuplexJob {
  core::JobRow job;
  std::vector<DuplexCell> cells;       // in the order in which they were set
  std::vector<Place> open;             // ascending
  std::vector<ClaimedMessage> stream;  // not acknowledged, in order of arrival; claim 0: free
  friend bool operator==(const DuplexJob&, const DuplexJob&) = default;
};
// One instance, and the job's row without its result.
struct DuplexView {
  core::JobRow job;
  std::optional<DuplexCell> cell;
};

}  // namespace pawl::store
