// The only access to randomness: splitmix64, seeded, the same sequence on every machine.
#pragma once

#include <cstdint>

namespace pawl {

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return mix(state_);
  }
  // Uniform in [0, bound). REQUIRES: bound > 0.
  constexpr std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  constexpr bool one_in(std::uint64_t n) { return below(n) == 0; }

  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  static constexpr std::uint64_t unmix(std::uint64_t z) {
    z = (z ^ (z >> 31) ^ (z >> 62)) * 0x319642b2d24d8ec3ULL;
    z = (z ^ (z >> 27) ^ (z >> 54)) * 0x96de1b173f119089ULL;
    return z ^ (z >> 30) ^ (z >> 60);
  }

 private:
  std::uint64_t state_;
};

}  // namespace pawl
