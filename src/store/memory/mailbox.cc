#include "store/memory/mailbox.h"

#include <algorithm>

#include "core/apply.h"

namespace pawl::store::memory {

void Mailbox::enter(const core::MailboxEntry& entry) {
  if (std::holds_alternative<core::Register>(entry.what)) {
    registrations_.insert(entry.seq);
    by_guid_[entry.guid] = entry.seq;
  } else if (entry.offered_to) {
    offers_[*entry.offered_to].insert(entry.seq);
  } else {
    signals_.insert(entry.seq);
  }
}

void Mailbox::leave(const core::MailboxEntry& entry) {
  if (std::holds_alternative<core::Register>(entry.what)) {
    registrations_.erase(entry.seq);
    by_guid_.erase(entry.guid);
  } else if (entry.offered_to) {
    const auto out = offers_.find(*entry.offered_to);
    out->second.erase(entry.seq);
    if (out->second.empty()) offers_.erase(out);
  } else {
    signals_.erase(entry.seq);
  }
}

void Mailbox::apply(const core::Bundle& bundle) {
  for (const core::Write& write : bundle.writes) {
    if (const auto* drop = std::get_if<core::DropEntry>(&write)) {
      const core::MailboxEntry& entry = at(drop->seq);
      if (const auto* signal = std::get_if<core::Signal>(&entry.what)) {
        signals -= std::min<std::size_t>(signals, 1);
        signal_bytes -= std::min(signal_bytes, signal->data.size());
      }
      leave(entry);
    } else if (const auto* offer = std::get_if<core::OfferEntry>(&write)) {
      leave(at(offer->seq));
    }
  }
  core::apply(state_, bundle);
  for (const core::Write& write : bundle.writes) {
    if (const auto* put = std::get_if<core::PutEntry>(&write))
      enter(put->entry);
    else if (const auto* offer = std::get_if<core::OfferEntry>(&write))
      enter(at(offer->seq));
  }
}

Status Mailbox::see_rows(const Seqs& seqs, std::uint64_t from, std::size_t rows_max, const See& see) const {
  std::size_t rows = 0;
  for (auto seq = seqs.lower_bound(from); seq != seqs.end() && rows < rows_max; ++seq, ++rows)
    if (!see(at(*seq))) break;
  return {};
}

Status Mailbox::read_messages(std::size_t rows_max, const SeeMessage& see) {
  inbox.see_in_order(rows_max, see);
  return {};
}
Status Mailbox::read_registrations(std::size_t rows_max, const See& see) {
  return see_rows(registrations_, 0, rows_max, see);
}
Status Mailbox::read_heads(std::size_t rows_max, const See& see) { return see_rows(signals_, 0, rows_max, see); }
Status Mailbox::read_signals(std::uint64_t from_seq, std::size_t rows_max, const See& see) {
  return see_rows(signals_, from_seq, rows_max, see);
}
Status Mailbox::read_offers(const core::Guid& registration, std::size_t rows_max, const See& see) {
  const auto out = offers_.find(registration);
  return out == offers_.end() ? Status{} : see_rows(out->second, 0, rows_max, see);
}
Status Mailbox::find_registration(const core::Guid& registration, const See& see) {
  if (const auto known = by_guid_.find(registration); known != by_guid_.end()) see(at(known->second));
  return {};
}
Status Mailbox::find_offer(const core::Taken& taken, const See& see) {
  const auto out = offers_.find(taken.registration);
  if (out == offers_.end()) return {};
  for (const std::uint64_t seq : out->second) {
    if (core::meeting_of(at(seq).guid, taken.registration) != taken.resume) continue;
    see(at(seq));
    break;
  }
  return {};
}

}  // namespace pawl::store::memory
