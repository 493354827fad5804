// KindState: what an open activity remembers between its messages, as the bytes of Activity::state. Each kind uses
// the parts it needs; an activity that waits for nothing but a worker has none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/guid.h"
#include "core/message.h"
#include "pawl/payload.h"
#include "pawl/result.h"
#include "pawl/time.h"

namespace pawl::core {

struct KindState {
  Guid request;                       // its timers, its registration and its child are named after it
  Instant wakes_at;                   // a hook's sleep; 0: none
  Instant times_out_at;               // 0: never
  std::optional<MailboxKey> mailbox;  // where a hook is registered
  std::string child;                  // the id of the job that an await started
  std::vector<std::uint32_t> arrived;  // of a join: the edges that fired
  std::vector<std::uint32_t> skipped;  // and those that never will
  bool owes = false;                  // of a join: an arrival's obligation is its own now
  std::optional<Guid> closer;         // of a join: the arrival that satisfied it
  std::uint32_t items = 0;            // of a map
  std::uint32_t parallel = 1;
  std::uint32_t begun = 0;
  std::uint32_t done = 0;
  // Of an await whose child failed and is replaced. Stored last, and only if there: older states are still read.
  struct Tries {
    std::uint32_t failed = 0;         // children that ended with an error
    Instant again_at;                 // the next one is started then; 0: it runs
    friend bool operator==(const Tries&, const Tries&) = default;
  };
  std::optional<Tries> tries;
  friend bool operator==(const KindState&, const KindState&) = default;

  Guid sleep_timer() const { return request.derive(Guid::Purpose::timer, 0); }
  Guid timeout_timer() const { return request.derive(Guid::Purpose::timer, 1); }
  Guid registration() const { return request.derive(Guid::Purpose::registration, 0); }
  std::uint32_t failed() const { return tries ? tries->failed : 0; }
  bool waits_to_try() const { return tries && tries->again_at != Instant(); }
  // Every try has a request and a timer of its own, so that what belongs to an earlier one is told apart.
  Guid child_request() const { return request.derive(Guid::Purpose::request, failed()); }
  Guid retry_timer() const { return request.derive(Guid::Purpose::timer, 1 + std::uint64_t{failed()}); }
};

Payload encode(const KindState& state);
// Empty bytes are a state without anything.
Result<KindState> decode_kind_state(std::string_view bytes);

}  // namespace pawl::core
