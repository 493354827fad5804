// Engine: drives the sequences of duplex jobs. It has no thread, no clock and no I/O. A driver's loop is
//
//   give it input (submit, answer, look, tick)
//     ->  asking()  ->  for each: store.answer(question(step))   ->  settle_read(step, answer)
//     ->  ready()   ->  for each: store.commit(operation(step))  ->  settle(step, outcome) ...
//
// Steps of different messages are independent: a driver may carry out several together or in any order, or leave one
// waiting. Steps of one message follow each other. A driver that does not wait for the store marks the steps that are
// on their way to it (send).
//
// An operation whose outcome is not known is requested again: each may be repeated (store/duplex_operation.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "duplex/events.h"
#include "duplex/sequences.h"
#include "store/duplex_store.h"

namespace pawl::duplex {

struct EngineOptions {
  std::uint64_t seed = 1;  // makes its claims differ from those of every other engine
  Duration lease = limits::duplex_lease;
  Duration work_lease = limits::duplex_work_lease;
  std::size_t in_flight_max = limits::duplex_in_flight_max;
  // Of payloads. Each lets one message through, whatever its size.
  std::size_t bytes_max = limits::duplex_bytes_max;             // of what is under way
  std::size_t work_bytes_max = limits::worker_queue_bytes_max;  // of requests that local workers hold
  std::uint32_t deliveries_max = limits::duplex_deliveries_max;
};

struct OwnedLane {
  core::LaneId lane{0};
  core::Epoch epoch{0};
  friend bool operator==(const OwnedLane&, const OwnedLane&) = default;
};

struct Answer {
  core::ReplyStatus status = core::ReplyStatus::success;
  std::int32_t code = 200;
  Payload data;
};

// Names a request whose worker replies later, in this process or another.
struct Deferred {
  HeldRequest request;
  std::uint32_t pendings = 0;  // pending replies sent so far
};

class Engine : private Events {
 public:
  using StepId = std::uint64_t;

  // The references must outlive the engine.
  Engine(EngineOptions options, store::DuplexStore& store, const Clock& clock, FindGraph find_graph, Events& events);

  // --- input
  void own(std::vector<OwnedLane> lanes);  // all the lanes it may dequeue from
  void serve(const Topic& topic);
  void add_slots(std::size_t count);
  void submit(store::StartDuplex start, Ticket ticket);
  // For a request that was dispatched here; pending replies are numbered from 0. False: no such request.
  bool answer(const core::Guid& request, Answer answer);
  bool give_back(const core::Guid& request);  // dispatched, but no worker began it
  // k before j: the request is acknowledged, and its worker is expected to reply() later.
  std::optional<Deferred> defer(const core::Guid& request);
  void reply(Deferred& deferred, Answer answer, Ticket ticket);
  // The worker left the reply to the holder of its token (later.h); it is handed out again after `within`. False: no
  // such request.
  bool leave(const core::Guid& request, Duration within);
  // Its worker does not return: the slot is free for another. If the worker replies later, the reply counts. False: no
  // such request.
  bool write_off(const core::Guid& request);
  // One operation that the caller decided on; Events::answered reports its result.
  void ask(Operation operation, Ticket ticket);
  void look();  // there may be new messages
  void stop();  // take nothing new; finish what is under way

  // --- commits and reads
  std::vector<StepId> ready();         // have something to commit
  std::vector<StepId> asking() const;  // have something to read
  const Operation& operation(StepId step) const { return steps_.at(step).sequence.operation(); }
  const store::DuplexRead& question(StepId step) const { return steps_.at(step).sequence.question(); }
  void send(StepId step) { steps_.at(step).is_out = true; }  // neither ready nor asking until it is settled
  void settle(StepId step, Result<Outcome> outcome);
  void settle_read(StepId step, store::DuplexAnswer answer);

  std::optional<Duration> next_wake() const;  // when there is something to carry out; none: not before the next input
  bool drained() const { return steps_.empty() && running_.empty(); }
  bool has(const core::Guid& request) const { return running_.contains(request); }  // its replies are not all stored
  void leave_runs() { running_.clear(); }  // the engine does not wait for these workers
  bool store_refuses() const { return refusals_ > 0; }
  std::size_t free_slots() const { return free_slots_; }
  // Under way: messages being served, replies, submits. What a dequeue may bring is not there yet.
  std::size_t bytes() const { return bytes_ - granted_; }

 private:
  enum class Role : std::uint8_t { message, dequeue, submit, worker, answer, reply, ask };
  struct Step {
    Sequence sequence;
    Role role = Role::message;
    Ticket ticket = 0;           // of a submit, a reply or an ask()
    core::Guid request;          // of a worker's steps and replies
    std::size_t bytes = 0;       // its payload bytes
    Duration not_before{0};      // after the store refused it,
    std::uint32_t refusals = 0;  // this often in a row
    bool is_out = false;         // on its way to the store
    store::ClaimId claim{0};     // for a worker's step: the dequeue that brought the request and took a slot for it
  };
  struct Running {  // a request that a local worker has
    HeldRequest claimed;
    // In order: a final reply must not be stored before the pending ones. None: it replies later.
    std::deque<std::optional<StreamMessage>> answers;
    std::uint32_t pendings = 0;
    std::optional<Duration> left_for;  // its worker left; the holder of the token replies within this time
    bool storing = false;
    bool ended = false;  // its last reply is stored, or the request is acknowledged or given back
    bool has_slot = true;
    store::ClaimId slot_of{0};  // the dequeue whose slot it has
  };
  struct Stream {
    core::LaneId lane{0};
    Topic topic{""};
    core::Epoch epoch{0};
    bool out = false;  // a dequeue is under way
    bool is_own() const { return topic.raw().empty(); }
    std::optional<Duration> look_at;  // none: nothing is known to wait
  };

  // Events of the sequences: the engine handles those that concern it, and passes the rest on to the driver.
  void dispatch(const HeldRequest& request, const core::JobRow& job) override;
  void submitted(Ticket ticket, Result<Started> result) override { events_.submitted(ticket, std::move(result)); }
  void replied(Ticket ticket, Status result) override { events_.replied(ticket, std::move(result)); }
  void answered(Ticket ticket, Result<Outcome> outcome) override { events_.answered(ticket, std::move(outcome)); }
  void changed(const core::JobRow& job, const Graph& graph, const Change& change) override {
    events_.changed(job, graph, change);
  }
  void ended(RunId run) override { events_.ended(run); }
  void problem(const std::string& text) override { events_.problem(text); }

  struct Room {
    std::size_t items = 0;
    std::size_t bytes = 0;
  };
  Room room_for(const Stream& stream) const;
  Sequence fetch(core::LaneId lane, Topic topic, core::Epoch epoch, Room room);
  Sequence start(store::StartDuplex request, Ticket ticket);
  Sequence store_reply(StreamMessage reply, Ticket ticket);
  Sequence one(Operation operation, Ticket ticket);
  void begin(ClaimedMessage claimed);
  void begin_worker(HeldRequest request);
  void add(Sequence sequence, std::size_t bytes = 0, Role role = Role::message, Ticket ticket = 0,
           core::Guid request = {});
  void free_slot(std::size_t bytes);
  void fetch_more();
  void rebuild_streams();
  void note(const Operation& operation);
  void refuse(StepId id, const Error& error);
  void drop(StepId id, const Outcome& outcome);
  void finish(StepId id);
  void store_next_answer(const core::Guid& request);
  void look_at(core::LaneId lane, const Topic& topic, Duration at);
  Stream* find_stream(core::LaneId lane, const Topic& topic);

  const EngineOptions options_;
  store::DuplexStore& store_;
  const Clock& clock_;
  Events& events_;
  Sequences sequences_;

  std::vector<OwnedLane> lanes_;
  std::vector<Topic> topics_;
  std::vector<Stream> streams_;   // for each lane, one stream for the engine and one per topic
  std::map<StepId, Step> steps_;  // in the order in which they began
  std::unordered_map<core::Guid, Running> running_;
  std::size_t free_slots_ = 0;
  std::size_t messages_ = 0;    // steps that serve a message
  std::size_t bytes_ = 0;       // of all steps, of the replies behind them, and granted to dequeues
  std::size_t granted_ = 0;     // of these, to dequeues
  std::size_t work_bytes_ = 0;  // of requests that have a slot, and granted to dequeues
  StepId next_step_ = 1;
  std::uint64_t next_claim_ = 0;
  std::uint32_t refusals_ = 0;  // in a row
  std::string refused_why_;     // the last reason
  bool stopping_ = false;
};

}  // namespace pawl::duplex
