// The result of any operation.
#pragma once

#include <cstdint>
#include <string_view>

namespace pawl::store {

enum class OutcomeKind : std::uint8_t {
  committed,
  already_done,     // this bundle id is already on the row, or the message was already there: continue
  exists,           // the job id is taken, `run` has it; or the app's version has other bytes
  conflict,         // rev, token or sequence changed: read again and decide again
  fenced,           // the lane has another owner: stop
  rejected,         // this operation can never be applied; `reason` explains it
  over_limit,       // nothing was done: `reason` names the limit that is reached
  outcome_unknown,  // it may have happened: read again, never add again
};
std::string_view name_of(OutcomeKind kind);

}  // namespace pawl::store
