// HotJobs: the jobs in memory, the idle ones in order of their last use. A job that is neither idle nor
// forgotten stays; idle ones beyond the limit leave, the longest unused first. Not thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/decide.h"
#include "core/job_state.h"
#include "pawl/graph.h"

namespace pawl::runtime {

struct HotJob {
  core::JobState state;
  std::shared_ptr<const Graph> graph;
  std::vector<core::Delivery> queue;
  core::Decision decision;   // of the bundle in flight; its bundle was moved into the group
  bool in_flight = false;
  core::BundleId bundle{0};  // the one in flight
  bool look_again = false;   // others may have written to its inbox
  bool ready = false;        // stands in a queue to be decided
  std::string damaged;       // what of it cannot be read; nothing of it is decided any more
  bool suspect = false;      // holds a message that earlier engines did not survive
  std::optional<std::list<RunId>::iterator> idle;

  // Takes what the decision finished out of the queue and notes which entries it committed.
  void drop_done();
};

class HotJobs {
 public:
  explicit HotJobs(std::size_t idle_max) : idle_max_(idle_max) {}

  HotJob* find(RunId run);
  const HotJob* find(RunId run) const;
  HotJob& add(core::JobState state, std::shared_ptr<const Graph> graph);
  void erase(RunId run);
  void use(HotJob& job);   // not idle any more
  void idle(HotJob& job);  // may leave memory when another job idles
  std::size_t size() const { return jobs_.size(); }
  std::vector<RunId> of_lane(core::LaneId lane) const;

 private:
  std::size_t idle_max_;
  std::unordered_map<RunId, std::unique_ptr<HotJob>> jobs_;
  std::list<RunId> idle_order_;
};

}  // namespace pawl::runtime
