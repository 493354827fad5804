// The messages that wait for a job or a mailbox, from its stream, its `pending` and the timers in its hash.
#pragma once

#include <vector>

#include "core/message.h"
#include "pawl/result.h"
#include "store/redis/records.h"

namespace pawl::store::redis {

Status read_messages(const Reply& stream, const Reply& pending_rows, const Fields& hash,
                     std::vector<core::InboxMessage>& inbox, std::vector<core::InboxMessage>& timers);

}  // namespace pawl::store::redis
