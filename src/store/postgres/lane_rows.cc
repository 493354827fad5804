#include "store/postgres/lane_rows.h"

#include <algorithm>
#include <vector>

#include "base/invariant.h"

namespace pawl::store::postgres {

namespace {

#define PAWL_LANES "SELECT lane, epoch, owner, lease_until FROM lanes WHERE lane = ANY($1::bigint[]) ORDER BY lane"
const Statement look_at_lanes{"look_at_lanes", PAWL_LANES};
const Statement guard_lanes{"guard_lanes", PAWL_LANES " FOR KEY SHARE"};
const Statement lock_lanes_to_renew{"lock_lanes_to_renew", PAWL_LANES " FOR NO KEY UPDATE"};
const Statement lock_lanes_to_take{"lock_lanes_to_take", PAWL_LANES " FOR UPDATE"};
#undef PAWL_LANES
const Statement lock_numbers{
    "lock_numbers",
    "SELECT lane, next_run, next_announcement, next_signal FROM lane_numbers WHERE lane = ANY($1::bigint[]) ORDER BY lane FOR UPDATE"};
const Statement put_lanes{
    "put_lanes",
    "UPDATE lanes l SET epoch = u.epoch, owner = u.owner, lease_until = u.lease_until"
    " FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) AS u(lane, epoch, owner, lease_until)"
    " WHERE l.lane = u.lane"};
const Statement put_numbers{
    "put_numbers",
    "UPDATE lane_numbers n SET next_run = u.next_run, next_announcement = u.next_announcement, next_signal = u.next_signal"
    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS u(lane, next_run, next_announcement, next_signal)"
    " WHERE n.lane = u.lane"};

}  // namespace

void LaneRows::want(core::LaneId lane, Use use) {
  const auto [known, added] = wanted_.emplace(lane, use);
  if (!added) known->second = std::max(known->second, use);
}

void LaneRows::ask(Script& script) {
  locked_at_.reset();
  looked_at_.reset();
  std::vector<core::LaneId> locked;
  std::vector<core::LaneId> looked;
  Use most = Use::look;
  for (const auto& [lane, use] : wanted_) {
    (use == Use::look ? looked : locked).push_back(lane);
    most = std::max(most, use);
  }
  if (!locked.empty())
    locked_at_ = script.add(most == Use::take    ? lock_lanes_to_take
                            : most == Use::renew ? lock_lanes_to_renew
                                                 : guard_lanes,
                            Params::of(locked));
  if (!looked.empty()) looked_at_ = script.add(look_at_lanes, Params::of(looked));
}

void LaneRows::ask_numbers(Script& script) {
  numbers_at_.reset();
  if (wanted_numbers_.empty()) return;
  numbers_at_ = script.add(lock_numbers, Params::of(std::vector(wanted_numbers_.begin(), wanted_numbers_.end())));
}

Status LaneRows::take(Done& answers) {
  for (const auto at : {locked_at_, looked_at_}) {
    if (!at) continue;
    Rows& rows = answers[*at];
    while (rows.next()) {
      LaneRow row{core::Epoch(rows.word(1)), std::string(rows.text(2)), std::nullopt};
      if (!rows.is_null(3)) row.lease_until = rows.instant(3);
      rows_[core::LaneId(rows.small(0))] = std::move(row);
    }
    if (rows.malformed()) return Error{ErrorCode::corrupt, "the row of a lane is malformed"};
  }
  if (!numbers_at_) return {};
  Rows& rows = answers[*numbers_at_];
  while (rows.next()) numbers_[core::LaneId(rows.small(0))] = Numbers{rows.word(1), rows.word(2), rows.word(3), false};
  return rows.malformed() ? Status{Error{ErrorCode::corrupt, "the numbers of a lane are malformed"}} : Status{};
}

void LaneRows::write(Script& script) const {
  Batch lanes;
  for (const core::LaneId lane : changed_) {
    const LaneRow& row = rows_.at(lane);
    lanes.row(lane, row.epoch, row.owner, row.lease_until);
  }
  if (!lanes.empty()) script.add(put_lanes, Params::of_rows(lanes));
  Batch numbers;
  for (const auto& [lane, given] : numbers_)
    if (given.changed) numbers.row(lane, given.next_run, given.next_announcement, given.next_signal);
  if (!numbers.empty()) script.add(put_numbers, Params::of_rows(numbers));
}

void LaneRows::forget() { *this = LaneRows(); }

const LaneRow* LaneRows::find(core::LaneId lane) const {
  const auto found = rows_.find(lane);
  return found == rows_.end() ? nullptr : &found->second;
}

bool LaneRows::owns(core::LaneId lane, core::Epoch epoch) const {
  const LaneRow* row = find(lane);
  return row != nullptr && !row->owner.empty() && row->epoch == epoch;
}

void LaneRows::put(core::LaneId lane, LaneRow row) {
  rows_[lane] = std::move(row);
  changed_.insert(lane);
}

LaneRows::Numbers& LaneRows::numbers_of(core::LaneId lane) {
  const auto found = numbers_.find(lane);
  invariant(found != numbers_.end(), "a lane's numbers are held by whoever takes one");
  found->second.changed = true;
  return found->second;
}

RunId LaneRows::next_run(core::LaneId lane) { return core::make_run(lane, numbers_of(lane).next_run++); }
std::uint64_t LaneRows::next_announcement(core::LaneId lane) { return numbers_of(lane).next_announcement++; }
std::uint64_t LaneRows::next_signal(core::LaneId lane) { return numbers_of(lane).next_signal++; }

}  // namespace pawl::store::postgres
