// The stable binary form of bundles and messages. Grammar:
//
//   number   := LEB128 of the unsigned value (signed values zigzag first)
//   bytes    := number(length) byte*
//   optional := 0 | 1 value
//   list     := number(count) value*
//   variant  := number(index) value          -- indexes are append only
//   struct   := its fields in the order of fields.h
//
// Decoding never trusts its input: a length beyond the end, an unknown index, a ledger with impossible digits
// or bytes left over is `corrupt`.
#pragma once

#include <string>
#include <string_view>

#include "core/bundle.h"
#include "core/carried.h"
#include "pawl/result.h"

namespace pawl::core {

std::string encode(const Bundle& bundle);
Result<Bundle> decode_bundle(std::string_view bytes);

std::string encode(const Body& body);
Result<Body> decode_body(std::string_view bytes);

std::string encode(const Envelope& envelope);
Result<Envelope> decode_envelope(std::string_view bytes);

std::string encode(const StartInput& start);
Result<StartInput> decode_start(std::string_view bytes);

std::string encode(const WorkLife& life);
Result<WorkLife> decode_life(std::string_view bytes);

}  // namespace pawl::core
