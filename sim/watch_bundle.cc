// The bundles: each write against the shadow, then the whole job.
#include <algorithm>

#include "base/format.h"
#include "base/invariant.h"
#include "sim/watch_digits.h"
#include "sim/watch_store.h"

namespace pawl::sim {

namespace {

bool closed(core::JobStatus status) {
  return status == core::JobStatus::completed || status == core::JobStatus::failed ||
         status == core::JobStatus::interrupted;
}

const char* regress(std::uint64_t before, std::uint64_t after) {
  for (int at = 4; at <= 7; ++at) {
    if (position(after, at) > 1) return "a mark is set twice";
    if (position(after, at) < position(before, at)) return "a mark is taken back";
  }
  if (attempts(after) < attempts(before)) return "attempts fall";
  return nullptr;
}

constexpr std::size_t writes_of_a_turn_max = 1000;

}  // namespace

void WatchStore::note(const core::Bundle& bundle, const store::Outcome& outcome) {
  if (outcome.kind != store::OutcomeKind::committed) return;
  check_owner(core::lane_of(bundle.entity), bundle.epoch, "a bundle was applied");
  if (std::holds_alternative<core::MailboxHead>(bundle.head)) return note_mailbox(bundle);
  ShadowJob* found = find(bundle.entity);
  if (found == nullptr) return verdict_.fail("invented", "a bundle for a job that does not exist");
  ShadowJob& job = *found;
  if (bundle.rev_before.raw() != job.rev)
    fail(job, "rev", format("a bundle made for rev {} was applied", bundle.rev_before.raw()));
  if (++job.rev == 1 && job.submitted_after)
    figures_.start_wait_max = std::max(figures_.start_wait_max, figures_.bundles - *job.submitted_after);
  ++figures_.bundles;
  figures_.rows_max = std::max<std::uint64_t>(figures_.rows_max, bundle.writes.size() + 1);

  // No scenario opens so much at once: such a bundle followed its own steps, and all other jobs wait behind it.
  if (bundle.writes.size() > writes_of_a_turn_max)
    fail(job, "turn", format("a bundle of {} writes", bundle.writes.size()));

  const auto& head = std::get<core::JobHead>(bundle.head);
  job.known_before.clear();
  for (const auto& [seq, item] : job.work)
    if (!item.life.unknown) job.known_before.insert(seq);
  check_control(job, bundle);
  check_not_overtaken(job, bundle);
  hear_timeouts(job, bundle);
  if (closed(job.status) && head.status != job.status) fail(job, "marks", "a closed job changed its status");
  const core::JobStatus before = job.status;
  job.status = head.status;
  job.begins_undo = head.code < 0 && !job.undoes;
  job.undoes = head.code < 0;
  if (job.begins_undo && (job.shape == nullptr || !job.shape->can_undo()))
    fail(job, "marks", "it undoes, and its graph has nothing that does");
  if (head.semaphore) job.semaphore += head.semaphore->delta;
  if (closed(job.status)) job.semaphore = 0;
  if (head.completions < job.completions || head.completions > 1 || (head.completions == 1 && !closed(job.status)))
    fail(job, "completion", format("completion tasks went from {} to {}", job.completions, head.completions));
  job.completions = head.completions;
  job.redrives = head.redrives;
  job.remove_at = head.remove_at;
  count(job);
  for (const core::Write& one : bundle.writes) std::visit([&](const auto& w) { write(job, bundle, w); }, one);
  for (const core::Write& one : bundle.writes)
    if (const auto* w = std::get_if<core::PutRecord>(&one)) check_ordinal(job, *w);
  for (const core::Write& one : bundle.writes)
    if (const auto* w = std::get_if<core::Send>(&one)) send(job, *w);
  for (const core::Write& one : bundle.writes)  // a worker that still holds the answered item is late
    if (const auto* w = std::get_if<core::PutActivity>(&one); w != nullptr && work_done(w->after.ledger.encode()))
      job.work.erase(w->after.seq.raw());
  // Last, since the bundle's other writes may serve a message that it consumes.
  for (const core::Write& one : bundle.writes)
    if (const auto* w = std::get_if<core::Consume>(&one)) {
      const auto message = job.inbox.find(w->guid);
      const auto* reply =
          message == job.inbox.end() ? nullptr : std::get_if<core::Reply>(&message->second.message.body);
      if (reply != nullptr && refuses(bundle, reply->activity.raw()) != nullptr)
        job.inbox.erase(message);  // kept as refused
      else
        consume(job, w->guid);
    }
  check_obligations(job);
  check_carriers(job);
  check_held(job);
  check_waits(job, bundle, before);
}

void WatchStore::write(ShadowJob& job, const core::Bundle&, const core::PutActivity& put) {
  const std::uint32_t seq = put.after.seq.raw();
  const std::uint64_t after = put.after.ledger.encode();
  ShadowActivity& activity = job.activities[seq];
  if (activity.at.empty()) {  // its work may have been put before it
    if (seq == 0)
      for (const auto& [guid, message] : job.inbox)
        if (std::holds_alternative<core::Start>(message.message.body)) check_due(job, message);
    activity.node = put.after.node;
    activity.at = std::string(put.after.at.text());
    activity.parent = put.after.parent;
    for (const auto& [other_seq, other] : job.activities)
      if (other_seq != seq && other.node == activity.node && other.at == activity.at &&
          (job.shape == nullptr || other.parent == activity.parent))
        fail(job, "marks", format("two instances stand at {}", activity.at));
  }
  if (const char* why = regress(activity.ledger, after))
    fail(job, "marks", format("activity {}: {} ({:015} to {:015})", seq, why, activity.ledger, after));
  if (low8(after) < low8(activity.ledger)) fail(job, "marks", format("entries of activity {} fall", seq));
  if (job.shape != nullptr) {
    read_state(job, activity, put.after);
    if (work_done(after) && !work_done(activity.ledger)) check_conclusion(job, seq, activity);
  } else if (work_done(after) && !work_done(activity.ledger)) {
    const bool trigger = seq == 0;
    const Journal::Request* request = trigger ? nullptr : journal_.find(activity.request);
    const bool real = trigger ? put.after.output.view() == job.input
                              : activity.findings.contains(put.after.output.str()) ||
                                    (request != nullptr && request->outputs.contains(put.after.output.str()));
    if (!real) fail(job, "invented", format("activity {} ended with an output that no run produced", seq));
  }
  activity.ledger = after;
}

void WatchStore::write(ShadowJob& job, const core::Bundle&, const core::PutRecord& put) {
  const std::uint64_t after = put.after.ledger.encode();
  const auto known = job.records.find(put.after.guid);
  const core::Guid start = core::Guid::of_run(job.run).derive(core::Guid::Purpose::start, 0);
  if (known == job.records.end()) {
    const auto in_inbox = job.inbox.find(put.after.guid);
    const auto of = job.activities.find(put.after.activity.raw());
    // What a bundle of the graph language passes on to itself is never stored; what waits for others is stored.
    const bool own = job.shape != nullptr && (of == job.activities.end() || !of->second.waits);
    const bool timer =
        in_inbox != job.inbox.end() && std::holds_alternative<core::TimeUp>(in_inbox->second.message.body);
    if (put.after.guid != start && !own && !timer && !journal_.produced(put.after.guid) &&
        !job.received.contains(put.after.guid))
      fail(job, "invented", "a message was entered that nobody sent");
    if (in_inbox != job.inbox.end() && !closed(job.status)) check_due(job, in_inbox->second);
    if (timer && of != job.activities.end()) of->second.timed_out = true;
    for (const auto& [guid, other] : job.records)
      if (other.activity == put.after.activity.raw() && low8(other.ledger) == low8(after))
        fail(job, "marks", format("two messages of activity {} have the ordinal {}", other.activity, low8(after)));
  }
  ShadowRecord& record = job.records[put.after.guid];
  const std::uint64_t before = known == job.records.end() ? low8(after) : record.ledger;
  if (const char* why = regress(before, after))
    fail(job, "marks", format("message: {} ({:015} to {:015})", why, before, after));
  if (low8(before) != low8(after)) fail(job, "marks", "an ordinal changed");
  record = {put.after.activity.raw(), after};
  if (work_done(after)) note_work(job, put.after.guid);
}

void WatchStore::check_ordinal(const ShadowJob& job, const core::PutRecord& put) {
  const std::uint64_t ordinal = low8(put.after.ledger.encode());
  const auto activity = job.activities.find(put.after.activity.raw());
  if (activity == job.activities.end() || low8(activity->second.ledger) < ordinal)
    fail(job, "marks", format("a message has the ordinal {}, beyond its activity's entries", ordinal));
}

void WatchStore::write(ShadowJob& job, const core::Bundle&, const core::PutMessage& put) {
  const bool transition = std::holds_alternative<core::Transition>(put.message.body);
  if (transition && !job.sent.insert(put.message.guid).second) fail(job, "messages", "a transition was sent twice");
  put_message(job, put.message, put.due);
  if (const auto* timer = std::get_if<core::TimeUp>(&put.message.body))
    job.activities[timer->activity.raw()].waits = true;
}

void WatchStore::write(ShadowJob& job, const core::Bundle& bundle, const core::PutWork& put) {
  const std::uint32_t seq = put.item.activity.raw();
  ShadowActivity& activity = job.activities[seq];
  // An answer that is refused between its steps has taken its item along: the same work comes back.
  const bool comes_back = !job.work.contains(seq) && activity.request == put.item.request && refuses(bundle, seq);
  const bool known = !comes_back && (job.work.contains(seq) || activity.request != core::Guid{});
  if (known) fail(job, "messages", format("work of activity {} was enqueued twice", seq));
  activity.request = put.item.request;
  activity.waits = true;
  job.work[seq] = put.item;
  if (put.item.token == core::WorkToken(0)) return;
  handed_out_.insert({put.item.request, put.item.token});
  core::WorkItem before = put.item;
  before.token = core::WorkToken(0);
  before.runs = 0;
  check_hand_out(job, before, put.item);
}

void WatchStore::write(ShadowJob& job, const core::Bundle&, const core::DropWork& drop) {
  const auto work = job.work.find(drop.activity.raw());
  if (work == job.work.end() || work->second.token != drop.token)
    return fail(job, "token", format("a stale worker's answer to activity {} was taken", drop.activity.raw()));
  ended_by_.insert_or_assign(work->second.request, drop.token);
  job.work.erase(work);
}

void WatchStore::write(ShadowJob& job, const core::Bundle&, const core::Sweep& sweep) {
  if (!closed(job.status)) fail(job, "messages", "a running job's messages were swept");
  std::erase_if(job.inbox, [&](const auto& row) { return row.first != sweep.keep; });
  job.work.clear();
}

bool WatchStore::served(const ShadowJob& job, const core::Message& message) const {
  if (closed(job.status)) return true;
  if (job.shape != nullptr && !std::holds_alternative<core::Reply>(message.body) &&
      !std::holds_alternative<core::NoReply>(message.body) && !core::is_control(message.body))
    return served_in_graph(job, message);
  if (const auto* end = std::get_if<core::EndJob>(&message.body))  // meant for another job's child, or another child
    return end->parent && !(job.parent && job.parent->run == *end->parent &&
                            message.guid == job.parent->request.derive(core::Guid::Purpose::asked, 0));
  if (const auto* transition = std::get_if<core::Transition>(&message.body))
    return std::any_of(job.activities.begin(), job.activities.end(), [&](const auto& row) {
      return row.second.node == transition->node && row.second.at == transition->at.text() &&
             leg1_complete(row.second.ledger);
    });
  const auto record = job.records.find(message.guid);
  if (record != job.records.end()) return spawned(record->second.ledger);
  if (const auto* given = std::get_if<core::GiveAnswer>(&message.body);
      given != nullptr && is_hook(job, given->activity))
    return work_done(job.activities.at(given->activity.raw()).ledger);  // by this answer, or by what came before it
  if (std::holds_alternative<core::Pause>(message.body) || std::holds_alternative<core::Proceed>(message.body) ||
      std::holds_alternative<core::Redrive>(message.body) || std::holds_alternative<core::GiveAnswer>(message.body) ||
      std::holds_alternative<core::Cancel>(message.body))
    return true;                                  // check_control checked it
  const auto done = [&](core::ActivitySeq seq) {  // then it came late
    const auto activity = job.activities.find(seq.raw());
    return activity != job.activities.end() && (work_done(activity->second.ledger) || activity->second.skipped);
  };
  const auto item = [&](core::ActivitySeq seq) {
    const auto work = job.work.find(seq.raw());
    return work == job.work.end() ? nullptr : &work->second;
  };
  if (const auto* reply = std::get_if<core::Reply>(&message.body)) {
    const bool failed = reply->status == core::ReplyStatus::error || reply->status == core::ReplyStatus::fatal;
    const core::WorkItem* work = item(reply->activity);
    const bool decided = failed && work != nullptr && work->token != reply->token;  // there is another attempt
    return decided || done(reply->activity);
  }
  if (const auto* no_reply = std::get_if<core::NoReply>(&message.body)) return done(no_reply->activity);
  if (const auto* verdict = std::get_if<core::Verdict>(&message.body)) {
    const core::WorkItem* work = item(verdict->activity);
    const bool no_doubt = job.known_before.contains(verdict->activity.raw()) || work == nullptr || !work->life.unknown;
    return done(verdict->activity) || no_doubt;
  }
  return false;  // a start is never refused, an interrupt closes the job
}

void WatchStore::consume(ShadowJob& job, const core::Guid& guid) {
  const auto message = job.inbox.find(guid);
  if (message == job.inbox.end()) return;  // swept, or consumed by a faster message
  if (!served(job, message->second.message)) fail(job, "messages", "a message was consumed before it was served");
  const auto record = job.records.find(guid);
  // The timer of a concluded activity goes before its time.
  const bool called_off =
      std::holds_alternative<core::TimeUp>(message->second.message.body) && record == job.records.end();
  if (!closed(job.status) && !called_off) check_due(job, message->second);
  const bool closer = record != job.records.end() && position(record->second.ledger, 4) == 1;
  if (closer && position(record->second.ledger, 7) == 0)
    fail(job, "completion", "the message that closed the job was consumed before the completion tasks");
  job.inbox.erase(message);
}

void WatchStore::check_obligations(const ShadowJob& job) {
  if (closed(job.status)) return;
  std::int64_t open = job.activities.empty() ? 1 : 0;  // the trigger to come
  for (const auto& [seq, activity] : job.activities)
    if (!spawned(activity.ledger)) ++open;
  for (const auto& [guid, message] : job.inbox) {
    const auto* transition = std::get_if<core::Transition>(&message.message.body);
    if (transition == nullptr) continue;
    const bool entered = std::any_of(job.activities.begin(), job.activities.end(), [&](const auto& row) {
      return row.second.node == transition->node && row.second.at == transition->at.text();
    });
    if (!entered) ++open;
  }
  if (job.shape != nullptr) open = open_in_graph(job);
  if (job.semaphore != open)
    fail(job, "semaphore", format("the semaphore is {}, {} obligations are open", job.semaphore, open));
}

void WatchStore::check_carriers(const ShadowJob& job) {
  if (closed(job.status)) {
    if (job.completions == 0 && std::none_of(job.inbox.begin(), job.inbox.end(), [&](const auto& row) {
          const auto record = job.records.find(row.first);
          return record != job.records.end() && position(record->second.ledger, 4) == 1;
        }))
      fail(job, "carrier", "the job is closed and no message is left to run its completion tasks");
    return;
  }
  if (job.activities.empty() && job.inbox.empty()) fail(job, "carrier", "the start message is gone");
  for (const auto& [seq, activity] : job.activities) {
    if (spawned(activity.ledger)) continue;
    if (job.shape != nullptr) {
      if (!is_carried(job, seq, activity))
        fail(job, "carrier", format("activity {} is open and nothing will move it on", seq));
      continue;
    }
    bool carried = leg1_complete(activity.ledger) && job.work.contains(seq);
    for (const auto& [guid, shadow] : job.inbox) {
      const core::Body& body = shadow.message.body;
      if (const auto* transition = std::get_if<core::Transition>(&body))
        carried = carried || (transition->node == activity.node && transition->at.text() == activity.at);
      else if (const auto* reply = std::get_if<core::Reply>(&body))
        carried = carried || (reply->activity.raw() == seq && reply->status != core::ReplyStatus::pending);
      else if (const auto* no_reply = std::get_if<core::NoReply>(&body))
        carried = carried || no_reply->activity.raw() == seq;
      else if (const auto* verdict = std::get_if<core::Verdict>(&body))
        carried = carried || verdict->activity.raw() == seq;
      else if (std::holds_alternative<core::Start>(body))
        carried = carried || seq == 0;
    }
    if (!carried) fail(job, "carrier", format("activity {} is open and nothing will move it on", seq));
  }
}

}  // namespace pawl::sim
