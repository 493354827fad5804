// SipHash-2-4 with 128 bits of output: a short keyed function that cannot be inverted or predicted without its key
// (Aumasson and Bernstein, 2012). For names and tokens that outsiders must not be able to compute; use Random::mix for
// everything else.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pawl {

struct Bits128 {
  std::uint64_t high = 0;  // the first eight bytes, little-endian
  std::uint64_t low = 0;   // the last eight
  friend constexpr bool operator==(const Bits128&, const Bits128&) = default;
};

class SipHash {
 public:
  explicit constexpr SipHash(const Bits128& key)
      : v0_(0x736f6d6570736575ULL ^ key.high),
        v1_(0x646f72616e646f6dULL ^ key.low ^ 0xee),
        v2_(0x6c7967656e657261ULL ^ key.high),
        v3_(0x7465646279746573ULL ^ key.low) {}

  // Eight bytes of the message, little-endian.
  constexpr SipHash& add(std::uint64_t word) {
    bytes_ += 8;
    take(word);
    return *this;
  }
  // The rest of the message, up to seven bytes.
  constexpr Bits128 finish(std::string_view rest = {}) {
    std::uint64_t last = (bytes_ + rest.size()) << 56;
    for (std::size_t i = 0; i < rest.size(); ++i) last |= std::uint64_t{static_cast<unsigned char>(rest[i])} << (8 * i);
    take(last);
    v2_ ^= 0xee;
    for (int i = 0; i < 4; ++i) round();
    const std::uint64_t high = v0_ ^ v1_ ^ v2_ ^ v3_;
    v1_ ^= 0xdd;
    for (int i = 0; i < 4; ++i) round();
    return {high, v0_ ^ v1_ ^ v2_ ^ v3_};
  }

 private:
  constexpr void take(std::uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
  }
  constexpr void round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_, v1_, v2_, v3_;
  std::uint64_t bytes_ = 0;
};

}  // namespace pawl
