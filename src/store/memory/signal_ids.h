// SignalIds: the guids of the signals that a lane took from outside, as long as they are remembered.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/guid.h"
#include "pawl/time.h"

namespace pawl::store::memory {

class SignalIds {
 public:
  bool has(const core::Guid& guid, Instant now) const;
  // REQUIRES: !has(guid, now). Deletes a few that are too old or too many.
  void add(const core::Guid& guid, Instant now);
  std::vector<core::Guid> in_order() const;

 private:
  struct Row {
    core::Guid guid;
    Instant until;
  };
  void drop(std::uint64_t seq);

  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Row> rows_;  // by arrival
  std::map<core::Guid, std::uint64_t> by_guid_;
};

}  // namespace pawl::store::memory
