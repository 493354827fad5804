#include "runtime/lane_table.h"

#include <algorithm>
#include <utility>

#include "base/invariant.h"
#include "base/random.h"

namespace pawl::runtime {

LaneTable::LaneTable(store::PoolInfo pool, Duration lease) : pool_(pool), lease_(lease) {
  for (std::uint32_t i = 0; i < pool.lanes; ++i) lanes_[core::LaneId(pool.first.raw() + i)].wanted = lease.count() == 0;
}

void LaneTable::want(const std::vector<core::LaneId>& lanes) {
  for (auto& [lane, state] : lanes_) {
    const bool wanted = std::find(lanes.begin(), lanes.end(), lane) != lanes.end();
    if (wanted && !state.wanted) state.ask_at = Duration{0};
    state.wanted = wanted || state.owned;
  }
}

void LaneTable::renew_early(Duration monotonic) {
  for (auto& [lane, state] : lanes_)
    if (state.owned && state.expires && state.ask_at <= monotonic + lease_ / 6) state.ask_at = monotonic;
}

core::LaneId lane_for(const store::PoolInfo& pool, const Namespace& name_space, std::string_view id) {
  // Stored identity: a job id must find the same lane for ever. Never change this hash.
  std::uint64_t hash = 0x70617774;
  for (const char c : name_space.raw()) hash = Random::mix(hash ^ static_cast<unsigned char>(c));
  hash = Random::mix(hash + 0x2f);
  for (const char c : id) hash = Random::mix(hash ^ static_cast<unsigned char>(c));
  return core::LaneId(pool.first.raw() + static_cast<std::uint32_t>(hash % pool.lanes));
}

core::LaneId lane_for(const store::PoolInfo& pool, const core::Target& target) {
  if (const auto* run = std::get_if<RunId>(&target)) return core::lane_of(*run);
  if (const auto* job = std::get_if<core::JobKey>(&target)) return lane_for(pool, job->name_space, job->id.raw());
  const auto& mailbox = std::get<core::MailboxKey>(target);
  return lane_for(pool, mailbox.name_space, mailbox.topic.raw() + '\n' + mailbox.key);
}

bool LaneTable::owns(core::LaneId lane, Duration monotonic) const {
  const auto found = lanes_.find(lane);
  if (found == lanes_.end() || !found->second.owned) return false;
  return !found->second.expires || monotonic < found->second.usable_until;
}

core::Epoch LaneTable::epoch(core::LaneId lane) const {
  const auto found = lanes_.find(lane);
  invariant(found != lanes_.end(), "the lane belongs to this pool");
  return found->second.epoch;
}

std::vector<core::LaneId> LaneTable::owned(Duration monotonic) const {
  std::vector<core::LaneId> result;
  for (const auto& [lane, state] : lanes_)
    if (owns(lane, monotonic)) result.push_back(lane);
  return result;
}

std::vector<core::LaneId> LaneTable::owned_or_asked(Duration monotonic) const {
  std::vector<core::LaneId> result;
  for (const auto& [lane, state] : lanes_)
    if (owns(lane, monotonic) || (state.asked && !state.gives)) result.push_back(lane);
  return result;
}

std::vector<core::LaneId> LaneTable::given_up() const {
  std::vector<core::LaneId> result;
  for (const auto& [lane, state] : lanes_)
    if (!state.owned && !state.asked && !state.wanted) result.push_back(lane);
  return result;
}

std::vector<core::LaneId> LaneTable::all() const {
  std::vector<core::LaneId> result;
  for (const auto& [lane, state] : lanes_) result.push_back(lane);
  return result;
}

std::vector<store::Operation> LaneTable::due(const std::string& owner, Duration monotonic, Wants wants) {
  std::vector<store::Operation> operations;
  for (auto& [lane, state] : lanes_) {
    if (!state.wanted || state.asked || state.waits || monotonic < state.ask_at) continue;
    if (state.owned && state.expires && monotonic < state.usable_until) {
      operations.emplace_back(store::RenewLane{lane, state.epoch, lease_});
    } else if (wants == Wants::renewals) {
      state.waits = true;  // it is not wanted any more
      continue;
    } else if (!state.owned || state.expires) {
      state.owned = false;
      operations.emplace_back(store::AcquireLane{lane, owner, lease_});
    } else {
      continue;
    }
    state.asked = true;
  }
  return operations;
}

std::optional<Duration> LaneTable::next_due() const {
  std::optional<Duration> next;
  for (const auto& [lane, state] : lanes_) {
    if (!state.wanted || state.asked || state.waits || (state.owned && !state.expires)) continue;
    if (!next || state.ask_at < *next) next = state.ask_at;
  }
  return next;
}

void LaneTable::acquired(core::LaneId lane, core::Epoch epoch, Duration asked_at, bool expires) {
  Lane& state = lanes_.at(lane);
  state.epoch = epoch;
  state.owned = state.wanted = true;
  state.expires = expires;
  state.again = false;
  renewed(lane, asked_at);
}

void LaneTable::renewed(core::LaneId lane, Duration asked_at) {
  Lane& state = lanes_.at(lane);
  state.asked = false;
  state.usable_until = asked_at + lease_ - lease_ / 10;
  state.ask_at = asked_at + lease_ / 3;
}

void LaneTable::refused(core::LaneId lane, Duration monotonic) {
  Lane& state = lanes_.at(lane);
  if (state.gives) return;
  state.asked = false;
  state.owned = false;
  state.ask_at = monotonic + lease_ / 10;
  state.waits = lease_.count() == 0;
  if (std::exchange(state.again, false)) ask_again(lane);
}

// Not while a reply is on its way: a lane that is taken twice has a new epoch, which fences what was decided in
// between.
void LaneTable::ask_again(core::LaneId lane) {
  Lane& state = lanes_.at(lane);
  if (state.asked) {
    state.again = true;
    return;
  }
  state.waits = false;
  state.ask_at = Duration{0};
}

// If lanes are shared, another engine may have it now: the next report tells whether it is still wanted.
void LaneTable::lost(core::LaneId lane, Duration monotonic) {
  lanes_.at(lane).owned = false;
  refused(lane, monotonic);
}

void LaneTable::giving_back(core::LaneId lane) {
  Lane& state = lanes_.at(lane);
  state.owned = state.wanted = false;
  state.asked = state.gives = true;
}

void LaneTable::given_back(core::LaneId lane) {
  Lane& state = lanes_.at(lane);
  state.asked = state.gives = state.again = false;
}

}  // namespace pawl::runtime
