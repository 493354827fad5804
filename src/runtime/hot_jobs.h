// HotJobs: the jobs in memory, the idle ones in order of their last use. A job that is neither idle nor
// forgotten stays; idle ones beyond the limits of number and bytes leave, the longest unused first. Not thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/decide.h"
#include "core/graph.h"
#include "core/job_state.h"

namespace pawl::runtime {

using core::Graph;

struct HotJob {
  core::JobState state;
  std::shared_ptr<const Graph> graph;
  std::vector<core::Delivery> queue;
  core::Decision decision;  // of the bundle in flight; its bundle was moved into the group
  bool in_flight = false;
  core::BundleId bundle{0};    // the one in flight; 0: none, something of it is being read
  std::uint64_t launches = 0;  // bundles so far: what was read before the last one may be over
  std::uint32_t lookups = 0;   // messages that are looked up before they join the queue; it stays in memory until then
  bool look_again = false;     // others may have written to its inbox
  bool ready = false;          // stands in line to be decided (Turns)
  bool goes_on = false;        // its last decision left it more to do by itself
  std::uint32_t last_turns = 0;  // since the engine is stopping
  std::string damaged;           // what of it cannot be read; nothing of it is decided any more
  bool suspect = false;          // holds a message that earlier engines did not survive
  std::optional<std::list<RunId>::iterator> idle;
  // As it was last weighed:
  std::size_t bytes = 0;        // all of it
  std::size_t busy_bytes = 0;   // what it counts for while it is served (HotJobs::weigh)
  std::size_t queue_bytes = 0;  // of the first `queue_weighed` of the queue
  std::size_t queue_weighed = 0;

  bool is_held() const { return in_flight && bundle == core::BundleId(0); }
  // Takes what the decision finished out of the queue and notes which entries it committed.
  void drop_done();
};

class HotJobs {
 public:
  HotJobs(std::size_t idle_max, std::size_t idle_bytes_max) : idle_max_(idle_max), idle_bytes_max_(idle_bytes_max) {}

  HotJob* find(RunId run);
  const HotJob* find(RunId run) const;
  HotJob& add(core::JobState state, std::shared_ptr<const Graph> graph);
  void erase(RunId run);
  void use(HotJob& job);   // not idle any more
  void idle(HotJob& job);  // may leave memory when another job idles
  // Its state or its queue changed. One that is served counts with its queue and no more of its state than a payload
  // may have: many jobs that are served at once fill the memory, but one that is large must not stand in its own way.
  void weigh(HotJob& job);
  std::size_t size() const { return jobs_.size(); }
  std::size_t idle_bytes() const { return idle_bytes_; }
  std::size_t busy_bytes() const { return busy_bytes_; }
  std::vector<RunId> of_lane(core::LaneId lane) const;

 private:
  std::size_t idle_max_;
  std::size_t idle_bytes_max_;
  std::size_t busy_bytes_ = 0;  // of those that are served
  std::size_t idle_bytes_ = 0;  // of those that may leave
  std::unordered_map<RunId, std::unique_ptr<HotJob>> jobs_;
  std::list<RunId> idle_order_;
};

}  // namespace pawl::runtime
