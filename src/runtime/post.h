// Post: messages between jobs and mailboxes. Some stores put them into the target's inbox with the sender's commit; in
// the others they wait in the lane's outbox, and the lane's owner delivers them, in order.
#pragma once

#include <vector>

#include "runtime/engine_types.h"
#include "runtime/owned_lane.h"
#include "store/read.h"

namespace pawl::runtime {

struct Parts;

class Post {
 public:
  explicit Post(Parts& parts) : parts_(parts) {}

  // Sets the lane of targets that do not exist yet.
  void address(core::Bundle& bundle) const;
  // `kind`: the outcome of the bundle; after a lost reply its messages may be there.
  void sent(const core::Bundle& bundle, store::OutcomeKind kind);
  // A message is in its target's inbox, or may be. `run`: the target's run, if known; 0: only its name is known.
  void arrived(const core::Target& to, RunId run, const core::Message& message, store::OutcomeKind kind);
  // A message that this engine stored for a caller: its job need not be read again, unless a scan was faster.
  void hand_over(RunId run, const core::Message& message, store::OutcomeKind kind);

  void look_again();  // any outbox may have messages
  void deliver_outboxes();
  void settle_delivery(const store::Deliver& deliver, const store::Outcome& outcome);
  void settle_outbox(const store::DropOutbox& drop, const store::Outcome& outcome);
  bool must_try_again() const;  // messages wait to be delivered

 private:
  void look_for_refusal(const core::ParentLink& parent);
  void take(OwnedLane& lane, RunId run, const core::Message& message);
  void deliver(OwnedLane& lane, const std::vector<store::OutboxRow>& page);

  Parts& parts_;
};

}  // namespace pawl::runtime
