// A hash that is the same on every machine and in every version: it is part of stored names.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/random.h"

namespace pawl::execute {

inline constexpr std::uint64_t stable_hash_seed = 0xcbf29ce484222325ULL;

// FNV-1a with a final mix, so that names that differ only at the end give very different hashes.
constexpr std::uint64_t stable_hash(std::string_view text, std::uint64_t seed = stable_hash_seed) {
  std::uint64_t hash = seed;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return Random::mix(hash ^ text.size());
}

}  // namespace pawl::execute
