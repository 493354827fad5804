// The name of a signal that comes from outside: the same id, told once more to the same mailbox, is the same message.
#pragma once

#include <string_view>

#include "core/guid.h"
#include "core/message.h"

namespace pawl::core {

// Derived from the mailbox and not from its place among those that the signal is for: a graph that is deployed between
// two tries may add another one.
Guid signal_guid(const MailboxKey& to, std::string_view id);

}  // namespace pawl::core
