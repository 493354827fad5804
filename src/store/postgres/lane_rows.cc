#include "store/postgres/lane_rows.h"

#include <algorithm>
#include <vector>

#include "base/invariant.h"
#include "store/postgres/expected.h"

namespace pawl::store::postgres {

namespace {

#define PAWL_LANES "SELECT lane, epoch, owner, lease_until FROM lanes WHERE lane = ANY($1::bigint[]) ORDER BY lane"
const Statement look_at_lanes{"look_at_lanes", PAWL_LANES};
const Statement guard_lanes{"guard_lanes", PAWL_LANES " FOR KEY SHARE"};
const Statement lock_lanes_to_renew{"lock_lanes_to_renew", PAWL_LANES " FOR NO KEY UPDATE"};
const Statement lock_lanes_to_take{"lock_lanes_to_take", PAWL_LANES " FOR UPDATE"};
#undef PAWL_LANES
// Locks in the order of the array, which is the order of the lanes.
const Statement guard_assumed_lanes{
    "guard_assumed_lanes",
    "WITH guarded AS (SELECT l.lane FROM (SELECT unnest($1::bigint[]) AS lane, unnest($2::bigint[]) AS epoch) AS u"
    " JOIN lanes l ON l.lane = ANY(ARRAY[u.lane]) AND l.epoch = u.epoch WHERE l.owner <> '' FOR KEY SHARE OF l)"
    " SELECT " PAWL_EXPECT("count(*) = $3::bigint") " FROM guarded"};
// The same for one lane, without a join and a count: most groups of a quiet node concern one.
const Statement guard_assumed_lane{
    "guard_assumed_lane",
    "SELECT 1 / coalesce((SELECT 1 FROM lanes WHERE lane = $1::bigint AND epoch = $2::bigint AND owner <> ''"
    " FOR KEY SHARE), 0)"};
const Statement lock_numbers{"lock_numbers",
                             "SELECT lane, next_run, next_announcement, next_signal FROM lane_numbers WHERE lane = "
                             "ANY($1::bigint[]) ORDER BY lane FOR UPDATE"};
const Statement put_lanes{
    "put_lanes",
    "UPDATE lanes l SET epoch = u.epoch, owner = u.owner, lease_until = u.lease_until"
    " FROM (SELECT unnest($1::bigint[]) AS lane, unnest($2::bigint[]) AS epoch, unnest($3::text[]) AS owner,"
    " unnest($4::bigint[]) AS lease_until) AS u"
    " WHERE l.lane = ANY(ARRAY[u.lane])"};
const Statement put_numbers{"put_numbers",
                            "UPDATE lane_numbers n SET next_run = u.next_run, next_announcement = u.next_announcement, "
                            "next_signal = u.next_signal"
                            " FROM (SELECT unnest($1::bigint[]) AS lane, unnest($2::bigint[]) AS next_run,"
                            " unnest($3::bigint[]) AS next_announcement, unnest($4::bigint[]) AS next_signal) AS u"
                            " WHERE n.lane = ANY(ARRAY[u.lane])"};
// Fails if another process has numbered there since.
const Statement put_assumed_numbers{
    "put_assumed_numbers",
    "WITH put AS (UPDATE lane_numbers n SET next_run = u.next_run, next_announcement = u.next_announcement,"
    " next_signal = u.next_signal FROM (SELECT unnest($1::bigint[]) AS lane, unnest($2::bigint[]) AS next_run,"
    " unnest($3::bigint[]) AS next_announcement, unnest($4::bigint[]) AS next_signal, unnest($5::bigint[]) AS run,"
    " unnest($6::bigint[]) AS announcement, unnest($7::bigint[]) AS signal) AS u"
    " WHERE n.lane = ANY(ARRAY[u.lane]) AND n.next_run = u.run AND n.next_announcement = u.announcement"
    " AND n.next_signal = u.signal RETURNING 1) SELECT " PAWL_EXPECT("count(*) = $8::bigint") " FROM put"};

}  // namespace

void LaneRows::want(core::LaneId lane, Use use) {
  const auto [known, added] = wanted_.emplace(lane, use);
  if (!added) known->second = std::max(known->second, use);
}

bool LaneRows::assume(core::LaneId lane, core::Epoch epoch) {
  rows_.try_emplace(lane, LaneRow{epoch, "its owner", std::nullopt});
  return assumed_.try_emplace(lane, epoch).first->second == epoch;
}

void LaneRows::assume_numbers(core::LaneId lane, const LaneNumbers& numbers) {
  numbers_.try_emplace(lane, Numbers{numbers, numbers, false});
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
  while (rows.next())
    numbers_[core::LaneId(rows.small(0))] = Numbers{{rows.word(1), rows.word(2), rows.word(3)}, std::nullopt, false};
  return rows.malformed() ? Status{Error{ErrorCode::corrupt, "the numbers of a lane are malformed"}} : Status{};
}

void LaneRows::write(Script& script) const {
  if (assumed_.size() == 1) {
    script.add(guard_assumed_lane, Params::of(assumed_.begin()->first, assumed_.begin()->second));
  } else if (!assumed_.empty()) {
    Batch assumed;
    for (const auto& [lane, epoch] : assumed_) assumed.row(lane, epoch);
    script.add(guard_assumed_lanes, Params::of_rows(assumed, assumed.rows()));
  }
  Batch lanes;
  for (const core::LaneId lane : changed_) {
    const LaneRow& row = rows_.at(lane);
    lanes.row(lane, row.epoch, row.owner, row.lease_until);
  }
  if (!lanes.empty()) script.add(put_lanes, Params::of_rows(lanes));
  Batch numbers;
  Batch compared;
  for (const auto& [lane, given] : numbers_) {
    const LaneNumbers& now = given.now;
    if (given.changed && given.assumed)
      compared.row(lane, now.next_run, now.next_announcement, now.next_signal, given.assumed->next_run,
                   given.assumed->next_announcement, given.assumed->next_signal);
    else if (given.changed)
      numbers.row(lane, now.next_run, now.next_announcement, now.next_signal);
  }
  if (!numbers.empty()) script.add(put_numbers, Params::of_rows(numbers));
  if (!compared.empty()) script.add(put_assumed_numbers, Params::of_rows(compared, compared.rows()));
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

bool LaneRows::guards(core::LaneId lane, core::Epoch epoch) const {
  if (const auto assumed = assumed_.find(lane); assumed != assumed_.end()) return assumed->second == epoch;
  const auto wanted = wanted_.find(lane);
  return wanted != wanted_.end() && wanted->second != Use::look && owns(lane, epoch);
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

std::map<core::LaneId, LaneNumbers> LaneRows::numbers() const {
  std::map<core::LaneId, LaneNumbers> all;
  for (const auto& [lane, given] : numbers_) all.emplace(lane, given.now);
  return all;
}

RunId LaneRows::next_run(core::LaneId lane) { return core::make_run(lane, numbers_of(lane).now.next_run++); }
std::uint64_t LaneRows::next_announcement(core::LaneId lane) { return numbers_of(lane).now.next_announcement++; }
std::uint64_t LaneRows::next_signal(core::LaneId lane) { return numbers_of(lane).now.next_signal++; }

}  // namespace pawl::store::postgres
