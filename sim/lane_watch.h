// LaneWatch: checks who owns the lanes while engines come and go. The store reports the owner of a lane, the world
// reports which engines are alive. Oracles:
//
//   lanes    no lane is without a living owner for longer than a lease and a margin, while an engine is alive and there
//            is no other fault
//   shares   when nothing has changed for a while, the living engines share the lanes, within one of each other
//
// WatchStore's `lease` checks that a lane never has two owners.
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
  // Until then a fault may delay what is due.
  void disturbed(Duration until) { calm_since_ = std::max(calm_since_, until); }
  void owned(core::LaneId lane, const std::string& owner, Duration now);  // empty: given back

  void look(Duration now);                             // for lanes without an owner
  void check_shares(Duration now);                     // REQUIRES: nothing changes any more
  Duration changed_at() const { return changed_at_; }  // when a lane last got a living owner
  std::uint64_t moves() const { return moves_; }       // of lanes, from one living owner to another

 private:
  struct Lane {
    std::string owner;  // alive; empty: none
    std::string last;   // the last living owner
    Duration since{0};  // without an owner
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
