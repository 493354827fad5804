// Post: what jobs and mailboxes send each other. A store that can puts it into the target's inbox with the sender's
// commit; for the others it waits in the lane's outbox, and the lane's owner delivers it, in order. Mailboxes are served
// here too: they are read for every decision, for most are used once.
#pragma once

#include <functional>
#include <unordered_map>

#include "runtime/damaged_mailboxes.h"
#include "runtime/engine_types.h"
#include "runtime/owned_lane.h"
#include "store/read.h"

namespace pawl::runtime {

struct Parts;

class Post {
 public:
  explicit Post(Parts& parts) : parts_(parts) {}

  // Where what does not exist yet is made.
  void address(core::Bundle& bundle) const;
  // `kind`: what became of the bundle; after a lost reply what it sends may be there.
  void sent(const core::Bundle& bundle, store::OutcomeKind kind);
  // A message is in its target's inbox, or may be. `run`: who has it, if that is known; 0: only its name is.
  void arrived(const core::Target& to, RunId run, const core::Message& message, store::OutcomeKind kind);
  // A message that this engine stored for a caller: its job need not be read again, unless a scan was faster.
  void hand_over(RunId run, const core::Message& message, store::OutcomeKind kind);
  void serve_mailbox(OwnedLane& lane, RunId run) { lane.mailboxes.insert(run); }
  // Whether a hook's time must wait because its registration is not served yet: a signal may be there that came before
  // the hook, while this engine was late or gone. It is put off a few times only: a mailbox that cannot be served must
  // not stop the hook, and the signal is kept whoever is first.
  bool may_have_signal(const core::JobState& state, const core::Message& timer) const;
  void look_for_signal(OwnedLane& lane, const core::JobState& state, const core::Message& timer,
                       std::function<void(OwnedLane&, bool goes_first)> then);
  bool holds(const core::Guid& timer) const { return timers_held_.contains(timer); }
  void hold_none() { timers_held_.clear(); }

  void look_again();  // something may wait in any outbox
  void deliver_outboxes();
  void decide_mailboxes();
  void settle_delivery(const store::Deliver& deliver, const store::Outcome& outcome);
  void settle_outbox(const store::DropOutbox& drop, const store::Outcome& outcome);
  void settle_mailbox(const core::Bundle& bundle, const store::Outcome& outcome);
  bool must_try_again() const;  // something waits to be delivered or served
  // A caller's message for a mailbox, while some mailbox cannot be read: refused if it is that one.
  bool may_be_damaged(const store::Operation& operation) const;
  void push_if_readable(store::Operation operation, Ticket ticket);

 private:
  void look_for_refusal(const core::ParentLink& parent);
  void take(OwnedLane& lane, RunId run, const core::Message& message);
  void deliver(OwnedLane& lane, const std::vector<store::OutboxRow>& page);
  void read_mailbox(OwnedLane& lane, RunId run);
  void decide_mailbox(OwnedLane& lane, RunId run, store::AnswerTo<store::ReadMailboxPage> page);
  bool goes_first(RunId mailbox, const core::Guid& timer, bool registered);

  Parts& parts_;
  DamagedMailboxes damaged_;
  std::unordered_map<core::Guid, int> timers_held_;  // a signal may be there for the hook: how often they were put off
};

}  // namespace pawl::runtime
