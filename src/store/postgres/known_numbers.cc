#include "store/postgres/known_numbers.h"

#include <algorithm>

#include "store/postgres/limits.h"

namespace pawl::store::postgres {

std::optional<std::map<core::LaneId, LaneNumbers>> KnownNumbers::enter(const Lanes& lanes) {
  const std::lock_guard lock(mutex_);
  bool may = true;
  for (const core::LaneId lane : lanes) {
    Lane& one = lanes_[lane];
    may = may && one.numbers && one.groups == 0 && one.wait == 0;
    if (one.wait > 0) --one.wait;
    ++one.groups;
  }
  if (!may) return std::nullopt;
  std::map<core::LaneId, LaneNumbers> known;
  for (const core::LaneId lane : lanes) known.emplace(lane, *lanes_.at(lane).numbers);
  return known;
}

void KnownNumbers::leave(const Lanes& lanes, Were were) {
  const std::lock_guard lock(mutex_);
  for (const core::LaneId lane : lanes) {
    Lane& one = lanes_.at(lane);
    --one.groups;
    if (were == Were::right) one.doubt = 0;
    if (were != Were::wrong) continue;
    one.numbers.reset();
    one.doubt = std::min(one.doubt * 2 + 1, limits::numbers_doubt_max);
    one.wait = one.doubt;
  }
}

void KnownNumbers::learn(const std::map<core::LaneId, LaneNumbers>& numbers) {
  const std::lock_guard lock(mutex_);
  for (const auto& [lane, left] : numbers) {
    std::optional<LaneNumbers>& known = lanes_[lane].numbers;
    if (!known) known.emplace();
    known->next_run = std::max(known->next_run, left.next_run);
    known->next_announcement = std::max(known->next_announcement, left.next_announcement);
    known->next_signal = std::max(known->next_signal, left.next_signal);
  }
}

}  // namespace pawl::store::postgres
