// Which fields of each record are summed; their bytes are those of core/encoder.h.
#pragma once

#include "core/encoder.h"
#include "core/fields.h"
#include "store/transfer/record.h"

namespace pawl::store::transfer {

#define PAWL_FIELDS(Type, ...)            \
  template <class Codec>                  \
  void fields_of(Codec& codec, Type& v) { \
    codec(__VA_ARGS__);                   \
  }

PAWL_FIELDS(Identity, v.id)
PAWL_FIELDS(PoolLanes, v.pool, v.first, v.lanes)
PAWL_FIELDS(Lane, v.lane, v.pool, v.epoch, v.next_run, v.next_announcement)
PAWL_FIELDS(PausedTopic, v.topic)
PAWL_FIELDS(App, v.name_space, v.app, v.version, v.body, v.deployed_at)
PAWL_FIELDS(ActiveApp, v.name_space, v.app, v.version)
PAWL_FIELDS(Job, v.row.run, v.row.name_space, v.row.id, v.row.graph, v.row.rev, v.row.bundle, v.row.status,
            v.row.semaphore, v.row.threshold, v.row.completions, v.row.next_activity, v.row.created_at, v.row.closed_at,
            v.row.result, v.row.reason, v.row.priority, v.row.keep, v.row.remove_at, v.row.deadline, v.row.redrives,
            v.row.data, v.row.code, v.row.parent, v.row.secret, v.duplex)
PAWL_FIELDS(Activity, v.run, v.activity)
PAWL_FIELDS(MessageLedger, v.run, v.record)
PAWL_FIELDS(InboxMessage, v.run, v.entity, v.order, v.message.message, v.message.redeliveries)
PAWL_FIELDS(Timer, v.run, v.message.message, v.message.redeliveries, v.message.due)
PAWL_FIELDS(Work, v.item, v.rank)
PAWL_FIELDS(StartKey, v.name_space, v.id, v.run, v.expires_at)
PAWL_FIELDS(JobLabel, v.run, v.name_space, v.graph, v.label)
PAWL_FIELDS(Measured, v.name_space, v.graph, v.key, v.slice, v.target, v.value, v.count, v.sum, v.least, v.most)
PAWL_FIELDS(Announcement, v.lane, v.number, v.run, v.name_space, v.job, v.said)
PAWL_FIELDS(Mailbox, v.run, v.key, v.rev, v.bundle, v.next_entry, v.signals, v.signal_bytes)
PAWL_FIELDS(MailboxEntry, v.run, v.entry)
PAWL_FIELDS(SignalId, v.lane, v.guid, v.until)
PAWL_FIELDS(OutboxRoute, v.source, v.target, v.last, v.dropped)
PAWL_FIELDS(OutboxEntry, v.source, v.target, v.number, v.envelope)
PAWL_FIELDS(OutboxTaken, v.target, v.source, v.last)
PAWL_FIELDS(DuplexCellAt, v.run, v.order, v.cell.place.node, v.cell.place.at, v.cell.value, v.cell.opened_at,
            v.cell.closer, v.cell.status, v.cell.code, v.cell.closed_at, v.cell.output)
PAWL_FIELDS(DuplexMark, v.run, v.mark)
PAWL_FIELDS(DuplexAddress, v.run, v.place.node, v.place.at, v.open)
PAWL_FIELDS(DuplexDone, v.run, v.guid)
PAWL_FIELDS(DuplexMessage, v.run, v.guid, v.kind, v.place.node, v.place.at, v.topic, v.status, v.code, v.number, v.data,
            v.shelf, v.claim, v.epoch, v.free_at, v.claims, v.given_back, v.rank)

#undef PAWL_FIELDS

}  // namespace pawl::store::transfer
