// Payloads as JSON values, each parsed once: a map over 500 items asks 500 times for the same document, in many
// decisions, and parsing 2 MB each time would hold up every other job of the engine.
//
// What is kept belongs to the thread, is bounded, and goes when others are asked for instead. While a decision lasts
// the bound is so wide that it refers to several of the largest payloads in turn and parses each once; when it is over,
// what is more than documents_bytes_max goes at once.
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
inline constexpr std::size_t documents_of_decision_bytes_max = 8 * limits::payload_bytes_max;  // while it lasts
inline constexpr std::size_t document_bytes_min = 1024;     // a smaller one is parsed sooner than it is looked for
inline constexpr std::uint64_t document_unused_max = 4096;  // questions without it, then it goes

// As read_payload() has it.
std::shared_ptr<const boost::json::value> document_of(const Payload& payload);

// Of this thread. Not nested.
void documents_of_decision_begin();
void documents_of_decision_end();

// By this thread, so far: what tests look at.
std::uint64_t documents_parsed();

}  // namespace pawl::execute
