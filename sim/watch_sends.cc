// What jobs and mailboxes send each other: outboxes, inboxes, children. watch_mailboxes.cc has the mailboxes.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "core/program.h"
#include "sim/watch_digits.h"
#include "sim/watch_store.h"

namespace pawl::sim {

using core::ReplyStatus;
using store::OutcomeKind;

std::size_t WatchStore::in_transit() const {
  std::size_t count = 0;
  for (const auto& [lane, outbox] : outboxes_) count += outbox.rows.size();
  for (const auto& [run, box] : mailboxes_) count += box.inbox.size();
  return count;
}

WatchStore::ShadowChild* WatchStore::child_of(RunId run, std::uint32_t activity) {
  const auto found = children_.find({run, activity});
  return found == children_.end() ? nullptr : &found->second;
}
const WatchStore::ShadowChild* WatchStore::child_of(RunId run, std::uint32_t activity) const {
  const auto found = children_.find({run, activity});
  return found == children_.end() ? nullptr : &found->second;
}

// --- sending

void WatchStore::put_in_outbox(RunId from, const core::Send& send) {
  const core::Message& message = send.envelope.message;
  if (!sent_.insert(message.guid).second) verdict_.fail("sends", format("run {} sent a message twice", from.raw()));
  const core::LaneId to = core::lane_of(send.envelope.to, send.lane);
  outbox_of(core::lane_of(from), to).rows.push_back(send.envelope);
  if (to != core::lane_of(from)) ++figures_.sent_across;
}

void WatchStore::send(ShadowJob& job, const core::Send& send) {
  put_in_outbox(job.run, send);
  const core::Message& message = send.envelope.message;
  const auto* box = std::get_if<core::MailboxKey>(&send.envelope.to);
  const auto* name = std::get_if<core::JobKey>(&send.envelope.to);
  const auto* run = std::get_if<RunId>(&send.envelope.to);
  if (const auto* registration = std::get_if<core::Register>(&message.body)) {
    if (box == nullptr || registration->reply_to != job.run || !job.activities.contains(registration->activity.raw()))
      return fail(job, "mailbox", "a registration of somebody else was sent");
    job.registrations[message.guid] = {*box, registration->activity.raw()};
    registered_by_.insert_or_assign(message.guid, job.run);
    job.activities[registration->activity.raw()].waits = true;
  } else if (const auto* withdraw = std::get_if<core::Withdraw>(&message.body)) {
    const auto known = job.registrations.find(withdraw->registration);
    if (known == job.registrations.end() || box == nullptr || known->second.at != *box)
      return fail(job, "mailbox", "a registration that is not there was withdrawn");
    if (std::exchange(known->second.ended, true)) fail(job, "mailbox", "a registration was ended twice");
  } else if (const auto* taken = std::get_if<core::Taken>(&message.body)) {
    const auto known = job.registrations.find(taken->registration);
    const auto meeting = meetings_.find(taken->resume);
    if (known == job.registrations.end() || box == nullptr || known->second.at != *box || meeting == meetings_.end() ||
        meeting->second.registration != taken->registration)
      return fail(job, "mailbox", "it took a signal that it was not offered");
    if (!worked_.contains(taken->resume))
      fail(job, "mailbox", "it says that it took a signal, and did nothing with it");
    if (meeting->second.concludes && std::exchange(known->second.ended, true))
      fail(job, "mailbox", "a registration was ended twice");
  } else if (const auto* start = std::get_if<core::StartChild>(&message.body)) {
    const std::uint32_t seq = start->parent.activity.raw();
    if (name == nullptr || start->parent.run != job.run || start->parent.request != message.guid ||
        !children_.emplace(std::pair(job.run, seq), ShadowChild{*start, *name}).second)
      return fail(job, "children", format("activity {} starts a child twice", seq));
    if (start->parent.awaits) job.activities[seq].waits = true;
  } else if (const auto* word = std::get_if<core::ChildDone>(&message.body)) {
    if (run == nullptr || !job.parent || !job.parent->awaits || job.parent->run != *run ||
        job.parent->activity != word->activity)
      return fail(job, "children", "it tells its end to somebody who does not await it");
    if (word->status == ReplyStatus::pending) return;
    if (++job.words > 1 || !core::is_closed(job.status))
      fail(job, "children", "it tells its end twice, or before its end");
  } else if (const auto* end = std::get_if<core::EndJob>(&message.body)) {
    for (auto& [place, child] : children_)
      if (end->parent && place.first == job.run && *end->parent == job.run && name != nullptr && child.key == *name)
        child.told_to_end = true;
  } else if (const auto* unlabel = std::get_if<core::Unlabel>(&message.body)) {
    const auto known = run == nullptr ? jobs_.end() : jobs_.find(*run);
    if (known == jobs_.end() || !known->second.labels.contains(unlabel->label))
      fail(job, "labels", "a job that does not have the label was told to lose it");
  } else if (!std::holds_alternative<core::Signal>(message.body)) {
    fail(job, "sends", "a job sent what no job sends");
  }
}

// --- accepting

void WatchStore::note(const store::DropOutbox& drop, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  check_owner(drop.lane, drop.epoch, "an outbox was cleared");
  if (drop.up_to > outbox_of(drop.lane, drop.target).delivered)
    verdict_.fail("sends", format("row {} of lane {} for lane {} was dropped before it was accepted", drop.up_to,
                                  drop.lane.raw(), drop.target.raw()));
}

void WatchStore::note(const store::Deliver& deliver, const store::Outcome& outcome) {
  if (!outcome.done()) return;
  const core::LaneId lane = core::lane_of(deliver.envelope.to, deliver.lane);
  if (deliver.remembered && told_.contains(deliver.envelope.message.guid)) {
    if (outcome.kind == OutcomeKind::committed)
      verdict_.fail("signals", "a signal that was told again under its id counts twice");
    return;
  }
  if (!deliver.source) return accept(deliver.envelope, lane, outcome);
  ShadowOutbox& outbox = outbox_of(deliver.source->lane, lane);
  const std::uint64_t seq = deliver.source->seq;
  if (seq <= outbox.delivered) {
    if (outcome.kind == OutcomeKind::committed)
      verdict_.fail("sends", format("row {} of lane {} was accepted twice", seq, deliver.source->lane.raw()));
    return;
  }
  if (seq != outbox.delivered + 1 || outbox.rows.empty())
    return verdict_.fail("sends", format("row {} of lane {} was accepted after row {}", seq, deliver.source->lane.raw(),
                                         outbox.delivered));
  if (outbox.rows.front() != deliver.envelope)
    verdict_.fail("sends", format("row {} of lane {} is not what was sent", seq, deliver.source->lane.raw()));
  outbox.rows.pop_front();
  ++outbox.delivered;
  accept(deliver.envelope, lane, outcome);
}

void WatchStore::accept(const core::Envelope& envelope, core::LaneId lane, const store::Outcome& outcome) {
  const core::Message& message = envelope.message;
  if (const auto* run = std::get_if<RunId>(&envelope.to)) return accept(find(*run), message, outcome);
  if (const auto* name = std::get_if<core::JobKey>(&envelope.to)) {
    if (const auto* start = std::get_if<core::StartChild>(&message.body))
      return accept_child(*name, lane, *start, outcome);
    const auto holder = keys_.find({name->name_space.raw(), name->id.raw()});
    if (outcome.run() != (holder == keys_.end() ? RunId(0) : holder->second.run))
      return verdict_.fail("sends", format("what was sent to {} went to another run", name->id.raw()));
    return accept(find(outcome.run()), message, outcome);
  }
  const auto& key = std::get<core::MailboxKey>(envelope.to);
  const auto [known, fresh] = mailbox_runs_.emplace(key, outcome.run());
  if (known->second != outcome.run() || jobs_.contains(outcome.run()))
    return verdict_.fail("mailbox", format("{} has two mailboxes", key.key));
  ShadowMailbox& box = mailboxes_[outcome.run()];
  box.key = key;
  const bool waits =
      std::any_of(box.inbox.begin(), box.inbox.end(), [&](const auto& one) { return one.guid == message.guid; });
  if (waits == (outcome.kind == OutcomeKind::committed)) return fail(box, "a message was taken twice, or not at all");
  if (waits) return;
  if (!outcome.reason.empty()) return;  // refused: the mailbox is full
  if (std::holds_alternative<core::Signal>(message.body) && !told_.insert(message.guid).second)
    fail(box, "a signal was told twice");
  box.inbox.push_back(message);
}

void WatchStore::accept(ShadowJob* job, const core::Message& message, const store::Outcome& outcome) {
  if (job == nullptr || core::is_closed(job->status)) return;  // late: it changes nothing
  if (outcome.kind == OutcomeKind::already_done) {
    if (!job->inbox.contains(message.guid)) fail(*job, "sends", "a message was taken for one that it had before");
    return;
  }
  // A bundle behind it in the same group may have closed the job.
  const auto stored = inner_.read_message(job->run, message.guid);
  const auto state = inner_.read_job(job->run);
  const bool closed = state && *state && core::is_closed((*state)->state.job.status);
  if ((!stored || !*stored) && !closed) fail(*job, "sends", "a message was accepted and is not in the inbox");
  job->received.insert(message.guid);
  put_message(*job, message);
  if (const auto* verdict = std::get_if<core::Verdict>(&message.body))
    job->activities[verdict->activity.raw()].findings.insert(verdict->data.str());
  if (const auto* word = std::get_if<core::ChildDone>(&message.body)) {
    ShadowChild* child = child_of(job->run, word->activity.raw());
    if (child == nullptr) return fail(*job, "children", "it hears of a child that it did not start");
    if (word->status != ReplyStatus::pending && ++child->ends_received > 1)
      fail(*job, "children", format("it hears the end of {} twice", child->key.id.raw()));
  }
}

// A new run, or the message to the parent that the id is taken: the lane where it is taken sends it.
void WatchStore::accept_child(const core::JobKey& key, core::LaneId lane, const core::StartChild& start,
                              const store::Outcome& outcome) {
  ShadowChild* child = child_of(start.parent.run, start.parent.activity.raw());
  const std::string& id = key.id.raw();
  if (child == nullptr || child->run != RunId(0) || child->refused)
    return verdict_.fail("children", format("{} is started twice, or by nobody", id));
  const auto holder = keys_.find({key.name_space.raw(), id});
  const Instant expires_at = holder == keys_.end() ? Instant() : holder->second.expires_at;
  const bool expired = expires_at != Instant() && expires_at <= now_in(lane);
  if (holder != keys_.end() && !expired) {
    child->refused = true;
    if (outcome.run() != start.parent.run)
      return verdict_.fail("children", format("{} was started although its id is taken", id));
    outbox_of(lane, core::lane_of(start.parent.run)).rows.push_back(core::refused_child(start, key.id));
    return;
  }
  if (outcome.kind != OutcomeKind::committed || jobs_.contains(outcome.run()) || removed_.contains(outcome.run()))
    return verdict_.fail("children", format("{} was started and has no run of its own", id));
  child->run = outcome.run();
  keys_[{key.name_space.raw(), id}] = {outcome.run(), Instant()};
  ShadowJob& job = jobs_[outcome.run()];
  job.run = outcome.run();
  job.name_space = key.name_space.raw();
  job.id = id;
  job.input = start.input.str();
  job.graph = start.graph;
  job.shape = shape_of(start.graph);
  job.parent = start.parent;
  put_message(job, core::start_message(outcome.run(), start.input));
  const auto stored = inner_.read_job(outcome.run());
  if (!stored || !*stored || (*stored)->state.job.parent != job.parent || (*stored)->inbox.empty())
    fail(job, "children", "it was started and is not there, or not its parent's");
  count(job);
}

// --- after a bundle of a job: no job waits for a message that never comes, and no child stays that its parent does not
// await

void WatchStore::check_waits(const ShadowJob& job, const core::Bundle& bundle, core::JobStatus before) {
  if (job.shape == nullptr) return;
  const bool closes = core::is_closed(job.status) && !core::is_closed(before);
  for (const auto& [guid, registration] : job.registrations) {
    const ShadowActivity& activity = job.activities.at(registration.activity);
    const bool over = core::is_closed(job.status) || work_done(activity.ledger) || activity.skipped;
    if (over && !registration.ended)
      fail(job, "mailbox", format("activity {} waits no more and stays registered", registration.activity));
  }
  for (const auto& [guid, shadow] : job.inbox)
    if (const auto* timer = std::get_if<core::TimeUp>(&shadow.message.body)) {
      const ShadowActivity& activity = job.activities.at(timer->activity.raw());
      if ((work_done(activity.ledger) || activity.skipped) && !job.records.contains(guid))
        fail(job, "timer", format("activity {} is concluded, and its timer runs on", timer->activity.raw()));
    }
  bool descends = true;  // unless the ending job says otherwise
  for (const auto& [guid, shadow] : job.inbox)
    if (const auto* end = std::get_if<core::EndJob>(&shadow.message.body)) descends = descends && end->descend;
  for (const core::Write& one : bundle.writes)
    if (const auto* put = std::get_if<core::PutActivity>(&one))
      if (job.shape->nodes()[put->after.node].kind == Graph::Kind::interrupt) descends = false;
  for (auto place = children_.lower_bound({job.run, 0}); place != children_.end() && place->first.first == job.run;
       ++place) {
    const ShadowChild& child = place->second;
    if (!child.start.parent.awaits || child.ends_received > 0) continue;
    const ShadowActivity& activity = job.activities.at(place->first.second);
    const bool called_off = activity.skipped;  // by a race
    const bool over = work_done(activity.ledger) || called_off;
    if (over && !activity.timed_out && !called_off)
      fail(job, "children", format("it goes on without the word of {}", child.key.id.raw()));
    if (closes && job.status == core::JobStatus::completed && !activity.timed_out && !called_off)
      fail(job, "children", format("it completes without the word of {}", child.key.id.raw()));
    if ((over || (closes && descends)) && !child.told_to_end)
      fail(job, "children", format("{} is no longer awaited and was not ended", child.key.id.raw()));
  }
  const bool publishes =
      job.shape != nullptr && job.shape->program() != nullptr && !job.shape->program()->publishes().raw().empty();
  if (job.completions == 1 && publishes && job.ends_announced != 1)
    fail(job, "announced", "it ended and did not say so");
  if (job.completions == 1 && job.parent && job.parent->awaits && job.words != 1)
    fail(job, "children", "its end was not told to whoever awaits it");
}

void WatchStore::check_sends_at_end() {
  if (in_transit() != 0) verdict_.fail("sends", format("{} messages never arrived", in_transit()));
  check_signals_at_end();
  for (const auto& [place, child] : children_) {
    if (child.run == RunId(0) && !child.refused)
      verdict_.fail("children", format("{} was never started", child.key.id.raw()));
    const auto parent = status_of(place.first);
    if (child.start.parent.awaits && parent == core::JobStatus::completed && child.ends_received != 1 &&
        !child.told_to_end)
      verdict_.fail("children",
                    format("the parent of {} heard its end {} times", child.key.id.raw(), child.ends_received));
  }
}

}  // namespace pawl::sim
