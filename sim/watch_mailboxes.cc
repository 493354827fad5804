// Mailboxes: every bundle of a mailbox is computed a second time by its rules, and at the end every signal is counted.
#include <algorithm>

#include "base/format.h"
#include "sim/watch_digits.h"
#include "sim/watch_store.h"

namespace pawl::sim {

using core::ReplyStatus;

namespace {

// The guid of a meeting, computed a second time.
core::Guid resume_of(const core::Guid& signal, const core::Guid& registration) {
  return core::Guid{signal.high ^ registration.low, signal.low ^ registration.high}.derive(core::Guid::Purpose::resume,
                                                                                           0);
}

bool is_signal(const core::MailboxEntry& entry) { return std::holds_alternative<core::Signal>(entry.what); }
bool concludes(const core::MailboxEntry& signal) {
  return std::get<core::Signal>(signal.what).status != ReplyStatus::pending;
}

// The rules: new entries queue at the end, the first signal meets the first registration, and a signal that was not
// taken goes back to its place.
class Line {
 public:
  struct Met {
    core::MailboxEntry signal;
    core::Guid registration;
    core::Register by;
  };
  std::vector<core::MailboxEntry> entries;  // by seq
  std::vector<Met> meetings;

  core::MailboxEntry* first(bool signal) {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto& entry) { return is_signal(entry) == signal && !entry.offered_to; });
    return found == entries.end() ? nullptr : &*found;
  }
  void remove(const core::Guid& guid) {
    std::erase_if(entries, [&](const auto& entry) { return entry.guid == guid; });
  }
  void meet(core::MailboxEntry& signal, const core::Guid& registration, const core::Register& by) {
    signal.offered_to = registration;
    meetings.push_back({signal, registration, by});
  }
  // With the first registration, if there is one.
  void place(core::MailboxEntry& signal) {
    signal.offered_to.reset();
    const core::MailboxEntry* taker = first(false);
    if (taker == nullptr) return;
    const core::Guid guid = taker->guid;
    const bool ends = concludes(signal);
    meet(signal, guid, std::get<core::Register>(taker->what));
    if (ends) remove(guid);
  }
  void add(const core::Guid& guid, std::variant<core::Register, core::Signal> what) {
    entries.push_back(core::MailboxEntry{~std::uint64_t{0}, guid, std::move(what)});
  }
};

}  // namespace

void WatchStore::fail(const ShadowMailbox& box, const std::string& what) {
  verdict_.fail("mailbox", format("mailbox {} {} at rev {}: {}", box.key.topic.raw(), box.key.key, box.rev, what));
}

// What the messages that this bundle consumes must lead to; then what it did.
void WatchStore::note_mailbox(const core::Bundle& bundle) {
  const auto found = mailboxes_.find(bundle.entity);
  if (found == mailboxes_.end()) return verdict_.fail("invented", "a bundle for a mailbox that does not exist");
  ShadowMailbox& box = found->second;
  if (bundle.rev_before.raw() != box.rev)
    verdict_.fail("rev", format("a bundle made for rev {} of a mailbox was applied", bundle.rev_before.raw()));
  ++box.rev;
  ++figures_.bundles;

  std::set<core::Guid> consumed;
  std::set<std::uint64_t> dropped;
  std::vector<core::Envelope> sends;
  for (const core::Write& one : bundle.writes) {
    if (const auto* w = std::get_if<core::Consume>(&one)) consumed.insert(w->guid);
    if (const auto* w = std::get_if<core::DropEntry>(&one)) dropped.insert(w->seq);
    if (const auto* w = std::get_if<core::Send>(&one)) sends.push_back(w->envelope);
  }
  Line line;
  line.entries = box.entries;
  for (const core::Write& one : bundle.writes) {
    if (const auto* put = std::get_if<core::PutEntry>(&one)) {
      box.entries.push_back(put->entry);
    } else if (const auto* drop = std::get_if<core::DropEntry>(&one)) {
      if (std::erase_if(box.entries, [&](const auto& entry) { return entry.seq == drop->seq; }) != 1)
        fail(box, "an entry was dropped that is not there");
    } else if (const auto* offer = std::get_if<core::OfferEntry>(&one)) {
      for (core::MailboxEntry& entry : box.entries)
        if (entry.seq == offer->seq) entry.offered_to = offer->to;
    } else if (const auto* put_timer = std::get_if<core::PutMessage>(&one)) {
      if (!std::holds_alternative<core::Expire>(put_timer->message.body))
        fail(box, "a mailbox put what no mailbox puts");
      else
        box.timers[put_timer->message.guid] = {put_timer->message, put_timer->due};
    } else if (const auto* send = std::get_if<core::Send>(&one)) {
      put_in_outbox(bundle.entity, *send);
    }
  }
  // The state of an entry after the bundle shows how far the bundle served a message that it did not consume. A message
  // that came after the decision was not served at all.
  const auto is_left = [&](const core::Guid& guid, const std::optional<core::Guid>& offered_to) {
    return std::any_of(box.entries.begin(), box.entries.end(),
                       [&](const auto& entry) { return entry.guid == guid && entry.offered_to == offered_to; });
  };
  const auto expire = [&](const core::MailboxEntry& entry) {
    if (!dropped.contains(entry.seq) || !is_over(entry.expires_at)) return false;
    expired_.insert(entry.guid);
    return true;
  };
  std::erase_if(line.entries,
                [&](const auto& entry) { return is_signal(entry) && !entry.offered_to && expire(entry); });

  const auto serve = [&](const core::Message& message, bool whole) {
    if (const auto* signal = std::get_if<core::Signal>(&message.body)) {
      if (!whole) return;
      line.add(message.guid, *signal);
      line.place(line.entries.back());
    } else if (const auto* registration = std::get_if<core::Register>(&message.body)) {
      while (core::MailboxEntry* early = line.first(true)) {
        if (!whole && line.meetings.size() == sends.size()) return;
        const bool ends = concludes(*early);
        line.meet(*early, message.guid, *registration);
        if (ends && !whole) fail(box, "a registration was concluded and stays");
        if (ends) return;
      }
      if (whole) line.add(message.guid, *registration);
    } else if (const auto* withdraw = std::get_if<core::Withdraw>(&message.body)) {
      if (whole || !is_left(withdraw->registration, std::nullopt)) line.remove(withdraw->registration);
      std::vector<core::Guid> out;
      for (const core::MailboxEntry& entry : line.entries)
        if (entry.offered_to == withdraw->registration) out.push_back(entry.guid);
      for (const core::Guid& guid : out) {
        const auto entry =
            std::find_if(line.entries.begin(), line.entries.end(), [&](const auto& one) { return one.guid == guid; });
        if (!whole && is_left(guid, withdraw->registration)) return;
        if (expire(*entry))
          line.entries.erase(entry);
        else
          line.place(*entry);
      }
    } else if (const auto* taken = std::get_if<core::Taken>(&message.body)) {
      if (!whole) return;
      std::erase_if(line.entries, [&](const auto& entry) {
        return entry.offered_to == taken->registration && resume_of(entry.guid, taken->registration) == taken->resume;
      });
    } else if (const auto* drop = std::get_if<core::DropSignal>(&message.body)) {
      if (!whole) return;
      const auto gone = std::erase_if(line.entries, [&](const auto& entry) {
        return is_signal(entry) && !entry.offered_to && entry.guid == drop->signal;
      });
      if (gone > 0) expired_.insert(drop->signal);
    }
  };
  // In their order; the first one that is not done may be partly served.
  bool done = true;
  for (const core::Message& message : box.inbox) {
    const bool whole = consumed.contains(message.guid);
    if (whole && !done) fail(box, "a message was served before one that came earlier");
    if (whole || done) serve(message, whole);
    done = done && whole;
  }
  std::erase_if(box.inbox, [&](const core::Message& one) { return consumed.contains(one.guid); });
  std::erase_if(box.timers, [&](const auto& row) { return consumed.contains(row.first); });

  note_meetings(box, sends, line.meetings.size(), [&](std::size_t i) -> std::pair<core::Envelope, ShadowMeeting> {
    const Line::Met& met = line.meetings[i];
    const auto& said = std::get<core::Signal>(met.signal.what);
    const core::Guid name = resume_of(met.signal.guid, met.registration);
    return {core::Envelope{met.by.reply_to,
                           {name, core::Resume{met.by.activity, met.registration, said.data, said.status, said.code}}},
            ShadowMeeting{met.signal.guid, met.registration, said.status != ReplyStatus::pending}};
  });
  const bool same = std::equal(
      box.entries.begin(), box.entries.end(), line.entries.begin(), line.entries.end(),
      [](const auto& is, const auto& should) { return is.guid == should.guid && is.offered_to == should.offered_to; });
  if (!same) fail(box, format("{} entries are not the {} that should be", box.entries.size(), line.entries.size()));
  check_lines(box);
  if (!box.entries.empty() || !box.inbox.empty() || !box.timers.empty()) return;
  mailbox_runs_.erase(core::MailboxKey(box.key));  // it is empty, so it is removed
  mailboxes_.erase(found);
}

// Each meeting is reported, and nothing else.
void WatchStore::note_meetings(const ShadowMailbox& box, const std::vector<core::Envelope>& sends, std::size_t count,
                               const std::function<std::pair<core::Envelope, ShadowMeeting>(std::size_t)>& wanted) {
  if (sends.size() != count)
    return fail(box, format("{} signals met registrations, and {} are told", count, sends.size()));
  for (std::size_t i = 0; i < count; ++i) {
    const auto [envelope, meeting] = wanted(i);
    if (sends[i] != envelope) fail(box, "a resume is not that of the signal and the registration that meet");
    meetings_[envelope.message.guid] = meeting;
    if (meeting.concludes && !concluded_.emplace(meeting.registration, envelope.message.guid).second)
      fail(box, "a registration is concluded twice");
  }
}

void WatchStore::check_lines(const ShadowMailbox& box) {
  std::size_t signals = 0;
  std::size_t registrations = 0;
  for (const core::MailboxEntry& entry : box.entries) {
    if (entry.offered_to) continue;
    ++(is_signal(entry) ? signals : registrations);
    if (!is_signal(entry)) continue;
    const auto timer = box.timers.find(entry.guid.derive(core::Guid::Purpose::expiry, 0));
    if (timer == box.timers.end() || timer->second.due != entry.expires_at)
      fail(box, "a signal waits without the timer of its end");
  }
  if (signals != 0 && registrations != 0) fail(box, "signals and registrations wait side by side");
  if (signals != box.timers.size()) fail(box, format("{} early signals have {} timers", signals, box.timers.size()));
}

// A message of a job did its work: if it brought a signal, no other message may have brought the same signal.
void WatchStore::note_work(const ShadowJob& job, const core::Guid& message) {
  const auto meeting = meetings_.find(message);
  if (meeting == meetings_.end() || !worked_.insert(message).second) return;
  if (!used_.insert(meeting->second.signal).second) fail(job, "signals", "a signal resumes a second hook");
}

// Each accepted signal did its work in one hook, or is still there, or has expired or was dropped.
void WatchStore::check_signals_at_end() {
  std::set<core::Guid> kept;
  for (const auto& [run, box] : mailboxes_)
    for (const core::MailboxEntry& entry : box.entries) {
      if (!is_signal(entry)) continue;
      kept.insert(entry.guid);
      if (!entry.offered_to) continue;
      const auto by = registered_by_.find(*entry.offered_to);
      const auto status = by == registered_by_.end() ? std::nullopt : status_of(by->second);
      if (!status || core::is_closed(*status)) fail(box, "a signal is out to a job that is over");
    }
  for (const core::Guid& signal : told_) {
    const int fates =
        (used_.contains(signal) ? 1 : 0) + (kept.contains(signal) ? 1 : 0) + (expired_.contains(signal) ? 1 : 0);
    if (fates == 0) verdict_.fail("signals", "a signal that was accepted resumed no hook, and is not in its mailbox");
    if (fates > 1) verdict_.fail("signals", "a signal that resumed a hook, or expired, is still in its mailbox");
  }
}

}  // namespace pawl::sim
