#include "runtime/shares.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/seeded_bug.h"
#include "runtime/lane_share.h"
#include "runtime/parts.h"

namespace pawl::runtime {

namespace {

// Parts of a lease.
constexpr int beats_per_lease = 3;           // two may be lost
constexpr int news_per_lease = 30;           // changes are reported together
constexpr int gives_per_lease = 3;           // a lane that is to be given back is blocked no longer than this
constexpr int leases_until_given_again = 3;  // if that was too short for its running work
constexpr int looks_at_given_per_lease = 100;
constexpr Duration look_at_given_min = std::chrono::milliseconds(1);

}  // namespace

bool Shares::is_shared() const { return parts_.options.lease.count() != 0; }

void Shares::tick() {
  const Duration now = parts_.clock.monotonic();
  if (is_shared() && !beat_out_ && now >= beat_at_) beat(now);
  if (!giving_.empty() && now >= look_at_) look_at_given(now);
  ask(now);
}

void Shares::beat(Duration now) {
  store::BeatEngine beat{parts_.lanes.table().pool().pool, parts_.options.name, parts_.options.lease};
  if (known_) beat.holds = parts_.lanes.table().owned(now);
  beat.serves = parts_.workshop.topics(limits::engine_topics_max);
  beat.leaving = parts_.stopping;
  parts_.outgoing.push(std::move(beat));
  beat_out_ = true;
  beat_at_ = now + parts_.options.lease / beats_per_lease;
  parts_.lanes.table().renew_early(now);
}

void Shares::ask(Duration now) {
  // A stopping engine keeps what it has until its workers are done, and takes nothing new.
  const auto wants = parts_.stopping ? LaneTable::Wants::renewals : LaneTable::Wants::everything;
  for (store::Operation& operation : parts_.lanes.table().due(parts_.options.name, now, wants)) {
    if (const auto* acquire = std::get_if<store::AcquireLane>(&operation)) parts_.lane_lost(acquire->lane);
    parts_.outgoing.push(std::move(operation));
  }
}

void Shares::settle_beat(const store::BeatEngine& beat, const store::Outcome& outcome) {
  const Duration now = parts_.clock.monotonic();
  beat_out_ = false;
  if (!outcome.done()) {
    if (outcome.kind != store::OutcomeKind::outcome_unknown)
      parts_.events.problem(format("this engine cannot say that it lives: {}", outcome.reason));
    return tell_soon();
  }
  if (parts_.stopping) return;
  plan(beat, outcome, now);
  known_ = true;
  ask(now);
}

void Shares::plan(const store::BeatEngine& beat, const store::Outcome& outcome, Duration now) {
  std::vector<store::EngineInfo> alive = outcome.engines();
  const auto own =
      std::find_if(alive.begin(), alive.end(), [&](const auto& one) { return one.name == parts_.options.name; });
  if (own == alive.end()) return;
  LaneTable& table = parts_.lanes.table();
  // An engine whose report is overdue is checked again when its time is over.
  for (const store::EngineInfo& engine : alive)
    beat_at_ = std::min(beat_at_, std::max(now + parts_.options.lease - (own->until - engine.until),
                                           now + parts_.options.lease / news_per_lease));
  std::vector<core::LaneId> wanted;
  if (beat.holds) own->holds = table.owned_or_asked(now);  // newer than what was reported
  const LaneShare share = lane_share(parts_.options.name, alive, table.pool());
  if (!beat.holds) {  // it takes back what its previous process had
    wanted = own->holds;
    wanted.erase(wanted.end() - static_cast<std::ptrdiff_t>(std::min(wanted.size(), share.give)), wanted.end());
  }
  wanted.insert(wanted.end(), share.take.begin(), share.take.end());
  table.want(wanted);
  // For a lane that was lost and is not wanted again, no outcome tells that another engine has it.
  for (const core::LaneId lane : table.given_up()) parts_.workshop.cancel_runs(lane);
  give(beat.holds ? share.give : 0, now);
}

// Lanes without running work go first. One that could not be given back is skipped for a while, as long as its workers
// are busy.
void Shares::give(std::size_t count, Duration now) {
  while (giving_.size() > count) {
    const auto last = std::prev(giving_.end());
    OwnedLane* lane = parts_.lanes.mine(last->first);
    giving_.erase(last);
    if (lane != nullptr) keep(*lane);
  }
  if (giving_.size() == count) return;
  std::vector<std::pair<bool, OwnedLane*>> others;
  for (OwnedLane* lane : parts_.lanes.all_mine()) {
    const bool busy = parts_.workshop.is_busy(lane->id);
    const auto kept = kept_.find(lane->id);
    const bool again = kept == kept_.end() || now >= kept->second + parts_.options.lease * leases_until_given_again;
    if (!giving_.contains(lane->id) && (again || !busy)) others.emplace_back(busy, lane);
  }
  std::stable_partition(others.begin(), others.end(), [](const auto& other) { return !other.first; });
  for (const auto& [busy, lane] : others) {
    if (giving_.size() == count) break;
    lane->giving = true;
    giving_.emplace(lane->id, now);
  }
  look_at_ = now;
}

void Shares::look_at_given(Duration now) {
  look_at_ = now + std::max(parts_.options.lease / looks_at_given_per_lease, look_at_given_min);
  std::vector<store::ReleaseLane> releases;
  for (const auto& [id, since] : std::map(giving_)) {
    OwnedLane* lane = parts_.lanes.mine(id);
    if (lane == nullptr || !lane->giving) {  // lost, and perhaps taken again
      giving_.erase(id);
    } else if (is_quiet(*lane)) {
      releases.push_back(store::ReleaseLane{id, lane->epoch});
      parts_.lane_lost(id);
      parts_.lanes.table().giving_back(id);
      giving_.erase(id);
      kept_.erase(id);
    } else if (now >= since + parts_.options.lease / gives_per_lease) {
      giving_.erase(id);
      kept_[id] = now;
      keep(*lane);
      tell_soon();  // the reply names another one
    }
  }
  // An engine that learns that they are free must not read that this engine has them.
  if (!releases.empty() && !beat_out_) beat(now);
  for (const store::ReleaseLane& release : releases) parts_.outgoing.push(release);
}

// Whether nothing of it is on its way, with a worker, or unstored.
bool Shares::is_quiet(OwnedLane& lane) {
  if (seeded(SeededBug::lane_cut_off)) return true;
  const bool unread =
      std::any_of(lane.unread.begin(), lane.unread.end(), [](const auto& one) { return !one.second.may_wait(); });
  const bool put_away = parts_.jobs.put_away(lane.id);
  return put_away && !unread && !parts_.workshop.is_busy(lane.id) && !parts_.lanes.table().is_asked(lane.id);
}

// It is served again: what was skipped meanwhile is stored.
void Shares::keep(OwnedLane& lane) {
  lane.giving = false;
  lane.due.forget_horizon();
  parts_.loader.scan(lane, true);
}

void Shares::settle_release(const store::ReleaseLane& release, const store::Outcome& outcome) {
  if (!parts_.lanes.table().is_giving_back(release.lane)) return;
  if (outcome.kind == store::OutcomeKind::outcome_unknown)
    return parts_.outgoing.push(release);  // it may be sent twice
  parts_.lanes.table().given_back(release.lane);
  tell_soon();
}

void Shares::stop() {
  for (const auto& [id, since] : std::exchange(giving_, {}))
    if (OwnedLane* lane = parts_.lanes.mine(id)) lane->giving = false;
  beat_at_ = parts_.clock.monotonic();
}

void Shares::leave() {
  if (is_shared()) parts_.outgoing.push(store::LeaveEngine{parts_.lanes.table().pool().pool, parts_.options.name});
}

void Shares::tell_soon() {
  if (is_shared()) beat_at_ = std::min(beat_at_, parts_.clock.monotonic() + parts_.options.lease / news_per_lease);
}

// A stopping engine takes nothing. It would only react to its own reports, where a notification also reaches its
// sender.
void Shares::lanes_changed() {
  if (is_shared() && !parts_.stopping) beat_at_ = parts_.clock.monotonic();
}

std::optional<Duration> Shares::next_wake() const {
  std::optional<Duration> wake = parts_.lanes.table().next_due();
  const auto sooner = [&](Duration at) {
    if (!wake || at < *wake) wake = at;
  };
  if (is_shared() && !beat_out_) sooner(beat_at_);
  if (!giving_.empty()) sooner(look_at_);
  return wake;
}

}  // namespace pawl::runtime
