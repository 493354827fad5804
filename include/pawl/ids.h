// The names of things. Each has its own type; the `check` functions tell what a valid one looks like.
//
//   const pawl::JobId order("order-17");
//   bool is_name(const std::string& text) { return pawl::check_name("job id", text).ok(); }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pawl/result.h"
#include "pawl/strong.h"

namespace pawl {

using Namespace = Strong<struct NamespaceTag, std::string>;  // a tenant's name space
using JobId = Strong<struct JobIdTag, std::string>;          // chosen by the user, unique in its namespace
using GraphName = Strong<struct GraphNameTag, std::string>;
using ActivityName = Strong<struct ActivityNameTag, std::string>;  // a node of a graph
using Topic = Strong<struct TopicTag, std::string>;                // what a worker serves
using Pool = Strong<struct PoolTag, std::string>;                  // which code a job needs

// One life of a job id. Never used twice in a store, so a message for an earlier run changes nothing. A store that was
// restored from a backup gives out the numbers since then again: outside the store, use job ids and idempotency keys.
// The lane is in the upper bits: every row keyed by a run id is keyed by its lane as well.
using RunId = Strong<struct RunIdTag, std::uint64_t>;

inline Namespace default_namespace() { return Namespace("default"); }

// Names that people type: 1 to 200 bytes of letters, digits and . _ - : / @ + =, not starting with '-'.
// `what` names the field in the error, such as "job id".
Status check_name(std::string_view what, std::string_view name);

}  // namespace pawl
