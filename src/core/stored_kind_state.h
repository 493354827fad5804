// The stored form of a KindState: the fields of all kinds in one row; only the fields of one kind are set. This format
// is older than the types of kind_state.h and does not change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/kind_state.h"

namespace pawl::core {

struct StoredKindState {
  Guid request;
  Instant wakes_at;
  Instant times_out_at;
  std::optional<MailboxKey> mailbox;
  std::string child;
  std::vector<std::uint32_t> arrived;
  std::vector<std::uint32_t> skipped;
  bool owes = false;
  std::optional<Guid> closer;
  std::uint32_t items = 0;
  std::uint32_t parallel = 1;
  std::uint32_t begun = 0;
  std::uint32_t done = 0;
  // Stored last, and only if set: older states can still be read. Attempts come with tries, so the order is known.
  std::optional<AwaitState::Tries> tries;
  std::optional<std::vector<FailedAttempt>> attempts;
};

// REQUIRES: it is not the monostate, which is stored as nothing.
StoredKindState stored(const KindState& state);
// An error when fields of several kinds are set.
Result<KindState> read(StoredKindState state);

}  // namespace pawl::core
