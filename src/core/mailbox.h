// decide for mailboxes: a signal meets the oldest registration, a registration the oldest early signal.
#pragma once

#include <span>

#include "core/decide.h"
#include "core/mailbox_state.h"

namespace pawl::core {

// Takes all deliveries into one bundle. A signal beyond limits::early_signals_per_mailbox_max is refused:
// it stays in the inbox (not in Decision::done) until room is made.
Decision decide(const MailboxState& state, std::span<const Delivery> deliveries, const DecideOptions& options);

}  // namespace pawl::core
