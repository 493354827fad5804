// Failure: why a worker could not do its work. Throw it or return it.
//
//   void charge(int cents) {
//     if (cents > 10'000) throw pawl::Failure{.code = 402, .message = "the card was declined", .retryable = false};
//   }
//
// The code decides which transitions of the graph fire. A retryable failure is attempted again by the retry policy of
// the activity; any other ends the activity at once. Anything else that a worker throws becomes a retryable failure
// with code 500 and the exception's text.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "pawl/codec.h"
#include "pawl/payload.h"

namespace pawl {

struct Failure {
  std::int32_t code = 500;
  std::string message{};  // for people; bytes that are not UTF-8 are replaced, a long text is cut (4 KiB)
  Payload data{};         // for programs: JSON, of any form
  bool retryable = true;

  // The data as a value: Failure{...}.with(order), and failure.data_as<Order>().
  template <class T>
  Failure with(const T& value) const {
    Failure copy = *this;
    if (auto bytes = encode(value))
      copy.data = std::move(*bytes);
    else
      copy.message += " (its data cannot be written: " + bytes.error().detail + ")";
    return copy;
  }
  template <class T>
  Result<T> data_as() const {
    return decode<T>(data);
  }
};

// Its form as the output of an activity: {"code": 402, "message": "...", "data": ...}, the data only if there is any.
Payload to_payload(const Failure& failure);
// Reads the output of a failed activity, in any form.
Failure failure_of(std::int32_t code, const Payload& output);

// "402: the card was declined"
std::string to_string(const Failure& failure);

}  // namespace pawl
