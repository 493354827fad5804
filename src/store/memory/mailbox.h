// Mailbox: one mailbox of the memory store, and the orders in which its rows are searched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>

#include "core/bundle.h"
#include "core/mailbox_state.h"
#include "store/mailbox_page.h"
#include "store/memory/inbox.h"

namespace pawl::store::memory {

class Mailbox final : public MailboxRows {
 public:
  Inbox inbox;
  std::size_t signals = 0;       // in the inbox and in the entries
  std::size_t signal_bytes = 0;  // of their data

  Mailbox() = default;
  Mailbox(RunId run, core::MailboxKey key) {
    state_.run = run;
    state_.key = std::move(key);
  }
  const core::MailboxState& state() const { return state_; }
  bool is_empty() const { return state_.entries.empty() && inbox.empty() && !inbox.has_timers(); }
  void apply(const core::Bundle& bundle);  // REQUIRES: it was checked

  Status read_messages(std::size_t rows_max, const SeeMessage& see) override;
  Status read_registrations(std::size_t rows_max, const See& see) override;
  Status read_heads(std::size_t rows_max, const See& see) override;
  Status read_signals(std::uint64_t from_seq, std::size_t rows_max, const See& see) override;
  Status read_offers(const core::Guid& registration, std::size_t rows_max, const See& see) override;
  Status find_registration(const core::Guid& registration, const See& see) override;
  Status find_offer(const core::Taken& taken, const See& see) override;

 private:
  using Seqs = std::set<std::uint64_t>;
  const core::MailboxEntry& at(std::uint64_t seq) const { return *core::find_entry(state_.entries, seq); }
  Status see_rows(const Seqs& seqs, std::uint64_t from, std::size_t rows_max, const See& see) const;
  void enter(const core::MailboxEntry& entry);
  void leave(const core::MailboxEntry& entry);

  core::MailboxState state_;
  Seqs registrations_;                                     // all of them wait
  std::unordered_map<core::Guid, std::uint64_t> by_guid_;  // of these
  Seqs signals_;                                           // that wait
  std::unordered_map<core::Guid, Seqs> offers_;            // offered signals, by registration
};

}  // namespace pawl::store::memory
