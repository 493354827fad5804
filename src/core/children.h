// Which activities follow an answer, and at which address. Pure, and shared by every collation.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph.h"
#include "core/message.h"
#include "ledger/dimensions.h"

namespace pawl::core {

bool fires(const Condition& when, ReplyStatus status, std::int32_t code);
// Whether any transition of `node` fires. An error that no transition catches fails the job.
bool any_fires(const Graph::Node& node, ReplyStatus status, std::int32_t code);

struct Child {
  std::uint32_t node = 0;
  ledger::Dimensions at;
};

// The children of `node`, which is at address `at`, after an answer in `plane`. In the order of the edges.
std::vector<Child> children_of(const Graph& graph, std::uint32_t node, const ledger::Dimensions& at,
                               std::uint32_t plane, ReplyStatus status, std::int32_t code);

}  // namespace pawl::core
