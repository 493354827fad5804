// JSON pointers over Node trees: $refs, and finding the mark of a place inside an expression or a schema.
#pragma once

#include <string>
#include <string_view>

#include "graph/node.h"

namespace pawl::graph {

struct Walk {
  const Node* node;     // the target, or the deepest node on the way
  Mark mark;            // of the value when it is a leaf, else of the key that led there
  Mark key_mark;        // of that key; of the value when it is in a list
  bool complete;        // false when a part was missing
  std::string missing;  // that part
};

// `pointer` is "" or "/a/0/b~1c".
Walk walk_pointer(const Node& root, std::string_view pointer);

// "/a/0/b" in readable form below `base`: base.a[0].b
std::string append_pointer(std::string base, const Node& root, std::string_view pointer);

// Appends a key to a path, quoted when it contains a dot or a space: base.key or base["order.paid"].
std::string append_key(std::string base, std::string_view key);

}  // namespace pawl::graph
