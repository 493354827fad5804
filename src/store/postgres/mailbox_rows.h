// MailboxRows: the mailboxes that a group names, by key or by number, locked in the order of their numbers.
//
// A mailbox is deleted when it is empty. Only the database knows whether it is empty. So after a bundle of a mailbox,
// the next operation on the mailbox waits until the bundle is written (is_open()).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/bundle.h"
#include "core/mailbox_state.h"
#include "store/postgres/connection.h"

namespace pawl::store::postgres {

struct MailboxGuard {
  core::MailboxKey key;
  core::Rev rev{0};
  core::BundleId bundle{0};
  std::uint64_t next_entry = 0;
  std::uint64_t signals = 0;
  std::uint64_t signal_bytes = 0;
};

class MailboxRows {
 public:
  struct Entry {
    bool is_signal = false;
    core::Guid guid;
    std::uint64_t bytes = 0;
  };
  void want(const core::MailboxKey& key) { wanted_keys_.insert(key); }
  void want(RunId run) { wanted_.insert(run); }
  void want_entry(RunId run, std::uint64_t seq) { wanted_entries_.emplace(run, seq); }

  void ask_keys(Script& script);  // finds their runs before these are locked
  Status take_keys(Done& answers);
  void ask(Script& script);
  Status take(Done& answers);
  void write(Script& script) const;
  void write_empty(Script& script) const;  // after all messages and entries
  void forget() { *this = MailboxRows(); }

  const MailboxGuard* find(RunId run) const;
  std::optional<RunId> find(const core::MailboxKey& key) const;
  const Entry* find_entry(RunId run, std::uint64_t seq) const;
  bool is_open(RunId run) const { return stepped_.contains(run); }
  void make(RunId run, const core::MailboxKey& key);
  void add_signal(RunId run, std::size_t bytes);
  // The references must stay valid until the commit. REQUIRES: the guards of the bundle hold.
  void step(const core::Bundle& bundle, const core::MailboxHead& head);

 private:
  using EntryKey = std::pair<RunId, std::uint64_t>;
  struct Slot {
    MailboxGuard row;
    bool stored = false;
    bool changed = false;
  };
  std::set<core::MailboxKey> wanted_keys_;
  std::set<RunId> wanted_;
  std::set<EntryKey> wanted_entries_;
  std::optional<std::size_t> keys_at_, at_, entries_at_;
  std::map<core::MailboxKey, RunId> runs_;
  std::map<RunId, Slot> slots_;
  std::map<EntryKey, Entry> entries_;
  std::set<RunId> stepped_;
  std::vector<std::pair<RunId, const core::MailboxEntry*>> put_;
  std::vector<EntryKey> dropped_;
  std::vector<std::pair<RunId, const core::OfferEntry*>> offered_;
};

}  // namespace pawl::store::postgres
