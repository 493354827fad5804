#include "sim/lane_watch.h"

#include <algorithm>

#include "base/format.h"

namespace pawl::sim {

void LaneWatch::lives(const std::string& engine, Duration now) {
  if (alive_.empty()) disturbed(now);  // before that no engine was alive
  alive_.insert(engine);
  members_changed_at_ = now;
}

// The engine that goes may be the one that should have taken a lane: from here on another engine has to take it.
void LaneWatch::is_gone(const std::string& engine, Duration now) {
  look(now);
  if (alive_.erase(engine) == 0) return;
  members_changed_at_ = now;
  disturbed(now);
  for (auto& [id, lane] : lanes_) {
    if (lane.owner != engine) continue;
    lane.owner.clear();
    lane.since = now;
  }
}

void LaneWatch::owned(core::LaneId id, const std::string& owner, Duration now) {
  look(now);
  Lane& lane = lanes_[id];
  const bool lives = alive_.contains(owner);
  if (!lane.owner.empty() && !lives) lane.since = now;
  lane.owner = lives ? owner : "";
  if (!lives) return;
  if (lane.last != owner && !lane.last.empty()) ++moves_;
  if (lane.last != owner) changed_at_ = now;
  lane.last = owner;
}

void LaneWatch::look(Duration now) {
  if (alive_.empty()) return;
  for (const auto& [id, lane] : lanes_) {
    const Duration since = std::max(lane.since, calm_since_);
    if (lane.owner.empty() && now - since > times_.lease + times_.margin)
      verdict_.fail("lanes", format("lane {} has no owner for {} ms; a lease is {} ms", id.raw(),
                                    (now - since).count() / 1000, times_.lease.count() / 1000));
  }
}

void LaneWatch::check_shares(Duration now) {
  look(now);
  const Duration settled = std::max(members_changed_at_, calm_since_) + 2 * times_.lease + times_.margin;
  if (alive_.empty() || now < settled) return;
  std::map<std::string, std::size_t> shares;
  for (const std::string& engine : alive_) shares[engine] = 0;
  for (const auto& [id, lane] : lanes_) {
    if (lane.owner.empty()) return verdict_.fail("lanes", format("lane {} has no owner at the end", id.raw()));
    ++shares[lane.owner];
  }
  const auto by_size = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end(), by_size);
  if (most->second > least->second + 1)
    verdict_.fail("shares",
                  format("{} has {} lanes and {} has {}", most->first, most->second, least->first, least->second));
}

}  // namespace pawl::sim
