// OwnedLane: a lane that this engine acts for, and all that it remembers of that lane alone. Code that holds one may
// act for the lane; when the lane is lost, this memory is dropped with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/limits.h"
#include "core/decide.h"
#include "runtime/due_table.h"
#include "runtime/work_desk.h"
#include "store/store.h"

namespace pawl::runtime {

// A scan of a lane that was just taken, or that others wrote to; a page at each turn.
struct Scan {
  bool inboxes = true;
  bool work = true;  // false: inboxes only
  RunId after_run{0};
  store::WorkCursor after_work;
  bool asked = false;  // its next page is being read
};

// A job or a mailbox that is being read, or that could not be read: then tick() retries. Meanwhile it is not in memory.
struct Unread {
  store::EntityKind kind = store::EntityKind::job;
  std::vector<core::Delivery> deliveries;         // for it, not stored: they exist only here
  std::shared_ptr<const core::Bundle> uncertain;  // a bundle of it whose outcome is unknown
  std::vector<core::Guid> fresh;  // messages in its inbox that this engine has just committed: no one entered them
  bool asked = false;
  bool look = false;   // something may have come since it was asked for
  bool ahead = false;  // only because its time comes soon
  bool may_wait() const { return deliveries.empty() && uncertain == nullptr; }  // the store has all of it
};

// What a lane sends to another one.
struct Route {
  std::size_t out = 0;        // deliveries whose outcome is not known yet
  bool refused = false;       // one of these can never be accepted
  std::uint64_t taken = 0;    // the target has the rows up to this one
  std::uint64_t dropped = 0;  // and up to this one the source need not keep them
};

// The number that the next run of the lane will have, if nobody else makes one before. Only a guess: the store decides.
struct NextRun {
  std::optional<RunId> run;     // none: not known yet
  std::size_t submits_out = 0;  // submits of this engine whose outcome is not known

  RunId expect();  // for a submit that is sent now; 0: not known
  void got(RunId expected, RunId run);
  void not_used(RunId expected);  // the submit made no run
  void forget() { *this = {}; }
};

struct OwnedLane {
  OwnedLane(core::LaneId lane, core::Epoch its_epoch, std::uint64_t its_number, Instant since,
            std::size_t due_entries_max)
      : id(lane), epoch(its_epoch), number(its_number), due(since, due_entries_max) {}
  OwnedLane(const OwnedLane&) = delete;
  OwnedLane& operator=(const OwnedLane&) = delete;

  const core::LaneId id;
  const core::Epoch epoch;
  const std::uint64_t number;  // counts the times that this engine took a lane
  // it is to be given back: what is on its way is finished, and nothing new begins (Shares)
  bool giving = false;

  // Jobs
  NextRun next_run;
  // Loader
  std::deque<Scan> scans;
  bool rescan = false;  // an inbox could not be read: tick() begins a scan
  std::map<RunId, Unread> unread;
  std::map<RunId, std::string> unparked;  // damaged jobs that could not be stopped: tick() retries
  // Alarms
  DueTable due;
  std::vector<store::Due> due_again;  // could not be served: tick() retries
  // Post
  bool outbox = true;                    // something may wait in it
  bool outbox_asked = false;             // and it is being read
  std::map<core::LaneId, Route> routes;  // by the lane that is sent to
  std::set<std::string> outbox_damaged;  // what was reported of it; one row for each of these lanes
  // Mailboxes
  std::set<RunId> mailboxes;                // something waits in their inboxes
  std::unordered_set<RunId> mailboxes_out;  // a bundle of theirs is on its way
  // Workshop
  std::map<WorkRef, core::WorkToken> probed;  // attempts with unknown effect that were already probed
};

}  // namespace pawl::runtime
