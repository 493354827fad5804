// Shares: which lanes this engine should have. It beats: it says that it lives and what it holds, hears who else does,
// and from that takes what is free of its share and gives back what is too much (lane_share.h). A beat goes out with
// the renewals of the lanes, and is answered as they are: nothing is polled or read.
//
// A lane is given back in good order: nothing new of it is decided or handed out, what is on its way and what workers
// have of it is finished, then it is released. What takes longer than that may is left alone, and another lane is
// tried: a run is never cut off, and no lane stands still for long, because engines come and go.
//
// Where lanes have no lease (one process has them all) nothing of this happens.
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

  void tick();       // what is due: a beat, renewals, lanes to ask for, lanes to give back
  void stop();       // takes nothing more, and says so
  void leave();      // nobody need wait until it is missed
  void tell_soon();  // what it holds has changed
  void hear();       // somebody came or went, or gave lanes back
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
  bool beat_out_ = false;  // its answer is not here yet
  bool known_ = false;     // an earlier beat of this life was answered
  Duration beat_at_{0};
  Duration look_at_{0};                      // at what is to be given back
  std::map<core::LaneId, Duration> giving_;  // since when
  std::map<core::LaneId, Duration> kept_;    // could not be given back, the last time it was tried
};

}  // namespace pawl::runtime
