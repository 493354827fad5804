// Loader: what is read from the store: cold jobs, jobs whose outcome is not known, what others wrote, a lane that was
// taken over. What cannot be read now is tried again by tick(); what no store can have written stops its own job and
// nothing else.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/engine_types.h"
#include "runtime/hot_jobs.h"
#include "runtime/owned_lane.h"
#include "store/change.h"

namespace pawl::runtime {

struct Parts;

class Loader {
 public:
  explicit Loader(Parts& parts) : parts_(parts) {}

  // Brings a job into memory, with deliveries that have no row. `uncertain`: a bundle of it whose outcome is not known.
  void load(OwnedLane& lane, RunId run, std::vector<core::Delivery> unstored, const core::Bundle* uncertain = nullptr);
  void load_if_cold(OwnedLane& lane, RunId run);
  // The bundle's outcome is not known: only the store knows where the job stands.
  void reload(const core::Bundle& uncertain);
  // Something may wait in this job's inbox.
  void look(OwnedLane& lane, RunId run);
  void look_soon(const std::vector<RunId>& runs) { looks_.insert(looks_.end(), runs.begin(), runs.end()); }
  // Adds what others delivered, what has become due, and what was done to its work items, to a job in memory.
  // False: it cannot be read now.
  bool merge_inbox(OwnedLane& lane, HotJob& job);
  // Looks through a lane's inboxes, and through its work items if asked to.
  void scan(OwnedLane& lane, bool work);
  void scan_all(bool work);
  void graphs_changed();  // jobs may have waited for one
  // A page of the jobs with a label, as a signal to all of them asks for it. None: it cannot be read now.
  std::optional<core::Page> read_labelled(const core::JobRow& job, const core::Expand& expand);

  // Said once: it is met at every look.
  void damaged(RunId run, const std::string& what);
  void park_damaged(RunId run, const std::string& what);

  void tick();         // tries again what could not be read
  void begin_turn() { failed_ = false; }
  void look_around();  // a little at each turn: whoever waits for this engine must not wait for all that is open
  void end_turn();
  void cannot_read(const Error& error);  // a page; tried again, and said if it goes on
  bool waits_for_more() const;  // there is more to look through
  bool must_try_again() const;  // a read failed
  bool empty() const;           // no delivery waits for its job to be read

 private:
  void adopt_work(OwnedLane& lane, HotJob& job, const core::Bundle* uncertain);
  void adopt_scanned(OwnedLane& lane, const store::WorkPlace& place);
  // How many rows it looked at; 0: there are no more. None: they cannot be read now, or there is no room.
  std::optional<std::size_t> scan_some(OwnedLane& lane, Scan& scan, std::size_t rows_max);

  Parts& parts_;
  std::deque<RunId> looks_;                                     // something may be new there
  std::unordered_map<RunId, core::GraphRef> blocked_;           // their graph is not deployed here
  std::unordered_set<RunId> damaged_;                           // what was said about them is not said again
  std::deque<core::LaneId> scanning_;                           // lanes with scans, in their order
  bool failed_ = false;                                         // a page could not be read in this turn
  std::optional<Duration> failing_since_;
  bool failing_said_ = false;
};

}  // namespace pawl::runtime
