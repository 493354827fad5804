// The tree of a YAML document: JSON's shapes, and for every key and value the place it came from.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/source.h"

namespace pawl::graph {

struct Entry;

struct Node {
  enum class Kind : std::uint8_t { null, boolean, integer, real, text, list, map };

  Kind kind = Kind::null;
  bool truth = false;
  Mark mark;
  union {
    std::int64_t integer = 0;
    double real;
  };
  std::string text;
  // How many characters of the source stand before `text` at `mark` (the quote), if it stands there as it is: one line,
  // no escapes. Then a place inside the text has a column of its own.
  std::optional<std::uint8_t> text_shift;
  std::vector<Node> items;
  std::vector<Entry> entries;

  bool is_map() const { return kind == Kind::map; }
  bool is_list() const { return kind == Kind::list; }
  bool is_text() const { return kind == Kind::text; }
  const Node* find(std::string_view key) const;
  const Entry* find_entry(std::string_view key) const;
};

struct Entry {
  std::string key;
  Mark mark;
  Node value;
};

boost::json::value to_json(const Node& node);

// Where byte `at` of a text stands, as near as that is known.
Mark mark_inside(const Node& node, std::size_t at);

// "a list", "a number", "the text 'abc'": for messages.
std::string describe(const Node& node);

// Nodes of the tree, the root included.
std::size_t count_nodes(const Node& node);

}  // namespace pawl::graph
