// What can go wrong, as a value. A code exists only if a caller acts on it differently; everything
// else is said in `detail`, in words that tell the reader what to do next.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

enum class ErrorCode : std::uint8_t {
  invalid,          // the input is wrong: correct it and call again
  not_found,        // no such job, activity, graph or file
  already_exists,   // the unique id is taken
  already_done,     // this very step committed before: carry on
  conflict,         // somebody else moved the state: re-read, then decide again
  fenced,           // this process no longer owns the lane: stop
  retry_later,      // nothing happened; the same call may succeed later
  outcome_unknown,  // it may have happened: re-read, never guess
  corrupt,          // stored data contradicts itself: stop that job and say so
  over_limit,       // a named limit was reached
  unsupported,      // this binary or this store cannot do that
};

std::string_view name_of(ErrorCode code);

struct Error {
  ErrorCode code;
  std::string detail;

  friend bool operator==(const Error&, const Error&) = default;
};

// "not_found: no job named order-17": one line for people and logs.
std::string to_string(const Error& error);

}  // namespace pawl
