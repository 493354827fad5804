#include "runtime/parts.h"

#include <utility>

#include "base/format.h"
#include "base/random.h"
#include "runtime/bytes.h"

namespace pawl::runtime {

namespace {

Outgoing::Groups groups_for(const store::JobStore& store, const EngineOptions& options) {
  if (!store.spans_lanes()) return Outgoing::Groups::by_lane;
  return options.reads_later ? Outgoing::Groups::steps_apart : Outgoing::Groups::over_all_lanes;
}

}  // namespace

Parts::Parts(EngineOptions engine_options, store::PoolInfo pool, store::Store& its_store, const Clock& its_clock,
             const GraphCatalog& catalog, EngineEvents& listener)
    : options(std::move(engine_options)),
      store(its_store),
      clock(its_clock),
      graphs(catalog),
      events(listener),
      lanes(pool, options.lease, clock),
      shares(*this),
      outgoing(groups_for(store, options), options, clock, events),
      reads(options.reads_later ? Reads::Way::later : Reads::Way::at_once, its_store, lanes),
      loader(*this),
      jobs(*this, options),
      mailboxes(*this),
      bundles(*this),
      workshop(*this, options),
      far_replies(*this),
      transactions(*this),
      post(*this),
      alarms(*this) {}

bool Parts::may_find_more() const {
  return jobs.waiting() < limits::recovery_page_rows && has_room() && reads.has_room();
}

core::DecideOptions Parts::decide_options(const OwnedLane& lane) {
  const core::BundleId id(Random::mix(Random::mix(options.seed) + ++bundles_named_) >> 1);
  return {clock.now(), options.fusion, lane.epoch, id, options.reentries_max};
}

void Parts::lane_lost(core::LaneId lane) {
  jobs.forget_lane(lane);
  outgoing.withdraw(lane, [this](const store::Operation& operation) { workshop.withdrawn(operation); });
  if (OwnedLane* owned = lanes.memory_of(lane))
    for (const auto& [run, unread] : owned->unread) workshop.abandon(run, unread.deliveries);
  lanes.forget(lane);
}

void Parts::lane_taken(core::LaneId lane) {
  lane_lost(lane);
  lanes.table().lost(lane, clock.monotonic());
  shares.tell_soon();
  workshop.cancel_runs(lane);  // its new owner hands the work out again, and accepts no reply from here
}

}  // namespace pawl::runtime
