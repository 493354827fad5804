#include "core/mailbox.h"

#include <algorithm>

#include "base/limits.h"

namespace pawl::core {

namespace {

// The entries as they will be, and the writes that take them there.
class MailboxDraft {
 public:
  explicit MailboxDraft(const MailboxState& state)
      : entries_(state.entries.begin(), state.entries.end()), next_entry_(state.next_entry) {}

  bool take(const Message& message) {
    if (const auto* signal = std::get_if<Signal>(&message.body)) return take(message.guid, *signal);
    if (const auto* registration = std::get_if<Register>(&message.body)) return take(message.guid, *registration);
    return true;  // no other message concerns a mailbox: acknowledged without effect
  }

  std::vector<Write> writes;
  std::uint64_t next_entry() const { return next_entry_; }

 private:
  bool take(const Guid& guid, const Signal& signal) {
    if (!entries_.empty() && std::holds_alternative<Register>(entries_.front().what)) {
      const MailboxEntry met = pop();
      resume(std::get<Register>(met.what), met.guid, guid, signal.data);
      return true;
    }
    if (entries_.size() >= limits::early_signals_per_mailbox_max) return false;
    push(guid, signal);
    return true;
  }

  bool take(const Guid& guid, const Register& registration) {
    if (!entries_.empty() && std::holds_alternative<Signal>(entries_.front().what)) {
      const MailboxEntry met = pop();
      resume(registration, guid, met.guid, std::get<Signal>(met.what).data);
      return true;
    }
    push(guid, registration);
    return true;
  }

  void resume(const Register& registration, const Guid& registered, const Guid& signalled, const Payload& data) {
    // H(signal, registration): the same meeting has the same name, whoever finds it.
    const Guid guid = Guid{signalled.high ^ registered.low, signalled.low ^ registered.high}.derive(Guid::Purpose::resume, 0);
    writes.emplace_back(
        Send{Envelope{registration.reply_to, Message{guid, Resume{registration.activity, registered, data}}}});
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
    const auto fresh = std::find(pushed_.begin(), pushed_.end(), entry.seq);
    if (fresh == pushed_.end()) {
      writes.emplace_back(DropEntry{entry.seq});
    } else {
      // It came and went within this bundle: no row of it is ever written.
      std::erase_if(writes, [&](const Write& write) {
        const auto* put = std::get_if<PutEntry>(&write);
        return put != nullptr && put->entry.seq == entry.seq;
      });
    }
    return entry;
  }

  std::deque<MailboxEntry> entries_;
  std::vector<std::uint64_t> pushed_;
  std::uint64_t next_entry_;
};

}  // namespace

Decision decide(const MailboxState& state, std::span<const Delivery> deliveries, const DecideOptions& options) {
  Decision decision;
  MailboxDraft draft(state);
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
