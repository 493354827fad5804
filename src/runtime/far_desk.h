// FarDesk: who waits outside of this process for work of its jobs. The engine claims work for them in the commit that
// puts it, under their lease, so that the work is theirs in the store before they hear of it: then the process may die,
// and the claim is as good as one that they made themselves (ClaimWork). Called on the engine's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine_types.h"
#include "runtime/handouts.h"

namespace pawl::runtime {

class FarDesk {
 public:
  virtual ~FarDesk() = default;
  // Somebody with room for one item of this size; none: it is put for all. The room is taken until one of the next two
  // is called for it.
  virtual std::optional<FarTaker> find_taker(const std::string& topic, std::size_t bytes) = 0;
  struct Given {
    std::uint64_t taker = 0;
    TakenWork work;
  };
  virtual void give(std::vector<Given> work) = 0;  // it is durable; once a turn
  virtual void free_room(std::uint64_t taker) = 0;
  // So many items of the topic may be taken from the store, or more than were known.
  virtual void work_waits(const std::string& topic, std::size_t count) = 0;
};

}  // namespace pawl::runtime
