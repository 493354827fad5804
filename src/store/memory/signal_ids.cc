#include "store/memory/signal_ids.h"

#include "base/limits.h"
#include "store/rules.h"

namespace pawl::store::memory {

bool SignalIds::has(const core::Guid& guid, Instant now) const {
  const auto known = by_guid_.find(guid);
  return known != by_guid_.end() && rows_.at(known->second).until > now;
}

void SignalIds::add(const core::Guid& guid, Instant now) {
  if (const auto over = by_guid_.find(guid); over != by_guid_.end()) drop(over->second);
  rows_.emplace(++last_, Row{guid, now + limits::signal_id_keep});
  by_guid_.emplace(guid, last_);
  for (std::size_t i = 0; i < signal_ids_per_drop; ++i) {
    const auto& [seq, oldest] = *rows_.begin();
    if (oldest.until > now && seq + limits::signal_ids_per_lane_max > last_) return;
    drop(seq);
  }
}

std::vector<core::Guid> SignalIds::in_order() const {
  std::vector<core::Guid> all;
  for (const auto& [seq, row] : rows_) all.push_back(row.guid);
  return all;
}

void SignalIds::drop(std::uint64_t seq) {
  const auto found = rows_.find(seq);
  by_guid_.erase(found->second.guid);
  rows_.erase(found);
}

}  // namespace pawl::store::memory
