// Notification: how whoever commits tells whoever acts for a lane that something is there. A ring says what changed, so
// that its hearer looks there and nowhere else. It is a hint, and may be lost: what is true stands in the store, and a
// lost ring costs a delay, never a message.
//
// Who is told what:
// 1. A listener hears what others committed, and perhaps what its own process did.
// 2. A ring that is lost is noticed without it: the listener hears of everything, at most ring_late_max() later. Where
//    lanes have a lease their owner also looks everywhere with each renewal.
// 3. Some stores ring with each commit by themselves (SQLite, whose owner is another process). There ring() adds
// nothing.
#pragma once

#include "core/ids.h"
#include "pawl/time.h"
#include "store/change.h"

namespace pawl::store {

// Called from any thread, also by one that is inside ring(): it must not wait, nor call the store.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void rung(const Change& change) = 0;
  virtual void owner_gone() = 0;  // whoever had all lanes is gone: they can be asked for
};

// Threads: any.
class Notification {
 public:
  virtual ~Notification() = default;

  // From now on, and before the first AcquireLane. REQUIRES: it lives until stop_listening().
  virtual void listen(Listener& listener) = 0;
  virtual void stop_listening(Listener& listener) = 0;
  // Tells whoever acts for the lane; 0: all of them. Never waits, and never fails loudly.
  virtual void ring(core::LaneId lane, const Change& change) = 0;
  // Within which time it is noticed that a ring was lost. 0: none is.
  virtual Duration ring_late_max() const = 0;
};

}  // namespace pawl::store
