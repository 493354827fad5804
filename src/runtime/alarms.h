// Alarms: what is due at a time: timers of jobs and mailboxes, times of work items, removals. An alarm only means "look
// there now": when its time comes, its subject may be over or due later.
#pragma once

#include <optional>

#include "core/decide.h"
#include "runtime/owned_lane.h"
#include "store/read.h"

namespace pawl::runtime {

struct Parts;

class Alarms {
 public:
  explicit Alarms(Parts& parts) : parts_(parts) {}

  void arm(OwnedLane& lane, const store::Due& due);
  void arm(OwnedLane& lane, const core::WorkItem& item);
  // After a commit that changed its times. The reply may come later than these times: then the alarm fires now.
  void arm_changed(OwnedLane& lane, const core::WorkItem& item);
  void fire_due();
  void fire_message(OwnedLane& lane, const store::Due& due);
  void fire_work(OwnedLane& lane, const WorkRef& ref);
  // A timer whose time came while this engine had the lane is entered for the first time. An older one may have been
  // served by an owner that crashed on it.
  core::Origin origin_of_timer(const OwnedLane& lane, Instant due) const;

  void tick();        // retries what could not be served
  void look_again();  // other processes may have set times
  std::optional<Instant> next() const;
  bool must_try_again() const;  // something could not be served
  bool wants_page() const;      // the next times are not read yet

 private:
  bool read_page(OwnedLane& lane);  // true: it is read already
  void fire(OwnedLane& lane, const store::Due& due);
  void message_read(OwnedLane& lane, const store::Due& due, std::uint64_t launches, core::InboxMessage message);
  void take_timer(OwnedLane& lane, const store::Due& due, std::uint64_t launches, core::InboxMessage message);
  void work_read(OwnedLane& lane, const WorkRef& ref, const store::AnswerTo<store::ReadItem>& item);

  Parts& parts_;
};

}  // namespace pawl::runtime
