// Replies that come later, by token, from any process on the store. Meanwhile the request stays in its stream, and it
// is free again when its time is over, so a reply that never comes does not block the job. A token is derived from how
// often the request was given back: once the request is handed out again, an older token finds nothing.
#pragma once

#include <optional>
#include <vector>

#include "core/secret.h"
#include "duplex/letters.h"
#include "store/duplex_operation.h"

namespace pawl::duplex {

// The token of a request that is handed to a worker.
core::WorkToken token_of(const Hand& request);

// The request of this token; none: it was answered, or handed out again.
std::optional<HeldRequest> find_request(const store::DuplexJob& job, core::WorkToken token);

// Whether a last reply can be given now. It must contain the number of pending replies before it. That number is
// certain only when the worker has left, so that none will follow, and when all of them are served, so that their exits
// are counted.
bool is_settled(const store::DuplexJob& job, const HeldRequest& request);

// REQUIRES: is_settled(job, request). j, then k: once the first is durable, so is the reply. Without the second the
// request is handed out again and found to be answered.
std::vector<Operation> completion_of(const store::DuplexJob& job, const HeldRequest& request, core::ReplyStatus status,
                                     std::int32_t code, Payload data);

}  // namespace pawl::duplex
