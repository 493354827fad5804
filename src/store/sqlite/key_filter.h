// KeyFilter: tells of most keys that they are not in a set. It never denies a key that was added. A Bloom filter whose
// bits for one key are in one line of the processor's cache. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/siphash.h"

namespace pawl::store::sqlite {

class KeyFilter {
 public:
  // Keys of the filter's set are expected to be about this many: then one of several hundred others is not denied.
  explicit KeyFilter(std::size_t keys) : blocks_((keys * bits_per_key + block_bits - 1) / block_bits) {}

  void add(const Bits128& hash) {
    Block& block = blocks_[place(hash)];
    for (int i = 0; i < bits_of_key; ++i) block[word(hash, i)] |= bit(hash, i);
  }
  bool may_have(const Bits128& hash) const {
    const Block& block = blocks_[place(hash)];
    for (int i = 0; i < bits_of_key; ++i)
      if ((block[word(hash, i)] & bit(hash, i)) == 0) return false;
    return true;
  }

  // Its bytes, for the file, with a sum over them. parse(): none if they are not as written.
  std::string text(const Bits128& sum_key) const {
    std::string bytes(blocks_.size() * sizeof(Block), '\0');
    std::memcpy(bytes.data(), blocks_.data(), bytes.size());
    const std::uint64_t sum = sum_of(bytes, sum_key);
    bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
    return bytes;
  }
  static std::optional<KeyFilter> parse(std::string_view text, const Bits128& sum_key) {
    std::uint64_t sum = 0;
    if (text.size() <= sizeof sum || (text.size() - sizeof sum) % sizeof(Block) != 0) return std::nullopt;
    const std::string_view bytes = text.substr(0, text.size() - sizeof sum);
    std::memcpy(&sum, text.data() + bytes.size(), sizeof sum);
    if (sum != sum_of(bytes, sum_key)) return std::nullopt;
    KeyFilter filter(0);
    filter.blocks_.resize(bytes.size() / sizeof(Block));
    std::memcpy(filter.blocks_.data(), bytes.data(), bytes.size());
    return filter;
  }

 private:
  static constexpr std::size_t bits_per_key = 16;
  static constexpr int bits_of_key = 7;
  static constexpr std::size_t words = 8;
  static constexpr std::size_t block_bits = words * 64;
  using Block = std::array<std::uint64_t, words>;

  std::size_t place(const Bits128& hash) const { return (hash.high >> 32) * blocks_.size() >> 32; }
  static std::size_t word(const Bits128& hash, int i) { return hash.low >> (9 * i + 6) & 7; }
  static std::uint64_t bit(const Bits128& hash, int i) { return std::uint64_t{1} << (hash.low >> (9 * i) & 63); }
  static std::uint64_t sum_of(std::string_view bytes, const Bits128& key) {
    SipHash hash(key);
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      std::uint64_t one = 0;
      std::memcpy(&one, bytes.data() + at, sizeof one);
      hash.add(one);
    }
    return hash.finish().high;
  }

  std::vector<Block> blocks_;
};

}  // namespace pawl::store::sqlite
