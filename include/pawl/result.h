// Result<T>: a value, or an error. Ignoring a Result gives a compiler warning.
//
//   pawl::Result<int> half(int number) {
//     if (number % 2 != 0) return pawl::Error{pawl::ErrorCode::invalid, "the number is odd"};
//     return number / 2;
//   }
//   void show() {
//     if (const auto result = half(7))
//       std::printf("%d\n", *result);
//     else
//       std::printf("%s\n", to_string(result.error()).c_str());
//   }
//
// Result<T, E> has an error of another type, such as pawl::Failure in a worker.
#pragma once

#include <cstdlib>
#include <optional>
#include <utility>
#include <variant>

#include "pawl/error.h"

namespace pawl {

template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok(). Asking for the value of an error is a bug in the program, and ends it.
  const T& value() const& { return *checked(std::get_if<0>(&state_)); }
  T& value() & { return *checked(std::get_if<0>(&state_)); }
  T&& value() && { return std::move(*checked(std::get_if<0>(&state_))); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  // REQUIRES: !ok().
  const E& error() const { return *checked(std::get_if<1>(&state_)); }

 private:
  template <class P>
  static P checked(P pointer) {
    if (pointer == nullptr) std::abort();
    return pointer;
  }
  std::variant<T, E> state_;
};

// Success without a value, or an error.
template <class E>
class [[nodiscard]] Result<void, E> {
 public:
  Result() = default;
  Result(E error) : error_(std::move(error)) {}

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  // REQUIRES: !ok().
  const E& error() const {
    if (!error_) std::abort();
    return *error_;
  }

 private:
  std::optional<E> error_;
};

using Status = Result<void>;

}  // namespace pawl
