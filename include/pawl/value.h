// Value: the value of a key in an app: a text, a number, a list, fields. Texts may be expressions (docs/MAPPING.md).
//
//   pawl::Value sum = 20;
//   pawl::Value name = "{order.output.data.name}";
//   pawl::Value address = pawl::Fields{{"street", "{order.output.data.street}"}, {"country", "CH"}};
//   pawl::Value twice = pawl::Value::json(R"({"@pipe": [["{a.output.data.n}", 2], ["{@math.multiply}"]]})");
//   pawl::Value delay = std::chrono::minutes(5);
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "pawl/time.h"

namespace pawl {

class Value;
using Fields = std::vector<std::pair<std::string, Value>>;  // in the order they were written
using Values = std::vector<Value>;

class Value {
 public:
  // JSON that could not be read; the build reports it.
  struct Broken {
    std::string why;
    friend bool operator==(const Broken&, const Broken&) = default;
  };
  using Kind = std::variant<std::monostate, bool, std::int64_t, double, std::string, Values, Fields, Broken>;

  Value() = default;  // null
  template <class T>
  requires std::same_as<T, bool> Value(T truth) : kind_(truth) {}
  template <class T>
  requires(std::integral<T> && !std::same_as<T, bool>) Value(T number) : kind_(static_cast<std::int64_t>(number)) {}
  Value(double number) : kind_(number) {}
  Value(const char* text) : kind_(std::string(text)) {}
  Value(std::string text) : kind_(std::move(text)) {}
  Value(std::string_view text) : kind_(std::string(text)) {}
  Value(Values list) : kind_(std::move(list)) {}
  Value(Fields fields) : kind_(std::move(fields)) {}
  // A time, as an app writes it: "250ms", "90s".
  template <class Rep, class Period>
  Value(std::chrono::duration<Rep, Period> time) : Value(of_time(std::chrono::duration_cast<Duration>(time))) {}
  static Value json(std::string_view text);

  const Kind& kind() const { return kind_; }
  bool is_null() const { return kind_.index() == 0; }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&kind_);
  }
  friend bool operator==(const Value&, const Value&) = default;

 private:
  static Value of_time(Duration time);
  Kind kind_;
};

}  // namespace pawl
