// Loader: reads from the store: jobs that are not in memory, jobs with an unknown outcome, mailboxes, what other
// processes wrote, a lane that was taken over. tick() retries what cannot be read now. Data that no store can have
// written stops only its own job.
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

  // Loads a job, with deliveries that are not stored. `uncertain`: a bundle of it whose outcome is unknown.
  void load(OwnedLane& lane, RunId run, std::vector<core::Delivery> unstored,
            std::shared_ptr<const core::Bundle> uncertain = nullptr);
  // The same for a page of a mailbox, which is decided at once.
  void load_mailbox(OwnedLane& lane, RunId run);
  void load_if_cold(OwnedLane& lane, RunId run);
  // It will have something to do soon. If there is no such job, nothing happens.
  void load_ahead(OwnedLane& lane, RunId run);
  // The bundle's outcome is unknown: only the store knows the job's state.
  void reload(core::Bundle uncertain);
  // It is being read, perhaps since before it was made, when the number had no job or was expected for another one.
  void read_as_job(OwnedLane& lane, RunId run);
  // A message may wait in this job's inbox.
  void look(OwnedLane& lane, RunId run);
  // The same for a job that is not in memory: this engine has just committed this message, so it was never entered.
  void load_for(OwnedLane& lane, RunId run, const core::Guid& fresh);
  void look_soon(const std::vector<RunId>& runs) { looks_.insert(looks_.end(), runs.begin(), runs.end()); }
  // Adds to a job in memory what others delivered, what has become due, and how its work items changed. The job is held
  // until that is read.
  void merge_inbox(OwnedLane& lane, HotJob& job);
  // Scans a lane's inboxes, and its work items if asked to.
  void scan(OwnedLane& lane, bool work);
  void scan_all(bool work);
  void graphs_changed();  // jobs may have waited for one
  // A page of the jobs with a label, for a signal to all of them. The job is held until it is read, then it is ready.
  void read_labelled(OwnedLane& lane, HotJob& job, const core::Delivery& signal);

  // Reported once, although every scan meets it.
  void damaged(RunId run, const std::string& what);
  void park_damaged(RunId run, const std::string& what);

  void tick();         // retries what could not be read
  void look_around();  // a few rows at each turn, so that other jobs need not wait for the whole scan
  // Pages of a lane: after one that could not be read, none is asked for before the next tick().
  bool may_read_page() const { return !failed_; }
  void cannot_read(const Error& error);  // a page; retried, and reported if it keeps failing
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
  std::deque<RunId> looks_;                            // they may have new messages
  std::unordered_map<RunId, core::GraphRef> blocked_;  // their graph is not deployed here
  std::vector<core::GraphRef> not_deployed_;           // each was reported once
  std::unordered_set<RunId> damaged_;                  // already reported
  std::deque<core::LaneId> scanning_;                  // lanes with scans, in their order
  std::size_t rows_left_ = 0;                          // to be scanned in this turn
  bool failed_ = false;                                // the last page could not be read
  std::optional<Duration> failing_since_;
  bool failing_said_ = false;
};

}  // namespace pawl::runtime
