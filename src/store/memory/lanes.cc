// Pools, lanes and engines: who may commit, since when, and which other engines there are.
#include <algorithm>

#include "base/format.h"
#include "base/limits.h"
#include "store/memory/answers.h"
#include "store/memory/store.h"

namespace pawl::store::memory {

Outcome Store::run(const OpenPool& open) {
  const auto known = pools_.find(open.pool);
  if (known != pools_.end()) {
    if (known->second.lanes == open.lanes) return already_done();
    return rejected(
        format("pool {} has {} lanes for good; {} were asked for", open.pool.raw(), known->second.lanes, open.lanes));
  }
  if (open.lanes == 0 || open.lanes > limits::lanes_per_pool_max)
    return rejected(format("a pool has 1 to {} lanes, not {}", limits::lanes_per_pool_max, open.lanes));
  if (lanes_.size() + open.lanes > limits::lanes_max)
    return rejected(format("all pools together have at most {} lanes", limits::lanes_max));
  const core::LaneId first(static_cast<std::uint32_t>(lanes_.size()) + 1);
  pools_.emplace(open.pool, PoolInfo{first, open.lanes, open.pool});
  lanes_.resize(lanes_.size() + open.lanes);
  return committed();
}

Outcome Store::run(const AcquireLane& acquire) {
  Lane* lane = find_lane(acquire.lane);
  if (lane == nullptr) return rejected(format("there is no lane {}", acquire.lane.raw()));
  if (acquire.owner.empty()) return rejected("an owner needs a name");
  const Instant now = now_in(acquire.lane);
  const bool taken = !lane->owner.empty() && lane->owner != acquire.owner;
  if (taken && (!lane->lease_until || *lane->lease_until > now))
    return conflict(format("{} holds the lane", lane->owner));
  lane->owner = acquire.owner;
  lane->epoch = core::next(lane->epoch);
  lane->lease_until.reset();  // without a lease: held until given back
  if (acquire.lease.count() != 0) lane->lease_until = now + acquire.lease;
  Outcome outcome = committed();
  outcome.answer = answer::Lane{lane->epoch, lane->lease_until, core::make_run(acquire.lane, lane->next_run)};
  return outcome;
}

Outcome Store::run(const RenewLane& renew) {
  if (!owns(renew.lane, renew.epoch)) return fenced();
  Lane& lane = *find_lane(renew.lane);
  lane.lease_until = now_in(renew.lane) + renew.lease;
  Outcome outcome = committed();
  outcome.answer = answer::Lane{lane.epoch, lane.lease_until};
  return outcome;
}

Outcome Store::run(const ReleaseLane& release) {
  Lane* lane = find_lane(release.lane);
  if (lane == nullptr || lane->epoch != release.epoch) return fenced();
  if (lane->owner.empty()) return already_done();
  lane->owner.clear();
  lane->lease_until.reset();
  return committed();
}

void Store::listen(Listener& listener) {
  const std::lock_guard lock(listeners_mutex_);
  if (std::find(listeners_.begin(), listeners_.end(), &listener) == listeners_.end()) listeners_.push_back(&listener);
}

void Store::stop_listening(Listener& listener) {
  const std::lock_guard lock(listeners_mutex_);
  std::erase(listeners_, &listener);
}

void Store::ring(core::LaneId, const Change& change) {
  const std::lock_guard lock(listeners_mutex_);
  for (Listener* listener : listeners_) listener->rung(change);
}

Outcome Store::run(const BeatEngine& beat) {
  if (!pools_.contains(beat.pool)) return rejected(missing_pool(beat.pool));
  const Instant now = clock_.now();
  // Its own row first: the lanes it held before a restart count, however long ago that was.
  EngineInfo& own = engines_[{beat.pool, beat.name}];
  own.name = beat.name;
  own.until = now + beat.lease;
  if (beat.holds) own.holds = *beat.holds;
  own.serves = beat.serves;
  own.leaving = beat.leaving;
  std::erase_if(engines_, [&](const auto& row) { return row.first.first == beat.pool && row.second.until <= now; });
  answer::Engines alive;
  for (const auto& [key, engine] : engines_)
    if (key.first == beat.pool) alive.engines.push_back(engine);
  Outcome outcome = committed();
  outcome.answer = std::move(alive);
  return outcome;
}

Outcome Store::run(const LeaveEngine& leave) {
  return engines_.erase({leave.pool, leave.name}) == 0 ? already_done() : committed();
}

}  // namespace pawl::store::memory
