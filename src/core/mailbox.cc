#include "core/mailbox.h"

#include <algorithm>

#include "base/limits.h"
#include "base/seeded_bug.h"

namespace pawl::core {

namespace {

// The entries as they will be, and the writes that take them there.
class MailboxDraft {
 public:
  MailboxDraft(const MailboxState& state, Instant now)
      : entries_(state.entries.begin(), state.entries.end()), next_entry_(state.next_entry), now_(now) {}

  bool take(const Message& message) {
    if (const auto* signal = std::get_if<Signal>(&message.body)) return take(message.guid, *signal);
    if (const auto* registration = std::get_if<Register>(&message.body)) return take(message.guid, *registration);
    if (const auto* withdraw = std::get_if<Withdraw>(&message.body); withdraw != nullptr && !seeded(SeededBug::withdraw_ignored))
      drop(withdraw->registration);
    if (const auto* expire = std::get_if<Expire>(&message.body)) drop(expire->signal);
    return true;  // no other message concerns a mailbox: acknowledged without effect
  }

  std::vector<Write> writes;
  std::uint64_t next_entry() const { return next_entry_; }

 private:
  static Guid expiry_of(const Guid& signal) { return signal.derive(Guid::Purpose::expiry, 0); }

  // A pending signal leaves its taker waiting for the next one.
  bool take(const Guid& guid, const Signal& signal) {
    if (!entries_.empty() && std::holds_alternative<Register>(entries_.front().what)) {
      const bool stays = signal.status == ReplyStatus::pending || seeded(SeededBug::mailbox_resumes_twice);
      const MailboxEntry met = stays ? entries_.front() : pop();
      resume(std::get<Register>(met.what), met.guid, guid, signal);
      return true;
    }
    if (seeded(SeededBug::early_signal_lost)) return true;
    if (entries_.size() >= limits::early_signals_per_mailbox_max) return false;
    push(guid, signal);
    writes.emplace_back(PutMessage{Message{expiry_of(guid), Expire{guid}}, now_ + limits::early_signal_keep});
    return true;
  }

  bool take(const Guid& guid, const Register& registration) {
    while (!entries_.empty() && std::holds_alternative<Signal>(entries_.front().what)) {
      const MailboxEntry met = pop();
      const Signal signal = std::get<Signal>(met.what);
      call_off_expiry(met.guid);
      resume(registration, guid, met.guid, signal);
      if (signal.status != ReplyStatus::pending) return true;
    }
    if (!seeded(SeededBug::registration_lost)) push(guid, registration);
    return true;
  }

  void resume(const Register& registration, const Guid& registered, const Guid& signalled, const Signal& signal) {
    // H(signal, registration): the same meeting has the same name, whoever finds it.
    const Guid guid = Guid{signalled.high ^ registered.low, signalled.low ^ registered.high}.derive(Guid::Purpose::resume, 0);
    writes.emplace_back(Send{Envelope{
        registration.reply_to,
        Message{guid, Resume{registration.activity, registered, signal.data, signal.status, signal.code}}}});
  }

  void push(const Guid& guid, std::variant<Register, Signal> what) {
    MailboxEntry entry{next_entry_++, guid, std::move(what)};
    pushed_.push_back(entry.seq);
    writes.emplace_back(PutEntry{entry});
    entries_.push_back(std::move(entry));
  }

  MailboxEntry pop() {
    MailboxEntry entry = entries_.front();
    entries_.pop_front();
    forget(entry);
    return entry;
  }

  void drop(const Guid& guid) {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.guid == guid; });
    if (found == entries_.end()) return;
    forget(*found);
    entries_.erase(found);
  }

  void forget(const MailboxEntry& entry) {
    const auto fresh = std::find(pushed_.begin(), pushed_.end(), entry.seq);
    if (fresh == pushed_.end()) {
      writes.emplace_back(DropEntry{entry.seq});
      return;
    }
    // It came and went within this bundle: no row of it is ever written.
    std::erase_if(writes, [&](const Write& write) {
      const auto* put = std::get_if<PutEntry>(&write);
      return put != nullptr && put->entry.seq == entry.seq;
    });
  }

  void call_off_expiry(const Guid& signal) {
    const Guid expiry = expiry_of(signal);
    const std::size_t before = writes.size();
    std::erase_if(writes, [&](const Write& write) {
      const auto* put = std::get_if<PutMessage>(&write);
      return put != nullptr && put->message.guid == expiry;
    });
    if (writes.size() == before) writes.emplace_back(Consume{expiry});
  }

  std::deque<MailboxEntry> entries_;
  std::vector<std::uint64_t> pushed_;
  std::uint64_t next_entry_;
  const Instant now_;
};

}  // namespace

Decision decide(const MailboxState& state, std::span<const Delivery> deliveries, const DecideOptions& options) {
  Decision decision;
  MailboxDraft draft(state, options.now);
  for (std::size_t index = 0; index < deliveries.size(); ++index) {
    if (!draft.take(deliveries[index].message)) continue;
    draft.writes.emplace_back(Consume{deliveries[index].message.guid});
    decision.done.push_back(index);
  }
  if (!draft.writes.empty())
    decision.bundle = Bundle{state.run,  options.epoch, state.rev, options.id, MailboxHead{draft.next_entry()},
                             std::move(draft.writes)};
  return decision;
}

}  // namespace pawl::core
