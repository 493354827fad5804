// decide for mailboxes: a signal is offered to the oldest registration, a registration gets the oldest signals.
#pragma once

#include <span>

#include "core/decide.h"
#include "core/mailbox_state.h"

namespace pawl::core {

// Takes the deliveries in their order into one bundle. Of `state` only what they concern must be there; `cut` says what
// is left out. A delivery that needs more than is there ends the decision (it and those behind it are not in
// Decision::done), perhaps half served: with the next page it goes on where it stopped.
Decision decide(const MailboxState& state, std::span<const Delivery> deliveries, const DecideOptions& options,
                const MailboxCut& cut = {});

}  // namespace pawl::core
