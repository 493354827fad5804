// How jobs begin and end, and how messages reach them.
#include "base/invariant.h"
#include "core/codec.h"
#include "store/postgres/answers.h"
#include "store/postgres/operations.h"
#include "store/rules.h"

namespace pawl::store::postgres {

namespace {

Sent refused(OutcomeKind kind, std::string reason) { return {kind, std::move(reason), RunId(0), RunId(0)}; }

Sent send_to_mailbox(Desk& desk, const core::MailboxKey& key, const core::Message& message, core::LaneId lane) {
  auto known = desk.mailboxes.find(key);
  if (!known) {
    known = desk.lanes.next_run(lane);
    desk.mailboxes.make(*known, key);
  }
  Sent sent;
  sent.run = *known;
  if (desk.inbox.has(*known, message.guid)) {
    sent.kind = OutcomeKind::already_done;
    return sent;
  }
  const auto* signal = std::get_if<core::Signal>(&message.body);
  const MailboxGuard& mailbox = *desk.mailboxes.find(*known);
  if (signal != nullptr)
    if (auto full = mailbox_full(key, mailbox.signals, mailbox.signal_bytes, signal->data.size())) {
      sent.kind = OutcomeKind::over_limit;
      sent.reason = std::move(*full);
      return sent;
    }
  const std::size_t bytes = desk.inbox.put(*known, message);
  if (signal != nullptr) desk.mailboxes.add_signal(*known, bytes);
  return sent;
}

// Sends as if a job of this lane had sent it. If the same message already waits, it is not sent again.
Sent refuse_child(Desk& desk, const core::Envelope& refusal, core::LaneId lane) {
  const RunId parent = std::get<RunId>(refusal.to);
  if (desk.sends_directly) return send_to_job(desk, parent, refusal.message);
  const core::LaneId to = core::lane_of(parent);
  const std::string bytes = core::encode(refusal);
  if (desk.outbox.puts(lane, to, bytes)) return {OutcomeKind::already_done, {}, RunId(0), RunId(0)};
  Done found = desk.connection->run(find_outbox_row, Params::of(lane, to, Blob{bytes}));
  if (!found) {
    desk.failure = found.failure();
    return {};
  }
  if (found[0].next()) return {OutcomeKind::already_done, {}, RunId(0), RunId(0)};
  put_into_outbox(desk, lane, refusal, to);
  return {};
}

Sent start_child(Desk& desk, const core::JobKey& key, const core::StartChild& start, core::LaneId lane) {
  Sent begun = begin_job(desk, submit_of(start, key, lane, desk.now), start.parent);
  if (begun.kind != OutcomeKind::exists) return begun;
  const JobGuard* holder = desk.jobs.find(begun.run);
  if (holder != nullptr && holder->parent_request == start.parent.request) {
    begun.kind = OutcomeKind::already_done;
    return begun;
  }
  Sent told = refuse_child(desk, core::refused_child(start, key.id), lane);
  told.run = start.parent.run;
  return told;
}

}  // namespace

Sent send_to_job(Desk& desk, RunId run, const core::Message& message) {
  Sent sent;
  const JobGuard* job = desk.jobs.find(run);
  if (job == nullptr) return sent;
  if (desk.inbox.has(run, message.guid))
    sent.kind = OutcomeKind::already_done;
  else if (!core::is_closed(job->status))
    desk.inbox.put(run, message);
  return sent;
}

void put_into_outbox(Desk& desk, core::LaneId from, const core::Envelope& envelope, core::LaneId to) {
  if (desk.lanes.exists(to)) desk.outbox.put_row(from, to, envelope);  // otherwise no such run exists
}

Sent send(Desk& desk, const core::Envelope& envelope, core::LaneId lane) {
  if (is_by_key(envelope) && !desk.lanes.exists(lane)) return refused(OutcomeKind::rejected, no_lane(lane));
  return std::visit(Overloaded{
                        [&](const RunId& run) { return send_to_job(desk, run, envelope.message); },
                        [&](const core::MailboxKey& key) { return send_to_mailbox(desk, key, envelope.message, lane); },
                        [&](const core::JobKey& key) {
                          if (const auto* start = std::get_if<core::StartChild>(&envelope.message.body))
                            return start_child(desk, key, *start, lane);
                          const KeyRow* holder = desk.keys.find(key.name_space, key.id);
                          if (holder == nullptr) return Sent{};
                          Sent sent = send_to_job(desk, holder->run, envelope.message);
                          sent.run = holder->run;
                          return sent;
                        },
                    },
                    envelope.to);
}

Sent begin_job(Desk& desk, const Submit& submit, const std::optional<core::ParentLink>& parent) {
  const KeyRow* holder = desk.keys.find(submit.name_space, submit.id);
  if (is_outrun(submit, holder == nullptr ? RunId(0) : holder->run))
    return refused(OutcomeKind::conflict, outrun());
  RunId open{0};
  if (holder != nullptr) {
    const JobGuard* job = desk.jobs.find(holder->run);
    if (job != nullptr && !core::is_closed(job->status)) open = holder->run;
    const bool over = holder->expires_at != Instant() && holder->expires_at <= desk.now;
    if (is_taken(submit.reuse, {open != RunId(0), over})) return {OutcomeKind::exists, {}, holder->run, RunId(0)};
  }
  if (!desk.lanes.exists(submit.lane)) return refused(OutcomeKind::rejected, no_lane(submit.lane));
  Sent begun;
  begun.run = desk.lanes.next_run(submit.lane);
  desk.jobs.make(begun.run, submit, parent);
  desk.keys.put(submit.name_space, submit.id, begun.run);
  desk.inbox.put(begun.run, core::start_message(begun.run, submit.input), submit.start_at);
  if (submit.deadline != Instant()) desk.inbox.put(begun.run, core::deadline_message(begun.run), submit.deadline);
  if (open != RunId(0)) {
    begun.replaced = open;
    send_to_job(desk, open, replaced_message(begun.run));
  }
  return begun;
}

Outcome apply(Desk& desk, const Submit& submit) {
  Sent begun = begin_job(desk, submit, std::nullopt);
  Outcome outcome = outcome_of(begun.kind, std::move(begun.reason));
  if (begun.run != RunId(0)) outcome.answer = answer::Run{begun.run, begun.replaced};
  return outcome;
}

namespace {

// A signal from outside, whose id the lane remembers.
Sent send_once(Desk& desk, const core::Envelope& signal, core::LaneId lane) {
  const core::Guid& guid = signal.message.guid;
  if (desk.signal_ids.has(lane, guid, desk.now)) {
    const auto mailbox = desk.mailboxes.find(std::get<core::MailboxKey>(signal.to));
    return {OutcomeKind::already_done, {}, mailbox.value_or(RunId(0)), RunId(0)};
  }
  Sent sent = send(desk, signal, lane);
  if (sent.kind == OutcomeKind::committed && desk.lanes.exists(lane))
    desk.signal_ids.add(lane, guid, desk.now, desk.lanes.next_signal(lane));
  return sent;
}

}  // namespace

Outcome apply(Desk& desk, const Deliver& deliver) {
  const core::LaneId lane = core::lane_of(deliver.envelope.to, deliver.lane);
  if (deliver.source) {
    for (const core::LaneId id : {deliver.source->lane, lane})
      if (!desk.lanes.exists(id)) return rejected(no_lane(id));
    const std::uint64_t last = desk.outbox.last_taken(lane, deliver.source->lane);
    if (deliver.source->seq <= last) return already_done();
    if (deliver.source->seq != last + 1) {
      Outcome early = conflict(format("row {} came before row {}", deliver.source->seq, last + 1));
      early.answer = answer::Taken{last};
      return early;
    }
  }
  Sent sent = is_remembered(deliver) ? send_once(desk, deliver.envelope, lane) : send(desk, deliver.envelope, lane);
  Outcome outcome = outcome_of(sent.kind, std::move(sent.reason));
  if (sent.run != RunId(0)) outcome.answer = answer::Run{sent.run};
  if (!deliver.source) return outcome;
  pass_over(outcome);
  if (outcome.done()) desk.outbox.take_row(lane, deliver.source->lane, deliver.source->seq);
  return outcome;
}

Outcome apply(Desk& desk, const DropOutbox& drop) {
  if (!desk.lanes.owns(drop.lane, drop.epoch)) return fenced();
  if (drop.up_to > desk.outbox.last_put(drop.lane, drop.target)) return rejected(no_row(drop));
  desk.outbox.drop_rows(drop.lane, drop.target, drop.up_to);
  return committed();
}

Outcome apply(Desk& desk, const RemoveJob& remove) {
  const JobGuard* job = desk.jobs.find(remove.run);
  if (job == nullptr) return already_done();
  if (!core::is_closed(job->status) || job->completions == 0) return conflict("the job is not over yet");
  desk.keys.end(job->name_space, job->id, remove.run, remove.key_until);
  desk.jobs.remove(remove.run);
  return committed();
}

}  // namespace pawl::store::postgres
