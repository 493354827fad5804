#include "runtime/lane_share.h"

#include <algorithm>

#include "base/invariant.h"

namespace pawl::runtime {

namespace {

struct Member {
  const store::EngineInfo* engine = nullptr;
  std::size_t has = 0;
  std::size_t share = 0;
};

// A lane that two engines report counts for the first one: the other's report is outdated and will be corrected.
std::vector<const store::EngineInfo*> holders(std::span<const store::EngineInfo> alive, const store::PoolInfo& pool) {
  std::vector<const store::EngineInfo*> of_lane(pool.lanes, nullptr);
  for (const store::EngineInfo& engine : alive)
    for (const core::LaneId lane : engine.holds) {
      const bool inside = lane >= pool.first && lane.raw() - pool.first.raw() < pool.lanes;
      if (!inside) continue;
      const store::EngineInfo*& holder = of_lane[lane.raw() - pool.first.raw()];
      if (holder == nullptr) holder = &engine;
    }
  return of_lane;
}

std::vector<Member> members(std::span<const store::EngineInfo> alive,
                            const std::vector<const store::EngineInfo*>& holder_of) {
  std::vector<Member> all;
  for (const store::EngineInfo& engine : alive) {
    if (engine.leaving) continue;
    const auto has = std::count(holder_of.begin(), holder_of.end(), &engine);
    all.push_back({&engine, static_cast<std::size_t>(has)});
  }
  // The engines with the most lanes keep the larger shares. Equal ones are in the order of their names.
  std::stable_sort(all.begin(), all.end(), [](const Member& a, const Member& b) { return a.has > b.has; });
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].share = holder_of.size() / all.size() + (i < holder_of.size() % all.size() ? 1 : 0);
  return all;
}

}  // namespace

LaneShare lane_share(const std::string& name, std::span<const store::EngineInfo> alive, const store::PoolInfo& pool) {
  const auto holder_of = holders(alive, pool);
  std::vector<Member> all = members(alive, holder_of);
  LaneShare mine;
  for (const Member& member : all)
    if (member.engine->name == name && member.has > member.share) mine.give = member.has - member.share;
  for (std::size_t i = 0; i < holder_of.size() && !all.empty(); ++i) {
    if (holder_of[i] != nullptr) continue;
    // To the engine that lacks most.
    const auto next = std::max_element(
        all.begin(), all.end(), [](const Member& a, const Member& b) { return a.share + b.has < b.share + a.has; });
    invariant(next->has < next->share, "all shares together are all lanes: a free one is missing somewhere");
    ++next->has;
    if (next->engine->name == name) mine.take.emplace_back(pool.first.raw() + static_cast<std::uint32_t>(i));
  }
  return mine;
}

}  // namespace pawl::runtime
