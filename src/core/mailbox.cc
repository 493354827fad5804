#include "core/mailbox.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/invariant.h"
#include "base/limits.h"

namespace pawl::core {

namespace {

bool concludes(const Signal& signal) { return signal.status != ReplyStatus::pending; }

// The entries as they will be after the bundle. What is written is the difference from what is stored.
class MailboxDraft {
 public:
  MailboxDraft(const MailboxState& state, const MailboxCut& cut, Instant now)
      : cut_(cut), next_entry_(state.next_entry), now_(now) {
    for (const MailboxEntry& entry : state.entries) {
      const bool waits = !entry.offered_to;
      const bool is_signal = std::holds_alternative<Signal>(entry.what);
      rows_.emplace(entry.seq, Row{entry, true, false, entry.offered_to});
      by_guid_.emplace(entry.guid, entry.seq);
      if (!waits)
        offers_[*entry.offered_to].insert(entry.seq);
      else if (!is_signal)
        registrations_.insert(entry.seq);
      else if (entry.expires_at <= now)
        forget(rows_.at(entry.seq));  // it has expired
      else
        signals_.insert(entry.seq);
    }
    if (cut.signals && !signals_.empty()) last_signal_ = *signals_.rbegin();
  }

  // False: it needs entries that the page left out.
  bool take(const Message& message) {
    const bool done = std::visit(
        Overloaded{
            [&](const Signal& signal) { return take(message.guid, signal); },
            [&](const Register& registration) { return take(message.guid, registration); },
            [&](const Withdraw& withdraw) { return take(withdraw); },
            [&](const Taken& taken) { return take(taken); },
            [&](const DropSignal& drop) { return take(drop); },
            [](const Expire&) { return true; },  // it only woke the mailbox: the entry holds the time of expiry
            // What does not concern a mailbox is acknowledged without effect.
            each_of<Start, Transition, Reply, Resume, NoReply, Interrupt, Cancel, Pause, Proceed, Redrive, GiveAnswer,
                    Verdict, TimeUp, Reenter, Arrive, Item, StartChild, ChildDone, EndJob, Expand, Unlabel, Refused>(
                [] { return true; }),
        },
        message.body);
    if (done) consumed_.insert(message.guid);
    return done;
  }

  std::uint64_t next_entry() const { return next_entry_; }

  std::vector<Write> writes() && {
    std::vector<Write> all;
    for (auto& [seq, row] : rows_) {
      if (!row.stored && !row.gone)
        all.emplace_back(PutEntry{row.entry});
      else if (row.stored && row.gone)
        all.emplace_back(DropEntry{seq});
      else if (row.stored && row.entry.offered_to != row.offered_before)
        all.emplace_back(OfferEntry{seq, row.entry.guid, row.entry.offered_to});
      write_timer(row, all);
    }
    for (Send& send : sends_) all.emplace_back(std::move(send));
    for (const Guid& guid : consumed_) all.emplace_back(Consume{guid});
    return all;
  }

 private:
  struct Row {
    MailboxEntry entry;
    bool stored = false;
    bool gone = false;
    std::optional<Guid> offered_before;
  };

  // A signal that waits has a timer; a signal that is offered has none.
  void write_timer(const Row& row, std::vector<Write>& all) {
    if (!std::holds_alternative<Signal>(row.entry.what)) return;
    const bool had = row.stored && !row.offered_before;
    const bool has = !row.gone && !row.entry.offered_to;
    const Guid expiry = expiry_of(row.entry.guid);
    if (had && !has) consumed_.insert(expiry);
    if (!had && has) all.emplace_back(PutMessage{Message{expiry, Expire{row.entry.guid}}, row.entry.expires_at});
  }

  bool take(const Guid& guid, const Signal& signal) {
    if (registrations_.empty() && cut_.registrations) return false;
    Row& row = add(guid, signal);
    row.entry.expires_at = now_ + limits::early_signal_keep;
    place(row);
    return true;
  }

  // Pending signals do not end the registration: it waits for the next one.
  bool take(const Guid& guid, const Register& registration) {
    while (!signals_.empty()) {
      Row& row = rows_.at(*signals_.begin());
      offer(row, guid, registration);
      if (concludes(std::get<Signal>(row.entry.what))) return true;
    }
    if (cut_.signals) return false;
    const Row& row = add(guid, registration);
    if (!cut_.registrations) registrations_.insert(row.entry.seq);
    return true;
  }

  bool take(const Withdraw& withdraw) {
    const auto waiting = by_guid_.find(withdraw.registration);
    if (waiting != by_guid_.end()) forget(rows_.at(waiting->second));
    return give_back(withdraw.registration);
  }

  // Returns signals that this registration did not take. False: there are more.
  bool give_back(const Guid& registration) {
    const bool cut = std::find(cut_.offers.begin(), cut_.offers.end(), registration) != cut_.offers.end();
    std::set<std::uint64_t>& out = offers_[registration];
    while (!out.empty()) {
      if (registrations_.empty() && cut_.registrations) return false;
      Row& row = rows_.at(*out.begin());
      if (cut && !row.stored) break;  // those that the page left out are older
      out.erase(out.begin());
      row.entry.offered_to.reset();
      if (row.entry.expires_at <= now_)
        forget(row);
      else
        place(row);
    }
    return !cut;
  }

  bool take(const Taken& taken) {
    for (const std::uint64_t seq : offers_[taken.registration]) {
      Row& row = rows_.at(seq);
      if (meeting_of(row.entry.guid, taken.registration) != taken.resume) continue;
      forget(row);
      break;
    }
    return true;
  }

  bool take(const DropSignal& drop) {
    const auto known = by_guid_.find(drop.signal);
    if (known != by_guid_.end() && signals_.contains(known->second)) forget(rows_.at(known->second));
    return true;
  }

  // Offers the signal to the oldest registration, or lets it wait for one.
  void place(Row& row) {
    if (registrations_.empty()) {
      // The page may leave out other waiting signals behind its last one: this signal must not pass them.
      if (!cut_.signals || (last_signal_ && row.entry.seq < *last_signal_)) signals_.insert(row.entry.seq);
      return;
    }
    Row& taker = rows_.at(*registrations_.begin());
    offer(row, taker.entry.guid, std::get<Register>(taker.entry.what));
    if (concludes(std::get<Signal>(row.entry.what))) forget(taker);
  }

  void offer(Row& row, const Guid& to, const Register& registration) {
    const Signal& signal = std::get<Signal>(row.entry.what);
    row.entry.offered_to = to;
    signals_.erase(row.entry.seq);
    offers_[to].insert(row.entry.seq);
    sends_.push_back(Send{Envelope{
        registration.reply_to, Message{meeting_of(row.entry.guid, to),
                                       Resume{registration.activity, to, signal.data, signal.status, signal.code}}}});
  }

  Row& add(const Guid& guid, std::variant<Register, Signal> what) {
    MailboxEntry entry;
    entry.seq = next_entry_++;
    entry.guid = guid;
    entry.what = std::move(what);
    by_guid_.emplace(guid, entry.seq);
    const std::uint64_t seq = entry.seq;
    return rows_.emplace(seq, Row{std::move(entry), false, false, std::nullopt}).first->second;
  }

  void forget(Row& row) {
    row.gone = true;
    by_guid_.erase(row.entry.guid);
    signals_.erase(row.entry.seq);
    registrations_.erase(row.entry.seq);
    if (row.entry.offered_to) offers_[*row.entry.offered_to].erase(row.entry.seq);
  }

  const MailboxCut& cut_;
  std::uint64_t next_entry_;
  const Instant now_;
  std::map<std::uint64_t, Row> rows_;                         // by seq
  std::unordered_map<Guid, std::uint64_t> by_guid_;           // to the seq
  std::set<std::uint64_t> registrations_;                     // the waiting ones
  std::set<std::uint64_t> signals_;                           // the waiting ones
  std::unordered_map<Guid, std::set<std::uint64_t>> offers_;  // by registration
  std::optional<std::uint64_t> last_signal_;                  // the last signal of the page, when more wait
  std::vector<Send> sends_;
  std::set<Guid> consumed_;
};

}  // namespace

Decision decide(const MailboxState& state, std::span<const Delivery> deliveries, const DecideOptions& options,
                const MailboxCut& cut) {
  Decision decision;
  MailboxDraft draft(state, cut, options.now);
  for (std::size_t index = 0; index < deliveries.size(); ++index) {
    if (!draft.take(deliveries[index].message)) break;
    decision.done.push_back(index);
  }
  const std::uint64_t next_entry = draft.next_entry();
  std::vector<Write> writes = std::move(draft).writes();
  if (!writes.empty())
    decision.bundle =
        Bundle{state.run, options.epoch, state.rev, options.id, MailboxHead{next_entry}, std::move(writes)};
  return decision;
}

}  // namespace pawl::core
