// The fields of every encoded struct, in one list that both the encoder and the decoder use. Bodies, envelopes and a
// work item's life are stored: appending a field to one of them changes stored bytes and needs a new variant
// alternative or a schema migration. Bundles are not stored.
#pragma once

#include "core/bundle.h"
#include "core/carried.h"
#include "core/stored_kind_state.h"

namespace pawl::core {

#define PAWL_FIELDS(Type, ...)                \
  template <class Codec>                      \
  void fields_of(Codec& codec, Type& value) { \
    [[maybe_unused]] auto& v = value;         \
    codec(__VA_ARGS__);                       \
  }

PAWL_FIELDS(Guid, v.high, v.low)
PAWL_FIELDS(Start, v.input)
PAWL_FIELDS(Transition, v.node, v.at, v.parent, v.input)
PAWL_FIELDS(Reply, v.activity, v.status, v.code, v.token, v.data)
PAWL_FIELDS(Register, v.reply_to, v.activity)
PAWL_FIELDS(Signal, v.data, v.status, v.code)
PAWL_FIELDS(Resume, v.activity, v.registration, v.data, v.status, v.code)
PAWL_FIELDS(NoReply, v.activity, v.token, v.why)
PAWL_FIELDS(Interrupt, v.code, v.reason)
PAWL_FIELDS(Cancel, v.code, v.reason)
PAWL_FIELDS(Pause, v.reason)
PAWL_FIELDS(Proceed)
PAWL_FIELDS(Redrive)
PAWL_FIELDS(Verdict, v.activity, v.kind, v.code, v.data)
PAWL_FIELDS(TimeUp, v.activity, v.what)
PAWL_FIELDS(Reenter, v.pivot, v.data)
PAWL_FIELDS(Arrive, v.node, v.at, v.parent, v.edge, v.skipped)
PAWL_FIELDS(Item, v.map, v.index, v.done)
PAWL_FIELDS(ParentLink, v.run, v.activity, v.request, v.awaits)
PAWL_FIELDS(GraphRef, v.name, v.version, v.fingerprint)
PAWL_FIELDS(StartChild, v.graph, v.input, v.parent, v.priority, v.secret)
PAWL_FIELDS(ChildDone, v.activity, v.status, v.code, v.data)
PAWL_FIELDS(EndJob, v.parent, v.code, v.reason, v.throws, v.descend, v.keep)
PAWL_FIELDS(Withdraw, v.registration)
PAWL_FIELDS(Expire, v.signal)
PAWL_FIELDS(Label, v.key, v.name, v.value)
PAWL_FIELDS(Measure, v.key, v.slice, v.target, v.value, v.number)
PAWL_FIELDS(Expand, v.activity, v.graph, v.label, v.after, v.page, v.told, v.scrub, v.topic, v.data, v.status, v.code)
PAWL_FIELDS(Unlabel, v.label)
PAWL_FIELDS(Taken, v.registration, v.resume)
PAWL_FIELDS(Refused, v.activity, v.status, v.code, v.data)
PAWL_FIELDS(GiveAnswer, v.activity, v.code, v.data)
PAWL_FIELDS(DropSignal, v.signal)
PAWL_FIELDS(Carried, v.node, v.at, v.answered, v.status, v.code, v.data, v.speaker, v.request, v.child, v.failed)
PAWL_FIELDS(EarlierRun, v.run, v.ended_at, v.code, v.reason)
template <class Codec>
void fields_of(Codec& codec, StartInput& v) {
  codec(v.input, v.carried, v.earlier);
  codec.at_the_end(v.trace);
}
PAWL_FIELDS(Message, v.guid, v.body)
PAWL_FIELDS(MailboxKey, v.name_space, v.topic, v.key)
PAWL_FIELDS(JobKey, v.name_space, v.id)
PAWL_FIELDS(Envelope, v.to, v.message)
PAWL_FIELDS(Activity, v.seq, v.node, v.at, v.parent, v.ledger, v.status, v.code, v.opened_at, v.closed_at, v.output,
            v.state)
PAWL_FIELDS(MessageRecord, v.guid, v.activity, v.ledger, v.output)
#define PAWL_LIFE(v)                                                                                          \
  v.queue_timeout, v.attempt_timeout, v.heartbeat_timeout, v.deadline, v.at_most_once, v.unknown, v.queue_by, \
      v.attempt_by, v.heartbeat_by, v.failures, v.failure_code, v.failure, v.progress
PAWL_FIELDS(WorkLife, PAWL_LIFE(v), v.trace)  // within a bundle
struct StoredLife {
  WorkLife life;
};
template <class Codec>
void fields_of(Codec& codec, StoredLife& v) {
  codec(PAWL_LIFE(v.life));
  codec.at_the_end(v.life.trace);
}
PAWL_FIELDS(WorkItem, v.run, v.activity, v.topic, v.request, v.token, v.worker, v.epoch, v.lease_until, v.runs, v.input,
            v.priority, v.visible_at, v.held, v.plain_key, v.life)
PAWL_FIELDS(AwaitState::Tries, v.failed, v.again_at)
PAWL_FIELDS(FailedAttempt, v.at, v.code, v.error)
template <class Codec>
void fields_of(Codec& codec, StoredKindState& v) {
  codec(v.request, v.wakes_at, v.times_out_at, v.mailbox, v.child, v.arrived, v.skipped, v.owes, v.closer, v.items,
        v.parallel, v.begun, v.done);
  codec.at_the_end(v.tries);
  codec.at_the_end(v.attempts);
}
PAWL_FIELDS(MailboxEntry, v.seq, v.guid, v.what, v.expires_at, v.offered_to)
PAWL_FIELDS(SemaphoreStep, v.before, v.delta, v.threshold, v.hit)
PAWL_FIELDS(JobHead, v.status, v.semaphore, v.completions_before, v.completions, v.next_activity, v.closed_at, v.result,
            v.reason, v.remove_at, v.redrives, v.data, v.code)
PAWL_FIELDS(MailboxHead, v.next_entry)
PAWL_FIELDS(PutActivity, v.before, v.after)
PAWL_FIELDS(PutRecord, v.before, v.after)
PAWL_FIELDS(PutMessage, v.message, v.due)
PAWL_FIELDS(CountRedelivery, v.guid, v.before)
PAWL_FIELDS(Consume, v.guid)
PAWL_FIELDS(PutWork, v.item)
PAWL_FIELDS(DropWork, v.activity, v.token)
PAWL_FIELDS(Sweep, v.keep)
PAWL_FIELDS(Send, v.envelope, v.lane)
PAWL_FIELDS(PutEntry, v.entry)
PAWL_FIELDS(DropEntry, v.seq)
PAWL_FIELDS(OfferEntry, v.seq, v.signal, v.to)
PAWL_FIELDS(ChangeWork, v.activity, v.token, v.release, v.visible_at, v.life)
PAWL_FIELDS(HoldWork, v.held)
PAWL_FIELDS(PutLabel, v.label)
PAWL_FIELDS(DropLabel, v.label)
PAWL_FIELDS(AddMeasure, v.measure)
PAWL_FIELDS(Announce, v.topic, v.what, v.status, v.code, v.at, v.data)
PAWL_FIELDS(Bundle, v.entity, v.epoch, v.rev_before, v.id, v.head, v.writes)

#undef PAWL_FIELDS

}  // namespace pawl::core
