// Notification: how a process that commits notifies the owner of a lane. The notification names what changed, so that
// the receiver looks only there. It is a hint and may be lost: the store holds the truth, and a lost notification costs
// a delay, never a message.
//
// Who receives what:
// 1. A listener receives what others committed, and possibly what its own process committed.
// 2. A lost notification is noticed: the listener is notified to look everywhere, at most ring_late_max() later. Where
//    lanes have a lease, their owner also looks everywhere with each renewal.
// 3. Some stores notify with each commit by themselves (SQLite, whose owner is another process). There ring() adds
//    nothing.
#pragma once

#include "core/ids.h"
#include "pawl/time.h"
#include "store/change.h"

namespace pawl::store {

// Called from any thread, also from a thread inside ring(): it must not block and must not call the store.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void rung(const Change& change) = 0;
  virtual void owner_gone() = 0;  // the owner of all lanes is gone: they can be acquired
};

// Threads: any.
class Notification {
 public:
  virtual ~Notification() = default;

  // From now on; call it before the first AcquireLane. REQUIRES: the listener exists until stop_listening().
  virtual void listen(Listener& listener) = 0;
  virtual void stop_listening(Listener& listener) = 0;
  // Notifies the owner of the lane; 0: all owners. Never blocks and never reports a failure.
  virtual void ring(core::LaneId lane, const Change& change) = 0;
  // How long it takes at most to notice a lost notification. 0: none is ever lost.
  virtual Duration ring_late_max() const = 0;
};

}  // namespace pawl::store
