// Your own types as inputs and results, by Boost.Describe: one line for each struct.
//
//   struct Line {
//     std::string item;
//     int count = 1;
//   };
//   BOOST_DESCRIBE_STRUCT(Line, (), (item, count))
//   struct Order {
//     std::string customer;
//     std::vector<Line> lines;
//     std::optional<std::string> voucher;
//   };
//   BOOST_DESCRIBE_STRUCT(Order, (), (customer, lines, voucher))
//
//   pawl::Result<int> count(pawl::Runtime& runtime, const Order& order) {
//     auto served = runtime.serve("orders.count", [](const Order& o) { return static_cast<int>(o.lines.size()); });
//     if (!served) return served.error();
//     auto job = runtime.start<int>("order", order);
//     if (!job) return job.error();
//     return job->result(std::chrono::seconds(10));
//   }
//
// A field may be a bool, a number, a std::string, an enum or struct that is described, a std::optional, a container, a
// std::map with strings as keys, a std::pair or std::tuple (a JSON list), a pawl::Payload or boost::json::value (any
// JSON), or a named value such as pawl::JobId. A struct must have a default constructor.
//
// A missing field is an error, unless it is a std::optional; an empty one is not written. A field that the struct does
// not have is ignored, so that a newer program may send more than an older one knows. An error names the field:
// `lines[2].sum: expected a number, found a string` (docs/TYPES.md).
#pragma once

#ifdef PAWL_NLOHMANN_JSON
#error "pawl: include <pawl_boost/json.h> or <pawl_nlohmann/json.h>, not both in one file"
#endif
#define PAWL_BOOST_JSON

#include <boost/describe.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <boost/mp11/algorithm.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "pawl/codec.h"
#include "pawl/strong.h"
#include "pawl_boost/text.h"

namespace pawl_boost::detail {

namespace json = boost::json;

// The current position in a document. On the stack: it becomes text only for an error.
struct Place {
  const Place* parent = nullptr;
  std::string_view field{};
  std::size_t index = 0;

  std::string text() const {
    if (parent == nullptr) return {};
    std::string before = parent->text();
    if (field.data() == nullptr) return before + "[" + std::to_string(index) + "]";
    if (!before.empty()) before += ".";
    return before.append(field);
  }
};

// `lines[2].sum: expected a number`
inline std::string said(const Place& at, const std::string& what) {
  const std::string place = at.text();
  return place.empty() ? what : place + ": " + what;
}

inline std::string name_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "true or false";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "a list";
    case json::kind::object:
      return "an object";
  }
  return "something else";
}
inline std::string mismatch(const Place& at, const char* expected, const json::value& found) {
  return said(at, std::string("expected ") + expected + ", found " + name_of(found));
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_strong = false;
template <class Tag, class Rep>
inline constexpr bool is_strong<pawl::Strong<Tag, Rep>> = true;
template <class T>
inline constexpr bool is_tuple = false;
template <class... A>
inline constexpr bool is_tuple<std::tuple<A...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

template <class T>
concept Character = std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
    std::same_as<T, char16_t> || std::same_as<T, char32_t>;
template <class T>
concept Whole = std::integral<T> && !std::same_as<T, bool> && !Character<T>;
template <class T>
concept DescribedStruct = std::is_class_v<T> && boost::describe::has_describe_members<T>::value;
template <class T>
concept DescribedEnum = std::is_enum_v<T> && boost::describe::has_describe_enumerators<T>::value;
template <class T>
concept Text = std::same_as<T, std::string>;
template <class T>
concept Map = requires {
  typename T::mapped_type;
}
&&Text<typename T::key_type>;
template <class T>
concept List = !Text<T> && !Map<T> && !DescribedStruct<T> && requires(T list, typename T::value_type one) {
  list.begin();
  list.end();
  list.size();
  list.insert(list.end(), std::move(one));
};
template <class T>
concept FixedList = !Text<T> && !List<T> && !is_tuple<T> && requires {
  std::tuple_size<T>::value;
};
template <class T>
concept AnyJson = std::same_as<T, json::value> || std::same_as<T, pawl::Payload>;

template <class T>
concept Known =
    std::same_as<T, bool> || Whole<T> || std::floating_point<T> || Text<T> || DescribedStruct<T> || DescribedEnum<T> ||
    is_optional<T> || is_strong<T> || is_tuple<T> || Map<T> || List<T> || FixedList<T> || AnyJson<T>;

template <class T>
constexpr void require_known() {
  static_assert(
      Known<T>,
      "pawl_boost: a field has a type that is not described: add BOOST_DESCRIBE_STRUCT(Type, (), (fields...)) "
      "or BOOST_DESCRIBE_ENUM(Type, values...) behind its definition");
}

template <class T>
using Members = boost::describe::describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;

// --- reading: true, or false and why not ---

template <class T>
bool read(const json::value& from, T& into, const Place& at, std::string& why);

template <Whole T>
bool read_whole(const json::value& from, T& into, const Place& at, std::string& why) {
  const auto fits = [&](auto number) {
    if (std::in_range<T>(number)) {
      into = static_cast<T>(number);
      return true;
    }
    why = said(at, std::to_string(number) + " does not fit: expected " + std::to_string(std::numeric_limits<T>::min()) +
                       " to " + std::to_string(std::numeric_limits<T>::max()));
    return false;
  };
  if (from.is_int64()) return fits(from.get_int64());
  if (from.is_uint64()) return fits(from.get_uint64());
  if (!from.is_double()) {
    why = mismatch(at, "a whole number", from);
    return false;
  }
  const double number = from.get_double();
  constexpr double exact_max = 9007199254740992.0;  // beyond it a double cannot hold every whole number
  if (std::trunc(number) == number && std::abs(number) <= exact_max) return fits(static_cast<std::int64_t>(number));
  why = said(at, "expected a whole number, found " + write(from));
  return false;
}

template <class T>
bool read_tuple(const json::array& from, T& into, const Place& at, std::string& why) {
  constexpr std::size_t size = std::tuple_size_v<T>;
  if (from.size() != size) {
    why = said(at, "expected a list of " + std::to_string(size) + ", found " + std::to_string(from.size()));
    return false;
  }
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (read(from[I], std::get<I>(into), Place{&at, {}, I}, why) && ...);
  }
  (std::make_index_sequence<size>());
}

template <class T>
bool read_struct(const json::object& from, T& into, const Place& at, std::string& why) {
  bool ok = true;
  boost::mp11::mp_for_each<Members<T>>([&](auto member) {
    if (!ok) return;
    auto& field = into.*member.pointer;
    const Place place{&at, member.name, 0};
    if (const json::value* found = from.if_contains(member.name)) {
      ok = read(*found, field, place, why);
    } else if constexpr (is_optional<std::remove_cvref_t<decltype(field)>>) {
      field.reset();
    } else {
      why = said(place, "is missing");
      ok = false;
    }
  });
  return ok;
}

template <class T>
bool read_enum(const json::value& from, T& into, const Place& at, std::string& why) {
  std::string names;
  bool found = false;
  const json::string* text = from.if_string();
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto one) {
    names += (names.empty() ? "" : ", ") + std::string(one.name);
    if (text == nullptr || found || *text != one.name) return;
    into = one.value;
    found = true;
  });
  if (!found)
    why = said(at, "expected one of " + names + ", found " +
                       (text == nullptr ? name_of(from) : "\"" + std::string(text->data(), text->size()) + "\""));
  return found;
}

template <class T>
bool read(const json::value& from, T& into, const Place& at, std::string& why) {
  require_known<T>();
  if constexpr (std::same_as<T, json::value>) {
    into = from;
    return true;
  } else if constexpr (std::same_as<T, pawl::Payload>) {
    into = pawl::Payload(write(from));
    return true;
  } else if constexpr (is_optional<T>) {
    if (from.is_null()) {
      into.reset();
      return true;
    }
    return read(from, into.emplace(), at, why);
  } else if constexpr (std::same_as<T, bool>) {
    if (from.is_bool()) {
      into = from.get_bool();
      return true;
    }
    why = mismatch(at, "true or false", from);
    return false;
  } else if constexpr (Whole<T>) {
    return read_whole(from, into, at, why);
  } else if constexpr (std::floating_point<T>) {
    if (from.is_number()) {
      into = from.to_number<T>();
      return true;
    }
    why = mismatch(at, "a number", from);
    return false;
  } else if constexpr (Text<T>) {
    if (const json::string* text = from.if_string()) {
      into.assign(text->data(), text->size());
      return true;
    }
    why = mismatch(at, "a string", from);
    return false;
  } else if constexpr (is_strong<T>) {
    typename T::rep raw{};
    if (!read(from, raw, at, why)) return false;
    into = T(std::move(raw));
    return true;
  } else if constexpr (DescribedEnum<T>) {
    return read_enum(from, into, at, why);
  } else if constexpr (Map<T> || DescribedStruct<T>) {
    const json::object* object = from.if_object();
    if (object == nullptr) {
      why = mismatch(at, "an object", from);
      return false;
    }
    if constexpr (DescribedStruct<T>) {
      return read_struct(*object, into, at, why);
    } else {
      for (const auto& member : *object) {
        typename T::mapped_type value{};
        const std::string_view key(member.key().data(), member.key().size());
        if (!read(member.value(), value, Place{&at, key, 0}, why)) return false;
        into.insert_or_assign(std::string(key), std::move(value));
      }
      return true;
    }
  } else if constexpr (is_tuple<T> || FixedList<T> || List<T>) {
    const json::array* list = from.if_array();
    if (list == nullptr) {
      why = mismatch(at, "a list", from);
      return false;
    }
    if constexpr (List<T>) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        typename T::value_type value{};
        if (!read((*list)[i], value, Place{&at, {}, i}, why)) return false;
        into.insert(into.end(), std::move(value));
      }
      return true;
    } else {
      return read_tuple(*list, into, at, why);
    }
  } else {
    return false;  // the compiler has reported it already
  }
}

// --- writing: the same ---

template <class T>
bool put(const T& from, json::value& into, const Place& at, std::string& why);

template <class T>
bool put_all(const T& from, json::array& into, const Place& at, std::string& why) {
  into.reserve(from.size());
  std::size_t index = 0;
  for (const auto& one : from) {
    json::value value;
    // A copy of the element, because std::vector<bool> has no real elements.
    if (!put<typename T::value_type>(one, value, Place{&at, {}, index++}, why)) return false;
    into.push_back(std::move(value));
  }
  return true;
}

template <class T>
bool put_struct(const T& from, json::object& into, const Place& at, std::string& why) {
  bool ok = true;
  boost::mp11::mp_for_each<Members<T>>([&](auto member) {
    if (!ok) return;
    const auto& field = from.*member.pointer;
    if constexpr (is_optional<std::remove_cvref_t<decltype(field)>>)
      if (!field) return;
    json::value value;
    ok = put(field, value, Place{&at, member.name, 0}, why);
    if (ok) into.emplace(member.name, std::move(value));
  });
  return ok;
}

template <class T>
bool put(const T& from, json::value& into, const Place& at, std::string& why) {
  require_known<T>();
  if constexpr (std::same_as<T, json::value>) {
    into = from;
  } else if constexpr (std::same_as<T, pawl::Payload>) {
    auto value = from.empty() ? pawl::Result<json::value>(json::value()) : parse(from.view());
    if (!value) {
      why = said(at, "is not JSON: " + value.error().detail);
      return false;
    }
    into = std::move(*value);
  } else if constexpr (is_optional<T>) {
    if (from) return put(*from, into, at, why);
    into = nullptr;
  } else if constexpr (std::same_as<T, bool>) {
    into = from;
  } else if constexpr (std::unsigned_integral<T>) {
    into = static_cast<std::uint64_t>(from);
  } else if constexpr (Whole<T>) {
    into = static_cast<std::int64_t>(from);
  } else if constexpr (std::floating_point<T>) {
    if (!std::isfinite(from)) {
      why = said(at, "is not a finite number, which JSON does not have");
      return false;
    }
    into = static_cast<double>(from);
  } else if constexpr (Text<T>) {
    into.emplace_string() = from;
  } else if constexpr (is_strong<T>) {
    return put(from.raw(), into, at, why);
  } else if constexpr (DescribedEnum<T>) {
    const char* name = boost::describe::enum_to_string(from, nullptr);
    if (name == nullptr) {
      why = said(at, "is " + std::to_string(static_cast<std::int64_t>(from)) + ", which has no name");
      return false;
    }
    into = json::string(name);
  } else if constexpr (DescribedStruct<T>) {
    return put_struct(from, into.emplace_object(), at, why);
  } else if constexpr (Map<T>) {
    json::object& object = into.emplace_object();
    for (const auto& [key, one] : from) {
      json::value value;
      if (!put(one, value, Place{&at, key, 0}, why)) return false;
      object.emplace(key, std::move(value));
    }
  } else if constexpr (is_tuple<T>) {
    json::array& list = into.emplace_array();
    return std::apply(
        [&](const auto&... part) {
          std::size_t index = 0;
          const auto add = [&](const auto& one) {
            json::value value;
            if (!put(one, value, Place{&at, {}, index++}, why)) return false;
            list.push_back(std::move(value));
            return true;
          };
          return (add(part) && ...);
        },
        from);
  } else if constexpr (List<T> || FixedList<T>) {
    return put_all(from, into.emplace_array(), at, why);
  }
  return true;
}

}  // namespace pawl_boost::detail

template <class T>
requires(pawl_boost::detail::Known<T> && !std::same_as<T, pawl::Payload>) struct pawl::Codec<T> {
  static Result<Payload> encode(const T& value) {
    boost::json::value document;
    std::string why;
    if (!pawl_boost::detail::put(value, document, {}, why)) return Error{ErrorCode::invalid, std::move(why)};
    return Payload(pawl_boost::write(document));
  }
  static Result<T> decode(const Payload& bytes) {
    // Empty bytes are read as null: a std::optional accepts it.
    auto document = bytes.empty() ? Result<boost::json::value>(boost::json::value()) : pawl_boost::parse(bytes.view());
    if (!document) return document.error();
    std::string why;
    if constexpr (pawl_boost::detail::is_strong<T>) {
      typename T::rep raw{};
      if (!pawl_boost::detail::read(*document, raw, {}, why)) return Error{ErrorCode::invalid, std::move(why)};
      return T(std::move(raw));
    } else {
      T value{};
      if (!pawl_boost::detail::read(*document, value, {}, why)) return Error{ErrorCode::invalid, std::move(why)};
      return value;
    }
  }
};
