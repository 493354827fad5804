// Random histories: a seeded sequence of operations that refers to jobs and work items by their number in the history,
// so that the same seed can be played on any store.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "store/conformance/conformance.h"

namespace pawl::store {

struct HistoryOptions {
  std::uint64_t seed = 0;
  std::string name_space = "default";
  bool moves_lanes = true;      // lanes change owners, leases run out
  bool by_lane = false;         // claims and dropped keys concern one lane, and no delivery has an outbox as its source
  bool claims_by_lane = false;  // only claims: each store chooses its own order of lanes
  bool pauses_by_lane = false;  // the same for pauses; SQLite pauses a topic in all lanes or in none
};

// Plays one step after the other on one store. Runs are named by their number in the history, not by the store's
// number, so transcripts of two stores compare equal.
class History {
 public:
  History(Store& store, ManualClock& clock, core::LaneId first_lane, HistoryOptions options);

  // Continues another history, in a store with the same content; the lanes have new owners.
  History(Store& store, const History& before);
  virtual ~History() = default;

  virtual std::string step();       // plays one operation; returns what was requested and what came back
  virtual std::string read_back();  // everything the history created, as the store reads it now

 protected:
  struct Lane {
    core::LaneId id{0};
    core::Epoch epoch{0};  // from the last acquire: may be stale
  };
  // Commits them together, and remembers the results.
  std::string play(const std::vector<Operation>& group);
  std::string note(const Operation& operation, const Outcome& outcome);
  void let_time_pass() {
    if (random_.one_in(10)) clock_.advance(Duration(random_.below(4'000'000)));
  }
  Operation draw();
  core::Bundle draw_bundle();
  core::Write draw_write(const StoredJob& job, core::Bundle& bundle);
  core::Write draw_timed_write(const StoredJob& job, core::Bundle& bundle);
  core::Write draw_label_write();
  core::WorkLife draw_life();
  Deliver draw_delivery();
  Operation draw_app();
  Operation draw_engine();
  std::string read_apps();
  std::string read_labels();
  static Duration seconds(std::uint64_t count) { return std::chrono::seconds(count); }
  // Whole seconds, so that many things are due at the same time.
  Instant later() {
    return Instant::from_micros(clock_.now().micros() / 1'000'000 * 1'000'000) + seconds(1 + random_.below(8));
  }
  core::Message draw_message();
  core::Guid draw_guid() { return core::Guid{random_.below(12), 1}; }
  // Newer runs are more likely: most of the old ones are closed or gone.
  std::size_t draw_run() {
    const std::uint64_t one = random_.below(runs_.size());
    return std::max(one, random_.below(runs_.size()));
  }
  core::LaneId draw_lane() { return lanes_[random_.below(lanes_.size())].id; }
  // A key belongs to one lane.
  core::LaneId lane_of_id(const std::string& id) const { return lanes_[id.back() % 2].id; }
  // Where sends are not direct, what was sent is delivered at once: both ways lead to the same inboxes.
  virtual void deliver_outboxes();
  std::string describe(const Outcome& outcome) const;
  std::string describe(const core::WorkItem& item) const;
  std::string describe(const std::vector<core::InboxMessage>& inbox) const;
  std::string describe(const core::Guid& guid) const;
  std::string read_due(core::LaneId lane);
  std::string name_of_run(RunId run) const;

  Store& store_;
  ManualClock& clock_;
  Random random_;
  HistoryOptions options_;
  std::vector<Lane> lanes_;
  std::vector<RunId> runs_;
  std::vector<std::string> ids_;
  std::deque<core::Bundle> recent_;      // some are repeated later
  std::vector<core::WorkItem> claimed_;  // some of them stale
  std::uint64_t next_bundle_ = 1;
  std::map<core::LaneId, std::uint64_t> last_source_;                          // by target
  std::set<std::tuple<core::LaneId, core::LaneId, std::uint64_t>> delivered_;  // rows of outboxes
};

}  // namespace pawl::store
