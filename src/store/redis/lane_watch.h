// LaneWatch: whether the server still has its data. Each commit of a lane increases a number there; a process remembers
// the highest that it saw. A server with a smaller number, or with another store, was emptied, was restored from an
// older copy, or is a replica that was behind: then nothing is written there, and reads from there fail. If the data
// comes back, the lane continues.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/guid.h"
#include "core/ids.h"
#include "pawl/result.h"
#include "store/redis/keys.h"
#include "store/redis/servers.h"

namespace pawl::store::redis {

class LaneWatch {
 public:
  // The references must outlive it.
  LaneWatch(Servers& servers, const Keys& keys, core::Guid store) : servers_(servers), keys_(keys), store_(store) {}

  std::uint64_t highest(core::LaneId lane) const;
  void saw(core::LaneId lane, std::uint64_t commits);

  // For a server that has another store's id: the lane counts as lost until it is in order again.
  Error another_store(core::LaneId lane, const std::string& has);
  Error older_state(core::LaneId lane, const std::string& has);

  // For commits without the script, which makes this check itself: what to ask, whether the reply is in order, and what
  // to add to the commit. The reply is compared with what was known when it was asked for: others commit meanwhile.
  std::uint64_t ask(Commands& commands, core::LaneId lane) const;
  Status check(core::LaneId lane, const Reply& answer, std::uint64_t known);
  void count(Commands& commands, core::LaneId lane) const;

  // For reads: whether the data found there can be trusted. If nothing was found, the server is asked whether the lane
  // is in order.
  enum class Found : bool { nothing, something };
  Status believe(core::LaneId lane, Found found);
  Status believe_that_nothing_is_there();  // in any lane

 private:
  struct Memory {
    std::uint64_t highest = 0;
    std::string lost;  // the reason; empty: in order
  };
  Error lose(core::LaneId lane, std::string why);
  Status look_at(const std::vector<core::LaneId>& lanes);

  Servers& servers_;
  const Keys& keys_;
  const core::Guid store_;
  mutable std::mutex mutex_;  // guards what is below
  std::map<core::LaneId, Memory> memory_;
};

}  // namespace pawl::store::redis
