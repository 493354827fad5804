// Pools and lanes. Ownership is the process's (owner_lock.h): a lane has no lease and needs no
// renewal; the epoch fences whoever owned it before.
#include "base/format.h"
#include "base/limits.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

Writer::Lane* Writer::find_lane(core::LaneId id) {
  lane_code_ = SQLITE_OK;
  const auto known = lanes_.find(id);
  if (known != lanes_.end()) return known->second.exists ? &known->second : nullptr;
  Rows rows = sql_.read_lane.query(id);
  Lane lane;
  if (rows.next()) {
    lane.exists = true;
    lane.epoch = core::Epoch(rows.word(0));
    lane.owner = std::string(rows.text(1));
    lane.next_run = rows.word(2);
    lane.next_run_stored = lane.next_run;
    if (rows.malformed()) lane_code_ = SQLITE_CORRUPT;
  }
  if (rows.failed()) lane_code_ = rows.rc();
  if (lane_code_ != SQLITE_OK) return nullptr;
  Lane& kept = lanes_.emplace(id, std::move(lane)).first->second;
  return kept.exists ? &kept : nullptr;
}

Applied Writer::guard(core::LaneId id, core::Epoch epoch) {
  const Lane* lane = find_lane(id);
  if (lane_code_ != SQLITE_OK) return Applied{lane_code_, false, {}};
  if (lane == nullptr || lane->owner.empty() || lane->epoch != epoch)
    return refused(OutcomeKind::fenced, "the lane has another owner");
  return {};
}

RunId Writer::next_run(core::LaneId id, Lane& lane) { return core::make_run(id, lane.next_run++); }

Applied Writer::apply(const DropOutbox& drop) {
  Applied guarded = guard(drop.lane, drop.epoch);
  if (!is_done(guarded)) return guarded;
  // Sends of this store go straight to their inbox, so there is no row to drop.
  std::uint64_t delivered = 0;
  Rows rows = sql_.read_source.query(drop.lane);
  if (rows.next()) delivered = rows.word(0);
  if (rows.failed()) return Applied{rows.rc(), false, {}};
  if (drop.up_to > delivered)
    return refused(OutcomeKind::rejected, format("row {} was not delivered yet", delivered + 1));
  return {};
}

Applied Writer::apply(const OpenPool& open) {
  {
    Rows rows = sql_.read_pool.query(open.pool);
    if (rows.next()) {
      const std::uint32_t lanes = rows.small(1);
      if (lanes == open.lanes) return refused(OutcomeKind::already_done, "");
      return refused(OutcomeKind::rejected,
                     format("pool {} has {} lanes for good; {} were asked for", open.pool.raw(),
                            lanes, open.lanes));
    }
    if (rows.failed()) return Applied{rows.rc(), false, {}};
  }
  if (open.lanes == 0 || open.lanes > pawl::limits::lanes_per_pool_max)
    return refused(OutcomeKind::rejected, format("a pool has 1 to {} lanes, not {}",
                                                 pawl::limits::lanes_per_pool_max, open.lanes));
  std::uint32_t last = 0;
  {
    Rows rows = sql_.last_lane.query();
    if (rows.next() && !rows.is_null(0)) last = rows.small(0);
    if (rows.failed()) return Applied{rows.rc(), false, {}};
  }
  if (last + open.lanes > pawl::limits::lanes_max)
    return refused(OutcomeKind::rejected,
                   format("all pools together have at most {} lanes", pawl::limits::lanes_max));
  if (sql_.put_pool.run(open.pool, last + 1, open.lanes) == Statement::failed)
    return failed(sql_.put_pool);
  for (std::uint32_t i = 1; i <= open.lanes; ++i) {
    lanes_.erase(core::LaneId(last + i));  // it may be known as missing
    if (sql_.put_lane.run(last + i, open.pool) == Statement::failed) return failed(sql_.put_lane);
  }
  return Applied{SQLITE_OK, true, {}};
}

Applied Writer::apply(const AcquireLane& acquire) {
  Lane* lane = find_lane(acquire.lane);
  if (lane_code_ != SQLITE_OK) return Applied{lane_code_, false, {}};
  if (lane == nullptr)
    return refused(OutcomeKind::rejected, format("there is no lane {}", acquire.lane.raw()));
  if (acquire.owner.empty()) return refused(OutcomeKind::rejected, "an owner needs a name");
  const auto owned = ownership_.try_own();
  if (!owned) return refused(OutcomeKind::conflict, owned.error().detail);
  if (!*owned)
    return refused(OutcomeKind::conflict, format("another process owns {}", connection_->path()));
  // Another name in the row is a dead process's, unless this very process wrote it.
  const auto held = held_.find(acquire.lane);
  const bool ours = held != held_.end() && held->second == lane->epoch;
  if (ours && !lane->owner.empty() && lane->owner != acquire.owner)
    return refused(OutcomeKind::conflict, format("{} holds the lane", lane->owner));
  const core::Epoch epoch = core::next(lane->epoch);
  if (sql_.take_lane.run(acquire.lane, epoch, acquire.owner) == Statement::failed)
    return failed(sql_.take_lane);
  lane->epoch = epoch;
  lane->owner = acquire.owner;
  held_.insert_or_assign(acquire.lane, epoch);
  Applied applied{SQLITE_OK, true, {}};
  applied.outcome.epoch = epoch;
  return applied;
}

Applied Writer::apply(const RenewLane& renew) { return guard(renew.lane, renew.epoch); }

Applied Writer::apply(const ReleaseLane& release) {
  Lane* lane = find_lane(release.lane);
  if (lane_code_ != SQLITE_OK) return Applied{lane_code_, false, {}};
  if (lane == nullptr || lane->epoch != release.epoch)
    return refused(OutcomeKind::fenced, "the lane has another owner");
  if (lane->owner.empty()) return refused(OutcomeKind::already_done, "");
  if (sql_.free_lane.run(release.lane) == Statement::failed) return failed(sql_.free_lane);
  lane->owner.clear();
  return Applied{SQLITE_OK, true, {}};
}

}  // namespace pawl::store::sqlite
