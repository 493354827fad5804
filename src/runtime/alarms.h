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
  // Loads jobs whose timers are due soon: when many are due in the same instant, none waits for the reads of others.
  void look_ahead();
  void fire_message(OwnedLane& lane, const store::Due& due);
  void fire_work(OwnedLane& lane, const WorkRef& ref);
  // A timer whose time came while this engine had the lane is entered for the first time. An older one may have been
  // served by an owner that crashed on it.
  core::Origin origin_of_timer(const OwnedLane& lane, Instant due) const;

  void tick();        // retries what could not be served
  void look_again();  // other processes may have set times
  bool has_due() const;  // more of it may be served at once
  // Without what is due already and has to wait for reads or turns: their ends wake the engine.
  std::optional<Instant> next() const;
  std::optional<Instant> next_look_ahead() const;
  bool must_try_again() const;  // something could not be served
  bool wants_page() const;      // the next times are not read yet

 private:
  void look_ahead(OwnedLane& lane, std::size_t& left);
  bool may_look_ahead() const;
  bool read_page(OwnedLane& lane);  // true: it is read already
  void fire(OwnedLane& lane, const store::Due& due);
  // Its job is in memory, and its message with it.
  bool is_at_hand(const store::Due& due) const;
  bool may_fire(const store::Due& due) const;
  void message_read(OwnedLane& lane, const store::Due& due, std::uint64_t launches, core::InboxMessage message);
  void take_timer(OwnedLane& lane, const store::Due& due, std::uint64_t launches, core::InboxMessage message);
  void work_read(OwnedLane& lane, const WorkRef& ref, const store::AnswerTo<store::ReadItem>& item);

  Parts& parts_;
};

}  // namespace pawl::runtime
