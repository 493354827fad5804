// Rows that wait to be delivered, for each target lane.
#include "base/format.h"
#include "core/codec.h"
#include "store/sqlite/reader.h"

namespace pawl::store::sqlite {

Status Reader::prepare_outbox() {
  // Rows are numbered without gaps: those of a page are found by their numbers, however many follow.
  const int rc = outbox_.prepare(
      connection_->handle(),
      "SELECT o.target, o.seq, o.envelope, r.dropped FROM outbox_routes r CROSS JOIN outbox o ON o.source = r.source"
      " AND o.target = r.target AND o.seq > r.dropped AND o.seq <= r.dropped + ?2"
      " WHERE r.source = ?1 ORDER BY o.target, o.seq");
  if (rc != SQLITE_OK) return connection_->error(rc, "find the expected tables in");
  return {};
}

Result<Page<OutboxRow>> Reader::read_outbox(core::LaneId lane, std::size_t rows_max) {
  Page<OutboxRow> found;
  std::optional<core::LaneId> target;
  std::uint64_t expected = 0;  // they are numbered without gaps
  bool stuck = false;          // a row of this route is damaged: those behind it wait
  Rows rows = outbox_.query(lane, rows_max);
  while (rows.next()) {
    OutboxRow row;
    row.lane = core::LaneId(rows.small(0));
    if (target != row.lane) {
      target = row.lane;
      expected = rows.word(3) + 1;
      stuck = false;
    }
    if (stuck) continue;
    row.seq = rows.word(1);
    auto envelope = core::decode_envelope(rows.bytes(2));
    stuck = rows.malformed() || !envelope || row.seq != expected;
    if (stuck) {
      found.damaged.push_back({RunId(0), format("row {} from lane {} to lane {} is {}", expected, lane.raw(),
                                                row.lane.raw(), row.seq == expected ? "malformed" : "missing")});
      continue;
    }
    ++expected;
    row.envelope = std::move(*envelope);
    found.push_back(std::move(row));
  }
  if (rows.failed()) return error(rows);
  return found;
}

}  // namespace pawl::store::sqlite
