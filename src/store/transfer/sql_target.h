// Writes records into the tables of an SQL store. A `Database` provides what differs between them:
//
//   put(table, values...)      one row, in the order of the table's columns
//   put_identity(id), put_lane(lane), put_pause(topic), put_work(work), put_measure(measured),
//   put_stream(message columns...)
//   mailbox_key(key)           as its column takes it
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "core/codec.h"
#include "core/mailbox_state.h"
#include "store/transfer/record.h"
#include "store/transfer/sql_tables.h"

namespace pawl::store::transfer {

// Bytes that are bound as a blob; they must outlive the call.
struct Bytes {
  std::string_view bytes;
};

template <class Database>
class SqlWriter {
 public:
  explicit SqlWriter(Database& database) : database_(database) {}

  Status put(const Record& record) {
    return std::visit([this](const auto& one) { return put_one(one); }, record);
  }

 private:
  Status put_one(const Identity& one) { return database_.put_identity(one.id); }
  Status put_one(const PoolLanes& one) { return database_.put(tables::pools, one.pool, one.first, one.lanes); }
  Status put_one(const Lane& one) { return database_.put_lane(one); }
  Status put_one(const PausedTopic& one) { return database_.put_pause(one.topic); }
  Status put_one(const App& one) {
    return database_.put(tables::apps, one.name_space, one.app, one.version, one.deployed_at, Bytes{one.body});
  }
  Status put_one(const ActiveApp& one) {
    return database_.put(tables::active_apps, one.name_space, one.app, one.version);
  }

  Status put_one(const Job& one) {
    const core::JobRow& row = one.row;
    std::optional<RunId> parent_run;
    std::optional<core::ActivitySeq> parent_activity;
    std::optional<core::Guid> parent_request;
    std::optional<bool> parent_awaits;
    if (row.parent) {
      parent_run = row.parent->run;
      parent_activity = row.parent->activity;
      parent_request = row.parent->request;
      parent_awaits = row.parent->awaits;
    }
    auto done = database_.put(tables::jobs, row.run, row.name_space, row.id, row.graph.name, row.graph.version,
                              row.graph.fingerprint, row.created_at, row.rev, row.bundle, row.status, row.semaphore,
                              row.threshold, row.completions, row.next_activity, row.closed_at, row.result, row.reason,
                              row.priority, row.keep, row.remove_at, row.deadline, row.redrives, row.data, row.code,
                              parent_run, parent_activity, parent_request, parent_awaits, row.secret);
    if (done && one.duplex) done = database_.put(tables::duplex_jobs, row.run);
    return done;
  }
  Status put_one(const Activity& one) {
    const core::Activity& row = one.activity;
    std::optional<core::Guid> closing;
    std::optional<std::uint64_t> digits;
    if (one.closing) {
      closing = one.closing->guid;
      digits = one.closing->ledger.encode();
    }
    return database_.put(tables::activities, one.run, row.seq, row.node, row.at.text(), row.parent, row.ledger.encode(),
                         row.status, row.code, row.opened_at, row.closed_at, row.output, row.state, closing, digits);
  }
  Status put_one(const MessageLedger& one) {
    if (one.closes) return {};  // it is in its activity's row
    return database_.put(tables::message_ledgers, one.run, one.record.guid, one.record.activity,
                         one.record.ledger.encode(), one.record.output);
  }
  Status put_one(const InboxMessage& one) {
    const std::string body = core::encode(one.message.message.body);
    return database_.put(tables::inbox, one.run, one.message.message.guid, one.message.redeliveries, Bytes{body});
  }
  Status put_one(const Timer& one) {
    const std::string body = core::encode(one.message.message.body);
    return database_.put(tables::timers, one.run, one.message.message.guid, one.message.due, one.message.redeliveries,
                         Bytes{body});
  }
  Status put_one(const Work& one) { return database_.put_work(one); }
  Status put_one(const StartKey& one) {
    return database_.put_start_key(one);
  }
  Status put_one(const JobLabel& one) {
    return database_.put(tables::labels, one.name_space, one.graph, one.label.name, one.label.value, one.label.key,
                         one.run);
  }
  Status put_one(const Measured& one) { return database_.put_measure(one); }
  Status put_one(const Announcement& one) {
    return database_.put(tables::announcements, core::make_run(one.lane, one.number), one.run, one.said.topic,
                         one.said.what, one.said.status, one.said.code, one.said.at, one.said.data);
  }

  Status put_one(const Mailbox& one) {
    return database_.put(tables::mailboxes, one.run, one.key.name_space, one.key.topic,
                         Database::mailbox_key(one.key.key), one.rev, one.bundle, one.next_entry, one.signals,
                         one.signal_bytes);
  }
  Status put_one(const MailboxEntry& one) {
    const core::MailboxEntry& entry = one.entry;
    const bool is_signal = std::holds_alternative<core::Signal>(entry.what);
    const std::string body = std::visit([](const auto& what) { return core::encode(core::Body(what)); }, entry.what);
    std::optional<core::Guid> meeting;
    if (entry.offered_to) meeting = core::meeting_of(entry.guid, *entry.offered_to);
    return database_.put(tables::mailbox_entries, one.run, entry.seq, entry.guid, is_signal ? 1 : 0, entry.expires_at,
                         entry.offered_to, meeting, Bytes{body});
  }
  Status put_one(const SignalId& one) {
    return database_.put(tables::signal_ids, one.lane, ++signals_[one.lane], one.guid, one.until);
  }

  Status put_one(const OutboxRoute& one) {
    return database_.put(tables::outbox_routes, one.source, one.target, one.last, one.dropped);
  }
  Status put_one(const OutboxEntry& one) {
    const std::string envelope = core::encode(one.envelope);
    return database_.put(tables::outbox, one.source, one.target, one.number, Bytes{envelope});
  }
  Status put_one(const OutboxTaken& one) {
    return database_.put(tables::outbox_taken, one.target, one.source, one.last);
  }

  Status put_one(const DuplexCellAt& one) {
    const DuplexCell& cell = one.cell;
    return database_.put(tables::duplex_cells, one.run, cell.place.node, cell.place.at.text(), cell.value,
                         cell.opened_at, cell.closer, cell.status, cell.code, cell.closed_at, cell.output);
  }
  Status put_one(const DuplexMark& one) { return database_.put(tables::duplex_marks, one.run, one.mark); }
  Status put_one(const DuplexAddress& one) {
    return database_.put(tables::duplex_addresses, one.run, one.place.node, one.place.at.text(), one.open);
  }
  Status put_one(const DuplexDone& one) {
    DuplexMessage name;
    name.run = one.run;
    name.guid = one.guid;
    return database_.put_stream(name, 1);
  }
  Status put_one(const DuplexMessage& one) {
    return database_.put_stream(one, one.shelf == DuplexMessage::Shelf::parked ? 2 : 0);
  }

  Database& database_;
  std::map<core::LaneId, std::uint64_t> signals_;  // remembered so far
};

}  // namespace pawl::store::transfer
