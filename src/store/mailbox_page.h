// A page of a mailbox: which rows one decision needs, written once for every store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "store/store.h"

namespace pawl::store {

// One mailbox as its store has it. Each call reads at most `rows_max` rows in order, and stops when `see` returns false
// (enough).
class MailboxRows {
 public:
  using SeeMessage = std::function<bool(core::InboxMessage)>;
  using See = std::function<bool(core::MailboxEntry)>;
  virtual ~MailboxRows() = default;

  virtual Status read_messages(std::size_t rows_max, const SeeMessage& see) = 0;
  virtual Status read_registrations(std::size_t rows_max, const See& see) = 0;
  // Waiting signals: without their data, and with it.
  virtual Status read_heads(std::size_t rows_max, const See& see) = 0;
  virtual Status read_signals(std::uint64_t from_seq, std::size_t rows_max, const See& see) = 0;
  virtual Status read_offers(const core::Guid& registration, std::size_t rows_max, const See& see) = 0;
  // One row or none: a waiting registration, and (without its data) the signal that this Resume brought.
  virtual Status find_registration(const core::Guid& registration, const See& see) = 0;
  virtual Status find_offer(const core::Taken& taken, const See& see) = 0;
};

// Fills the page, except for the mailbox's own row.
Status fill_page(MailboxRows& rows, const MailboxPageSize& size, Instant now, MailboxPage& page);

// Fills in what waits, except for the key.
Status fill_kept(MailboxRows& rows, const KeptQuery& query, KeptSignals& kept);

}  // namespace pawl::store
