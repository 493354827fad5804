// Dump: everything that a memory store holds, in a stable order, as plain values. For oracles: two stores with the same
// history have equal dumps.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "store/store.h"

namespace pawl::store::memory {

struct DumpedJob {
  core::JobRow job;
  std::vector<core::Activity> activities;    // by seq
  std::vector<core::MessageRecord> records;  // by guid
  std::vector<core::WorkItem> work;          // by activity
  std::vector<core::InboxMessage> inbox;     // by arrival
  std::vector<core::InboxMessage> timers;    // by due time
  friend bool operator==(const DumpedJob&, const DumpedJob&) = default;
};
struct DumpedMailbox {
  core::MailboxState state;
  std::vector<core::InboxMessage> inbox;
  std::vector<core::InboxMessage> timers;  // by due time
  friend bool operator==(const DumpedMailbox&, const DumpedMailbox&) = default;
};
struct DumpedOutboxRow {
  std::uint64_t seq = 0;
  core::Envelope envelope;
  core::LaneId lane{0};
  friend bool operator==(const DumpedOutboxRow&, const DumpedOutboxRow&) = default;
};
struct DumpedKey {
  Namespace name_space{""};
  JobId id{""};
  RunId run{0};
  Instant expires_at;  // 0: as long as its job
  friend bool operator==(const DumpedKey&, const DumpedKey&) = default;
};
struct DumpedApp {
  Namespace name_space{""};
  std::string app;
  std::string version;
  std::string body;
  Instant deployed_at;
  bool active = false;
  friend bool operator==(const DumpedApp&, const DumpedApp&) = default;
};
struct DumpedLane {
  core::LaneId lane{0};
  core::Epoch epoch{0};
  std::string owner;
  std::optional<Instant> lease_until;
  std::vector<std::pair<core::LaneId, std::uint64_t>> accepted;  // by source: the last outbox row
  std::vector<DumpedOutboxRow> outbox;                           // by target and seq
  std::vector<core::Guid> signal_ids;                            // that it remembers, by arrival
  friend bool operator==(const DumpedLane&, const DumpedLane&) = default;
};
struct DumpedLabel {
  RunId run{0};
  core::Label label;
  friend bool operator==(const DumpedLabel&, const DumpedLabel&) = default;
};

struct Dump {
  std::vector<DumpedJob> jobs;                         // by run
  std::vector<DumpedMailbox> mailboxes;                // by run
  std::vector<DumpedLane> lanes;                       // by lane
  std::vector<DumpedKey> keys;                         // by name
  std::vector<std::pair<core::LaneId, Topic>> paused;  // by lane and name; 0: in all lanes at once
  std::vector<DumpedApp> apps;                         // by name and version
  std::vector<DumpedLabel> labels;                     // by namespace, graph, name, value, key and run
  std::vector<MeasureRow> measures;                    // by namespace, graph, key, slice, target and value
  std::vector<AnnouncementRow> announcements;          // in order
  friend bool operator==(const Dump&, const Dump&) = default;
};

}  // namespace pawl::store::memory
