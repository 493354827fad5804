#include "store/sqlite/signal_id_writer.h"

#include "base/limits.h"
#include "store/rules.h"
#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

Status SignalIdWriter::prepare(Connection& connection) {
  return prepare_each(
      connection,
      {
          {&find_, "SELECT 1 FROM signal_ids WHERE lane = ?1 AND guid = ?2 AND until > ?3"},
          {&drop_same_, "DELETE FROM signal_ids WHERE lane = ?1 AND guid = ?2"},
          {&put_,
           "INSERT INTO signal_ids (lane, seq, guid, until) VALUES (?1,"
           " 1 + coalesce((SELECT seq FROM signal_ids WHERE lane = ?1 ORDER BY seq DESC LIMIT 1), 0), ?2, ?3)"},
          {&drop_oldest_,
           "DELETE FROM signal_ids WHERE lane = ?1"
           " AND seq IN (SELECT seq FROM signal_ids WHERE lane = ?1 ORDER BY seq LIMIT ?2)"
           " AND (until <= ?3 OR seq + ?4 <= (SELECT seq FROM signal_ids WHERE lane = ?1 ORDER BY seq DESC LIMIT 1))"},
      });
}

Checked SignalIdWriter::has(core::LaneId lane, const core::Guid& guid) {
  const GuidBytes name(guid);
  Rows rows = find_.query(lane, name, clock_.now());
  const bool found = rows.next();
  if (rows.failed()) return {false, failed(rows)};
  return {found};
}

Applied SignalIdWriter::add(core::LaneId lane, const core::Guid& guid) {
  const Instant now = clock_.now();
  const GuidBytes name(guid);
  if (drop_same_.run(lane, name) == Statement::failed) return failed(drop_same_);
  if (put_.run(lane, name, now + pawl::limits::signal_id_keep) == Statement::failed) return failed(put_);
  if (drop_oldest_.run(lane, signal_ids_per_drop, now, pawl::limits::signal_ids_per_lane_max) == Statement::failed)
    return failed(drop_oldest_);
  return {};
}

}  // namespace pawl::store::sqlite
