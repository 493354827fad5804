// Mailboxes: what is decided for them, and the outcomes. Most are used once, so none stays in memory: each is read for
// every decision, and only a page of a large one.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "runtime/bundles.h"
#include "runtime/damaged_mailboxes.h"
#include "runtime/engine_types.h"
#include "runtime/owned_lane.h"
#include "store/read.h"

namespace pawl::runtime {

struct Parts;

class Mailboxes final : public Decider {
 public:
  explicit Mailboxes(Parts& parts) : parts_(parts) {}

  // A message waits in its inbox. It is read at the end of this turn, so that one decision serves all that came.
  void serve(OwnedLane& lane, RunId run) { lane.mailboxes.insert(run); }
  void read_waiting();
  void decide(OwnedLane& lane, store::MailboxPage page);
  void damaged(RunId run) { damaged_.add(run); }
  bool must_try_again() const;  // a mailbox could not be read yet

  bool came_back(const core::Bundle& bundle) override;
  void absorb(const core::Bundle& bundle) override;
  void withdraw(const core::Bundle&) override {}  // it reserves nothing
  void read_again(core::Bundle bundle) override;
  void refused(const core::Bundle& bundle, const std::string& reason) override;

  // Whether a hook's timer must wait because its registration is not served yet: a signal may be there that came before
  // the hook, while this engine was late or down. It is put off a few times only: a mailbox that cannot be served must
  // not stop the hook, and the signal is kept in either case.
  bool may_have_signal(const core::JobState& state, const core::Message& timer) const;
  void look_for_signal(OwnedLane& lane, const core::JobState& state, const core::Message& timer,
                       std::function<void(OwnedLane&, bool goes_first)> then);
  bool holds(const core::Guid& timer) const { return timers_held_.contains(timer); }
  void hold_none() { timers_held_.clear(); }

  // For a caller's message to a mailbox, while some mailbox cannot be read: refused if it is that one.
  bool may_be_damaged(const store::Operation& operation) const;
  void push_if_readable(store::Operation operation, Ticket ticket);

 private:
  bool goes_first(RunId mailbox, const core::Guid& timer, bool registered);

  Parts& parts_;
  DamagedMailboxes damaged_;
  std::unordered_map<core::Guid, int> timers_held_;  // how often a timer was put off because a signal may be there
};

}  // namespace pawl::runtime
