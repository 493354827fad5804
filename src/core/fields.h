// The fields of every stored struct, once: the encoder and the decoder both walk these lists. Appending a
// field changes stored bytes: it needs a new variant alternative or a schema migration.
#pragma once

#include "core/bundle.h"

namespace pawl::core {


#define PAWL_FIELDS(Type, ...)                 \
  template <class Codec>                       \
  void fields_of(Codec& codec, Type& value) {  \
    auto& v = value;                           \
    codec(__VA_ARGS__);                        \
  }

PAWL_FIELDS(Guid, v.high, v.low)
PAWL_FIELDS(Start, v.input)
PAWL_FIELDS(Transition, v.node, v.at, v.parent, v.input)
PAWL_FIELDS(Response, v.activity, v.status, v.code, v.token, v.data)
PAWL_FIELDS(Register, v.reply_to, v.activity)
PAWL_FIELDS(Signal, v.data)
PAWL_FIELDS(Resume, v.activity, v.registration, v.data)
PAWL_FIELDS(Message, v.guid, v.body)
PAWL_FIELDS(MailboxKey, v.name_space, v.topic, v.key)
PAWL_FIELDS(Envelope, v.to, v.message)
PAWL_FIELDS(Activity, v.seq, v.node, v.at, v.parent, v.ledger, v.status, v.code, v.opened_at, v.closed_at, v.output)
PAWL_FIELDS(MessageRecord, v.guid, v.activity, v.ledger)
PAWL_FIELDS(WorkItem, v.run, v.activity, v.topic, v.request, v.token, v.worker, v.epoch, v.lease_until, v.runs, v.input)
PAWL_FIELDS(MailboxEntry, v.seq, v.guid, v.what)
PAWL_FIELDS(SemaphoreStep, v.before, v.delta, v.threshold, v.hit)
PAWL_FIELDS(JobHead, v.status, v.semaphore, v.completions_before, v.completions, v.next_activity, v.closed_at,
            v.result, v.reason)
PAWL_FIELDS(MailboxHead, v.next_entry)
PAWL_FIELDS(PutActivity, v.before, v.after)
PAWL_FIELDS(PutRecord, v.before, v.after)
PAWL_FIELDS(PutMessage, v.message)
PAWL_FIELDS(CountRedelivery, v.guid, v.before)
PAWL_FIELDS(Consume, v.guid)
PAWL_FIELDS(PutWork, v.item)
PAWL_FIELDS(DropWork, v.activity, v.token)
PAWL_FIELDS(Sweep, v.keep)
PAWL_FIELDS(Send, v.envelope)
PAWL_FIELDS(PutEntry, v.entry)
PAWL_FIELDS(DropEntry, v.seq)
PAWL_FIELDS(Bundle, v.entity, v.epoch, v.rev_before, v.id, v.head, v.writes)

#undef PAWL_FIELDS

}  // namespace pawl::core
