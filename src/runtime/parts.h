// Parts: the parts of an engine, and what all of them share. Each part has its own state; calls from one to another go
// through here.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "runtime/alarms.h"
#include "runtime/bundles.h"
#include "runtime/engine_types.h"
#include "runtime/far_replies.h"
#include "runtime/graph_catalog.h"
#include "runtime/jobs.h"
#include "runtime/lanes.h"
#include "runtime/loader.h"
#include "runtime/mailboxes.h"
#include "runtime/no_room.h"
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
  bool stopping = false;  // nothing new is taken; running work is finished

  Lanes lanes;                // the lanes that this engine owns
  Shares shares;              // the lanes that it should own
  Outgoing outgoing;          // what is on its way to the store
  Reads reads;                // what is read from the store
  Loader loader;              // loads jobs and mailboxes
  Jobs jobs;                  // what is decided for jobs, and the outcomes
  Mailboxes mailboxes;        // the same for mailboxes
  Bundles bundles;            // decisions on their way to the store and back
  Workshop workshop;          // work that is handed to local workers
  FarReplies far_replies;     // replies of workers in other processes that go into a bundle
  Transactions transactions;  // replies with SQL of the worker
  Post post;                  // messages between jobs
  Alarms alarms;              // what is due at a time

  std::size_t waiting_bytes() const { return outgoing.bytes() + jobs.busy_bytes(); }
  bool has_room() const { return waiting_bytes() < options.bytes_max.waiting; }
  bool may_find_more() const;  // whether what a scan or an alarm finds can be served soon
  core::DecideOptions decide_options(const OwnedLane& lane);

  // Another engine has it, or may have it: all that is remembered of it may be wrong from now on.
  void lane_lost(core::LaneId lane);
  void lane_taken(core::LaneId lane);  // lost, and another engine has it

 private:
  std::uint64_t bundles_named_ = 0;
};

}  // namespace pawl::runtime
