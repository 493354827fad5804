// A bundle: all of it is checked against the stored rows, then all of it is applied.
#include <map>

#include "base/invariant.h"
#include "core/apply.h"
#include "ledger/semaphore.h"
#include "store/postgres/answers.h"
#include "store/postgres/operations.h"
#include "store/rules.h"
#include "store/snapshot.h"

namespace pawl::store::postgres {

namespace {

using Refusal = std::optional<Outcome>;

const Statement read_rev{
    "read_rev",
    "SELECT rev FROM jobs WHERE run = $1::bigint UNION ALL SELECT rev FROM mailboxes WHERE run = $1::bigint"};

Refusal check_rev(core::Rev rev, core::BundleId last, const core::Bundle& bundle) {
  if (rev == bundle.rev_before) return std::nullopt;
  if (rev == core::next(bundle.rev_before) && last == bundle.id) return already_done();
  return conflict(format("rev is {}, expected {}", rev.raw(), bundle.rev_before.raw()));
}

// The outcome when the entity of the bundle has no row.
Outcome missing_entity(Desk& desk, const core::Bundle& bundle) {
  const bool is_mailbox = std::holds_alternative<core::MailboxHead>(bundle.head);
  Done other = desk.connection->run(read_rev, Params::of(bundle.entity));
  if (!other) {
    desk.failure = other.failure();
    return {};
  }
  if (!other[0].next()) {
    if (is_mailbox) return conflict(no_mailbox(bundle.entity));
    return rejected(format("there is no job or mailbox {}", bundle.entity.raw()));
  }
  const core::Rev rev(other[0].word(0));
  if (rev != bundle.rev_before) return conflict(format("rev is {}, expected {}", rev.raw(), bundle.rev_before.raw()));
  return rejected(is_mailbox ? "a mailbox bundle for a job" : "a job's bundle for a mailbox");
}

// Another operation may claim an item between two bundles, so a changed token is a race and not a caller's mistake.
Refusal check_tokens(const Desk& desk, const core::Bundle& bundle) {
  const auto check = [&](core::ActivitySeq activity, core::WorkToken token) -> Refusal {
    if (desk.work.is_damaged(bundle.entity, activity)) return damaged_item(bundle.entity, activity);
    const core::WorkItem* item = desk.work.find(bundle.entity, activity);
    if (item == nullptr || item->token != token) return stale_item(activity);
    return std::nullopt;
  };
  for (const core::Write& write : bundle.writes) {
    Refusal stale;
    if (const auto* drop = std::get_if<core::DropWork>(&write)) stale = check(drop->activity, drop->token);
    if (const auto* change = std::get_if<core::ChangeWork>(&write)) stale = check(change->activity, change->token);
    if (stale) return stale;
  }
  return std::nullopt;
}

// A bundle may claim the work that it puts. The engine that made it may not know yet that the topic is paused.
Refusal check_topics(const Desk& desk, const core::Bundle& bundle) {
  for (const core::Write& write : bundle.writes) {
    const auto* put = std::get_if<core::PutWork>(&write);
    if (put == nullptr || put->item.token == core::WorkToken(0)) continue;
    if (desk.work.is_paused(put->item.topic, core::lane_of(bundle.entity)))
      return conflict(format("topic {} is paused", put->item.topic.raw()));
  }
  return std::nullopt;
}

Refusal check_semaphore(const JobGuard& job, const core::SemaphoreStep& step) {
  if (job.semaphore != step.before) return rejected(format("semaphore is {}, expected {}", job.semaphore, step.before));
  const auto stored = ledger::Semaphore::decode(job.semaphore);
  if (!stored) return rejected(stored.error().detail);
  const auto stepped = stored->step(step.delta, step.threshold);
  if (!stepped) return rejected(stepped.error().detail);
  if (stepped->threshold_hit != step.hit) return rejected(other_hit(step, stepped->threshold_hit));
  return std::nullopt;
}

// `next` is the number that the next new instance of the bundle must have.
Refusal check_activity(const Desk& desk, RunId run, const JobGuard& job, const core::PutActivity& write,
                       std::uint64_t& next) {
  const std::uint32_t seq = write.after.seq.raw();
  if (!write.before) {
    if (seq < job.next_activity) return rejected(format("activity {} exists already", seq));
    if (seq != next) return rejected(format("activity {} is opened out of turn, next is {}", seq, next));
    ++next;
    return std::nullopt;
  }
  const auto stored = desk.activities.ledger_of(run, write.after.seq);
  if (!stored) return rejected(format("activity {} is missing", seq));
  if (static_cast<std::uint64_t>(*stored) != write.before->encode())
    return rejected(format("activity {}: ledger is {:015}, expected {}", seq, *stored, write.before->digits()));
  return std::nullopt;
}

Refusal check_record(const Desk& desk, RunId run, const core::PutRecord& write) {
  const auto stored = desk.activities.record_of(run, write.after);
  if (!write.before) {
    if (stored) return rejected(format("message {} has a ledger already", write.after.guid.text()));
    return std::nullopt;
  }
  if (!stored) return rejected(format("message {} has no ledger", write.after.guid.text()));
  if (static_cast<std::uint64_t>(*stored) != write.before->encode())
    return rejected(
        format("message {}: ledger is {:015}, expected {}", write.after.guid.text(), *stored, write.before->digits()));
  return std::nullopt;
}

Refusal check_work_exists(core::ActivitySeq activity, const core::JobHead& head) {
  if (activity.raw() < head.next_activity) return std::nullopt;
  return rejected(format("work for activity {}, which does not exist", activity.raw()));
}

// The same checks as core::check() does over a whole state.
Refusal check_writes(const Desk& desk, const core::Bundle& bundle, const JobGuard& job, const core::JobHead& head) {
  if (core::is_closed(job.status) && head.status != job.status)
    return rejected(format("a {} job would become {}", core::name_of(job.status), core::name_of(head.status)));
  if (head.semaphore)
    if (auto wrong = check_semaphore(job, *head.semaphore)) return wrong;
  if (job.completions != head.completions_before)
    return rejected("completion tasks ran without this bundle's knowledge");
  std::uint64_t next = job.next_activity;
  for (const core::Write& write : bundle.writes) {
    Refusal wrong = std::visit(
        Overloaded{
            [&](const core::PutActivity& w) { return check_activity(desk, bundle.entity, job, w, next); },
            [&](const core::PutRecord& w) { return check_record(desk, bundle.entity, w); },
            [&](const core::PutWork& w) -> Refusal {
              if (w.item.run != bundle.entity)
                return rejected(format("a work item of run {} in another job's bundle", w.item.run.raw()));
              return check_work_exists(w.item.activity, head);
            },
            [&](const core::ChangeWork& w) { return check_work_exists(w.activity, head); },
            each_of<core::PutEntry, core::DropEntry, core::OfferEntry>(
                []() -> Refusal { return rejected("a mailbox write in a job's bundle"); }),
            each_of<core::PutMessage, core::CountRedelivery, core::Consume, core::DropWork, core::Sweep, core::Send,
                    core::HoldWork, core::PutLabel, core::DropLabel, core::AddMeasure, core::Announce>(
                []() -> Refusal { return std::nullopt; }),
        },
        write);
    if (wrong) return wrong;
  }
  if (head.next_activity != next)
    return rejected(format("the next activity is {}, the bundle says {}", next, head.next_activity));
  return std::nullopt;
}

// For jobs and mailboxes: checks the message counts, and the lanes that sends name.
Refusal check_messages(const Desk& desk, const core::Bundle& bundle) {
  for (const core::Write& write : bundle.writes) {
    const auto* count = std::get_if<core::CountRedelivery>(&write);
    if (count == nullptr) continue;
    const auto stored = desk.inbox.redeliveries_of(bundle.entity, count->guid);
    if (stored && *stored != count->before)
      return rejected(
          format("message {} has {} redeliveries, expected {}", count->guid.text(), *stored, count->before));
  }
  for (const core::Write& write : bundle.writes) {
    const auto* send = std::get_if<core::Send>(&write);
    if (send != nullptr && is_by_key(send->envelope) && !desk.lanes.exists(send->lane))
      return rejected(no_lane(send->lane));
  }
  return std::nullopt;
}

void hold_work(Desk& desk, RunId run, bool held) {
  for (const core::ActivitySeq seq : desk.work.all_of(run)) {
    core::WorkItem item = *desk.work.find(run, seq);
    item.held = held;
    desk.work.move(std::move(item));
  }
}

void change_work(Desk& desk, RunId run, const core::ChangeWork& change) {
  const core::WorkItem* known = desk.work.find(run, change.activity);
  if (known == nullptr) return;  // an answer in the same bundle removed it
  core::WorkItem item = *known;
  core::apply_change(item, change);
  desk.work.move(std::move(item));
}

void put_message(Desk& desk, RunId run, const core::PutMessage& put) {
  if (!desk.inbox.has(run, put.message.guid)) desk.inbox.put(run, put.message, put.due);
}

// What a bundle sent: the runs that it reached, and the messages that were refused because their mailbox is full.
struct SentByBundle {
  std::vector<RunId> reached;
  std::string refused;
};

void send_from(Desk& desk, RunId from, const core::Send& one, SentByBundle& all) {
  if (!desk.sends_directly)
    return put_into_outbox(desk, core::lane_of(from), one.envelope, core::lane_of(one.envelope.to, one.lane));
  Sent sent = send(desk, one.envelope, one.lane);
  if (sent.run != RunId(0)) all.reached.push_back(sent.run);
  if (!sent.reason.empty()) all.refused = std::move(sent.reason);
}

Outcome answer_to(SentByBundle sent) {
  Outcome outcome = committed();
  if (!sent.reached.empty()) outcome.answer = answer::Reached{std::move(sent.reached)};
  outcome.reason = std::move(sent.refused);
  return outcome;
}

// Puts activities first, so that a record finds the activity's row in which it may be stored.
void put_activities(Desk& desk, const core::Bundle& bundle, const core::PutRecord* snapshot) {
  const RunId run = bundle.entity;
  std::map<core::ActivitySeq, const core::PutActivity*> put;
  for (const core::Write& write : bundle.writes)
    if (const auto* one = std::get_if<core::PutActivity>(&write)) {
      desk.activities.put(run, *one);
      put.emplace(one->after.seq, one);
    }
  for (const core::Write& write : bundle.writes) {
    const auto* record = std::get_if<core::PutRecord>(&write);
    if (record == nullptr) continue;
    const auto of = put.find(record->after.activity);
    const bool is_snapshot = record == snapshot;
    const std::int64_t digits =
        is_snapshot ? without_snapshot(*record) : static_cast<std::int64_t>(record->after.ledger.encode());
    const ActivityRows::Place place =
        desk.activities.put(run, *record, of == put.end() ? nullptr : of->second, digits,
                            is_snapshot ? ActivityRows::Is::snapshot : ActivityRows::Is::record);
    if (!is_snapshot) continue;
    desk.jobs.snapshot(run, place.activity, record->after.guid, digits);
    // The step is written first and adds to a row that must already exist.
    if (!place.stored) desk.is_betrayed = desk.trusts;
  }
}

Outcome apply_to_job(Desk& desk, const core::Bundle& bundle, const core::JobHead& head) {
  const RunId run = bundle.entity;
  const JobGuard* known = desk.jobs.find(run);
  if (known == nullptr) return missing_entity(desk, bundle);
  if (auto moved = check_rev(known->rev, known->bundle, bundle)) return *moved;
  if (auto stale = check_tokens(desk, bundle)) return *stale;
  if (auto paused = check_topics(desk, bundle)) return *paused;
  if (auto wrong = check_writes(desk, bundle, *known, head)) return *wrong;
  if (auto wrong = check_messages(desk, bundle)) return *wrong;
  const auto snapshot = snapshot_of(bundle);
  if (!snapshot) return rejected(snapshot.error().detail);

  desk.jobs.step(bundle, head);
  const JobGuard& job = *known;
  put_activities(desk, bundle, *snapshot);
  SentByBundle sent;
  for (const core::Write& write : bundle.writes)
    std::visit(Overloaded{
                   [&](const core::PutActivity& one) {
                     // An answered activity has no work item any more. A new activity had none before this bundle.
                     const bool answered = one.after.ledger.has(ledger::ActivityLedger::Mark::work_done);
                     if (answered && (one.before || desk.work.find(run, one.after.seq) != nullptr))
                       desk.work.drop(run, one.after.seq);
                   },
                   [](const core::PutRecord&) {},
                   [&](const core::PutWork& one) { desk.work.put(one.item); },
                   [&](const core::DropWork& one) { desk.work.drop(run, one.activity); },
                   [&](const core::ChangeWork& one) { change_work(desk, run, one); },
                   [&](const core::HoldWork& one) { hold_work(desk, run, one.held); },
                   [&](const core::Sweep& one) {
                     desk.work.sweep(run);
                     desk.inbox.sweep(run, one.keep);
                   },
                   [&](const core::PutMessage& one) { put_message(desk, run, one); },
                   [&](const core::CountRedelivery& one) {
                     if (desk.inbox.has(run, one.guid)) desk.inbox.count_redelivery(run, one.guid);
                   },
                   [&](const core::Consume& one) { desk.inbox.drop(run, one.guid); },
                   [&](const core::Send& one) { send_from(desk, run, one, sent); },
                   [&](const core::PutLabel& one) { desk.labels.put(run, job, one.label); },
                   [&](const core::DropLabel& one) { desk.labels.drop(run, one.label); },
                   [&](const core::AddMeasure& one) { desk.labels.add(run, job, one.measure); },
                   [&](const core::Announce& one) {
                     desk.labels.announce(run, desk.lanes.next_announcement(core::lane_of(run)), one);
                   },
                   each_of<core::PutEntry, core::DropEntry, core::OfferEntry>(
                       [] { invariant(false, "a mailbox write in a job's bundle"); }),
               },
               write);
  return answer_to(std::move(sent));
}

Refusal check_mailbox(const Desk& desk, const core::Bundle& bundle, const MailboxGuard& mailbox,
                      const core::MailboxHead& head) {
  if (head.next_entry < mailbox.next_entry) return rejected("the numbers of entries only grow");
  std::uint64_t next_entry = mailbox.next_entry;
  const auto missing = [](std::uint64_t seq) -> Refusal { return rejected(format("entry {} is missing", seq)); };
  for (const core::Write& write : bundle.writes) {
    Refusal wrong = std::visit(
        Overloaded{
            [&](const core::PutEntry& w) -> Refusal {
              if (w.entry.seq < next_entry || w.entry.seq >= head.next_entry)
                return rejected(format("entry {} is out of turn", w.entry.seq));
              next_entry = w.entry.seq + 1;
              return std::nullopt;
            },
            [&](const core::DropEntry& w) -> Refusal {
              return desk.mailboxes.find_entry(bundle.entity, w.seq) == nullptr ? missing(w.seq) : std::nullopt;
            },
            [&](const core::OfferEntry& w) -> Refusal {
              const MailboxRows::Entry* entry = desk.mailboxes.find_entry(bundle.entity, w.seq);
              if (entry == nullptr) return missing(w.seq);
              if (!entry->is_signal || entry->guid != w.signal)
                return rejected(format("entry {} is not the signal that is offered", w.seq));
              return std::nullopt;
            },
            each_of<core::PutMessage, core::CountRedelivery, core::Consume, core::Send>(
                []() -> Refusal { return std::nullopt; }),
            each_of<core::PutActivity, core::PutRecord, core::PutWork, core::DropWork, core::Sweep, core::ChangeWork,
                    core::HoldWork, core::PutLabel, core::DropLabel, core::AddMeasure, core::Announce>(
                []() -> Refusal { return rejected("a job's write in a mailbox bundle"); }),
        },
        write);
    if (wrong) return wrong;
  }
  return std::nullopt;
}

Outcome apply_to_mailbox(Desk& desk, const core::Bundle& bundle, const core::MailboxHead& head) {
  const RunId run = bundle.entity;
  const MailboxGuard* mailbox = desk.mailboxes.find(run);
  if (mailbox == nullptr) return missing_entity(desk, bundle);
  if (auto moved = check_rev(mailbox->rev, mailbox->bundle, bundle)) return *moved;
  if (auto wrong = check_mailbox(desk, bundle, *mailbox, head)) return *wrong;
  if (auto wrong = check_messages(desk, bundle)) return *wrong;
  desk.mailboxes.step(bundle, head);
  SentByBundle sent;
  for (const core::Write& write : bundle.writes)
    std::visit(Overloaded{
                   [&](const core::PutMessage& one) { put_message(desk, run, one); },
                   [&](const core::CountRedelivery& one) {
                     if (desk.inbox.has(run, one.guid)) desk.inbox.count_redelivery(run, one.guid);
                   },
                   [&](const core::Consume& one) { desk.inbox.drop(run, one.guid); },
                   [&](const core::Send& one) { send_from(desk, run, one, sent); },
                   [](const auto&) {},  // step() handles its entries
               },
               write);
  return answer_to(std::move(sent));
}

}  // namespace

Outcome apply(Desk& desk, const core::Bundle& bundle) {
  if (!desk.lanes.owns(core::lane_of(bundle.entity), bundle.epoch)) return fenced();
  return std::visit(Overloaded{
                        [&](const core::JobHead& head) { return apply_to_job(desk, bundle, head); },
                        [&](const core::MailboxHead& head) { return apply_to_mailbox(desk, bundle, head); },
                    },
                    bundle.head);
}

}  // namespace pawl::store::postgres
