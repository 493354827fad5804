// Guid: 128 bits that name a message. Derived, never random: the same cause gives the same guid, so a repeated message
// is recognised, whatever component repeats it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "pawl/ids.h"

namespace pawl::core {

struct Guid {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  // What a guid is derived for. Part of stored identity: never renumber.
  enum class Purpose : std::uint8_t {
    start = 1,
    transition = 2,
    request = 3,
    response_final = 4,
    response_pending = 5,
    registration = 6,
    resume = 7,
    timer = 8,
    child_result = 9,
    no_reply = 10,
    verdict = 11,
    deadline = 12,
    replaced = 13,
    asked = 14,
    skip = 15,
    round = 16,
    item = 17,
    item_done = 18,
    expiry = 19,
    duplex_entry = 20,
    duplex_exit = 21,
    duplex_closing = 22,
    duplex_undo = 23,
    duplex_cleanup = 24,
    page = 25,
    told = 26,
    taken = 27,
    refused = 28,
    drop = 29,
  };

  static constexpr Guid of_run(RunId run) {
    return Guid{Random::mix(run.raw() ^ 0x7061776c5f72756eULL), Random::mix(run.raw() + 0x9e3779b97f4a7c15ULL)};
  }
  constexpr Guid derive(Purpose purpose, std::uint64_t index) const {
    const std::uint64_t salt = Random::mix(index * 31 + static_cast<std::uint64_t>(purpose));
    const std::uint64_t h = Random::mix(high ^ salt);
    return Guid{h, Random::mix(low + salt + (h >> 7))};
  }

  // Reverses `derive`, which loses no information.
  constexpr Guid underive(Purpose purpose, std::uint64_t index) const {
    const std::uint64_t salt = Random::mix(index * 31 + static_cast<std::uint64_t>(purpose));
    return Guid{Random::unmix(high) ^ salt, Random::unmix(low) - salt - (high >> 7)};
  }

  std::string text() const;  // 32 hexadecimal digits
  // The first half, for people: enough to find the message, but no other guid can be derived from it.
  std::string shown() const;
  static std::optional<Guid> parse(std::string_view text);

  friend constexpr auto operator<=>(const Guid&, const Guid&) = default;
};

}  // namespace pawl::core

template <>
struct std::hash<pawl::core::Guid> {
  std::size_t operator()(const pawl::core::Guid& guid) const noexcept { return guid.high ^ guid.low; }
};
