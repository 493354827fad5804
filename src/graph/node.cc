#include "graph/node.h"

#include <algorithm>

#include <boost/json.hpp>

#include "base/format.h"

namespace pawl::graph {

const Entry* Node::find_entry(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

const Node* Node::find(std::string_view key) const {
  const Entry* entry = find_entry(key);
  return entry == nullptr ? nullptr : &entry->value;
}

boost::json::value to_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return nullptr;
    case Node::Kind::boolean:
      return node.truth;
    case Node::Kind::integer:
      return node.integer;
    case Node::Kind::real:
      return node.real;
    case Node::Kind::text:
      return boost::json::value(boost::json::string_view(node.text.data(), node.text.size()));
    case Node::Kind::list: {
      boost::json::array out;
      out.reserve(node.items.size());
      for (const Node& item : node.items) out.push_back(to_json(item));
      return out;
    }
    case Node::Kind::map: {
      boost::json::object out;
      out.reserve(node.entries.size());
      for (const Entry& entry : node.entries)
        out.emplace(boost::json::string_view(entry.key.data(), entry.key.size()), to_json(entry.value));
      return out;
    }
  }
  return nullptr;
}

std::string describe(const Node& node) {
  constexpr std::size_t shown_bytes_max = 40;
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::boolean:
      return node.truth ? "true" : "false";
    case Node::Kind::integer:
      return format("the number {}", node.integer);
    case Node::Kind::real:
      return format("the number {}", node.real);
    case Node::Kind::text:
      return node.text.size() <= shown_bytes_max ? format("the text '{}'", node.text) : std::string("a text");
    case Node::Kind::list:
      return "a list";
    case Node::Kind::map:
      return "a map";
  }
  return {};
}

std::size_t count_nodes(const Node& node) {
  std::size_t count = 1;
  for (const Node& item : node.items) count += count_nodes(item);
  for (const Entry& entry : node.entries) count += count_nodes(entry.value);
  return count;
}

Mark mark_inside(const Node& node, std::size_t at) {
  Mark mark = node.mark;
  if (!node.is_text() || !node.text_shift || at == 0) return mark;
  std::uint32_t characters = *node.text_shift;
  for (std::size_t i = 0; i < std::min(at, node.text.size()); ++i)
    if ((static_cast<unsigned char>(node.text[i]) & 0xC0U) != 0x80U) ++characters;
  mark.column += characters;
  return mark;
}

}  // namespace pawl::graph
