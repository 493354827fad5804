// The slot of a hash tag: which node of a cluster has its keys.
#pragma once

#include <cstdint>
#include <string_view>

namespace pawl::store::redis {

inline constexpr std::uint16_t slots = 16'384;

// CRC16 (XMODEM), modulo the number of slots.
constexpr std::uint16_t slot_of(std::string_view tag) {
  std::uint32_t crc = 0;
  for (const char byte : tag) {
    crc ^= static_cast<std::uint32_t>(static_cast<unsigned char>(byte)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return static_cast<std::uint16_t>(crc % slots);
}
static_assert(slot_of("123456789") == 0x31c3 % slots);

}  // namespace pawl::store::redis
