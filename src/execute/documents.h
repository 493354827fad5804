// Payloads as JSON values, each parsed once: a map over 500 items reads the same document 500 times, in many decisions,
// and parsing 2 MB each time would delay every other job of the engine.
//
// The cache belongs to the thread and is bounded; unused documents are dropped. During a decision the limit is wide
// enough for several payloads of the largest size, so that each is parsed once. When the decision is over, everything
// beyond documents_bytes_max is dropped at once.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/limits.h"
#include "pawl/payload.h"

namespace pawl::execute {

inline constexpr std::size_t documents_max = 64;
inline constexpr std::size_t documents_bytes_max = 2 * limits::payload_bytes_max;              // of their text
inline constexpr std::size_t documents_of_decision_bytes_max = 8 * limits::payload_bytes_max;  // during a decision
inline constexpr std::size_t document_bytes_min = 1024;     // parsing a smaller one is faster than a look-up
inline constexpr std::uint64_t document_unused_max = 4096;  // dropped after so many look-ups of others

// Parsed as by read_payload().
std::shared_ptr<const boost::json::value> document_of(const Payload& payload);

// For this thread. Not nested.
void documents_of_decision_begin();
void documents_of_decision_end();

// By this thread, so far. For tests.
std::uint64_t documents_parsed();

}  // namespace pawl::execute
