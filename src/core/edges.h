// Which transitions an answer sets off. Pure; every protocol that runs graphs asks here.
#pragma once

#include <cstdint>

#include "core/message.h"
#include "pawl/graph.h"

namespace pawl::core {

bool fires(const Condition& when, ReplyStatus status, std::int32_t code);
// Whether any transition of `node` fires: an error that none catches fails the job.
bool any_fires(const Graph::Node& node, ReplyStatus status, std::int32_t code);

}  // namespace pawl::core
