#include "store/transfer/settle.h"

#include <algorithm>
#include <map>

#include "base/format.h"

namespace pawl::store::transfer {

namespace {

constexpr std::size_t rows_at_once = 256;  // for each target lane
constexpr Duration lease = std::chrono::minutes(1);

Result<Outcome> commit(Store& store, const Operation& operation) {
  auto outcomes = store.commit({&operation, 1});
  if (!outcomes) return outcomes.error();
  Outcome& outcome = outcomes->front();
  if (!outcome.done())
    return Error{ErrorCode::corrupt,
                 format("what was on its way cannot be delivered: {} {}", name_of(outcome.kind), outcome.reason)};
  return std::move(outcome);
}

Result<std::uint64_t> settle_lane(Store& store, core::LaneId lane) {
  std::uint64_t delivered = 0;
  core::Epoch epoch(0);
  for (;;) {
    const auto rows = store.read_outbox(lane, rows_at_once);
    if (!rows) return rows.error();
    if (!rows->damaged.empty()) return Error{ErrorCode::corrupt, rows->damaged.front().what};
    if (rows->empty()) break;
    if (epoch == core::Epoch(0)) {
      const auto acquired = commit(store, AcquireLane{lane, "pawl move", lease});
      if (!acquired) return acquired.error();
      epoch = acquired->epoch();
    }
    std::map<core::LaneId, std::uint64_t> last;
    for (const OutboxRow& row : *rows) {
      Deliver deliver;
      deliver.envelope = row.envelope;
      deliver.lane = row.lane;
      deliver.source = Deliver::Source{lane, row.seq};
      if (const auto done = commit(store, deliver); !done) return done.error();
      last[row.lane] = std::max(last[row.lane], row.seq);
      ++delivered;
    }
    for (const auto& [target, up_to] : last)
      if (const auto done = commit(store, DropOutbox{lane, epoch, target, up_to}); !done) return done.error();
  }
  if (epoch != core::Epoch(0))
    if (const auto released = commit(store, ReleaseLane{lane, epoch}); !released) return released.error();
  return delivered;
}

}  // namespace

Result<std::uint64_t> settle_outboxes(Store& store) {
  std::uint64_t delivered = 0;
  if (!store.sends_directly()) return delivered;
  const auto lanes = store.read_lane_ends();
  if (!lanes) return lanes.error();
  for (const LaneEnd& end : *lanes) {
    const auto settled = settle_lane(store, end.lane);
    if (!settled) return settled.error();
    delivered += *settled;
  }
  return delivered;
}

}  // namespace pawl::store::transfer
