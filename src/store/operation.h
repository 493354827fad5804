// What a store can be asked to commit, and what it answers. A closed set: these are all the durable writes of jobs
// under collation ledger, so their crash points are exactly the calls of Store::commit (duplex_operation.h: the
// others).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "core/bundle.h"
#include "core/ids.h"
#include "core/job_state.h"
#include "core/message.h"
#include "pawl/ids.h"
#include "pawl/time.h"
#include "store/outcome_kind.h"

namespace pawl::store {

// Makes the lanes of a pool, once. The number is fixed for the life of the store; another one is rejected.
struct OpenPool {
  Pool pool{""};
  std::uint32_t lanes = 1;
};

// Takes a free or expired lane; the epoch rises and fences whoever had it. Conflict while another owner's
// lease runs. The same owner may take its own lane again (a restart under its old name): the epoch rises too.
struct AcquireLane {
  core::LaneId lane{0};
  std::string owner;
  Duration lease{0};
};
struct RenewLane {  // fenced when the epoch moved
  core::LaneId lane{0};
  core::Epoch epoch{0};
  Duration lease{0};
};
struct ReleaseLane {  // fenced when the epoch moved
  core::LaneId lane{0};
  core::Epoch epoch{0};
};

// An engine says that it lives, for as long as `lease`, and learns who else does: `engines`. By that they share the
// lanes of their pool (runtime/lane_share.h); whoever holds a lane is decided by the lane alone. The row is the
// catalogue's, so `holds` is what the engine says of itself, and may be behind what is true.
struct BeatEngine {
  Pool pool{""};
  std::string name;
  Duration lease{0};
  std::optional<std::vector<core::LaneId>> holds;  // none: it has just started, and what its last life said stays
  std::vector<Topic> serves;                       // what its workers can run
  bool leaving = false;                            // it stops: it keeps what it has for a while, and takes nothing
};
// It is gone, and says so itself. already_done: nobody knew it.
struct LeaveEngine {
  Pool pool{""};
  std::string name;
};
// An engine whose lease runs, as it said last.
struct EngineInfo {
  std::string name;
  Instant until;
  std::vector<core::LaneId> holds;
  std::vector<Topic> serves;
  bool leaving = false;
  friend bool operator==(const EngineInfo&, const EngineInfo&) = default;
};

// What a taken id means to whoever wants it again. A start key whose time is over is not taken.
enum class Reuse : std::uint8_t {
  never,        // `exists`, with the run that holds the id
  after_close,  // likewise while that run is open; else a new run takes the id over
  replace,      // an open run is interrupted (a message in its inbox, in this transaction), and a new one begins
};

// Job stub, start key and start message in one transaction, by whoever wants the job, owner or not.
struct Submit {
  Namespace name_space{""};
  JobId id{""};
  core::LaneId lane{0};
  core::GraphRef graph{GraphName(""), 0, 0};
  Payload input;
  Instant at;
  Reuse reuse = Reuse::never;
  Instant start_at;              // the start message is a timer; 0: it starts at once
  Instant deadline;              // a timer interrupts the job; 0: none
  std::optional<Duration> keep;  // how long it stays once closed; none: for ever
  std::int32_t priority = 0;
  core::JobSecret secret{core::Guid{}};  // drawn by whoever submits
};

// What a run hears when another one takes its id over.
inline core::Message replaced_message(RunId by) {
  return {core::Guid::of_run(by).derive(core::Guid::Purpose::replaced, 0),
          core::Interrupt{410, "replaced by a new run of the same id"}};
}

// Takes away everything of a closed job whose completion tasks ran, but its start key, which stays until
// `key_until` so that a late duplicate of its submit is still recognised (0: it goes too). Conflict while the
// job is open; already_done when there is no such job.
struct RemoveJob {
  RunId run{0};
  Instant key_until;
};
// Drops start keys whose job is gone and whose time is over, the oldest first.
struct DropKeys {
  Instant up_to;
  std::size_t rows_max = limits::start_keys_per_drop;
  core::LaneId lane{0};  // 0: of all lanes (Store::spans_lanes)
};

// A paused topic's items are handed to nobody, by no node; what runs, runs on. Each lane has its own word on it: a
// topic is paused when the last lane has it.
struct PauseTopic {
  Topic topic{""};
  bool paused = true;
  core::LaneId lane{0};  // 0: in all lanes (Store::spans_lanes)
};

// Inserts a message into an inbox. Needs no epoch: anyone may deliver. The same guid twice is already_done;
// a run that is gone or closed takes nothing (committed, without effect). With a source (an outbox row), only
// last + 1 of what that lane sent to this one is accepted: at or below last is already_done, beyond last + 1 is a
// conflict, and `value` says what was last. The target's lane keeps the count: the source's may be far away.
//
// `lane` is the one that the key belongs to, always the same for a key; a run says it itself. A mailbox is made by its
// first message. A signal beyond its limits (store/rules.h) is over_limit. With a
// source, or as a bundle's own send, it is refused as well, but what comes behind it must go on: committed, and
// `reason` says what was refused. To a JobKey: a StartChild makes the job there, as a Submit would; if the id is taken,
// it makes nothing, and core::refused_child goes to the parent as if a job of this lane had sent it: into the outbox,
// or, where sends are direct, into its inbox. `run` is the parent then. The child that this very message made before is
// no reason to refuse it: already_done. Any other message goes to the run that has the id.
struct Deliver {  // (a timer of the target is put by the target's own bundle, never from here)
  struct Source {
    core::LaneId lane{0};
    std::uint64_t seq = 0;
  };
  core::Envelope envelope;
  core::LaneId lane{0};
  std::optional<Source> source;
  // Of a signal that comes from outside (without a source): the key's lane remembers its guid for
  // limits::signal_id_keep, the last signal_ids_per_lane_max of them. So it is already_done once more, also when its
  // mailbox has served it: whoever did not hear the answer tells it again. One that was refused is not remembered.
  bool remembered = false;
};
// By the lane's owner, once it knows that the target took these rows: the store of this lane does not. Rejected when
// there never was such a row.
struct DropOutbox {
  core::LaneId lane{0};
  core::Epoch epoch{0};
  core::LaneId target{0};
  std::uint64_t up_to = 0;  // of the rows for that lane
};

// Claims items of these topics that nobody holds or whose lease ran out (by the store's clock): the largest
// priority first, then the oldest. Not those that are held, not visible yet, of a paused topic, or whose lost
// run may have acted (at most once): the lane's owner sees to these.
struct ClaimWork {
  std::vector<Topic> topics;
  std::size_t items_max = 1;
  std::string worker;
  Duration lease{0};
  core::LaneId lane{0};  // 0: of all lanes (Store::spans_lanes)
};
// Claims one known item for a local worker of the lane's owner; conflict when its token is no longer `before`,
// when it is held or of a paused topic.
struct ClaimItem {
  RunId run{0};
  core::ActivitySeq activity{0};
  core::WorkToken before{0};
  std::string worker;
  core::Epoch epoch{0};  // guarded like a bundle's
};
// A heartbeat: the holder is alive, has come this far, and keeps the item for another lease. Detached, an item
// that a local worker held belongs to whoever knows its token, under that lease. Conflict on a stale token, as
// for the next two.
struct ExtendWork {
  RunId run{0};
  core::ActivitySeq activity{0};
  core::WorkToken token{0};
  Duration lease{0};  // of a leased item; a local worker's claim has none
  std::optional<Payload> progress;
  bool detach = false;
  std::optional<Duration> attempt_left;  // detached: what is left of its attempt's time; none: all of it
};
// Gives an item back (core::release). A leased one by whoever holds the token; a local one by the lane's owner, guarded
// like a bundle: its token may be used again by this owner, so a late or repeated word of a former one must not count.
struct ReleaseWork {
  RunId run{0};
  core::ActivitySeq activity{0};
  core::WorkToken token{0};
  core::Epoch epoch{0};  // of a local claim; 0: of a leased one
  core::Began began = core::Began::yes;
};
// A remote worker's answer: the message goes to the job's inbox; a success takes the work item with it. An
// error leaves it, out of everybody's reach, for the job to decide whether it is tried again.
struct Respond {
  // The lease of an item that such an error left: nobody claims it, extends it or gives it back.
  static constexpr Instant until_decided = Instant::from_micros(std::numeric_limits<std::int64_t>::max());
  RunId run{0};
  core::ActivitySeq activity{0};
  core::WorkToken token{0};
  core::Message message;
};

// An app is deployed whole, under a version that stays what it is: the same bytes once more are already_done, others
// are `exists`.
struct PutApp {
  Namespace name_space{""};
  std::string app;
  std::string version;
  std::string body;  // what is in it is the graph language's own affair
};
// From this commit on the app is that version, for every engine: it is one row. Rejected when it was not deployed.
struct ActivateApp {
  Namespace name_space{""};
  std::string app;
  std::string version;
};
std::string missing_pool(const Pool& pool);
std::string other_app(const PutApp& put);
std::string missing_app(const ActivateApp& activate);

using Operation = std::variant<core::Bundle, Submit, Deliver, Respond, ClaimWork, ClaimItem, ExtendWork, ReleaseWork,
                               DropOutbox, OpenPool, AcquireLane, RenewLane, ReleaseLane, BeatEngine, LeaveEngine,
                               RemoveJob, DropKeys, PauseTopic, PutApp, ActivateApp>;

// What an operation answers beyond its outcome. One that was refused answers nothing, but where it says so.
namespace answer {
struct Run {  // Submit, also `exists`; Deliver to a MailboxKey or a JobKey: whose inbox it was for
  RunId run{0};
  RunId replaced{0};  // Submit: the run that was interrupted for it
};
struct Reached {  // Bundle, where sends are direct: whose inbox it was for, for each of its sends by a key
  std::vector<RunId> runs;
};
struct Taken {  // Deliver, a conflict: the last row that the target has
  std::uint64_t seq = 0;
};
struct Lane {  // AcquireLane, RenewLane
  core::Epoch epoch{0};
  std::optional<Instant> lease_until;  // none: held until given back
};
struct Items {  // ClaimWork, ClaimItem; ExtendWork: as it is now
  std::vector<core::WorkItem> items;
};
struct Engines {  // BeatEngine: all that live, by name
  std::vector<EngineInfo> engines;
};
}  // namespace answer

struct Outcome {
  OutcomeKind kind = OutcomeKind::committed;
  std::string reason;  // with `committed`: what was sent and refused, because its mailbox is full
  std::variant<std::monostate, answer::Run, answer::Reached, answer::Taken, answer::Lane, answer::Items,
               answer::Engines>
      answer;

  bool done() const { return kind == OutcomeKind::committed || kind == OutcomeKind::already_done; }
  // What it answers, nothing if it answers something else.
  RunId run() const { return said<answer::Run>().run; }
  RunId replaced() const { return said<answer::Run>().replaced; }
  const std::vector<RunId>& reached() const& { return said<answer::Reached>().runs; }
  std::vector<RunId> reached() && { return said<answer::Reached>().runs; }  // it outlives the outcome
  std::uint64_t taken() const { return said<answer::Taken>().seq; }
  core::Epoch epoch() const { return said<answer::Lane>().epoch; }
  std::optional<Instant> lease_until() const { return said<answer::Lane>().lease_until; }
  const std::vector<core::WorkItem>& items() const& { return said<answer::Items>().items; }
  std::vector<core::WorkItem> items() && { return said<answer::Items>().items; }  // it outlives the outcome
  const std::vector<EngineInfo>& engines() const& { return said<answer::Engines>().engines; }
  std::vector<EngineInfo> engines() && { return said<answer::Engines>().engines; }  // it outlives the outcome

 private:
  template <class Said>
  const Said& said() const {
    static const Said nothing{};
    const auto* answered = std::get_if<Said>(&answer);
    return answered == nullptr ? nothing : *answered;
  }
};

}  // namespace pawl::store
