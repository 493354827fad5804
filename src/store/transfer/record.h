// The neutral form of a store: a stream of records, each of which is a row of some kind. Every store can be read as
// such a stream and be written from one, so any store can become any other (docs/decisions/038-moves.md).
//
// 1. Numbers that clients hold are kept: runs, tokens, epochs, secrets, numbers of announcements, the store's id.
// 2. Numbers that a store uses internally (the order of an inbox, of a line of work) are kept as an order.
// 3. What only makes searching faster (indexes, counts) is built again. Engines are not moved: none is alive.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/bundle.h"
#include "core/job_state.h"
#include "core/mailbox_state.h"
#include "store/duplex_operation.h"
#include "store/job_store.h"

namespace pawl::store::transfer {

struct Identity {
  core::Guid id;
};
struct PoolLanes {
  Pool pool{""};
  core::LaneId first{0};
  std::uint32_t lanes = 0;
};
struct Lane {
  core::LaneId lane{0};
  Pool pool{""};
  core::Epoch epoch{0};        // the next owner gets a higher one
  std::uint64_t next_run = 1;  // the part of the number behind the lane
  std::uint64_t next_announcement = 1;
};
struct PausedTopic {
  Topic topic{""};
};
struct App {
  Namespace name_space{""};
  std::string app, version, body;
  Instant deployed_at;
};
struct ActiveApp {
  Namespace name_space{""};
  std::string app, version;
};

struct Job {
  core::JobRow row;
  bool duplex = false;  // its collation
};
struct Activity {
  RunId run{0};
  core::Activity activity;
  // The message that concluded it, for stores that keep it in the activity's row. It follows from the others: not
  // summed.
  std::optional<core::MessageRecord> closing{};
};
struct MessageLedger {
  RunId run{0};
  core::MessageRecord record;
  bool closes = false;  // it is its activity's `closing`; not summed
};
struct InboxMessage {
  RunId run{0};
  EntityKind entity = EntityKind::job;
  std::uint32_t order = 0;  // of arrival
  core::InboxMessage message;
};
struct Timer {
  RunId run{0};
  core::InboxMessage message;
};
struct Work {
  core::WorkItem item;
  std::uint64_t rank = 0;   // in its lane's line, from 1
  std::uint64_t place = 0;  // over all lanes where they are one domain; not summed
};
struct StartKey {
  Namespace name_space{""};
  JobId id{""};
  RunId run{0};
  Instant expires_at;  // 0: its job exists
};
struct JobLabel {
  RunId run{0};
  Namespace name_space{""};
  GraphName graph{""};
  core::Label label;
};
struct Measured {  // of all lanes together
  Namespace name_space{""};
  GraphName graph{""};
  std::string key, slice, target;
  std::optional<std::string> value;
  std::uint64_t count = 0;
  double sum = 0, least = 0, most = 0;
};
inline void add_to(Measured& sum, const Measured& more) {
  sum.count += more.count;
  sum.sum += more.sum;
  sum.least = std::min(sum.least, more.least);
  sum.most = std::max(sum.most, more.most);
}
struct Announcement {
  core::LaneId lane{0};
  std::uint64_t number = 0;
  RunId run{0};
  Namespace name_space{""};
  JobId job{""};
  core::Announce said;
};

struct Mailbox {
  RunId run{0};
  core::MailboxKey key;
  core::Rev rev{0};
  core::BundleId bundle{0};
  std::uint64_t next_entry = 0;
  std::uint64_t signals = 0;       // not taken by a hook, and
  std::uint64_t signal_bytes = 0;  // their size
};
struct MailboxEntry {
  RunId run{0};
  core::MailboxEntry entry;
};
struct SignalId {  // of one lane in order of arrival
  core::LaneId lane{0};
  core::Guid guid;
  Instant until;
};

struct OutboxRoute {
  core::LaneId source{0}, target{0};
  std::uint64_t last = 0;     // row that was put
  std::uint64_t dropped = 0;  // the rows up to this one are gone
};
struct OutboxEntry {  // of one route in order
  core::LaneId source{0}, target{0};
  std::uint64_t number = 0;
  core::Envelope envelope;
};
struct OutboxTaken {
  core::LaneId target{0}, source{0};
  std::uint64_t last = 0;
};

struct DuplexCellAt {
  RunId run{0};
  std::uint32_t order = 0;  // in which they were set
  DuplexCell cell;
};
struct DuplexMark {
  RunId run{0};
  core::Guid mark;
};
struct DuplexAddress {
  RunId run{0};
  Place place;
  bool open = false;
};
struct DuplexDone {  // an acknowledged message: only its name is left
  RunId run{0};
  core::Guid guid;
};
struct DuplexMessage {  // of one lane and topic in order of arrival
  enum class Shelf : std::uint8_t { free, claimed, later, parked };
  RunId run{0};
  core::Guid guid;
  // Its body, as store::body_of takes it.
  std::int64_t kind = 0;
  Place place;
  Topic topic{""};
  core::ReplyStatus status = core::ReplyStatus::success;
  std::int32_t code = 0;
  std::uint32_t number = 0;
  Payload data;
  Shelf shelf = Shelf::free;
  ClaimId claim{0};
  core::Epoch epoch{0};
  Instant free_at;  // 0 when it is free
  std::uint32_t claims = 0;
  std::uint32_t given_back = 0;
  std::uint32_t rank = 0;      // among those of its lane and topic, from 1
  std::uint64_t position = 0;  // over all of them; not summed
};

using Record =
    std::variant<Identity, PoolLanes, Lane, PausedTopic, App, ActiveApp, Job, Activity, MessageLedger, InboxMessage,
                 Timer, Work, StartKey, JobLabel, Measured, Announcement, Mailbox, MailboxEntry, SignalId, OutboxRoute,
                 OutboxEntry, OutboxTaken, DuplexCellAt, DuplexMark, DuplexAddress, DuplexDone, DuplexMessage>;
inline constexpr std::size_t kinds = std::variant_size_v<Record>;

// For people, by the index of the kind.
inline constexpr std::array<std::string_view, kinds> kind_names = {"store",
                                                                   "pools",
                                                                   "lanes",
                                                                   "paused topics",
                                                                   "apps",
                                                                   "active apps",
                                                                   "jobs",
                                                                   "activities",
                                                                   "message ledgers",
                                                                   "inbox messages",
                                                                   "timers",
                                                                   "work items",
                                                                   "start keys",
                                                                   "labels",
                                                                   "measures",
                                                                   "announcements",
                                                                   "mailboxes",
                                                                   "mailbox entries",
                                                                   "signal ids",
                                                                   "outbox routes",
                                                                   "outbox messages",
                                                                   "outbox messages taken",
                                                                   "duplex cells",
                                                                   "duplex marks",
                                                                   "duplex addresses",
                                                                   "duplex messages done",
                                                                   "duplex messages"};

}  // namespace pawl::store::transfer
