#include "store/postgres/wants.h"

#include <algorithm>
#include <set>

#include "base/invariant.h"
#include "store/rules.h"

namespace pawl::store::postgres {

namespace {

using Use = LaneRows::Use;

// The rows that a message needs of its target.
void want_target(Desk& desk, const core::Envelope& envelope, core::LaneId lane) {
  std::visit(Overloaded{
                 [&](const RunId& run) {
                   desk.lanes.want(core::lane_of(run), Use::guard);
                   desk.jobs.want(run);
                   desk.inbox.want(run, envelope.message.guid);
                 },
                 [&](const core::MailboxKey& key) {
                   desk.keys_first = true;
                   desk.lanes.want(lane, Use::guard);
                   desk.lanes.want_numbers(lane);
                   desk.mailboxes.want(key);
                 },
                 [&](const core::JobKey& key) {
                   desk.keys_first = true;
                   desk.lanes.want(lane, Use::guard);
                   desk.keys.want(key.name_space, key.id);
                   const auto* start = std::get_if<core::StartChild>(&envelope.message.body);
                   if (start == nullptr) return;
                   desk.lanes.want_numbers(lane);
                   const core::Envelope refusal = core::refused_child(*start, key.id);
                   if (desk.sends_directly) {
                     desk.jobs.want(start->parent.run);
                     desk.inbox.want(start->parent.run, refusal.message.guid);
                     return;
                   }
                   desk.lanes.want(core::lane_of(start->parent.run), Use::look);
                   desk.outbox.want_route(lane, core::lane_of(start->parent.run));
                 },
             },
             envelope.to);
}

void want_send(Desk& desk, RunId from, const core::Send& send) {
  if (desk.sends_directly) return want_target(desk, send.envelope, send.lane);
  const core::LaneId to = core::lane_of(send.envelope.to, send.lane);
  desk.lanes.want(to, Use::look);
  desk.outbox.want_route(core::lane_of(from), to);
}

std::set<core::ActivitySeq> fresh_of(const core::Bundle& bundle) {
  std::set<core::ActivitySeq> fresh;  // a new activity has no stored row
  for (const core::Write& write : bundle.writes)
    if (const auto* put = std::get_if<core::PutActivity>(&write); put != nullptr && !put->before)
      fresh.insert(put->after.seq);
  return fresh;
}

void want_bundle(Desk& desk, const core::Bundle& bundle) {
  const RunId run = bundle.entity;
  desk.lanes.want(core::lane_of(run), Use::guard);
  if (std::holds_alternative<core::JobHead>(bundle.head))
    desk.jobs.want(run);
  else
    desk.mailboxes.want(run);
  const std::set<core::ActivitySeq> fresh = fresh_of(bundle);
  for (const core::Write& write : bundle.writes)
    std::visit(
        Overloaded{
            [&](const core::PutActivity& one) {
              if (one.before) desk.activities.want(run, one.after.seq);
            },
            [&](const core::PutRecord& one) {
              desk.activities.want_record(run, one.after.guid);
              if (!fresh.contains(one.after.activity)) desk.activities.want(run, one.after.activity);
            },
            [&](const core::PutWork& one) {
              if (!fresh.contains(one.item.activity)) desk.work.want(run, one.item.activity);
              if (one.item.token != core::WorkToken(0)) desk.work.want_pauses(one.item.topic);
            },
            [&](const core::DropWork& one) { desk.work.want(run, one.activity); },
            [&](const core::ChangeWork& one) { desk.work.want(run, one.activity); },
            [&](const core::HoldWork&) { desk.work.want_all_of(run); },
            [&](const core::PutMessage& one) { desk.inbox.want(run, one.message.guid); },
            [&](const core::CountRedelivery& one) { desk.inbox.want(run, one.guid); },
            [&](const core::Send& one) { want_send(desk, run, one); },
            [&](const core::DropEntry& one) { desk.mailboxes.want_entry(run, one.seq); },
            [&](const core::OfferEntry& one) { desk.mailboxes.want_entry(run, one.seq); },
            [&](const core::Announce&) { desk.lanes.want_numbers(core::lane_of(run)); },
            each_of<core::Consume, core::Sweep, core::PutEntry, core::PutLabel, core::DropLabel, core::AddMeasure>(
                [] {}),
        },
        write);
}

// `put`: the activities that the same bundle writes; `fresh`: those of them that are new.
bool is_plain_write(const core::Write& write, const std::set<core::ActivitySeq>& put,
                    const std::set<core::ActivitySeq>& fresh) {
  return std::visit(
      Overloaded{
          // The activity's row decides where the record is stored, and that row is compared.
          [&](const core::PutRecord& one) { return !one.before && put.contains(one.after.activity); },
          [&](const core::PutWork& one) { return fresh.contains(one.item.activity); },
          each_of<core::PutActivity, core::DropWork, core::Sweep, core::Consume, core::PutMessage>([] { return true; }),
          each_of<core::CountRedelivery, core::Send, core::PutEntry, core::DropEntry, core::OfferEntry,
                  core::ChangeWork, core::HoldWork, core::PutLabel, core::DropLabel, core::AddMeasure, core::Announce>(
              [] { return false; }),
      },
      write);
}

void trust_bundle(Desk& desk, const core::Bundle& bundle) {
  const RunId run = bundle.entity;
  if (!desk.lanes.assume(core::lane_of(run), bundle.epoch)) desk.is_betrayed = true;
  desk.jobs.assume(bundle, std::get<core::JobHead>(bundle.head));
  for (const core::Write& write : bundle.writes) {
    if (const auto* put = std::get_if<core::PutActivity>(&write)) desk.activities.assume(run, *put);
    if (const auto* drop = std::get_if<core::DropWork>(&write)) desk.work.assume(run, drop->activity, drop->token);
    if (const auto* put = std::get_if<core::PutMessage>(&write)) desk.inbox.want(run, put->message.guid);
    const auto* work = std::get_if<core::PutWork>(&write);
    if (work != nullptr && work->item.token != core::WorkToken(0)) desk.work.assume_runs(work->item.topic);
  }
}

void want_submit(Desk& desk, const Submit& submit) {
  if (const auto known = desk.known_lanes.find(submit.lane); known != desk.known_lanes.end()) {
    if (!desk.lanes.assume(submit.lane, known->second.epoch)) desk.is_betrayed = true;
    return desk.lanes.assume_numbers(submit.lane, known->second.numbers);
  }
  desk.lanes.want(submit.lane, Use::guard);
  desk.lanes.want_numbers(submit.lane);
  desk.keys.want(submit.name_space, submit.id);
  if (submit.reuse != Reuse::never) desk.keys_first = true;
}

void want_item(Desk& desk, RunId run, core::ActivitySeq activity) {
  desk.jobs.want(run);
  desk.work.want(run, activity);
}

// Calls `see` for every message that the operation sends directly, with the lane of its key.
template <class See>
void see_sent(const Desk& desk, const Operation& operation, const See& see) {
  if (const auto* deliver = std::get_if<Deliver>(&operation)) see(deliver->envelope);
  const auto* bundle = std::get_if<core::Bundle>(&operation);
  if (bundle == nullptr || !desk.sends_directly) return;
  for (const core::Write& write : bundle->writes)
    if (const auto* send = std::get_if<core::Send>(&write)) see(send->envelope);
}

}  // namespace

bool is_for_desk(const Operation& operation) {
  return std::visit(
      Overloaded{
          each_of<core::Bundle, Submit, Deliver, DeliverReply, ClaimItem, ExtendWork, ReleaseWork, DropOutbox,
                  AcquireLane, RenewLane, ReleaseLane, RemoveJob>([] { return true; }),
          each_of<ClaimWork, OpenPool, BeatEngine, LeaveEngine, DropKeys, PauseTopic, PutApp, ActivateApp>(
              [] { return false; }),
      },
      operation);
}

bool is_plain(const Operation& operation) {
  if (const auto* submit = std::get_if<Submit>(&operation)) return submit->reuse == Reuse::never;
  const auto* bundle = std::get_if<core::Bundle>(&operation);
  if (bundle == nullptr || !std::holds_alternative<core::JobHead>(bundle->head)) return false;
  const std::set<core::ActivitySeq> fresh = fresh_of(*bundle);
  std::set<core::ActivitySeq> put;
  for (const core::Write& write : bundle->writes)
    if (const auto* one = std::get_if<core::PutActivity>(&write)) put.insert(one->after.seq);
  return std::all_of(bundle->writes.begin(), bundle->writes.end(),
                     [&](const core::Write& write) { return is_plain_write(write, put, fresh); });
}

void want(Desk& desk, const Operation& operation) {
  std::visit(
      Overloaded{
          [&](const core::Bundle& one) { desk.trusts ? trust_bundle(desk, one) : want_bundle(desk, one); },
          [&](const Submit& one) { want_submit(desk, one); },
          [&](const Deliver& one) {
            const core::LaneId lane = core::lane_of(one.envelope.to, one.lane);
            want_target(desk, one.envelope, lane);
            if (one.source) {
              desk.lanes.want(lane, Use::look);
              desk.lanes.want(one.source->lane, Use::look);
              desk.outbox.want_taken(lane, one.source->lane);
            }
            if (is_remembered(one)) desk.signal_ids.want(lane, one.envelope.message.guid);
          },
          [&](const DeliverReply& one) {
            desk.lanes.want(core::lane_of(one.run), Use::guard);
            want_item(desk, one.run, one.activity);
            desk.inbox.want(one.run, one.message.guid);
          },
          [&](const ClaimItem& one) {
            desk.lanes.want(core::lane_of(one.run), Use::guard);
            desk.jobs.want(one.run);
            desk.work.want_with_input(one.run, one.activity);
            desk.work.want_all_pauses();
          },
          [&](const ExtendWork& one) {
            desk.jobs.want(one.run);
            desk.work.want_with_input(one.run, one.activity);
          },
          [&](const ReleaseWork& one) {
            if (one.epoch != core::Epoch(0)) desk.lanes.want(core::lane_of(one.run), Use::guard);
            want_item(desk, one.run, one.activity);
          },
          [&](const DropOutbox& one) {
            desk.lanes.want(one.lane, Use::guard);
            desk.outbox.want_route(one.lane, one.target);
          },
          [&](const AcquireLane& one) { desk.lanes.want(one.lane, Use::take); },
          [&](const ReleaseLane& one) { desk.lanes.want(one.lane, Use::take); },
          [&](const RenewLane& one) { desk.lanes.want(one.lane, Use::renew); },
          [&](const RemoveJob& one) {
            desk.lanes.want(core::lane_of(one.run), Use::guard);
            desk.jobs.want(one.run);
          },
          each_of<ClaimWork, OpenPool, BeatEngine, LeaveEngine, DropKeys, PauseTopic, PutApp, ActivateApp>([] {}),
      },
      operation);
}

void want_holders(Desk& desk, const Operation& operation) {
  if (const auto* submit = std::get_if<Submit>(&operation)) {
    const KeyRow* holder = desk.keys.find(submit->name_space, submit->id);
    if (submit->reuse != Reuse::never && holder != nullptr) desk.jobs.want(holder->run);
  }
  see_sent(desk, operation, [&](const core::Envelope& envelope) {
    if (const auto* key = std::get_if<core::JobKey>(&envelope.to)) {
      const KeyRow* holder = desk.keys.find(key->name_space, key->id);
      if (holder == nullptr) return;
      desk.jobs.want(holder->run);
      desk.inbox.want(holder->run, envelope.message.guid);
    } else if (const auto* mailbox = std::get_if<core::MailboxKey>(&envelope.to)) {
      if (const auto run = desk.mailboxes.find(*mailbox)) desk.inbox.want(*run, envelope.message.guid);
    }
  });
}

bool must_wait(const Desk& desk, const Operation& operation) {
  if (const auto* bundle = std::get_if<core::Bundle>(&operation))
    if (desk.jobs.has_stepped(bundle->entity) || desk.mailboxes.is_open(bundle->entity)) return true;
  if (const auto* submit = std::get_if<Submit>(&operation))
    if (desk.keys.is_ended(submit->name_space, submit->id)) return true;
  bool waits = false;
  see_sent(desk, operation, [&](const core::Envelope& envelope) {
    if (const auto* key = std::get_if<core::JobKey>(&envelope.to)) {
      waits = waits || desk.keys.is_ended(key->name_space, key->id);
    } else if (const auto* mailbox = std::get_if<core::MailboxKey>(&envelope.to)) {
      const auto run = desk.mailboxes.find(*mailbox);
      waits = waits || (run && desk.mailboxes.is_open(*run));
    }
  });
  return waits;
}

}  // namespace pawl::store::postgres
