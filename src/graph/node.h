// The tree of a YAML document: JSON's shapes, and the position of every key and value.
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
  // How many characters of the source are before `text` at `mark` (the quote), if the source has it unchanged: one
  // line, no escapes. Then a position inside the text has an exact column.
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

// The position of byte `at` of a text, as exact as it is known.
Mark mark_inside(const Node& node, std::size_t at);

// "a list", "a number", "the text 'abc'": for messages.
std::string describe(const Node& node);

// Nodes of the tree, the root included.
std::size_t count_nodes(const Node& node);

}  // namespace pawl::graph
