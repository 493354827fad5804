// Domain: the keys that one operation reads and writes. The rows of a lane are together on one node of a store, other
// lanes may be on other nodes, and no transaction spans two of them. What goes to another lane goes through the outbox.
// docs/decisions/025-lanes-are-islands.md lists the keys.
#pragma once

#include "store/operation.h"

namespace pawl::store {

struct Domain {
  enum class Kind : std::uint8_t { lane, all_lanes, catalogue };  // the catalogue: pools, engines and apps
  Kind kind = Kind::catalogue;
  core::LaneId lane{0};  // for Kind::lane
  friend auto operator<=>(const Domain&, const Domain&) = default;
};

Domain domain_of(const Operation& operation);

}  // namespace pawl::store
