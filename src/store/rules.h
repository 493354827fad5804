// What an operation means to the row it is asked of: written once, for every store.
#pragma once

#include "core/job_state.h"
#include "store/operation.h"

namespace pawl::store {

// Who holds an id, as far as a Submit cares.
struct KeyHolder {
  bool open = false;  // its job is there and not closed
  bool over = false;  // its job is gone, and so is the key's time
};
inline bool is_taken(Reuse reuse, const KeyHolder& holder) {
  switch (reuse) {
    case Reuse::never:
      return !holder.over;
    case Reuse::after_close:
      return holder.open;
    case Reuse::replace:
      return false;
  }
  return true;
}

// An error was answered: the item is the job's, until it decides.
inline void await_decision(core::WorkItem& item) {
  item.epoch = core::Epoch(0);
  item.lease_until = Respond::until_decided;
}
inline bool awaits_decision(const core::WorkItem& item) { return item.lease_until == Respond::until_decided; }

inline void extend(core::WorkItem& item, const ExtendWork& by, Instant now) {
  if (by.detach) item.epoch = core::Epoch(0);
  if (item.epoch == core::Epoch(0)) item.lease_until = now + by.lease;
  if (item.life.heartbeat_timeout.count() != 0) item.life.heartbeat_by = now + item.life.heartbeat_timeout;
  if (by.progress) item.life.progress = *by.progress;
}

}  // namespace pawl::store
