// KindState: what an open activity remembers between its messages, as the bytes of Activity::state. Each kind that
// waits has its own; an activity that waits for nothing but a worker has none.
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

// What all of them have. A signal to all jobs with a label has nothing more.
struct WaitState {
  Guid request;          // its timers, its registration and its child are named after it
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

// It stays when the await is over, without a request, so that the child is still found.
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
  // Every try has a request and a timer of its own, so that what belongs to an earlier one is told apart.
  Guid child_request() const { return request.derive(Guid::Purpose::request, failed()); }
  Guid retry_timer() const { return request.derive(Guid::Purpose::timer, 1 + std::uint64_t{failed()}); }
};

struct JoinState : WaitState {
  std::vector<std::uint32_t> arrived;  // the edges that fired
  std::vector<std::uint32_t> skipped;  // and those that never will
  bool owes = false;                   // an arrival's obligation is its own now
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

using KindState = std::variant<std::monostate, WaitState, HookState, AwaitState, JoinState, MapState>;

// Its part that all have; null: it waits for nothing.
WaitState* wait_of(KindState& state);
const WaitState* wait_of(const KindState& state);

Payload encode(const KindState& state);
// Nothing for empty bytes. Which kind it is follows from what it remembers; one that remembers nothing of its own is a
// WaitState.
Result<KindState> decode_kind_state(std::string_view bytes);

// For who knows the kind: blank if there is nothing, an error if it is another kind's.
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
