// TraceHash: all events, folded into one number. The same seed must give the same number.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/random.h"

namespace pawl::sim {

class TraceHash {
 public:
  void add(std::uint64_t value) { hash_ = Random::mix(hash_ ^ value) + 0x9e3779b97f4a7c15ULL; }
  void add(std::string_view bytes) {
    std::uint64_t word = bytes.size();
    for (const char c : bytes) word = (word ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    add(word);
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0x7061776c;
};

inline std::uint64_t hash_of(std::string_view bytes) {
  TraceHash hash;
  hash.add(bytes);
  return hash.value();
}

}  // namespace pawl::sim
