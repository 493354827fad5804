#include "store/transfer/whole.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"

namespace pawl::store::transfer {

namespace {

constexpr std::size_t announcements_per_read = 1000;

// As text that every store can keep: it is for people.
std::string shown_reason(const std::string& reason) {
  std::string text = valid_utf8(reason);
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

// The message that concluded an activity: the last that entered it, if it has no output.
std::map<core::ActivitySeq, const core::MessageRecord*> closing_of(const core::JobState& state) {
  std::map<core::ActivitySeq, const core::MessageRecord*> closing;
  for (const auto& [guid, record] : state.messages()) {
    const core::Activity* activity = state.find(record.activity);
    if (activity == nullptr || !record.output.empty()) continue;
    if (!activity->ledger.has(ledger::ActivityLedger::Mark::work_done)) continue;
    if (record.ledger.ordinal() == activity->ledger.entries()) closing.emplace(record.activity, &record);
  }
  return closing;
}

Status see_inbox(RunId run, EntityKind entity, std::vector<core::InboxMessage>& inbox,
                 std::vector<core::InboxMessage>& timers, const See& see) {
  std::uint32_t order = 0;
  for (core::InboxMessage& message : inbox)
    if (auto seen = see(InboxMessage{run, entity, order++, std::move(message)}); !seen) return seen;
  for (core::InboxMessage& message : timers)
    if (auto seen = see(Timer{run, std::move(message)}); !seen) return seen;
  return {};
}

Status see_job(StoredJob& job, bool duplex, const See& see) {
  const core::JobState& state = job.state;
  const RunId run = state.job.run;
  Job row{state.job, duplex};
  row.row.reason = shown_reason(row.row.reason);
  if (auto seen = see(std::move(row)); !seen) return seen;
  const auto closing = closing_of(state);
  for (const core::Activity& activity : state.activities()) {
    Activity record{run, activity};
    if (const auto found = closing.find(activity.seq); found != closing.end()) record.closing = *found->second;
    if (auto seen = see(std::move(record)); !seen) return seen;
  }
  for (const auto& [guid, record] : state.messages()) {
    const auto found = closing.find(record.activity);
    const bool closes = found != closing.end() && found->second == &record;
    if (auto seen = see(MessageLedger{run, record, closes}); !seen) return seen;
  }
  return see_inbox(run, EntityKind::job, job.inbox, job.timers, see);
}

}  // namespace

Status read_jobs(Store& store, std::span<const JobToRead> jobs, const See& see) {
  std::vector<Read> reads;
  for (const JobToRead& job : jobs) reads.emplace_back(ReadJob{job.run});
  for (std::size_t next = 0; next < jobs.size();) {
    auto answers = store.read(std::span(reads).subspan(next));
    for (ReadAnswer& answer : answers) {
      auto& job = std::get<Answered<ReadJob>>(answer).value;
      if (!job) return job.error();
      if (!*job) return Error{ErrorCode::corrupt, format("run {} is listed, and is no job", jobs[next].run.raw())};
      if (auto seen = see_job(**job, jobs[next].duplex, see); !seen) return seen;
      ++next;
    }
  }
  return {};
}

Status read_mailbox(Store& store, const MailboxToRead& mailbox, const See& see) {
  auto read = store.read_mailbox(mailbox.run);
  if (!read) return read.error();
  if (!*read) return Error{ErrorCode::corrupt, format("run {} is listed, and is no mailbox", mailbox.run.raw())};
  StoredMailbox& stored = **read;
  const core::MailboxState& state = stored.state;
  Mailbox row{state.run, state.key, state.rev, state.bundle, state.next_entry, mailbox.signals, mailbox.signal_bytes};
  if (auto seen = see(std::move(row)); !seen) return seen;
  for (const core::MailboxEntry& entry : state.entries)
    if (auto seen = see(MailboxEntry{state.run, entry}); !seen) return seen;
  return see_inbox(state.run, EntityKind::mailbox, stored.inbox, stored.timers, see);
}

Status read_announcements(Store& store, core::LaneId lane, const See& see) {
  AnnouncementQuery query;
  query.lane = lane;
  query.rows_max = announcements_per_read;
  for (;;) {
    auto rows = store.read_announcements(query);
    if (!rows) return rows.error();
    for (AnnouncementRow& row : *rows) {
      query.after = row.seq;
      Announcement record{lane, row.seq, row.run, std::move(row.name_space), std::move(row.job), std::move(row.said)};
      if (auto seen = see(std::move(record)); !seen) return seen;
    }
    if (rows->size() < query.rows_max) return {};
  }
}

}  // namespace pawl::store::transfer
