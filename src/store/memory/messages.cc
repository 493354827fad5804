// Inboxes, mailboxes and the outbox.
#include "base/format.h"
#include "store/memory/answers.h"
#include "store/memory/store.h"

namespace pawl::store::memory {

// A closed job takes nothing: whatever is late changes nothing.
Outcome Store::insert(Job& job, const core::Message& message) {
  if (job.inbox.has(message.guid)) return already_done();
  if (core::is_closed(job.state.job.status)) return committed();
  job.inbox.put(message);
  note_waiting(job.state.job.run, job.inbox);
  return committed();
}

RunId Store::mailbox_for(const core::MailboxKey& key, core::LaneId lane) {
  const auto known = mailbox_keys_.find(key);
  if (known != mailbox_keys_.end()) return known->second;
  const RunId run = next_run(lane);
  Mailbox& mailbox = mailboxes_[run];
  mailbox.state.run = run;
  mailbox.state.key = key;
  mailbox_keys_.emplace(key, run);
  return run;
}

Outcome Store::run(const Deliver& deliver) {
  Lane* source = nullptr;
  if (deliver.source) {
    source = find_lane(deliver.source->lane);
    if (source == nullptr)
      return rejected(format("there is no lane {}", deliver.source->lane.raw()));
    if (deliver.source->seq <= source->delivered) return already_done();
    if (deliver.source->seq != source->delivered + 1)
      return conflict(
          format("row {} came before row {}", deliver.source->seq, source->delivered + 1));
  }
  Outcome outcome = committed();
  const core::Message& message = deliver.envelope.message;
  if (const auto* key = std::get_if<core::MailboxKey>(&deliver.envelope.to)) {
    if (!mailbox_keys_.contains(*key) && find_lane(deliver.mailbox_lane) == nullptr)
      return rejected(format("there is no lane {}", deliver.mailbox_lane.raw()));
    const RunId run = mailbox_for(*key, deliver.mailbox_lane);
    Inbox& inbox = mailboxes_.at(run).inbox;
    if (!inbox.put(message)) outcome = already_done();
    note_waiting(run, inbox);
    outcome.run = run;
  } else if (Job* job = find_job(std::get<RunId>(deliver.envelope.to))) {
    outcome = insert(*job, message);
  }
  if (source != nullptr) source->delivered = deliver.source->seq;
  return outcome;
}

Outcome Store::run(const DropOutbox& drop) {
  if (!owns(drop.lane, drop.epoch)) return fenced();
  Lane& lane = *find_lane(drop.lane);
  if (drop.up_to > lane.delivered)
    return rejected(format("row {} was not delivered yet", lane.delivered + 1));
  while (!lane.outbox.empty() && lane.outbox.front().seq <= drop.up_to) lane.outbox.pop_front();
  return committed();
}

}  // namespace pawl::store::memory
