// OperationEncoder: an operation as the arguments of the lane's script (scripts/*.lua). What can be decided without the
// stored state is decided here: it is answered at once, or the script receives the reason to refuse it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "store/operation.h"
#include "store/redis/keys.h"
#include "store/redis/records.h"

namespace pawl::store::redis {

struct Encoded {
  Words arguments;
  std::vector<RunId> runs;    // whose keys it always needs
  std::size_t makes = 0;      // how many runs it may create
  std::optional<RunId> step;  // of a bundle of a job, whose hash and history it changes: it needs no other key of that
                              // run, unless `runs` has it
  std::string name;           // of a job ("j") or a mailbox ("m") that it looks up: its run may already be known
};

struct WorkWrites;

// Whether a job's first step, behind its submit, takes the start message: then the message is never written.
bool takes_start(const core::Bundle& bundle);

class OperationEncoder {
 public:
  using HasLane = std::function<bool(core::LaneId)>;
  OperationEncoder(const Keys& keys, core::LaneId lane, HasLane has_lane)
      : keys_(keys), lane_(lane), has_lane_(std::move(has_lane)) {}

  // REQUIRES: it is an operation of this lane; `first_step` is the bundle behind it that takes its start message, if
  // any. An outcome: no request to the server is needed.
  std::variant<Encoded, Outcome> encode(const Operation& operation, const core::Bundle* first_step = nullptr);

  // The outbox streams to other lanes that the operations so far may write to: keys, in order.
  const Words& outboxes() const { return outboxes_; }

 private:
  using Answer = std::variant<Encoded, Outcome>;
  // For a lane that does not exist.
  Outcome of_no_lane(const Operation& operation) const;

  Answer run(const core::Bundle& bundle);
  Answer run(const Submit& submit);
  Answer run(const Deliver& deliver);
  Answer run(const DeliverReply& delivery);
  Answer run(const ClaimWork& claim);
  Answer run(const ClaimItem& claim);
  Answer run(const ExtendWork& extend);
  Answer run(const ReleaseWork& release);
  Answer run(const DropOutbox& drop);
  Answer run(const AcquireLane& acquire);
  Answer run(const RenewLane& renew);
  Answer run(const ReleaseLane& release);
  Answer run(const RemoveJob& remove);
  Answer run(const DropKeys& drop);
  Answer run(const PauseTopic& pause);

  void put_new_job(Words& words, const Submit& submit, const std::optional<core::ParentLink>& parent);
  void put_child(Words& words, const core::JobKey& key, const core::StartChild& start);
  Encoded job_bundle(const core::Bundle& bundle, const core::JobHead& head);
  Encoded mailbox_bundle(const core::Bundle& bundle, const core::MailboxHead& head);
  // Why the bundle is refused independent of what is stored; empty: it is not.
  std::string wrong_with(const core::Bundle& bundle) const;
  // The writes beyond ledgers and work that the owner holds, in order; returns their number.
  std::size_t put_writes(Words& words, const core::Bundle& bundle, const WorkWrites& work);
  std::string outbox_index(core::LaneId target);

  const Keys& keys_;
  const core::LaneId lane_;
  const HasLane has_lane_;
  Words outboxes_;
  bool leaves_start_ = false;  // the submit that is encoded leaves its start message to the next operation
};

}  // namespace pawl::store::redis
