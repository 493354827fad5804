#include "store/sqlite/lane_writer.h"

#include "base/format.h"
#include "base/invariant.h"
#include "base/limits.h"
#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

Applied no_lane(core::LaneId lane) { return refused(OutcomeKind::rejected, format("there is no lane {}", lane.raw())); }

Status LaneWriter::prepare(Connection& connection) {
  path_ = connection.path();
  return prepare_each(
      connection, {
                      {&read_lane_, "SELECT epoch, owner, next_run, next_announcement FROM lanes WHERE lane = ?1"},
                      {&put_next_, "UPDATE lanes SET next_run = ?2, next_announcement = ?3 WHERE lane = ?1"},
                      {&take_lane_, "UPDATE lanes SET epoch = ?2, owner = ?3 WHERE lane = ?1"},
                      {&free_lane_, "UPDATE lanes SET owner = '' WHERE lane = ?1"},
                      {&read_pool_, "SELECT first_lane, lanes FROM pools WHERE pool = ?1"},
                      {&last_lane_, "SELECT max(lane) FROM lanes"},
                      {&put_pool_, "INSERT INTO pools (pool, first_lane, lanes) VALUES (?1, ?2, ?3)"},
                      {&put_lane_, "INSERT INTO lanes (lane, pool, epoch, owner, next_run) VALUES (?1, ?2, 0, '', 1)"},
                  });
}

LaneWriter::Found LaneWriter::find(core::LaneId id) {
  const auto known = lanes_.find(id);
  if (known != lanes_.end()) return {known->second.exists ? &known->second : nullptr};
  Lane lane;
  {
    Rows rows = read_lane_.query(id);
    if (rows.next()) {
      lane.exists = true;
      lane.epoch = core::Epoch(rows.word(0));
      lane.owner = std::string(rows.text(1));
      lane.next = {rows.word(2), rows.word(3)};
      lane.next_stored = lane.next;
      if (rows.malformed()) return {nullptr, SQLITE_CORRUPT};
    }
    if (rows.failed()) return {nullptr, for_whole_group(rows.rc())};
  }
  Lane& kept = lanes_.emplace(id, std::move(lane)).first->second;
  return {kept.exists ? &kept : nullptr};
}

int LaneWriter::store_next_numbers() {
  for (auto& [id, lane] : lanes_) {
    if (lane.next == lane.next_stored) continue;
    if (put_next_.run(id, lane.next.run, lane.next.announcement) == Statement::failed) return put_next_.code();
  }
  return SQLITE_OK;
}

Checked LaneWriter::exists(core::LaneId id) {
  const Found found = find(id);
  if (found.code != SQLITE_OK) return {false, Applied{found.code, false, {}}};
  return {found.lane != nullptr};
}

RunId LaneWriter::next_run(core::LaneId id) {
  const Found found = find(id);
  invariant(found.lane != nullptr, "a run is numbered in a lane that exists");
  return core::make_run(id, found.lane->next.run++);
}

std::uint64_t LaneWriter::next_announcement(core::LaneId id) {
  const Found found = find(id);
  invariant(found.lane != nullptr, "an announcement is numbered in a lane that exists");
  return found.lane->next.announcement++;
}

Applied LaneWriter::guard(core::LaneId id, core::Epoch epoch) {
  const Found found = find(id);
  if (found.code != SQLITE_OK) return Applied{found.code, false, {}};
  if (found.lane == nullptr || found.lane->owner.empty() || found.lane->epoch != epoch)
    return refused(OutcomeKind::fenced, "the lane has another owner");
  return {};
}

Applied LaneWriter::apply(const OpenPool& open) {
  {
    Rows rows = read_pool_.query(open.pool);
    if (rows.next()) {
      const std::uint32_t lanes = rows.small(1);
      if (lanes == open.lanes) return refused(OutcomeKind::already_done, "");
      return refused(OutcomeKind::rejected,
                     format("pool {} has {} lanes for good; {} were asked for", open.pool.raw(), lanes, open.lanes));
    }
    if (rows.failed()) return Applied{rows.rc(), false, {}};
  }
  if (open.lanes == 0 || open.lanes > pawl::limits::lanes_per_pool_max)
    return refused(OutcomeKind::rejected,
                   format("a pool has 1 to {} lanes, not {}", pawl::limits::lanes_per_pool_max, open.lanes));
  std::uint32_t last = 0;
  {
    Rows rows = last_lane_.query();
    if (rows.next() && !rows.is_null(0)) last = rows.small(0);
    if (rows.failed()) return Applied{rows.rc(), false, {}};
  }
  if (last + open.lanes > pawl::limits::lanes_max)
    return refused(OutcomeKind::rejected, format("all pools together have at most {} lanes", pawl::limits::lanes_max));
  if (put_pool_.run(open.pool, last + 1, open.lanes) == Statement::failed) return failed(put_pool_);
  for (std::uint32_t i = 1; i <= open.lanes; ++i) {
    lanes_.erase(core::LaneId(last + i));  // it may be cached as missing
    if (put_lane_.run(last + i, open.pool) == Statement::failed) return failed(put_lane_);
  }
  return Applied{SQLITE_OK, true, {}};
}

Applied LaneWriter::apply(const AcquireLane& acquire) {
  const auto [lane, code] = find(acquire.lane);
  if (code != SQLITE_OK) return Applied{code, false, {}};
  if (lane == nullptr) return no_lane(acquire.lane);
  if (acquire.owner.empty()) return refused(OutcomeKind::rejected, "an owner needs a name");
  const auto owned = ownership_.try_own();
  if (!owned) return refused(OutcomeKind::conflict, owned.error().detail);
  if (!*owned) return refused(OutcomeKind::conflict, format("another process owns {}", path_));
  // Another name in the row belongs to a dead process, unless this process wrote it.
  const auto held = held_.find(acquire.lane);
  const bool ours = held != held_.end() && held->second == lane->epoch;
  if (ours && !lane->owner.empty() && lane->owner != acquire.owner)
    return refused(OutcomeKind::conflict, format("{} holds the lane", lane->owner));
  const core::Epoch epoch = core::next(lane->epoch);
  if (take_lane_.run(acquire.lane, epoch, acquire.owner) == Statement::failed) return failed(take_lane_);
  lane->epoch = epoch;
  lane->owner = acquire.owner;
  held_.insert_or_assign(acquire.lane, epoch);
  Applied applied{SQLITE_OK, true, {}};
  applied.outcome.answer = answer::Lane{epoch, std::nullopt, core::make_run(acquire.lane, lane->next.run)};
  return applied;
}

// Nothing expires here: the lane is held until its process is gone.
Applied LaneWriter::apply(const RenewLane& renew) {
  Applied guarded = guard(renew.lane, renew.epoch);
  if (is_done(guarded)) guarded.outcome.answer = answer::Lane{renew.epoch, std::nullopt};
  return guarded;
}

Applied LaneWriter::apply(const ReleaseLane& release) {
  const auto [lane, code] = find(release.lane);
  if (code != SQLITE_OK) return Applied{code, false, {}};
  if (lane == nullptr || lane->epoch != release.epoch)
    return refused(OutcomeKind::fenced, "the lane has another owner");
  if (lane->owner.empty()) return refused(OutcomeKind::already_done, "");
  if (free_lane_.run(release.lane) == Statement::failed) return failed(free_lane_);
  lane->owner.clear();
  return Applied{SQLITE_OK, true, {}};
}

}  // namespace pawl::store::sqlite
