// Result<T>: a value or an Error. Dropping one does not compile.
#pragma once

#include <cstdlib>
#include <utility>
#include <variant>

#include "pawl/error.h"

namespace pawl {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok(). Asking for the value of a failure is our own bug and ends the process.
  const T& value() const& { return *checked(std::get_if<0>(&state_)); }
  T& value() & { return *checked(std::get_if<0>(&state_)); }
  T&& value() && { return std::move(*checked(std::get_if<0>(&state_))); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  // REQUIRES: !ok().
  const Error& error() const { return *checked(std::get_if<1>(&state_)); }

 private:
  template <class P>
  static P checked(P pointer) {
    if (pointer == nullptr) std::abort();
    return pointer;
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() : error_{ErrorCode::invalid, {}}, ok_(true) {}
  Result(Error error) : error_(std::move(error)), ok_(false) {}

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const {
    if (ok_) std::abort();
    return error_;
  }

 private:
  Error error_;
  bool ok_;
};

using Status = Result<void>;

}  // namespace pawl
