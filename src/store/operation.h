// What a store can be asked to commit, and what it answers. A closed set: these are all the durable writes of jobs
// under collation ledger, so their crash points are exactly the calls of Store::commit (duplex_operation.h has the
// writes of collation duplex).
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

// Creates the lanes of a pool, once. Their number is fixed for the lifetime of the store; another number is rejected.
struct OpenPool {
  Pool pool{""};
  std::uint32_t lanes = 1;
};

// Takes a free or expired lane; the epoch rises and fences the former owner. Conflict while another owner's lease runs.
// An owner may take its own lane again (a restart under its old name): the epoch rises too.
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

// An engine reports that it is alive for the time `lease`, and learns which other engines are: `engines`. From this
// they share the lanes of their pool (runtime/lane_share.h); only the lane's row decides who owns a lane. The engine's
// row belongs to the catalogue, so `holds` is what the engine reports about itself and may be out of date.
struct BeatEngine {
  Pool pool{""};
  std::string name;
  Duration lease{0};
  std::optional<std::vector<core::LaneId>> holds;  // none: it has just started, and its former list stays
  std::vector<Topic> serves;                       // the topics of its workers
  bool leaving = false;                            // it is stopping: it keeps its lanes for a while and takes no others
};
// An engine reports that it stops. already_done: the store had no such engine.
struct LeaveEngine {
  Pool pool{""};
  std::string name;
};
// An engine whose lease runs, as it last reported.
struct EngineInfo {
  std::string name;
  Instant until;
  std::vector<core::LaneId> holds;
  std::vector<Topic> serves;
  bool leaving = false;
  friend bool operator==(const EngineInfo&, const EngineInfo&) = default;
};

// What happens when an id is taken. A start key whose time is over is not taken.
enum class Reuse : std::uint8_t {
  never,        // `exists`, with the run that holds the id
  after_close,  // `exists` while that run is open; after that a new run takes over the id
  replace,      // an open run is interrupted (a message in its inbox, in this transaction), and a new one begins
};

// Job stub, start key and start message in one transaction. Any process may submit, not only the lane owner.
struct Submit {
  Namespace name_space{""};
  JobId id{""};
  core::LaneId lane{0};
  core::GraphRef graph{GraphName(""), 0, 0};
  Payload input;
  Instant at;
  Reuse reuse = Reuse::never;
  RunId follows{0};              // the run that must have the id now, or it is a conflict; 0: any, or none
  Instant start_at;              // the start message is a timer; 0: it starts at once
  Instant deadline;              // a timer interrupts the job; 0: none
  std::optional<Duration> keep;  // how long it stays once closed; none: forever
  std::int32_t priority = 0;
  core::JobSecret secret{core::Guid{}};  // drawn by the caller that submits
  // The number that its engine expects for the run, for the bundle behind it (with_submit); 0: none. No store needs it.
  RunId expected{0};
};

// The message that a run gets when another run takes over its id.
inline core::Message replaced_message(RunId by) {
  return {core::Guid::of_run(by).derive(core::Guid::Purpose::replaced, 0),
          core::Interrupt{410, "replaced by a new run of the same id"}};
}

// Deletes everything of a closed job whose completion tasks ran, except its start key. The key stays until `key_until`
// so that a late duplicate of the submit is still recognised (0: the key goes too). Conflict while the job is open;
// already_done when there is no such job.
struct RemoveJob {
  RunId run{0};
  Instant key_until;
};
// Deletes start keys whose job is gone and whose time is over, the oldest first.
struct DropKeys {
  Instant up_to;
  std::size_t rows_max = limits::start_keys_per_drop;
  core::LaneId lane{0};  // 0: all lanes (Store::spans_lanes)
};

// No node hands out items of a paused topic; attempts that already run continue. Each lane stores the pause separately:
// the topic is paused once the last lane has stored it.
struct PauseTopic {
  Topic topic{""};
  bool paused = true;
  core::LaneId lane{0};  // 0: all lanes (Store::spans_lanes)
};

// Inserts a message into an inbox. Needs no epoch: anyone may deliver. The same guid twice is already_done; a run that
// is gone or closed takes nothing (committed, without effect). With a source (an outbox row), only row last + 1 of what
// that lane sent to this lane is accepted: at or below last is already_done, beyond last + 1 is a conflict, and taken()
// is last. The target's lane keeps the count, because the source lane may be on another node.
//
// `lane` is the lane of the key, always the same for one key; a run's number already contains its lane. A mailbox is
// created by its first message. A signal beyond the mailbox's limits (store/rules.h) is over_limit. With a source, or
// as a bundle's own send, such a signal is refused as well, but the messages behind it must go on: the outcome is
// committed, and `reason` names what was refused. To a JobKey: a StartChild creates the job, as a Submit would. If the
// id is taken, it creates nothing, and core::refused_child goes to the parent as if a job of this lane had sent it:
// into the outbox or, where sends are direct, into the parent's inbox. `run` is the parent then. If this same message
// created the child before, it is already_done, not refused. Any other message goes to the run that has the id.
struct Deliver {  // a target's own bundle puts its timers, never a Deliver
  struct Source {
    core::LaneId lane{0};
    std::uint64_t seq = 0;
  };
  core::Envelope envelope;
  core::LaneId lane{0};
  std::optional<Source> source;
  // For a signal from outside (without a source): the key's lane remembers its guid for limits::signal_id_keep, the
  // last signal_ids_per_lane_max of them. A sender that missed the answer can send the signal again: it is
  // already_done, even after the mailbox has served it. A refused signal is not remembered.
  bool remembered = false;
};
// Used by the lane owner once it knows that the target has taken these rows, which the store of this lane cannot know.
// Rejected when there never was such a row.
struct DropOutbox {
  core::LaneId lane{0};
  core::Epoch epoch{0};
  core::LaneId target{0};
  std::uint64_t up_to = 0;  // of the rows for that lane
};

// Claims items of these topics that are not held or whose lease ran out (by the store's clock): the largest priority
// first, then the oldest. It skips items that are held, not visible yet, of a paused topic, or whose lost attempt may
// have acted (at most once): the lane owner handles these.
struct ClaimWork {
  std::vector<Topic> topics;
  std::size_t items_max = 1;
  std::string worker;
  Duration lease{0};
  core::LaneId lane{0};  // 0: all lanes (Store::spans_lanes)
};
// Claims one known item for a local worker of the lane owner. Conflict when its token is no longer `before`, when it is
// held, or when its topic is paused.
struct ClaimItem {
  RunId run{0};
  core::ActivitySeq activity{0};
  core::WorkToken before{0};
  std::string worker;
  core::Epoch epoch{0};  // guarded like a bundle's
};
// A heartbeat: the holder is alive, reports its progress, and keeps the item for another lease. With `detach`, an item
// that a local worker held becomes a leased item: from then on the token is enough to hold it. Conflict on a stale
// token, as for the next two.
struct ExtendWork {
  RunId run{0};
  core::ActivitySeq activity{0};
  core::WorkToken token{0};
  Duration lease{0};  // for a leased item; a local worker's claim has none
  std::optional<Payload> progress;
  bool detach = false;
  std::optional<Duration> attempt_left;  // with `detach`: the time left for this attempt; none: all of it
};
// Gives an item back (core::release). The holder of the token gives back a leased item; the lane owner gives back a
// local one, guarded like a bundle. The guard is needed because this owner may use the token again, and a late or
// repeated release by a former owner must not count.
struct ReleaseWork {
  RunId run{0};
  core::ActivitySeq activity{0};
  core::WorkToken token{0};
  core::Epoch epoch{0};  // for a local claim; 0: a leased item
  core::Began began = core::Began::yes;
};
// A remote worker's reply: the message goes to the job's inbox; a success deletes the work item. An error keeps the
// item, and no one can claim it until the job decides whether to try again.
struct DeliverReply {
  // The lease of an item after such an error: it cannot be claimed, extended or given back.
  static constexpr Instant until_decided = Instant::from_micros(std::numeric_limits<std::int64_t>::max());
  RunId run{0};
  core::ActivitySeq activity{0};
  core::WorkToken token{0};
  core::Message message;
};

// An app is deployed whole, under a version that never changes: the same bytes again are already_done, other bytes are
// `exists`.
struct PutApp {
  Namespace name_space{""};
  std::string app;
  std::string version;
  std::string body;  // only the graph language knows its format
};
// From this commit on this version is active, for every engine: it is one row. Rejected when it was not deployed.
struct ActivateApp {
  Namespace name_space{""};
  std::string app;
  std::string version;
};
std::string missing_pool(const Pool& pool);
std::string other_app(const PutApp& put);
std::string missing_app(const ActivateApp& activate);

using Operation = std::variant<core::Bundle, Submit, Deliver, DeliverReply, ClaimWork, ClaimItem, ExtendWork,
                               ReleaseWork, DropOutbox, OpenPool, AcquireLane, RenewLane, ReleaseLane, BeatEngine,
                               LeaveEngine, RemoveJob, DropKeys, PauseTopic, PutApp, ActivateApp>;

// What an operation answers in addition to its outcome. A refused operation answers nothing, except where noted.
namespace answer {
struct Run {  // Submit, also `exists`; Deliver to a MailboxKey or a JobKey: the run whose inbox it was for
  RunId run{0};
  RunId replaced{0};  // Submit: the run that was interrupted for it
};
struct Reached {  // Bundle, where sends are direct: for each send by a key, the run whose inbox it was for
  std::vector<RunId> runs;
};
struct Taken {  // Deliver, a conflict: the last row that the target has taken
  std::uint64_t seq = 0;
};
struct Lane {  // AcquireLane, RenewLane
  core::Epoch epoch{0};
  std::optional<Instant> lease_until;  // none: held until given back
  RunId next_run{0};                   // AcquireLane: the number of the lane's next run; 0: it was not read
};
struct Items {  // ClaimWork, ClaimItem; ExtendWork: the item as it is now
  std::vector<core::WorkItem> items;
};
struct Engines {  // BeatEngine: all engines that are alive, by name
  std::vector<EngineInfo> engines;
};
}  // namespace answer

struct Outcome {
  OutcomeKind kind = OutcomeKind::committed;
  std::string reason;  // with `committed`: what was sent and refused because its mailbox is full
  std::variant<std::monostate, answer::Run, answer::Reached, answer::Taken, answer::Lane, answer::Items,
               answer::Engines>
      answer;

  bool done() const { return kind == OutcomeKind::committed || kind == OutcomeKind::already_done; }
  // The answer of this kind; an empty value if the outcome has an answer of another kind.
  RunId run() const { return said<answer::Run>().run; }
  RunId replaced() const { return said<answer::Run>().replaced; }
  const std::vector<RunId>& reached() const& { return said<answer::Reached>().runs; }
  std::vector<RunId> reached() && { return said<answer::Reached>().runs; }  // it outlives the outcome
  std::uint64_t taken() const { return said<answer::Taken>().seq; }
  core::Epoch epoch() const { return said<answer::Lane>().epoch; }
  std::optional<Instant> lease_until() const { return said<answer::Lane>().lease_until; }
  RunId next_run() const { return said<answer::Lane>().next_run; }
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
