// The name of a signal from outside: the same id, sent again to the same mailbox, is the same message.
#pragma once

#include <string_view>

#include "core/guid.h"
#include "core/message.h"

namespace pawl::core {

// Derived from the mailbox, not from its position among the signal's mailboxes: a graph that is deployed between two
// attempts to send may add another one.
Guid signal_guid(const MailboxKey& to, std::string_view id);

}  // namespace pawl::core
