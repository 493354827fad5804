// Carried: what a run brings along from an earlier one: answers that nobody needs to give again, and the names of work
// that is asked for again. A failed job goes on in a new run under its id, and a job can be started from the middle of
// another; both follow the graph from its trigger and find these answers on their way (docs/decisions/081).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/guid.h"
#include "core/message.h"
#include "ledger/dimensions.h"
#include "pawl/payload.h"
#include "pawl/result.h"

namespace pawl::core {

// Whose word an answer is. Stored: never renumber.
enum class Speaker : std::uint8_t {
  answer = 0,  // whoever was asked; a kind that asks nobody answers itself
  signal = 1,
  sleep = 2,  // it is over
  cycle = 3,  // it returned here
};

struct Carried {
  std::uint32_t node = 0;  // in the same version of the graph
  ledger::Dimensions at;
  bool answered = true;  // false: it is asked again, as the same piece of work
  ReplyStatus status = ReplyStatus::success;
  std::int32_t code = 200;
  Payload data;  // as it came
  Speaker speaker = Speaker::answer;
  Guid request;              // of work that is asked again: its key stays the same; all zero: none
  std::string child;         // of an await: the job that it started
  std::uint32_t failed = 0;  // of an await that is asked again: children that failed before
  friend bool operator==(const Carried&, const Carried&) = default;
};

// A run under the same id that failed, and that this one goes on for.
struct EarlierRun {
  RunId run{0};
  Instant ended_at;
  std::int32_t code = 0;
  std::string reason;
  friend bool operator==(const EarlierRun&, const EarlierRun&) = default;
};

// The input of a start, with what is carried. A store keeps one payload of a start, so both are in it.
struct StartInput {
  Payload input;
  std::vector<Carried> carried{};
  std::vector<EarlierRun> earlier{};  // the first one first
  // The W3C trace context of the caller. Stored last, and only if set: starts that were stored before can be read.
  std::optional<std::string> trace{};
};
Payload pack(const StartInput& start);  // the input itself, if there is nothing else
// The input of a start that belongs to a trace. One that leaves no room for the trace goes without.
Payload with_trace(Payload input, const std::optional<std::string>& trace);
Result<StartInput> unpack_start(const Payload& packed);
// No input of a user begins like what pack() makes: whoever submits checks it.
bool is_packed(std::string_view input);

}  // namespace pawl::core
