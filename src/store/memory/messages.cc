// Inboxes, mailboxes and the outbox.
#include "base/format.h"
#include "store/memory/answers.h"
#include "store/memory/store.h"
#include "store/rules.h"

namespace pawl::store::memory {

// A closed job takes nothing: a late message changes nothing.
Outcome Store::insert(Job& job, const core::Message& message) {
  if (job.inbox.has(message.guid)) return already_done();
  if (core::is_closed(job.state.job.status)) return committed();
  job.inbox.put(message);
  note_waiting(job.state.job.run, job.inbox);
  return committed();
}

RunId Store::mailbox_for(const core::MailboxKey& key, core::LaneId lane) {
  const auto known = mailbox_keys_.find(key);
  if (known != mailbox_keys_.end()) {
    touch(core::lane_of(known->second));
    return known->second;
  }
  const RunId run = next_run(lane);
  mailboxes_.emplace(run, Mailbox(run, key));
  mailbox_keys_.emplace(key, run);
  return run;
}

Outcome Store::run(const Deliver& deliver) {
  const core::LaneId lane = core::lane_of(deliver.envelope.to, deliver.lane);
  std::uint64_t* accepted = nullptr;
  if (deliver.source) {
    for (const core::LaneId id : {deliver.source->lane, lane})
      if (!has_lane(id)) return rejected(format("there is no lane {}", id.raw()));
    accepted = &find_lane(lane)->accepted[deliver.source->lane];
    if (deliver.source->seq <= *accepted) return already_done();
    if (deliver.source->seq != *accepted + 1) {
      Outcome early = conflict(format("row {} came before row {}", deliver.source->seq, *accepted + 1));
      early.answer = answer::Taken{*accepted};
      return early;
    }
  }
  Outcome outcome = is_remembered(deliver) ? deliver_once(deliver, lane) : this->deliver(deliver.envelope, lane);
  if (accepted != nullptr) pass_over(outcome);
  if (accepted != nullptr && outcome.done()) *accepted = deliver.source->seq;
  return outcome;
}

Outcome Store::deliver_once(const Deliver& deliver, core::LaneId lane) {
  if (!has_lane(lane)) return this->deliver(deliver.envelope, lane);
  SignalIds& known = find_lane(lane)->signal_ids;
  const core::Guid& guid = deliver.envelope.message.guid;
  if (!known.has(guid, now_in(lane))) {
    Outcome outcome = this->deliver(deliver.envelope, lane);
    if (outcome.kind == OutcomeKind::committed) known.add(guid, now_in(lane));
    return outcome;
  }
  Outcome before = already_done();
  const auto mailbox = mailbox_keys_.find(std::get<core::MailboxKey>(deliver.envelope.to));
  if (mailbox != mailbox_keys_.end()) before.answer = answer::Run{mailbox->second};
  return before;
}

Outcome Store::deliver(const core::Envelope& envelope, core::LaneId lane) {
  const core::Message& message = envelope.message;
  if (is_by_key(envelope) && !has_lane(lane)) return rejected(format("there is no lane {}", lane.raw()));
  if (const auto* key = std::get_if<core::MailboxKey>(&envelope.to)) {
    const RunId run = mailbox_for(*key, lane);
    Outcome outcome = deliver_to(mailboxes_.at(run), message);
    outcome.answer = answer::Run{run};
    return outcome;
  }
  if (const auto* key = std::get_if<core::JobKey>(&envelope.to)) {
    if (const auto* start = std::get_if<core::StartChild>(&message.body)) return start_child(*key, *start, lane);
    const auto holder = start_keys_.find(key_of(key->name_space, key->id));
    if (holder == start_keys_.end()) return committed();
    Job* job = find_job(holder->second.run);
    Outcome outcome = job == nullptr ? committed() : insert(*job, message);
    outcome.answer = answer::Run{holder->second.run};
    return outcome;
  }
  Job* job = find_job(std::get<RunId>(envelope.to));
  return job == nullptr ? committed() : insert(*job, message);
}

Outcome Store::deliver_to(Mailbox& mailbox, const core::Message& message) {
  if (mailbox.inbox.has(message.guid)) return already_done();
  if (const auto* signal = std::get_if<core::Signal>(&message.body)) {
    const std::size_t bytes = signal->data.size();
    if (const auto full = mailbox_full(mailbox.state().key, mailbox.signals, mailbox.signal_bytes, bytes))
      return Outcome{OutcomeKind::over_limit, *full};
    ++mailbox.signals;
    mailbox.signal_bytes += bytes;
  }
  mailbox.inbox.put(message);
  note_waiting(mailbox.state().run, mailbox.inbox);
  return committed();
}

Outcome Store::start_child(const core::JobKey& key, const core::StartChild& start, core::LaneId lane) {
  Outcome begun = run(submit_of(start, key, lane, now_in(lane)));
  Job* job = find_job(begun.run());
  if (begun.kind == OutcomeKind::committed) job->state.job.parent = start.parent;
  if (begun.kind != OutcomeKind::exists) return begun;
  if (job != nullptr && made_by(start, job->state.job.parent)) {
    begun.kind = OutcomeKind::already_done;
    return begun;
  }
  Outcome told = refuse_child(core::refused_child(start, key.id), lane);
  told.answer = answer::Run{start.parent.run};
  return told;
}

// As if a job of this lane had sent it: the parent may be on another node.
Outcome Store::refuse_child(const core::Envelope& refusal, core::LaneId lane) {
  const RunId parent = std::get<RunId>(refusal.to);
  for (const OutboxRow& row : find_lane(lane)->outboxes[core::lane_of(parent)].rows)
    if (row.envelope == refusal) return already_done();
  put_into_outbox(lane, refusal, core::lane_of(parent));
  return committed();
}

Outcome Store::run(const DropOutbox& drop) {
  if (!owns(drop.lane, drop.epoch)) return fenced();
  Outbox& outbox = find_lane(drop.lane)->outboxes[drop.target];
  if (drop.up_to >= outbox.next) return rejected(no_row(drop));
  while (!outbox.rows.empty() && outbox.rows.front().seq <= drop.up_to) outbox.rows.pop_front();
  return committed();
}

}  // namespace pawl::store::memory
