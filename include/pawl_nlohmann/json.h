// Your own types as inputs and results, by nlohmann::json: any type that has to_json and from_json.
//
//   struct Parcel {
//     std::string street;
//     int weight = 0;
//   };
//   NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Parcel, street, weight)
//
//   pawl::Result<int> weigh(pawl::Runtime& runtime, const Parcel& parcel) {
//     auto served = runtime.serve("parcels.weigh", [](const Parcel& p) { return p.weight; });
//     if (!served) return served.error();
//     auto job = runtime.start<int>("parcel", parcel);
//     if (!job) return job.error();
//     return job->result(std::chrono::seconds(10));
//   }
//
// from_json decides about missing and unknown fields: NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE requires all of its fields and
// ignores others. The library names the field of an error only if JSON_DIAGNOSTICS is 1 in the whole program, before
// any of its headers; this header sets it if it is included first. Without it the error tells what is wrong, but not
// where.
#pragma once

#ifdef PAWL_BOOST_JSON
#error "pawl: include <pawl_boost/json.h> or <pawl_nlohmann/json.h>, not both in one file"
#endif
#define PAWL_NLOHMANN_JSON
#ifndef JSON_DIAGNOSTICS
#define JSON_DIAGNOSTICS 1
#endif

#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>

#include "pawl/codec.h"

namespace pawl_nlohmann {

template <class T>
concept Convertible = !std::is_same_v<T, pawl::Payload> && !std::is_array_v<T> && !std::is_pointer_v<T> &&
                      requires(const T& value, nlohmann::json document) {
  nlohmann::json(value);
  document.template get<T>();
};

// `[json.exception.type_error.302] (/lines/2/sum) type must be number` is `lines[2].sum: type must be number`.
inline std::string plain(const std::exception& error) {
  std::string text = error.what();
  if (const auto end = text.find("] "); text.rfind("[json.exception.", 0) == 0 && end != std::string::npos)
    text.erase(0, end + 2);
  const auto close = text.find(") ");
  if (text.rfind("(/", 0) != 0 || close == std::string::npos) return text;
  std::string place;
  std::string part;
  const auto add = [&] {
    const bool index = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    if (index)
      place += "[" + part + "]";
    else
      place += (place.empty() ? "" : ".") + part;
    part.clear();
  };
  for (std::size_t i = 2; i < close; ++i) {
    if (text[i] == '/')
      add();
    else
      part += text[i];
  }
  add();
  return place + ": " + text.substr(close + 2);
}

}  // namespace pawl_nlohmann

template <class T>
requires(pawl_nlohmann::Convertible<T>) struct pawl::Codec<T> {
  static Result<Payload> encode(const T& value) {
    try {
      return Payload(nlohmann::json(value).dump());
    } catch (const std::exception& error) {
      return Error{ErrorCode::invalid, pawl_nlohmann::plain(error)};
    }
  }
  // Empty bytes are read as null.
  static Result<T> decode(const Payload& bytes) {
    try {
      return (bytes.empty() ? nlohmann::json() : nlohmann::json::parse(bytes.view())).template get<T>();
    } catch (const std::exception& error) {
      return Error{ErrorCode::invalid, pawl_nlohmann::plain(error)};
    }
  }
};
