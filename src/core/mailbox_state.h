// MailboxState: where signals meet registrations, in order of arrival. Owned by lane hash(namespace, topic, key).
#pragma once

#include <cstdint>
#include <deque>
#include <variant>

#include "core/guid.h"
#include "core/ids.h"
#include "core/message.h"

namespace pawl::core {

// One waiting registration or one early signal.
struct MailboxEntry {
  std::uint64_t seq = 0;
  Guid guid;
  std::variant<Register, Signal> what;
  friend bool operator==(const MailboxEntry&, const MailboxEntry&) = default;
};

struct MailboxState {
  RunId run{0};
  MailboxKey key;
  Rev rev{0};
  BundleId bundle{0};
  std::uint64_t next_entry = 0;
  std::deque<MailboxEntry> entries;  // never both kinds at once: they would have met
  friend bool operator==(const MailboxState&, const MailboxState&) = default;
};

}  // namespace pawl::core
