// What happens to a work item outside a bundle's steps: the same for every store and for the engine.
#include <algorithm>
#include <utility>

#include "core/job_state.h"
#include "core/work_token.h"

namespace pawl::core {

namespace {

constexpr Instant never;

Instant sooner(Instant a, Instant b) {
  if (a == never) return b;
  return b == never ? a : std::min(a, b);
}

Instant after(Instant now, Duration time) { return time.count() == 0 ? never : now + time; }

}  // namespace

Instant wake_of(const WorkItem& item) {
  const WorkLife& life = item.life;
  if (item.held) return never;
  if (life.unknown) return life.deadline;
  if (item.token == WorkToken(0)) return sooner(sooner(item.visible_at, life.queue_by), life.deadline);
  const Instant run = sooner(life.attempt_by, life.heartbeat_by);
  return sooner(sooner(run, life.deadline), item.epoch == Epoch(0) ? item.lease_until : never);
}

void begin_run(WorkItem& item, std::string worker, Epoch epoch, Instant lease_until, Instant now) {
  item.runs += 1;
  item.token = token_of(item.request, item.runs);
  item.worker = std::move(worker);
  item.epoch = epoch;
  item.lease_until = lease_until;
  item.visible_at = never;
  item.life.unknown = false;
  item.life.queue_by = never;
  item.life.attempt_by = after(now, item.life.attempt_timeout);
  item.life.heartbeat_by = after(now, item.life.heartbeat_timeout);
}

void release(WorkItem& item, Instant now) {
  item.token = WorkToken(0);
  item.worker.clear();
  item.epoch = Epoch(0);
  item.lease_until = never;
  item.life.attempt_by = never;
  item.life.heartbeat_by = never;
  item.life.queue_by = after(std::max(now, item.visible_at), item.life.queue_timeout);
}

}  // namespace pawl::core
