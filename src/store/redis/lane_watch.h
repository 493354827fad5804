// LaneWatch: whether the server still has what it had. Each commit of a lane raises a number there; a process remembers
// the highest that it saw. A server that has less, or another store, was emptied, went back to an older copy, or is a
// replica that was behind: nothing is written there, and what is read there is not believed. If the data comes back,
// the lane goes on.
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

  // What a server says that is not what it was; the lane is lost until it is seen in order again.
  Error another_store(core::LaneId lane, const std::string& has);
  Error older_state(core::LaneId lane, const std::string& has);

  // For whoever commits without the script that looks at this itself: what to ask, whether the answer is in order, and
  // what to add to the commit. The answer is compared with what was known when it was asked for: others commit
  // meanwhile.
  std::uint64_t ask(Commands& commands, core::LaneId lane) const;
  Status check(core::LaneId lane, const Reply& answer, std::uint64_t known);
  void count(Commands& commands, core::LaneId lane) const;

  // Of reads: whether what was found there can be believed. Where nothing was found the server is asked whether it is
  // in order.
  enum class Found : bool { nothing, something };
  Status believe(core::LaneId lane, Found found);
  Status believe_that_nothing_is_there();  // in any lane

 private:
  struct Memory {
    std::uint64_t highest = 0;
    std::string lost;  // why; empty: it is in order
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
