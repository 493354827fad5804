// Shares: which lanes this engine should have. It sends reports: that it is alive and what it holds. The reply lists
// the other engines; from that it takes free lanes up to its share and gives back its surplus (lane_share.h). A report
// goes out with the renewals of the lanes, and is answered with them: nothing is polled or read.
//
// A lane is given back in order: nothing new of it is decided or handed out, what is on its way and what workers have
// of it is finished, then it is released. If that takes too long the lane is kept, and another one is tried: joining
// and leaving engines never cut off an attempt and never block a lane for long.
//
// Where lanes have no lease (one process has them all) this class does nothing.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "runtime/engine_types.h"
#include "runtime/owned_lane.h"

namespace pawl::runtime {

struct Parts;

class Shares {
 public:
  explicit Shares(Parts& parts) : parts_(parts) {}

  void tick();           // what is due: a report, renewals, lanes to ask for, lanes to give back
  void stop();           // takes nothing more, and reports that
  void leave();          // the others need not wait until it is missed
  void tell_soon();      // what it holds has changed
  void lanes_changed();  // an engine came or went, or gave lanes back
  void settle_beat(const store::BeatEngine& beat, const store::Outcome& outcome);
  void settle_release(const store::ReleaseLane& release, const store::Outcome& outcome);
  std::optional<Duration> next_wake() const;

 private:
  bool is_shared() const;
  void beat(Duration now);
  void ask(Duration now);
  void plan(const store::BeatEngine& beat, const store::Outcome& outcome, Duration now);
  void give(std::size_t count, Duration now);
  void look_at_given(Duration now);
  bool is_quiet(OwnedLane& lane);
  void keep(OwnedLane& lane);

  Parts& parts_;
  bool beat_out_ = false;  // its reply is not here yet
  bool known_ = false;     // an earlier report of this process was answered
  Duration beat_at_{0};
  Duration look_at_{0};                      // when to check what is to be given back
  std::map<core::LaneId, Duration> giving_;  // since when
  std::map<core::LaneId, Duration> kept_;    // could not be given back, at the last attempt
};

}  // namespace pawl::runtime
