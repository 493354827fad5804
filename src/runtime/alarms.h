// Alarms: what the clock sets going: timers of jobs and mailboxes, times of work items, removals. An alarm only says
// "look there now"; what it was about may be over, or later, when its time comes.
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
  // After a commit that moved its times. The reply may come later than they do: then its turn is now.
  void arm_changed(OwnedLane& lane, const core::WorkItem& item);
  void fire_due();
  void fire_message(OwnedLane& lane, const store::Due& due);
  void fire_work(OwnedLane& lane, const WorkRef& ref);
  // A timer whose time came while this engine had the lane is entered for the first time. An older one may have
  // been the last thing that its owner saw.
  core::Origin origin_of_timer(const OwnedLane& lane, Instant due) const;

  void tick();        // tries again what could not be served
  void look_again();  // others may have put times
  std::optional<Instant> next() const;
  bool must_try_again() const;  // something could not be served
  bool wants_page() const;      // the times that come next are not read yet

 private:
  bool read_page(OwnedLane& lane);  // true: it is here
  void fire(OwnedLane& lane, const store::Due& due);
  void message_read(OwnedLane& lane, const store::Due& due, std::uint64_t launches, core::InboxMessage message);
  void take_timer(OwnedLane& lane, const store::Due& due, std::uint64_t launches, core::InboxMessage message);
  void work_read(OwnedLane& lane, const WorkRef& ref, const store::AnswerTo<store::ReadItem>& item);

  Parts& parts_;
};

}  // namespace pawl::runtime
