// What became of an operation, whatever it was.
#pragma once

#include <cstdint>
#include <string_view>

namespace pawl::store {

enum class OutcomeKind : std::uint8_t {
  committed,
  already_done,     // my bundle id is on the row, or the message was there: carry on
  exists,           // the job id is taken; `run` says by whom. The app's version is another one
  conflict,         // rev, token or sequence moved: re-read and decide again
  fenced,           // the lane has another owner: stop
  rejected,         // this operation can never be applied; `reason` says why
  over_limit,       // nothing was done: a named limit is reached; `reason` names it
  outcome_unknown,  // it may have happened: re-read, never add again
};
std::string_view name_of(OutcomeKind kind);

}  // namespace pawl::store
