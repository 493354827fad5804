// LaneTable: which lanes this engine owns, under which epoch, and until when it may act for them; and which it wants.
// An owner stops at (monotonic time before it asked) + lease - margin, whatever it learns later: the store's clock and
// ours may differ, and the guard in the store decides in the end. Not thread-safe: the engine owns it.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/ids.h"
#include "pawl/time.h"
#include "store/store.h"

namespace pawl::runtime {

// The lane of a job id, or of another target of a message.
core::LaneId lane_for(const store::PoolInfo& pool, const Namespace& name_space, std::string_view id);
core::LaneId lane_for(const store::PoolInfo& pool, const core::Target& target);

class LaneTable {
 public:
  // lease 0: lanes are held without renewal until the process ends, and all of them are wanted. Otherwise none is, at
  // first.
  LaneTable(store::PoolInfo pool, Duration lease);

  core::LaneId lane_for(const Namespace& name_space, std::string_view id) const {
    return runtime::lane_for(pool_, name_space, id);
  }
  core::LaneId lane_for(const core::Target& target) const { return runtime::lane_for(pool_, target); }
  bool owns(core::LaneId lane, Duration monotonic) const;
  core::Epoch epoch(core::LaneId lane) const;  // REQUIRES: it was acquired
  std::vector<core::LaneId> owned(Duration monotonic) const;
  std::vector<core::LaneId> owned_or_asked(Duration monotonic) const;
  std::vector<core::LaneId> given_up() const;  // neither owned nor wanted, and no operation for them is under way
  bool is_asked(core::LaneId lane) const { return lanes_.at(lane).asked; }  // an operation for it is under way
  std::vector<core::LaneId> all() const;
  const store::PoolInfo& pool() const { return pool_; }

  // The lanes to try for, beside the owned ones, until the next call.
  void want(const std::vector<core::LaneId>& lanes);
  // Also renews what is due soon: a commit is under way anyway.
  void renew_early(Duration monotonic);

  enum class Wants : std::uint8_t { everything, renewals };
  // The operations to send now: lanes to renew or to try to take.
  std::vector<store::Operation> due(const std::string& owner, Duration monotonic, Wants wants = Wants::everything);
  // When due() will next return something; none: never.
  std::optional<Duration> next_due() const;

  void acquired(core::LaneId lane, core::Epoch epoch, Duration asked_at, bool expires);
  void renewed(core::LaneId lane, Duration asked_at);
  void refused(core::LaneId lane, Duration monotonic);  // another engine has it, for a while
  void ask_again(core::LaneId lane);                    // at once, or when the reply that is on its way is a refusal
  void lost(core::LaneId lane, Duration monotonic);
  void giving_back(core::LaneId lane);  // not owned from now on; nothing is sent until the reply arrives
  bool is_giving_back(core::LaneId lane) const { return lanes_.at(lane).gives; }
  void given_back(core::LaneId lane);

 private:
  struct Lane {
    core::Epoch epoch{0};
    bool owned = false;
    bool wanted = false;
    bool gives = false;  // its release is under way
    bool asked = false;  // an operation is under way
    bool again = false;  // if it is refused, the reason may be gone by now
    bool expires = false;
    Duration usable_until{0};
    Duration ask_at{0};
    bool waits = false;  // do not ask before a notification (no lease: the store notifies)
  };
  store::PoolInfo pool_;
  Duration lease_;
  std::map<core::LaneId, Lane> lanes_;
};

}  // namespace pawl::runtime
