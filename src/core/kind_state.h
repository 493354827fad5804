// KindState: what an open activity remembers between its messages, stored as the bytes of Activity::state. Each kind
// that waits has its own type; an activity that waits for a worker has none until an attempt fails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/guid.h"
#include "core/message.h"
#include "pawl/payload.h"
#include "pawl/result.h"
#include "pawl/time.h"

namespace pawl::core {

// The fields that all kinds have. A signal to all jobs with a label has only these.
struct WaitState {
  Guid request;          // the names of its timers, registration and child are derived from it
  Instant times_out_at;  // 0: never
  friend bool operator==(const WaitState&, const WaitState&) = default;

  Guid timeout_timer() const { return request.derive(Guid::Purpose::timer, 1); }
};

struct HookState : WaitState {
  Instant wakes_at;                   // 0: it does not sleep
  std::optional<MailboxKey> mailbox;  // where it is registered
  friend bool operator==(const HookState&, const HookState&) = default;

  Guid sleep_timer() const { return request.derive(Guid::Purpose::timer, 0); }
  Guid registration() const { return request.derive(Guid::Purpose::registration, 0); }
};

// When the await is over, this state stays without a request, so that the child can still be found.
struct AwaitState : WaitState {
  struct Tries {               // of a child that failed and is replaced
    std::uint32_t failed = 0;  // children that ended with an error
    Instant again_at;          // the next one is started then; 0: it runs
    friend bool operator==(const Tries&, const Tries&) = default;
  };
  std::string child;  // the id of the job that it started
  std::optional<Tries> tries;
  friend bool operator==(const AwaitState&, const AwaitState&) = default;

  bool is_awaited() const { return request != Guid{}; }
  std::uint32_t failed() const { return tries ? tries->failed : 0; }
  bool waits_to_try() const { return tries && tries->again_at != Instant(); }
  // Every attempt has its own request and timer, so that late messages of an earlier one are recognised.
  Guid child_request() const { return request.derive(Guid::Purpose::request, failed()); }
  Guid retry_timer() const { return request.derive(Guid::Purpose::timer, 1 + std::uint64_t{failed()}); }
};

struct JoinState : WaitState {
  std::vector<std::uint32_t> arrived;  // the edges that fired
  std::vector<std::uint32_t> skipped;  // the edges that never will
  bool owes = false;                   // it holds the obligation of an arrival
  std::optional<Guid> closer;          // the arrival that satisfied it
  friend bool operator==(const JoinState&, const JoinState&) = default;
};

struct MapState : WaitState {
  std::uint32_t items = 0;
  std::uint32_t parallel = 1;
  std::uint32_t begun = 0;
  std::uint32_t done = 0;
  friend bool operator==(const MapState&, const MapState&) = default;
};

// A worker's activity after a failed attempt. It stays when the activity is over.
struct FailedAttempt {
  Instant at;
  std::int32_t code = 0;
  std::string error;
  friend bool operator==(const FailedAttempt&, const FailedAttempt&) = default;
};
struct WorkState : WaitState {
  std::vector<FailedAttempt> attempts;  // the last ones (limits::attempts_kept), the oldest first
  friend bool operator==(const WorkState&, const WorkState&) = default;
};

using KindState = std::variant<std::monostate, WaitState, HookState, AwaitState, JoinState, MapState, WorkState>;

// The fields that all kinds have; null: it waits for nothing.
WaitState* wait_of(KindState& state);
const WaitState* wait_of(const KindState& state);

Payload encode(const KindState& state);
// Nothing for empty bytes. The kind follows from the fields that are set; if only the common fields are set, it is a
// WaitState.
Result<KindState> decode_kind_state(std::string_view bytes);

// For callers that know the kind: a blank state if there are no bytes, an error if the bytes are of another kind.
template <class State>
Result<State> decode_state(std::string_view bytes) {
  auto decoded = decode_kind_state(bytes);
  if (!decoded) return decoded.error();
  if (auto* own = std::get_if<State>(&*decoded)) return std::move(*own);
  State blank;
  if (const auto* wait = std::get_if<WaitState>(&*decoded))
    static_cast<WaitState&>(blank) = *wait;
  else if (!std::holds_alternative<std::monostate>(*decoded))
    return Error{ErrorCode::corrupt, "the state of another kind of activity"};
  return blank;
}

}  // namespace pawl::core
