// Loader: what is read from the store: cold jobs, jobs whose outcome is not known, mailboxes, what others wrote, a lane
// that was taken over. What cannot be read now is tried again by tick(); what no store can have written stops its own
// job and nothing else.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/engine_types.h"
#include "runtime/hot_jobs.h"
#include "runtime/owned_lane.h"
#include "store/change.h"
#include "store/read.h"

namespace pawl::runtime {

struct Parts;

class Loader {
 public:
  explicit Loader(Parts& parts) : parts_(parts) {}

  // Brings a job into memory, with deliveries that have no row. `uncertain`: a bundle of it whose outcome is not known.
  void load(OwnedLane& lane, RunId run, std::vector<core::Delivery> unstored,
            std::shared_ptr<const core::Bundle> uncertain = nullptr);
  // The same for a page of a mailbox, which is decided at once.
  void load_mailbox(OwnedLane& lane, RunId run);
  void load_if_cold(OwnedLane& lane, RunId run);
  // The bundle's outcome is not known: only the store knows where the job stands.
  void reload(core::Bundle uncertain);
  // Something may wait in this job's inbox.
  void look(OwnedLane& lane, RunId run);
  void look_soon(const std::vector<RunId>& runs) { looks_.insert(looks_.end(), runs.begin(), runs.end()); }
  // Adds what others delivered, what has become due, and what was done to its work items, to a job in memory. Until
  // that is read the job is held, then it rests.
  void merge_inbox(OwnedLane& lane, HotJob& job);
  // Looks through a lane's inboxes, and through its work items if asked to.
  void scan(OwnedLane& lane, bool work);
  void scan_all(bool work);
  void graphs_changed();  // jobs may have waited for one
  // A page of the jobs with a label, for a signal to all of them. The job is held until it is read, then it is ready.
  void read_labelled(OwnedLane& lane, HotJob& job, const core::Delivery& signal);

  // Said once: it is met at every look.
  void damaged(RunId run, const std::string& what);
  void park_damaged(RunId run, const std::string& what);

  void tick();         // tries again what could not be read
  void look_around();  // a little at each turn: whoever waits for this engine must not wait for all that is open
  // Pages of a lane: after one that could not be read, none is asked for before the next tick().
  bool may_read_page() const { return !failed_; }
  void cannot_read(const Error& error);  // a page; tried again, and said if it goes on
  void page_read();
  bool waits_for_more() const;  // there is more to look through
  bool must_try_again() const;  // a read failed
  bool empty() const;           // no delivery waits for its job to be read

 private:
  void read(OwnedLane& lane, RunId run);
  template <class Stored>
  std::optional<Unread> take_unread(OwnedLane& lane, RunId run, const Stored& stored);
  void loaded(OwnedLane& lane, RunId run, store::AnswerTo<store::ReadJob> stored);
  void loaded(OwnedLane& lane, RunId run, store::AnswerTo<store::ReadMailboxPage> page);
  void enter(OwnedLane& lane, store::StoredJob stored, std::shared_ptr<const Graph> graph, Unread unread);
  void merged(OwnedLane& lane, RunId run, store::AnswerTo<store::ReadJob> stored);
  void adopt_work(OwnedLane& lane, HotJob& job, const core::Bundle* uncertain);
  void adopt_scanned(OwnedLane& lane, const store::WorkPlace& place);
  // Reads the next page of the lane's first scan.
  void scan_some(OwnedLane& lane, std::size_t rows_max);
  void scanned(OwnedLane& lane, const std::vector<store::Waiting>& page);
  void scanned(OwnedLane& lane, const store::Page<store::WorkPlace>& page);
  void end_scan(OwnedLane& lane);

  Parts& parts_;
  std::deque<RunId> looks_;                            // something may be new there
  std::unordered_map<RunId, core::GraphRef> blocked_;  // their graph is not deployed here
  std::vector<core::GraphRef> not_deployed_;           // of these; each was said once
  std::unordered_set<RunId> damaged_;                  // what was said about them is not said again
  std::deque<core::LaneId> scanning_;                  // lanes with scans, in their order
  std::size_t rows_left_ = 0;                          // to be looked at in this turn
  bool failed_ = false;                                // the last page could not be read
  std::optional<Duration> failing_since_;
  bool failing_said_ = false;
};

}  // namespace pawl::runtime
