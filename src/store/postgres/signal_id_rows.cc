#include "store/postgres/signal_id_rows.h"

#include <algorithm>

#include "base/limits.h"
#include "store/postgres/expected.h"
#include "store/rules.h"

namespace pawl::store::postgres {

namespace {

const Statement find_signal_ids{"find_signal_ids",
                                "SELECT s.lane, s.guid, s.until FROM unnest($1::bigint[], $2::bytea[]) AS u(lane, guid)"
                                " JOIN signal_ids s ON s.lane = ANY(ARRAY[u.lane]) AND s.guid = u.guid"};
const Statement drop_same_signal_ids{"drop_same_signal_ids",
                                     "DELETE FROM signal_ids s USING unnest($1::bigint[], $2::bytea[]) AS u(lane, guid)"
                                     " WHERE s.lane = ANY(ARRAY[u.lane]) AND s.guid = u.guid"};
const Statement new_signal_ids{
    "new_signal_ids",
    "WITH put AS (INSERT INTO signal_ids (lane, seq, guid, until)"
    " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[]) ON CONFLICT DO NOTHING RETURNING 1)"
    " SELECT " PAWL_EXPECT("count(*) = $5::bigint") " FROM put"};
// Deletes the oldest ids of each lane, a few for each new one, if they have expired or are too many.
const Statement drop_old_signal_ids{"drop_old_signal_ids",
                                    "DELETE FROM signal_ids d WHERE d.ctid = ANY(ARRAY(SELECT s.place"
                                    " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u(lane, most, last)"
                                    " CROSS JOIN LATERAL (SELECT o.ctid AS place, o.seq, o.until FROM signal_ids o "
                                    "WHERE o.lane + 0 = u.lane ORDER BY o.seq LIMIT u.most) s"
                                    " WHERE s.until <= $4::bigint OR s.seq + $5::bigint <= u.last))"};

}  // namespace

void SignalIdRows::ask(Script& script) {
  at_.reset();
  Batch wanted;
  for (const auto& [lane, guid] : wanted_) wanted.row(lane, guid);
  if (!wanted.empty()) at_ = script.add(find_signal_ids, Params::of_rows(wanted));
}

Status SignalIdRows::take(Done& answers) {
  if (!at_) return {};
  Rows& rows = answers[*at_];
  while (rows.next()) slots_[{core::LaneId(rows.small(0)), rows.guid(1)}] = Slot{true, rows.instant(2), 0, false};
  return rows.malformed() ? Status{Error{ErrorCode::corrupt, "the id of a signal is malformed"}} : Status{};
}

bool SignalIdRows::has(core::LaneId lane, const core::Guid& guid, Instant now) const {
  const auto found = slots_.find({lane, guid});
  return found != slots_.end() && found->second.until > now;
}

void SignalIdRows::add(core::LaneId lane, const core::Guid& guid, Instant now, std::uint64_t seq) {
  Slot& slot = slots_[{lane, guid}];
  slot.until = now + pawl::limits::signal_id_keep;
  slot.seq = seq;
  slot.changed = true;
}

void SignalIdRows::write(Script& script, Instant now) const {
  Batch same;
  Batch added;
  struct Lane {
    std::uint64_t added = 0;
    std::uint64_t last = 0;
  };
  std::map<core::LaneId, Lane> lanes;
  for (const auto& [key, slot] : slots_) {
    if (!slot.changed) continue;
    if (slot.stored) same.row(key.first, key.second);
    added.row(key.first, slot.seq, key.second, slot.until);
    Lane& lane = lanes[key.first];
    ++lane.added;
    lane.last = std::max(lane.last, slot.seq);
  }
  if (added.empty()) return;
  if (!same.empty()) script.add(drop_same_signal_ids, Params::of_rows(same));
  script.add(new_signal_ids, Params::of_rows(added, added.rows()));
  Batch old;
  for (const auto& [id, lane] : lanes) old.row(id, lane.added * signal_ids_per_drop, lane.last);
  script.add(drop_old_signal_ids, Params::of_rows(old, now, pawl::limits::signal_ids_per_lane_max));
}

}  // namespace pawl::store::postgres
