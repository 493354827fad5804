// LaneWatch: who owns the lanes while engines come and go. It hears from the store who has a lane, and from the world
// which engines live; it demands
//
//   lanes    no lane is without a living owner for longer than a lease and a margin, while an engine lives and nothing
//            else goes wrong
//   shares   when nothing has changed for a while, the lanes are shared by those that live, within one of each other
//
// That a lane never has two owners is WatchStore's `lease`.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/ids.h"
#include "pawl/time.h"
#include "sim/verdict.h"

namespace pawl::sim {

class LaneWatch {
 public:
  struct Times {
    Duration lease{0};
    Duration margin{0};
  };
  // `verdict` must outlive it.
  LaneWatch(Verdict& verdict, Times times) : verdict_(verdict), times_(times) {}

  void add_lane(core::LaneId lane) { lanes_[lane]; }
  void lives(const std::string& engine, Duration now);
  void is_gone(const std::string& engine, Duration now);
  // Something is in the way of somebody until then: what is due to happen may happen later.
  void disturbed(Duration until) { calm_since_ = std::max(calm_since_, until); }
  void owned(core::LaneId lane, const std::string& owner, Duration now);  // empty: given back

  void look(Duration now);                             // for lanes that nobody has
  void check_shares(Duration now);                     // nothing is done any more
  Duration changed_at() const { return changed_at_; }  // when a lane last got a living owner
  std::uint64_t moves() const { return moves_; }       // of lanes, from one living owner to another

 private:
  struct Lane {
    std::string owner;  // living; empty: none
    std::string last;   // that lived
    Duration since{0};  // without one
  };

  Verdict& verdict_;
  const Times times_;
  std::set<std::string> alive_;
  std::map<core::LaneId, Lane> lanes_;
  Duration calm_since_{0};
  Duration changed_at_{0};
  Duration members_changed_at_{0};
  std::uint64_t moves_ = 0;
};

}  // namespace pawl::sim
