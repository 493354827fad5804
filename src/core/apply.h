// apply: applies one bundle to a state. Pure; the runtime's memory, the memory store and recovery share it.
#pragma once

#include "core/bundle.h"
#include "core/job_state.h"
#include "core/mailbox_state.h"
#include "pawl/result.h"

namespace pawl::core {

// Checks every before-value against the state, and that the bundle can be applied at all: after this check apply()
// cannot fail. `corrupt` names the first contradiction.
Status check(const JobState& state, const Bundle& bundle);
Status check(const MailboxState& state, const Bundle& bundle);

// REQUIRES: check(state, bundle) would succeed. Inbox and outbox writes are not part of a state: the owner of the inbox
// applies those.
void apply(JobState& state, const Bundle& bundle);
void apply(MailboxState& state, const Bundle& bundle);

// Applies a ChangeWork to its item.
void apply_change(WorkItem& item, const ChangeWork& change);

}  // namespace pawl::core
