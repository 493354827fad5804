// object: JavaScript's Object. JSON has no prototypes, symbols, getters or frozen values, so the functions about those
// have fixed results (docs/MAPPING.md, "object").
#include "mapping/convert.h"
#include "mapping/functions/operands.h"
#include "mapping/key_order.h"

#include "base/format.h"

namespace pawl::mapping {

namespace json = boost::json;

namespace {

bool is_container(const json::value& value) { return value.is_object() || value.is_array(); }

// The element of an array that a key such as "3" names.
const json::value* find_index(const json::array& array, std::string_view key) {
  if (key.empty() || key.size() > 9 || (key.size() > 1 && key[0] == '0')) return nullptr;
  std::size_t index = 0;
  for (const char c : key) {
    if (c < '0' || c > '9') return nullptr;
    index = index * 10 + static_cast<std::size_t>(c - '0');
  }
  return index < array.size() ? &array[index] : nullptr;
}

const json::value* find_member(const json::value& holder, std::string_view key) {
  if (const json::object* object = holder.if_object()) return object->if_contains(key);
  if (const json::array* array = holder.if_array()) return find_index(*array, key);
  return nullptr;
}

using HolderBody = Result<Operand> (*)(Call&, Operands);

// A null first operand gives null; anything but an object or array is refused.
template <HolderBody body>
Result<Operand> on_holder(Call& call, Operands operands) {
  if (operands[0].nullish()) return Operand::null();
  if (!is_container(operands[0].value())) return wants("an object or an array", operands, 0);
  return body(call, operands);
}

template <HolderBody body>
Result<Operand> on_object(Call& call, Operands operands) {
  if (operands[0].nullish()) return Operand::null();
  if (!operands[0].value().is_object()) return wants("an object", operands, 0);
  return body(call, operands);
}

Result<Operand> get(Call& call, Operands operands) {
  std::string buffer;
  const std::string_view key = to_text(operands[1], buffer, call.budget);
  const json::value* found = find_member(operands[0].value(), key);
  if (found == nullptr) return Operand();
  if (!operands[0].owned()) return Operand::borrow(*found);
  return Operand(std::move(const_cast<json::value&>(*found)));  // inside a value this call owns
}

// An undefined value leaves no key, as in JSON.stringify.
Status put(Call& call, json::object& object, std::string_view key, Operand& value) {
  if (value.missing()) {
    if (call.budget.spend_steps(object.size() / 8)) object.stable_erase(key);  // moves what follows
    return {};
  }
  auto element = as_element(call, value);
  if (!element) return element.error();
  if (!call.budget.spend_bytes(key.size() + sizeof(json::value))) return {};
  object.insert_or_assign(key, std::move(*element));
  return {};
}

Result<Operand> set(Call& call, Operands operands) {
  if (!truthy(operands[0])) operands[0] = Operand(json::object());
  if (!operands[0].value().is_object()) return wants("an object", operands, 0);
  if (const auto owned = own(call, operands[0]); !owned) return owned.error();
  std::string buffer;
  const std::string_view key = to_text(operands[1], buffer, call.budget);
  const auto done = put(call, operands[0].owned_value().get_object(), key, operands[2]);
  if (!done) return done.error();
  return std::move(operands[0]);
}

Result<Operand> create(Call& call, Operands operands) {
  json::object out;
  for (std::size_t i = 0; i + 1 < operands.size(); i += 2) {
    std::string buffer;
    const std::string_view key = to_text(operands[i], buffer, call.budget);
    if (const auto done = put(call, out, key, operands[i + 1]); !done) return done.error();
  }
  return Operand(std::move(out));
}

template <class Make>
Result<Operand> list_members(Call& call, const json::value& holder, const Make& make) {
  json::array out;
  const auto add = [&](std::string_view key, const json::value& value) -> Status {
    auto element = make(key, value);
    if (!element) return element.error();
    out.push_back(std::move(*element));
    return call.budget.exhausted() ? Status(Error{ErrorCode::over_limit, "budget"}) : Status();
  };
  if (const json::object* object = holder.if_object(); object != nullptr && call.compat_hotmesh) {
    if (!call.budget.spend_steps(object->size())) return Operand();
    for (const json::key_value_pair* member : in_javascript_order(*object))
      if (const auto added = add(member->key(), member->value()); !added) return added.error();
  } else if (object != nullptr) {
    for (const json::key_value_pair& member : *object)
      if (const auto added = add(member.key(), member.value()); !added) return added.error();
  } else {
    const json::array& array = holder.get_array();
    for (std::size_t i = 0; i < array.size(); ++i)
      if (const auto added = add(fmt::format_int(i).c_str(), array[i]); !added) return added.error();
  }
  return Operand(std::move(out));
}

Result<json::value> charged_text(Call& call, std::string_view text) {
  if (!call.budget.spend_bytes(text.size() + sizeof(json::value))) return json::value();
  return json::value(text);
}

Result<Operand> keys(Call& call, Operands operands) {
  return list_members(call, operands[0].value(),
                      [&call](std::string_view key, const json::value&) { return charged_text(call, key); });
}

Result<Operand> values(Call& call, Operands operands) {
  return list_members(call, operands[0].value(),
                      [&call](std::string_view, const json::value& value) { return copy_element(call, value); });
}

Result<Operand> entries(Call& call, Operands operands) {
  return list_members(call, operands[0].value(),
                      [&call](std::string_view key, const json::value& value) -> Result<json::value> {
                        auto copy = copy_element(call, value);
                        if (!copy) return copy;
                        auto name = charged_text(call, key);
                        json::value pair = json::array{std::move(*name), std::move(*copy)};
                        if (deeper_than(pair, value_depth_max - 1))
                          return Error{ErrorCode::over_limit, "would nest values too deep"};
                        return pair;
                      });
}

Result<Operand> own_names(Call& call, Operands operands) {
  const bool array = operands[0].value().is_array();
  auto names = keys(call, operands);
  if (names && array) names->owned_value().get_array().emplace_back("length");
  return names;
}

Result<Operand> from_entries(Call& call, Operands operands) {
  if (operands[0].nullish()) return Operand::null();
  const json::array* pairs = operands[0].value().if_array();
  if (pairs == nullptr) return wants("an array of [key, value] pairs", operands, 0);
  json::object out;
  for (const json::value& pair : *pairs) {
    const json::array* both = pair.if_array();
    if (both == nullptr) return wants("an array of [key, value] pairs", operands, 0);
    std::string buffer;
    const Operand key = both->empty() ? Operand() : Operand::borrow((*both)[0]);
    Operand value = both->size() < 2 ? Operand() : Operand::borrow((*both)[1]);
    const auto done = put(call, out, to_text(key, buffer, call.budget), value);
    if (!done) return done.error();
    if (call.budget.exhausted()) return Operand();
  }
  return Operand(std::move(out));
}

Result<Operand> assign(Call& call, Operands operands) {
  if (const auto owned = own(call, operands[0]); !owned) return owned.error();
  json::object& out = operands[0].owned_value().get_object();
  for (std::size_t i = 1; i < operands.size(); ++i) {
    if (operands[i].nullish()) continue;
    const json::object* source = operands[i].value().if_object();
    if (source == nullptr) return wants("an object", operands, i);
    for (const json::key_value_pair& member : *source) {
      Operand value = Operand::borrow(member.value());
      if (const auto done = put(call, out, member.key(), value); !done) return done.error();
      if (call.budget.exhausted()) return Operand();
    }
  }
  return std::move(operands[0]);
}

Result<Operand> own_symbols(Call&, Operands) { return Operand(json::array()); }

Result<Operand> describe(Call& call, Operands operands) {
  Result<Operand> value = get(call, operands);
  if (!value || value->missing()) return value;
  auto element = as_element(call, *value);
  if (!element) return element.error();
  json::object out;
  out.emplace("value", std::move(*element));
  for (const std::string_view flag : {"writable", "enumerable", "configurable"}) out.emplace(flag, true);
  return Operand(std::move(out));
}

Operand described_value(const json::object& descriptor) {
  const json::value* value = descriptor.if_contains("value");
  return value == nullptr ? Operand::null() : Operand::borrow(*value);
}

Result<Operand> define(Call& call, Operands operands) {
  const json::object* descriptor = operands[2].value().if_object();
  if (descriptor == nullptr) return wants("an object with a value", operands, 2);
  if (const auto owned = own(call, operands[0]); !owned) return owned.error();
  std::string buffer;
  Operand value = described_value(*descriptor);
  const auto done = put(call, operands[0].owned_value().get_object(), to_text(operands[1], buffer, call.budget), value);
  if (!done) return done.error();
  return std::move(operands[0]);
}

Result<Operand> define_all(Call& call, Operands operands) {
  const json::object* descriptors = operands[1].value().if_object();
  if (descriptors == nullptr) return wants("an object of descriptors", operands, 1);
  if (const auto owned = own(call, operands[0]); !owned) return owned.error();
  for (const json::key_value_pair& member : *descriptors) {
    const json::object* descriptor = member.value().if_object();
    if (descriptor == nullptr) return wants("an object of descriptors", operands, 1);
    Operand value = described_value(*descriptor);
    const auto done = put(call, operands[0].owned_value().get_object(), member.key(), value);
    if (!done) return done.error();
    if (call.budget.exhausted()) return Operand();
  }
  return std::move(operands[0]);
}

Result<Operand> itself(Call&, Operands operands) { return std::move(operands[0]); }
// Scalars cannot be changed or extended, so JavaScript calls them frozen; objects here never are.
Result<Operand> is_frozen(Call&, Operands operands) { return Operand::boolean(!is_container(operands[0].value())); }
Result<Operand> is_extensible(Call&, Operands operands) { return Operand::boolean(is_container(operands[0].value())); }
Result<Operand> has_own(Call& call, Operands operands) {
  std::string buffer;
  const std::string_view key = to_text(operands[1], buffer, call.budget);
  const bool length = operands[0].value().is_array() && key == "length";
  return Operand::boolean(length || find_member(operands[0].value(), key) != nullptr);
}
Result<Operand> is_enumerable(Call& call, Operands operands) {
  std::string buffer;
  const std::string_view key = to_text(operands[1], buffer, call.budget);
  return Operand::boolean(find_member(operands[0].value(), key) != nullptr);
}
Result<Operand> never(Call&, Operands) { return Operand::boolean(false); }

constexpr Function table[] = {
    {"object.get", 2, 2, Work::constant, on_holder<get>},
    {"object.set", 3, 3, Work::constant, set},
    {"object.create", 0, any_count, Work::constant, create},
    {"object.keys", 1, 1, Work::scans, on_holder<keys>},
    {"object.values", 1, 1, Work::scans, on_holder<values>},
    {"object.entries", 1, 1, Work::scans, on_holder<entries>},
    {"object.fromEntries", 1, 1, Work::scans, from_entries},
    {"object.assign", 1, any_count, Work::scans, on_object<assign>},
    {"object.getOwnPropertyNames", 1, 1, Work::scans, on_holder<own_names>},
    {"object.getOwnPropertySymbols", 1, 1, Work::constant, on_holder<own_symbols>},
    {"object.getOwnPropertyDescriptor", 2, 2, Work::constant, on_holder<describe>},
    {"object.defineProperty", 3, 3, Work::constant, on_object<define>},
    {"object.defineProperties", 2, 2, Work::scans, on_object<define_all>},
    {"object.freeze", 1, 1, Work::constant, itself},
    {"object.isFrozen", 1, 1, Work::constant, is_frozen},
    {"object.seal", 1, 1, Work::constant, itself},
    {"object.isSealed", 1, 1, Work::constant, is_frozen},
    {"object.preventExtensions", 1, 1, Work::constant, itself},
    {"object.isExtensible", 1, 1, Work::constant, is_extensible},
    {"object.hasOwnProperty", 2, 2, Work::constant, on_holder<has_own>},
    {"object.isPrototypeOf", 2, 2, Work::constant, never},
    {"object.propertyIsEnumerable", 2, 2, Work::constant, on_holder<is_enumerable>},
};

}  // namespace

std::span<const Function> object_functions() { return table; }

}  // namespace pawl::mapping
