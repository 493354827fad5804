#include "store/mailbox_page.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/invariant.h"

namespace pawl::store {

namespace {

// What the messages of a page need.
struct Wanted {
  std::size_t signals = 0;
  std::size_t registers = 0;
  std::vector<core::Guid> withdrawn;
  std::vector<core::Taken> taken;
  std::set<core::Guid> dropped;
};

class PageReader {
 public:
  PageReader(MailboxRows& rows, const MailboxPageSize& size, Instant now, MailboxPage& page)
      : rows_(rows), size_(size), now_(now), page_(page) {}

  Status read() {
    for (const auto step :
         {&PageReader::read_messages, &PageReader::read_expired, &PageReader::read_registrations,
          &PageReader::read_signals, &PageReader::read_withdrawn, &PageReader::read_taken, &PageReader::read_dropped})
      if (const auto done = (this->*step)(); !done) return done;
    for (auto& [seq, entry] : entries_) page_.state.entries.push_back(std::move(entry));
    return {};
  }

 private:
  // Rows are taken until their number or their bytes are enough.
  class Budget {
   public:
    explicit Budget(const MailboxPageSize& size) : size_(size) {}
    bool goes_on(std::size_t bytes) {
      ++rows_;
      bytes_ += bytes;
      is_spent_ = rows_ >= size_.messages || bytes_ >= size_.bytes;
      return !is_spent_;
    }
    bool is_spent() const { return is_spent_; }

   private:
    const MailboxPageSize& size_;
    std::size_t rows_ = 0;
    std::size_t bytes_ = 0;
    bool is_spent_ = false;
  };

  static std::size_t bytes_of(const core::MailboxEntry& entry) {
    const auto* signal = std::get_if<core::Signal>(&entry.what);
    return signal == nullptr ? 0 : signal->data.size();
  }

  void keep(core::MailboxEntry entry) {
    const std::uint64_t seq = entry.seq;
    entries_.emplace(seq, std::move(entry));  // an entry that was read with its data stays
  }

  // Requests to drop signals are a page alone: the signals that they mean are read without their data, and no hook may
  // get one of those.
  Status read_messages() {
    Budget budget(size_);
    bool is_cut = false;
    const auto done = rows_.read_messages(size_.messages, [&](core::InboxMessage message) {
      const bool drops = std::holds_alternative<core::DropSignal>(message.message.body);
      is_cut = !page_.inbox.empty() && drops == wanted_.dropped.empty();
      if (is_cut) return false;
      std::size_t bytes = 0;
      std::visit(Overloaded{
                     [&](const core::Signal& signal) {
                       ++wanted_.signals;
                       bytes = signal.data.size();
                     },
                     [&](const core::Register&) { ++wanted_.registers; },
                     [&](const core::Withdraw& withdraw) { wanted_.withdrawn.push_back(withdraw.registration); },
                     [&](const core::Taken& taken) { wanted_.taken.push_back(taken); },
                     [&](const core::DropSignal& drop) { wanted_.dropped.insert(drop.signal); },
                     [](const core::Expire&) {},  // expired entries are read anyway
                     // Not messages of a mailbox: they need nothing from it.
                     each_of<core::Start, core::Transition, core::Reply, core::Resume, core::NoReply, core::Interrupt,
                             core::Cancel, core::Pause, core::Proceed, core::Redrive, core::GiveAnswer, core::Verdict,
                             core::TimeUp, core::Reenter, core::Arrive, core::Item, core::StartChild, core::ChildDone,
                             core::EndJob, core::Expand, core::Unlabel, core::Refused>([] {}),
                 },
                 message.message.body);
      page_.inbox.push_back(std::move(message));
      return budget.goes_on(bytes);
    });
    page_.more = budget.is_spent() || is_cut;
    return done;
  }

  // Expired signals are in front: signals expire in the order of arrival.
  Status read_expired() {
    Budget budget(size_);
    const auto done = rows_.read_heads(size_.messages, [&](core::MailboxEntry entry) {
      if (entry.expires_at > now_) return false;
      from_ = entry.seq + 1;
      keep(std::move(entry));
      return budget.goes_on(0);
    });
    page_.more = page_.more || budget.is_spent();
    return done;
  }

  Status read_registrations() {
    if (wanted_.signals == 0 && wanted_.withdrawn.empty()) return {};
    Budget budget(size_);
    const auto done = rows_.read_registrations(size_.messages, [&](core::MailboxEntry entry) {
      keep(std::move(entry));
      return budget.goes_on(0);
    });
    page_.cut.registrations = budget.is_spent();
    return done;
  }

  // Enough to conclude the hooks that register, and the pending hooks before them.
  Status read_signals() {
    if (wanted_.registers == 0) return {};
    Budget budget(size_);
    std::size_t concluding = 0;
    const auto done = rows_.read_signals(from_, size_.messages, [&](core::MailboxEntry entry) {
      const auto* signal = std::get_if<core::Signal>(&entry.what);
      if (signal != nullptr && signal->status != core::ReplyStatus::pending) ++concluding;
      const std::size_t bytes = bytes_of(entry);
      keep(std::move(entry));
      return budget.goes_on(bytes) && concluding < wanted_.registers;
    });
    page_.cut.signals = budget.is_spent() || concluding >= wanted_.registers;
    return done;
  }

  Status read_withdrawn() {
    Budget budget(size_);
    for (const core::Guid& registration : wanted_.withdrawn) {
      const auto known = rows_.find_registration(registration, [&](core::MailboxEntry entry) {
        keep(std::move(entry));
        return false;
      });
      if (!known) return known;
      bool enough = false;
      const auto done = rows_.read_offers(registration, size_.messages, [&](core::MailboxEntry entry) {
        const std::size_t bytes = bytes_of(entry);
        keep(std::move(entry));
        enough = !budget.goes_on(bytes);
        return !enough;
      });
      if (!done) return done;
      if (enough) page_.cut.offers.push_back(registration);
    }
    return {};
  }

  Status read_taken() {
    for (const core::Taken& taken : wanted_.taken) {
      const auto done = rows_.find_offer(taken, [&](core::MailboxEntry entry) {
        keep(std::move(entry));
        return false;
      });
      if (!done) return done;
    }
    return {};
  }

  // Those that wait, wherever they are in the line.
  Status read_dropped() {
    if (wanted_.dropped.empty()) return {};
    return rows_.read_heads(limits::early_signals_per_mailbox_max, [&](core::MailboxEntry entry) {
      if (wanted_.dropped.erase(entry.guid) > 0) keep(std::move(entry));
      return !wanted_.dropped.empty();
    });
  }

  MailboxRows& rows_;
  const MailboxPageSize& size_;
  const Instant now_;
  MailboxPage& page_;
  Wanted wanted_;
  std::uint64_t from_ = 0;  // the first signal that has not expired
  std::map<std::uint64_t, core::MailboxEntry> entries_;
};

}  // namespace

Status fill_page(MailboxRows& rows, const MailboxPageSize& size, Instant now, MailboxPage& page) {
  return PageReader(rows, size, now, page).read();
}

Status fill_kept(MailboxRows& rows, const KeptQuery& query, KeptSignals& kept) {
  std::size_t seen = 0;
  std::size_t bytes = 0;
  const auto is_enough = [&](std::size_t size) {
    bytes += size;
    return ++seen >= query.rows_max || bytes >= query.bytes_max;
  };
  std::set<core::Guid> dropped;
  std::uint64_t number = 0;
  const auto inbox = rows.read_messages(limits::mailbox_inbox_max, [&](core::InboxMessage message) {
    if (const auto* drop = std::get_if<core::DropSignal>(&message.message.body)) dropped.insert(drop->signal);
    const auto* signal = std::get_if<core::Signal>(&message.message.body);
    if (signal == nullptr || kept.next_unserved || number++ < query.from_unserved) return true;
    const std::size_t size = signal->data.size();
    kept.unserved.push_back({number - 1, std::move(message.message)});
    if (is_enough(size)) kept.next_unserved = number;
    return true;
  });
  if (!inbox) return inbox;
  std::erase_if(kept.unserved, [&](const auto& one) { return dropped.contains(one.message.guid); });
  seen = bytes = 0;
  const auto in_line = rows.read_signals(query.from_seq, query.rows_max, [&](core::MailboxEntry entry) {
    const std::size_t size = std::get<core::Signal>(entry.what).data.size();
    const std::uint64_t next = entry.seq + 1;
    if (!dropped.contains(entry.guid)) kept.entries.push_back(std::move(entry));
    if (!is_enough(size)) return true;
    kept.next_seq = next;
    return false;
  });
  // Where the two are not read at one moment, an owner may have taken one in between.
  std::erase_if(kept.unserved, [&](const auto& one) {
    return std::any_of(kept.entries.begin(), kept.entries.end(),
                       [&](const core::MailboxEntry& entry) { return entry.guid == one.message.guid; });
  });
  if (kept.next_seq) {  // they come first
    kept.unserved.clear();
    kept.next_unserved.reset();
  }
  return in_line;
}

}  // namespace pawl::store
