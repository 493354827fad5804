#include "graph/pointer.h"

#include <charconv>

#include "base/format.h"

namespace pawl::graph {
namespace {

std::string unescaped(std::string_view part) {
  std::string out;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '~' && i + 1 < part.size() && (part[i + 1] == '0' || part[i + 1] == '1')) {
      out += part[++i] == '0' ? '~' : '/';
    } else {
      out += part[i];
    }
  }
  return out;
}

const Node* item_of(const Node& list, std::string_view part) {
  std::size_t index = 0;
  const auto result = std::from_chars(part.data(), part.data() + part.size(), index);
  if (result.ec != std::errc{} || result.ptr != part.data() + part.size()) return nullptr;
  return index < list.items.size() ? &list.items[index] : nullptr;
}

template <class Visit>
void for_each_part(std::string_view pointer, Visit visit) {
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const auto slash = pointer.find('/');
    if (!visit(unescaped(pointer.substr(0, slash)))) return;
    pointer = slash == std::string_view::npos ? std::string_view{} : pointer.substr(slash);
  }
}

}  // namespace

Walk walk_pointer(const Node& root, std::string_view pointer) {
  Walk walk{&root, root.mark, root.mark, true, {}};
  for_each_part(pointer, [&](std::string part) {
    if (const Entry* entry = walk.node->find_entry(part)) {
      walk.node = &entry->value;
      walk.key_mark = entry->mark;
      // For a leaf its value is the better position to report; for a map or list, its key.
      const bool leaf = entry->value.items.empty() && entry->value.entries.empty();
      walk.mark = leaf && entry->value.kind != Node::Kind::null ? entry->value.mark : entry->mark;
      return true;
    }
    if (const Node* item = item_of(*walk.node, part)) {
      walk.node = item;
      walk.mark = item->mark;
      walk.key_mark = item->mark;
      return true;
    }
    walk.complete = false;
    walk.missing = std::move(part);
    return false;
  });
  return walk;
}

std::string append_key(std::string base, std::string_view key) {
  const bool plain = !key.empty() && key.find_first_of(". []\"") == std::string_view::npos;
  if (!plain) return base + format("[\"{}\"]", key);
  if (!base.empty()) base += '.';
  base += key;
  return base;
}

std::string append_pointer(std::string base, const Node& root, std::string_view pointer) {
  const Node* node = &root;
  for_each_part(pointer, [&](std::string part) {
    const Node* next = nullptr;
    if (node != nullptr && node->is_list()) {
      next = item_of(*node, part);
      base += format("[{}]", part);
    } else {
      next = node == nullptr ? nullptr : node->find(part);
      base = append_key(std::move(base), part);
    }
    node = next;
    return true;
  });
  return base;
}

}  // namespace pawl::graph
