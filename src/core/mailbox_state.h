// MailboxState: where signals meet registrations, in order of arrival. Owned by lane hash(namespace, topic, key).
//
// A signal that meets a registration stays in its mailbox, offered, until the job reports its use: Taken, or Withdraw
// when its hook ended another way. After a Withdraw the next registration gets it, or it waits. So a signal is never
// lost between a mailbox and a job (docs/decisions/019).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "core/guid.h"
#include "core/ids.h"
#include "core/message.h"
#include "pawl/time.h"

namespace pawl::core {

// One registration that waits, or one signal that no hook has taken yet.
struct MailboxEntry {
  std::uint64_t seq = 0;
  Guid guid;
  std::variant<Register, Signal> what;
  Instant expires_at;              // of a signal: not delivered from then on
  std::optional<Guid> offered_to;  // of a signal: the registration that it is offered to; none: it waits
  friend bool operator==(const MailboxEntry&, const MailboxEntry&) = default;
};

struct MailboxState {
  RunId run{0};
  MailboxKey key;
  Rev rev{0};
  BundleId bundle{0};
  std::uint64_t next_entry = 0;
  // by seq; waiting signals and waiting registrations never coexist: they would have met
  std::deque<MailboxEntry> entries;
  friend bool operator==(const MailboxState&, const MailboxState&) = default;
};

// The position of the entry with this seq; the end: there is none.
template <class Entries>
auto find_entry(Entries& entries, std::uint64_t seq) {
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), seq,
                       [](const MailboxEntry& entry, std::uint64_t wanted) { return entry.seq < wanted; });
  return found != entries.end() && found->seq == seq ? found : entries.end();
}

// What a page of a mailbox leaves out (store::MailboxPage). A message that needs more waits for the next page.
struct MailboxCut {
  bool registrations = false;  // more registrations wait
  bool signals = false;        // more signals wait
  std::vector<Guid> offers;    // registrations to which more signals are offered
};

// The name of a meeting, and of its Resume: the same whether the signal or the registration came first.
inline Guid meeting_of(const Guid& signal, const Guid& registration) {
  return Guid{signal.high ^ registration.low, signal.low ^ registration.high}.derive(Guid::Purpose::resume, 0);
}
// The name of the message that drops a signal: asked twice, it is one message.
inline Guid drop_of(const Guid& signal) { return signal.derive(Guid::Purpose::drop, 0); }
// The timer of a signal that waits.
inline Guid expiry_of(const Guid& signal) { return signal.derive(Guid::Purpose::expiry, 0); }

}  // namespace pawl::core
