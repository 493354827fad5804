// apply: moves a state on by one bundle. Pure; the runtime's memory, the memory store and recovery share it.
#pragma once

#include "core/bundle.h"
#include "core/job_state.h"
#include "core/mailbox_state.h"
#include "pawl/result.h"

namespace pawl::core {

// Checks every before-value against the state, and that the bundle can be applied at all: whatever passes
// leaves apply() nothing to trip over. `corrupt` names the first contradiction.
Status check(const JobState& state, const Bundle& bundle);
Status check(const MailboxState& state, const Bundle& bundle);

// REQUIRES: check(state, bundle) would succeed. Inbox and outbox writes are not part of a state: the
// holder of the inbox applies those.
void apply(JobState& state, const Bundle& bundle);
void apply(MailboxState& state, const Bundle& bundle);

// What a ChangeWork makes of its item.
void apply_change(WorkItem& item, const ChangeWork& change);

}  // namespace pawl::core
