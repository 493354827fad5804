// Answers that come later, by token, from any process on the store. The request stays in its stream meanwhile and is
// free again when its time is over, so an answer that never comes is not waited for. A token names the time that the
// request was left: once it was handed out anew, an older token finds nothing.
#pragma once

#include <optional>
#include <vector>

#include "core/secret.h"
#include "duplex/letters.h"
#include "store/duplex_operation.h"

namespace pawl::duplex {

// Of a request as it is handed to a worker.
core::WorkToken token_of(const Hand& request);

// The request that this token names; none: it was answered, or handed out anew.
std::optional<HeldRequest> find_request(const store::DuplexJob& job, core::WorkToken token);

// Whether a last answer can be given now. It must say how many pending replies precede it, and that is certain only
// when the worker has left, so that none is to come, and all of them are served, so that their exits are counted.
bool is_settled(const store::DuplexJob& job, const HeldRequest& request);

// REQUIRES: is_settled(job, request). j, then k: once the first is durable, so is the answer. Without the second the
// request is handed out once more, and found to be answered.
std::vector<Operation> completion_of(const store::DuplexJob& job, const HeldRequest& request, core::ReplyStatus status,
                                     std::int32_t code, Payload data);

}  // namespace pawl::duplex
