// decide for mailboxes: a signal is offered to the oldest registration, a registration gets the oldest signals.
#pragma once

#include <span>

#include "core/decide.h"
#include "core/mailbox_state.h"

namespace pawl::core {

// Takes the deliveries in their order into one bundle. Only the entries that they concern must be in `state`; `cut`
// tells what is left out. A delivery that needs more than that ends the decision (it and those behind it are not in
// Decision::done), perhaps half served: it continues with the next page.
Decision decide(const MailboxState& state, std::span<const Delivery> deliveries, const DecideOptions& options,
                const MailboxCut& cut = {});

}  // namespace pawl::core
