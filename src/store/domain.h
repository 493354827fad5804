// Domain: the keys that one operation reads and writes. A lane is an island: its rows are together on one node of a
// store, other lanes may be elsewhere, and no transaction reaches both. What crosses goes through the outbox.
// docs/decisions/025-lanes-are-islands.md has the list of keys.
#pragma once

#include "store/operation.h"

namespace pawl::store {

struct Domain {
  enum class Kind : std::uint8_t { lane, all_lanes, catalogue };  // the catalogue: pools, engines and apps
  Kind kind = Kind::catalogue;
  core::LaneId lane{0};  // of one
  friend auto operator<=>(const Domain&, const Domain&) = default;
};

Domain domain_of(const Operation& operation);

}  // namespace pawl::store
