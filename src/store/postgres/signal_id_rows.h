// SignalIdRows: the ids of signals from outside that a lane remembers, so that a repeated signal counts once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/guid.h"
#include "core/ids.h"
#include "pawl/time.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

class SignalIdRows {
 public:
  using Key = std::pair<core::LaneId, core::Guid>;
  void want(core::LaneId lane, const core::Guid& guid) { wanted_.emplace(lane, guid); }

  void ask(Script& script);
  Status take(Done& answers);
  void write(Script& script, Instant now) const;
  void forget() { *this = SignalIdRows(); }

  bool has(core::LaneId lane, const core::Guid& guid, Instant now) const;
  // `seq`: its number in the lane, larger than all earlier ones.
  void add(core::LaneId lane, const core::Guid& guid, Instant now, std::uint64_t seq);

 private:
  struct Slot {
    bool stored = false;
    Instant until;
    std::uint64_t seq = 0;
    bool changed = false;
  };
  std::set<Key> wanted_;
  std::optional<std::size_t> at_;
  std::map<Key, Slot> slots_;
};

}  // namespace pawl::store::postgres
