// Parts: the rooms of an engine, and what all of them see. Each room has its own state; what one wants of another goes
// through here.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "runtime/alarms.h"
#include "runtime/bundles.h"
#include "runtime/engine_types.h"
#include "runtime/graph_catalog.h"
#include "runtime/jobs.h"
#include "runtime/lanes.h"
#include "runtime/loader.h"
#include "runtime/mailboxes.h"
#include "runtime/outgoing.h"
#include "runtime/post.h"
#include "runtime/reads.h"
#include "runtime/shares.h"
#include "runtime/transactions.h"
#include "runtime/workshop.h"

namespace pawl::runtime {

struct Parts {
  // The references must outlive it.
  Parts(EngineOptions engine_options, store::PoolInfo pool, store::Store& its_store, const Clock& its_clock,
        const GraphCatalog& catalog, EngineEvents& listener);
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  const EngineOptions options;
  store::JobStore& store;
  const Clock& clock;
  const GraphCatalog& graphs;
  EngineEvents& events;
  bool stopping = false;  // nothing new is taken; what runs is finished

  Lanes lanes;                // which lanes are ours
  Shares shares;              // and which should be
  Outgoing outgoing;          // what is on its way to the store
  Reads reads;                // what is asked of it
  Loader loader;              // what is read
  Jobs jobs;                  // what is decided for jobs, and what becomes of it
  Mailboxes mailboxes;        // the same for mailboxes
  Bundles bundles;            // decisions on their way to the store and back
  Workshop workshop;          // what is handed to local workers
  Transactions transactions;  // what came back with SQL of its own
  Post post;                  // what jobs send each other
  Alarms alarms;              // what the clock sets going

  std::size_t waiting_bytes() const { return outgoing.bytes() + jobs.busy_bytes(); }
  bool has_room() const { return waiting_bytes() < options.bytes_max.waiting; }
  bool may_find_more() const;  // whether what a look or a clock finds can be served soon
  core::DecideOptions decide_options(const OwnedLane& lane);

  // Somebody else has it, or may: all that is remembered of it is wrong from now on.
  void lane_lost(core::LaneId lane);
  void lane_taken(core::LaneId lane);  // lost, and somebody else has it

 private:
  std::uint64_t bundles_named_ = 0;
};

std::string no_room(std::size_t bytes_max);

}  // namespace pawl::runtime
