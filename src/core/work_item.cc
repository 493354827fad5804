// Changes of a work item outside a bundle's steps: the same for every store and for the engine.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/job_state.h"
#include "core/secret.h"

namespace pawl::core {

namespace {

constexpr Instant never;
// The lease of an item whose error waits for the job's decision. It needs no wake-up: the reply in the inbox wakes the
// job.
constexpr Instant endless = Instant::from_micros(std::numeric_limits<std::int64_t>::max());

Instant moment(Instant now, Duration time) { return time.count() == 0 ? never : now + time; }

}  // namespace

Instant wake_of(const WorkItem& item, Instant after) {
  const WorkLife& life = item.life;
  Instant wake;
  const auto look_at = [&](Instant at) {
    if (at > after && (wake == never || at < wake)) wake = at;
  };
  if (item.held) return never;
  look_at(life.deadline);
  if (life.unknown) return wake;
  if (item.token == WorkToken(0)) {
    look_at(item.visible_at);
    look_at(life.queue_by);
  } else if (item.epoch == Epoch(0)) {  // the process of a local attempt keeps its clocks
    look_at(life.attempt_by);
    look_at(life.heartbeat_by);
    if (item.lease_until != endless) look_at(item.lease_until);
  }
  return wake;
}

void begin_run(WorkItem& item, std::string worker, Epoch epoch, Instant lease_until, Instant now) {
  const bool local = epoch != Epoch(0);
  const bool was_lost = item.token != WorkToken(0);
  item.runs += 1;
  item.token = token_of(item.request, item.runs, epoch);
  item.worker = std::move(worker);
  item.epoch = epoch;
  item.lease_until = lease_until;
  item.visible_at = never;
  item.life.unknown = false;
  // A local claim still waits for a thread, and the clocks of its attempt start when one begins: no instant is known
  // now.
  item.life.attempt_by = local ? never : moment(now, item.life.attempt_timeout);
  item.life.heartbeat_by = local ? never : moment(now, item.life.heartbeat_timeout);
  if (!local)
    item.life.queue_by = never;
  else if (was_lost)
    item.life.queue_by = moment(now, item.life.queue_timeout);
}

Guid idempotency_key(const WorkItem& item, const Guid& store) {
  if (item.plain_key) return Guid{item.request.high ^ store.high, item.request.low ^ store.low};
  return key_of_work(item.request);
}

void release(WorkItem& item, Instant now, Began began) {
  const bool local = item.epoch != Epoch(0);
  if (local && item.runs > 0) item.runs -= 1;
  item.token = WorkToken(0);
  item.worker.clear();
  item.epoch = Epoch(0);
  item.lease_until = never;
  item.life.attempt_by = never;
  item.life.heartbeat_by = never;
  if (!local || began == Began::yes)
    item.life.queue_by = moment(std::max(now, item.visible_at), item.life.queue_timeout);
}

}  // namespace pawl::core
