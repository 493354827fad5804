// The group, and bundles. jobs.cc, lanes.cc, messages.cc, work.cc, apps.cc hold the other operations, reads.cc the
// reads; duplex.cc is a separate store.
#include "store/memory/store.h"

#include "base/format.h"
#include "base/invariant.h"
#include "core/apply.h"
#include "store/check_limits.h"
#include "store/domain.h"
#include "store/memory/answers.h"
#include "store/rules.h"
#include "store/snapshot.h"

namespace pawl::store::memory {

Store::Store(const Store& other)
    : pawl::store::Store(), clock_(other.clock_), id_(other.id_), mode_(other.mode_), error_(other.error_) {
  const std::lock_guard lock(other.mutex_);
  pools_ = other.pools_;
  engines_ = other.engines_;
  lanes_ = other.lanes_;
  jobs_ = other.jobs_;
  mailboxes_ = other.mailboxes_;
  start_keys_ = other.start_keys_;
  mailbox_keys_ = other.mailbox_keys_;
  waiting_ = other.waiting_;
  queue_ = other.queue_;
  expiring_ = other.expiring_;
  due_ = other.due_;
  paused_ = other.paused_;
  apps_ = other.apps_;
  active_apps_ = other.active_apps_;
  duplex_.copy_from(other.duplex_);
  labels_ = other.labels_;
}

Result<std::vector<Outcome>> Store::commit(std::span<const Operation> group) {
  const std::lock_guard lock(mutex_);
  std::vector<Outcome> outcomes;
  outcomes.reserve(group.size());
  FirstSteps first_steps;
  for (const Operation& operation : group) {
    const auto refusal = first_steps.refusal_of(operation);
    const auto fits = check_limits(operation);
    if (!fits)
      outcomes.push_back(rejected(fits.error().detail));
    else
      outcomes.push_back(refusal ? conflict(*refusal) : run_one(operation));
    first_steps.applied(operation, outcomes.back());
  }
  return outcomes;
}

Outcome Store::run_one(const Operation& operation) {
  const Domain domain = domain_of(operation);
  if (mode_ == Lanes::islands) {
    if (domain.kind == Domain::Kind::all_lanes) return rejected("lanes are islands here: name the one that is meant");
    if (domain.kind == Domain::Kind::lane) at_ = domain.lane;
  }
  Outcome outcome = std::visit([this](const auto& one) { return run(one); }, operation);
  at_.reset();
  return outcome;
}

// An operation may ask whether a lane exists (has_lane), because a pool never changes. Everything else of a lane
// belongs to that lane.
void Store::touch(core::LaneId lane) {
  if (!at_ || *at_ == lane || violation_) return;
  violation_ = format("an operation of lane {} touched lane {}", at_->raw(), lane.raw());
}

std::optional<std::string> Store::violation() const {
  const std::lock_guard lock(mutex_);
  return violation_;
}

Store::Lane* Store::find_lane(core::LaneId lane) {
  touch(lane);
  return has_lane(lane) ? &lanes_[lane.raw() - 1] : nullptr;
}

bool Store::owns(core::LaneId lane, core::Epoch epoch) {
  const Lane* found = find_lane(lane);
  return found != nullptr && !found->owner.empty() && found->epoch == epoch;
}

Store::Job* Store::find_job(RunId run) {
  touch(core::lane_of(run));
  const auto found = jobs_.find(run);
  return found == jobs_.end() ? nullptr : &found->second;
}

RunId Store::next_run(core::LaneId lane) { return core::make_run(lane, find_lane(lane)->next_run++); }

void Store::note_waiting(RunId run, const Inbox& inbox) {
  if (inbox.empty())
    waiting_.erase(run);
  else
    waiting_.insert(run);
}

namespace {

// Guard 2 of a bundle. None: the rev is the expected one.
std::optional<Outcome> check_rev(core::Rev rev, core::BundleId last, const core::Bundle& bundle) {
  if (rev == bundle.rev_before) return std::nullopt;
  if (rev == core::next(bundle.rev_before) && last == bundle.id) return already_done();
  return conflict(format("rev is {}, expected {}", rev.raw(), bundle.rev_before.raw()));
}

// Others may claim an item between two bundles, so a changed token is a race and not a mistake.
std::optional<Outcome> check_tokens(const core::JobState& state, const core::Bundle& bundle) {
  const auto is_stale = [&](core::ActivitySeq activity, core::WorkToken token) {
    const core::WorkItem* item = state.find_work(activity);
    return item == nullptr || item->token != token;
  };
  for (const core::Write& write : bundle.writes) {
    const auto* drop = std::get_if<core::DropWork>(&write);
    if (drop != nullptr && is_stale(drop->activity, drop->token)) return stale_item(drop->activity);
    const auto* change = std::get_if<core::ChangeWork>(&write);
    if (change != nullptr && is_stale(change->activity, change->token)) return stale_item(change->activity);
  }
  return std::nullopt;
}

Status check_redeliveries(const Inbox& inbox, const core::Bundle& bundle) {
  for (const core::Write& write : bundle.writes) {
    const auto* count = std::get_if<core::CountRedelivery>(&write);
    if (count == nullptr) continue;
    const core::InboxMessage* message = inbox.find(count->guid);
    if (message != nullptr && message->redeliveries != count->before)
      return Error{ErrorCode::corrupt, format("message {} has {} redeliveries, expected {}", count->guid.text(),
                                              message->redeliveries, count->before)};
  }
  return {};
}

// setStatusAndCollateGuid (store/snapshot.h). Applies the bundle to the state; the snapshot of the message that closed
// the job follows from the hit. REQUIRES: core::check() found nothing wrong; `snapshot` is the bundle's.
bool step_semaphore_and_snapshot(core::JobState& state, const core::Bundle& bundle, const core::PutRecord* snapshot) {
  const auto& step = std::get<core::JobHead>(bundle.head).semaphore;
  const bool hit = step && state.job.semaphore + step->delta == step->threshold;
  core::apply(state, bundle);
  if (snapshot == nullptr) return hit;
  const std::int64_t digits = without_snapshot(*snapshot) + (hit ? snapshot_weight : 0);
  core::MessageRecord record = snapshot->after;
  record.ledger = *ledger::MessageLedger::decode(static_cast<std::uint64_t>(digits));
  state.put(std::move(record));
  return hit;
}

}  // namespace

Outcome Store::run(const core::Bundle& bundle) {
  if (!owns(core::lane_of(bundle.entity), bundle.epoch)) return fenced();
  if (Job* job = find_job(bundle.entity)) return run_on(*job, bundle);
  const auto mailbox = mailboxes_.find(bundle.entity);
  if (mailbox != mailboxes_.end()) return run_on(mailbox->second, bundle);
  // A mailbox is deleted when nothing is left in it: if another bundle emptied it, that is a race.
  if (std::holds_alternative<core::MailboxHead>(bundle.head)) return conflict(no_mailbox(bundle.entity));
  return rejected(format("there is no job or mailbox {}", bundle.entity.raw()));
}

// A bundle may claim the work that it puts; its maker may not know yet that the topic is paused.
std::optional<Outcome> Store::check_topics(const core::Bundle& bundle) {
  for (const core::Write& write : bundle.writes) {
    const auto* put = std::get_if<core::PutWork>(&write);
    const bool claims = put != nullptr && put->item.token != core::WorkToken(0);
    if (claims && is_paused(put->item.topic, core::lane_of(bundle.entity)))
      return conflict(format("topic {} is paused", put->item.topic.raw()));
  }
  return std::nullopt;
}

std::optional<Outcome> Store::check_sends(const core::Bundle& bundle) {
  for (const core::Write& write : bundle.writes) {
    const auto* send = std::get_if<core::Send>(&write);
    if (send != nullptr && is_by_key(send->envelope) && !has_lane(send->lane))
      return rejected(format("there is no lane {}", send->lane.raw()));
  }
  return std::nullopt;
}

Outcome Store::run_on(Job& job, const core::Bundle& bundle) {
  if (const auto moved = check_rev(job.state.job.rev, job.state.job.bundle, bundle)) return *moved;
  if (const auto stale = check_tokens(job.state, bundle)) return *stale;
  if (const auto paused = check_topics(bundle)) return *paused;
  const auto fits = core::check(job.state, bundle);
  if (!fits) return rejected(fits.error().detail);
  const auto counted = check_redeliveries(job.inbox, bundle);
  if (!counted) return rejected(counted.error().detail);
  if (const auto lost = check_sends(bundle)) return *lost;
  const auto snapshot = snapshot_of(bundle);
  if (!snapshot) return rejected(snapshot.error().detail);

  due_.drop(due_removal(job.state.job));
  const auto& step = std::get<core::JobHead>(bundle.head).semaphore;
  const bool hit = step_semaphore_and_snapshot(job.state, bundle, *snapshot);
  invariant(hit == (step && step->hit), "core::check() refuses a hit that is none");
  due_.put(due_removal(job.state.job));
  for (const core::Write& write : bundle.writes) apply_write(job, write);
  note_waiting(bundle.entity, job.inbox);
  return committed();
}

Outcome Store::run_on(Mailbox& mailbox, const core::Bundle& bundle) {
  if (const auto moved = check_rev(mailbox.state().rev, mailbox.state().bundle, bundle)) return *moved;
  const auto fits = core::check(mailbox.state(), bundle);
  if (!fits) return rejected(fits.error().detail);
  const auto counted = check_redeliveries(mailbox.inbox, bundle);
  if (!counted) return rejected(counted.error().detail);
  if (const auto lost = check_sends(bundle)) return *lost;

  mailbox.apply(bundle);
  for (const core::Write& write : bundle.writes) apply_write(mailbox, write);
  note_waiting(bundle.entity, mailbox.inbox);
  if (mailbox.is_empty()) {
    mailbox_keys_.erase(core::MailboxKey(mailbox.state().key));
    mailboxes_.erase(bundle.entity);
  }
  return committed();
}

// What is kept in addition to the job's own state, which core::apply() has already changed.
void Store::apply_write(Job& job, const core::Write& write) {
  const RunId run = job.state.job.run;
  std::visit(Overloaded{
                 [&](const core::PutActivity& one) {
                   // As core::apply does: answered work is no longer work.
                   if (one.after.ledger.has(ledger::ActivityLedger::Mark::work_done)) queue_.drop({run, one.after.seq});
                 },
                 [](const core::PutRecord&) {},
                 [&](const core::PutWork& one) { queue_.put(one.item); },
                 [&](const core::DropWork& one) {
                   queue_.drop({run, one.activity});
                 },
                 [&](const core::ChangeWork& one) {
                   if (const core::WorkItem* item = job.state.find_work(one.activity)) queue_.put(*item);
                 },
                 [&](const core::HoldWork&) {
                   for (const auto& [seq, item] : job.state.work()) queue_.put(item);
                 },
                 [&](const core::Sweep& one) {
                   queue_.drop_all_of(run);  // also what the same bundle put before
                   drop_timers(run, job.inbox, one.keep);
                   job.inbox.drop_all_but(one.keep);
                 },
                 [&](const core::PutMessage& one) { put_timer(run, job.inbox, one.message, one.due); },
                 [&](const core::CountRedelivery& one) { job.inbox.count_redelivery(one.guid); },
                 [&](const core::Consume& one) { consume(run, job.inbox, one.guid); },
                 [&](const core::Send& one) { send(run, one); },
                 [&](const core::PutLabel& one) { put_label(job, one.label); },
                 [&](const core::DropLabel& one) { drop_label(job, one.label); },
                 [&](const core::AddMeasure& one) { add_measure(job.state.job, one.measure); },
                 [&](const core::Announce& one) { announce(job.state.job, one); },
                 each_of<core::PutEntry, core::DropEntry, core::OfferEntry>(
                     [] { invariant(false, "a mailbox write in a job's bundle"); }),
             },
             write);
}

// Mailbox::apply changes its entries.
void Store::apply_write(Mailbox& mailbox, const core::Write& write) {
  const RunId run = mailbox.state().run;
  std::visit(
      Overloaded{
          [&](const core::PutMessage& one) { put_timer(run, mailbox.inbox, one.message, one.due); },
          [&](const core::CountRedelivery& one) { mailbox.inbox.count_redelivery(one.guid); },
          [&](const core::Consume& one) { consume(run, mailbox.inbox, one.guid); },
          [&](const core::Send& one) { send(run, one); },
          each_of<core::PutEntry, core::DropEntry, core::OfferEntry>([] {}),
          each_of<core::PutActivity, core::PutRecord, core::PutWork, core::DropWork, core::ChangeWork, core::HoldWork,
                  core::Sweep, core::PutLabel, core::DropLabel, core::AddMeasure, core::Announce>(
              [] { invariant(false, "a job's write in a mailbox bundle"); }),
      },
      write);
}

void Store::consume(RunId run, Inbox& inbox, const core::Guid& guid) {
  const core::InboxMessage* known = inbox.find(guid);
  if (known != nullptr) due_.drop(due_message(known->due, run, guid));
  inbox.drop(guid);
}

// A timer or, if due at once, an ordinary message.
void Store::put_timer(RunId run, Inbox& inbox, core::Message message, Instant due) {
  const core::Guid guid = message.guid;
  if (inbox.put(std::move(message), due)) due_.put(due_message(due, run, guid));
}

void Store::drop_timers(RunId run, const Inbox& inbox, const std::optional<core::Guid>& keep) {
  for (const core::InboxMessage& timer : inbox.timers())
    if (timer.message.guid != keep) due_.drop(due_message(timer.due, run, timer.message.guid));
}

void Store::send(RunId from, const core::Send& one) {
  put_into_outbox(core::lane_of(from), one.envelope, core::lane_of(one.envelope.to, one.lane));
}

void Store::put_into_outbox(core::LaneId from, const core::Envelope& envelope, core::LaneId to) {
  if (!has_lane(to)) return;  // there is no such run
  Outbox& outbox = find_lane(from)->outboxes[to];
  outbox.rows.push_back(OutboxRow{outbox.next++, envelope, to});
}

}  // namespace pawl::store::memory
