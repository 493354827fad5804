// RateMeter: how often something happened in the last minute.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace pawl::serve {

class RateMeter {
 public:
  using Clock = std::chrono::steady_clock;

  void add(std::uint64_t count, Clock::time_point now) {
    Slot& slot = slots_[index_of(now)];
    if (slot.turn != turn_of(now)) slot = {turn_of(now), 0};
    slot.count += count;
  }
  double per_second(Clock::time_point now) const {
    std::uint64_t sum = 0;
    for (const Slot& slot : slots_)
      if (slot.turn >= 0 && turn_of(now) - slot.turn < static_cast<std::int64_t>(slots_.size())) sum += slot.count;
    return static_cast<double>(sum) / (slot_seconds * static_cast<double>(slots_.size()));
  }

 private:
  static constexpr int slot_seconds = 5;
  struct Slot {
    std::int64_t turn = -1;  // since the clock's beginning; -1: never used
    std::uint64_t count = 0;
  };
  static std::int64_t turn_of(Clock::time_point at) {
    return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count() / slot_seconds;
  }
  std::size_t index_of(Clock::time_point at) const { return static_cast<std::size_t>(turn_of(at)) % slots_.size(); }

  std::array<Slot, 12> slots_{};
};

}  // namespace pawl::serve
