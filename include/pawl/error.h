// Error: what went wrong, as a value. The code is for programs, the detail is for people and tells what to do next.
//
//   bool worth_another_call(const pawl::Error& error) { return error.code == pawl::ErrorCode::retry_later; }
//   void log(const pawl::Error& error) { std::fprintf(stderr, "%s\n", to_string(error).c_str()); }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

enum class ErrorCode : std::uint8_t {
  invalid,          // the input is wrong: correct it and call again
  not_found,        // no such job, activity, graph or file
  already_exists,   // the unique id is taken
  already_done,     // exactly this step was committed before: continue
  conflict,         // another process changed the state: read it again, then decide again
  fenced,           // this process no longer owns the lane: stop
  retry_later,      // nothing happened; the same call may succeed later
  outcome_unknown,  // it may have happened: read it again, never guess
  corrupt,          // stored data contradicts itself: the job is stopped and the error reported
  over_limit,       // a named limit was reached
  unsupported,      // this binary or this store cannot do that
  failed,           // the job ended without a result
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
