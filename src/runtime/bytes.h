// What the engine holds, in bytes: payloads, and an estimate of what is stored with them. A payload that is held in two
// places is counted twice: the sum is never too small.
#pragma once

#include <cstddef>

#include "core/decide.h"
#include "core/job_state.h"
#include "core/message.h"
#include "runtime/work_desk.h"
#include "store/duplex_operation.h"
#include "store/operation.h"

namespace pawl::runtime {

std::size_t bytes_of(const core::Message& message);
std::size_t bytes_of(const core::Delivery& delivery);
std::size_t bytes_of(const core::WorkItem& item);
std::size_t bytes_of(const store::Operation& operation);
std::size_t bytes_of(const store::DuplexOperation& operation);
inline WorkNeed need_of(const core::WorkItem& item) { return {bytes_of(item), item.life.at_most_once}; }

}  // namespace pawl::runtime
