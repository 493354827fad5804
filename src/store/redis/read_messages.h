// The messages that wait for a job or a mailbox, from its stream and its `pending`.
#pragma once

#include <vector>

#include "core/message.h"
#include "pawl/result.h"
#include "store/redis/reply.h"

namespace pawl::store::redis {

Status read_messages(const Reply& stream, const Reply& pending_rows, std::vector<core::InboxMessage>& inbox,
                     std::vector<core::InboxMessage>& timers);

}  // namespace pawl::store::redis
