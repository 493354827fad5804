// The three functions of a map: its items, one item, and what is kept of an item's body.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <limits>

#include "base/format.h"
#include "execute/documents.h"
#include "execute/program.h"
#include "execute/scene.h"
#include "execute/values.h"
#include "graph/limits.h"

namespace pawl::execute {

Result<core::Program::Items> GraphProgram::items(const core::Sight& sight) const {
  const auto& kind = kind_of_node<graph::Map>(sight.node);
  Scene scene(*app_, plan_, sight, sight.node, "items");
  auto value = scene.evaluate(kind.items, "items");
  if (!value) return value.error();
  const json::array* list = value->if_array();
  const json::object* object = value->if_object();
  if (list == nullptr && object == nullptr)
    return name_place(scene.activity(), "items",
                      {ErrorCode::invalid, format("wants a list or a map, got {}", execute::kind_of(*value))});
  const std::size_t count = list != nullptr ? list->size() : object->size();
  auto payload = write_payload(*value);
  if (!payload) return name_place(scene.activity(), "items", payload.error());
  Items items{.items = std::move(*payload), .count = static_cast<std::uint32_t>(count), .parallel = 1};
  if (kind.parallel) {
    auto parallel = scene.evaluate(*kind.parallel, "parallel");
    if (!parallel) return parallel.error();
    if (!parallel->is_null()) {
      auto whole = whole_of(*parallel, 1, static_cast<std::int64_t>(graph::parallel_max));
      if (!whole) return name_place(scene.activity(), "parallel", whole.error());
      items.parallel = static_cast<std::uint32_t>(*whole);
    }
  }
  return items;
}

Result<Payload> GraphProgram::item(const Payload& items, std::uint32_t index) const {
  const auto parsed = document_of(items);
  const json::value& collection = *parsed;
  const json::array* list = collection.if_array();
  const json::object* object = collection.if_object();
  const std::size_t count = list != nullptr ? list->size() : object != nullptr ? object->size() : 0;
  if (index >= count) return Error{ErrorCode::corrupt, format("a map of {} items was asked for item {}", count, index)};
  json::object out;
  if (list != nullptr) {
    out.emplace("item", (*list)[index]);
    out.emplace("index", index);
    out.emplace("key", format("{}", index));
  } else {
    const json::key_value_pair& member = object->begin()[index];
    out.emplace("item", member.value());
    out.emplace("index", index);
    out.emplace("key", member.key());
  }
  return write_payload(json::value(std::move(out)));
}

Result<Payload> GraphProgram::collect(const core::Sight& sight) const {
  // Called for the map or for the join that closes it: the expression belongs to the map.
  const auto& closes = plan_.place(sight.node).closes_map;
  const graph::ActivityIndex map = closes ? *closes : sight.node;
  const graph::OptionalFormula& formula = kind_of_node<graph::Map>(map).collect;
  if (!formula) return Payload("null");
  Scene scene(*app_, plan_, sight, map, "collect");
  return scene.evaluate_payload(*formula, "collect");
}

}  // namespace pawl::execute
