// Codec<T>: how a value of T becomes the bytes of a Payload, and how it is read back. You rarely write one. Describe a
// struct in one line and include an adapter: <pawl_boost/json.h> for Boost.Describe, or <pawl_nlohmann/json.h> for
// types with to_json and from_json. For another format, specialise it:
//
//   struct Celsius {
//     int degrees = 0;
//   };
//   template <>
//   struct pawl::Codec<Celsius> {
//     static Result<Payload> encode(const Celsius& value) { return Payload(std::to_string(value.degrees)); }
//     static Result<Celsius> decode(const Payload& bytes) {
//       Celsius value;
//       const std::string_view text = bytes.view();
//       const auto end = text.data() + text.size();
//       if (text.empty() || std::from_chars(text.data(), end, value.degrees).ptr != end)
//         return Error{ErrorCode::invalid, "expected a whole number of degrees"};
//       return value;
//     }
//   };
//
// Payload itself is bytes that are passed on unchanged. A std::string is a value like any other: with an adapter it
// becomes a JSON string. A string literal is neither: write Payload("...") or std::string("...").
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "pawl/payload.h"
#include "pawl/result.h"

namespace pawl {

template <class T>
struct Codec;

template <>
struct Codec<Payload> {
  static Result<Payload> encode(const Payload& bytes) { return bytes; }
  static Result<Payload> decode(const Payload& bytes) { return bytes; }
};

// A type that can be an input, a result or a signal's data.
template <class T>
concept Coded = requires(const T& value, const Payload& bytes) {
  { Codec<T>::encode(value) } -> std::same_as<Result<Payload>>;
  { Codec<T>::decode(bytes) } -> std::same_as<Result<T>>;
};

namespace detail {

template <class T>
constexpr void require_codec() {
  static_assert(
      !std::is_array_v<T> && !std::is_pointer_v<T>,
      "pawl: a string literal or a pointer is not a value: write pawl::Payload(\"...\") for bytes as they are, "
      "or std::string(\"...\") for a JSON string");
  static_assert(std::is_array_v<T> || std::is_pointer_v<T> || Coded<T>,
                "pawl: this type has no description, so it cannot become JSON: add BOOST_DESCRIBE_STRUCT(Type, (), "
                "(fields...)) and include <pawl_boost/json.h>, or give it to_json and from_json and include "
                "<pawl_nlohmann/json.h>, or specialise pawl::Codec<Type>; bytes as they are: pawl::Payload");
}

}  // namespace detail

// The bytes of a value. The error names the field that cannot be written, such as a number that is not finite.
template <class T>
Result<Payload> encode(const T& value) {
  detail::require_codec<T>();
  if constexpr (Coded<T>)
    return Codec<T>::encode(value);
  else
    return Error{ErrorCode::unsupported, {}};  // the compiler has reported it already
}

// The value in the bytes. The error names the field and what was expected: `lines[2].sum: expected a number`.
template <class T>
Result<T> decode(const Payload& bytes) {
  detail::require_codec<T>();
  if constexpr (Coded<T>)
    return Codec<T>::decode(bytes);
  else
    return Error{ErrorCode::unsupported, {}};
}

}  // namespace pawl
