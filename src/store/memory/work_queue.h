// WorkQueue: which work items a remote worker may claim, oldest first. It holds keys only; the
// items themselves stand in their job's state.
//
// 1. An item keeps the place it got when it was first put, whoever claims and returns it meanwhile.
// 2. Claimable: nobody holds it, or a remote worker's lease ran out. What the lane's owner claimed
//    (epoch != 0) has no lease: only the lane's owner hands it out again.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/job_state.h"

namespace pawl::store::memory {

struct WorkKey {
  RunId run{0};
  core::ActivitySeq activity{0};
  friend auto operator<=>(const WorkKey&, const WorkKey&) = default;
};

class WorkQueue {
 public:
  void put(const core::WorkItem& item);  // a new item, or one whose claim changed
  void drop(const WorkKey& key);
  void drop_all_of(RunId run);

  std::vector<WorkKey> claimable(std::span<const Topic> topics, std::size_t items_max,
                                 Instant now) const;
  std::vector<WorkKey> of_lane(core::LaneId lane, const WorkKey& after, std::size_t rows_max) const;

 private:
  using Place = std::pair<std::uint64_t, WorkKey>;
  struct Lease {
    Instant until;
    Place place;
    friend auto operator<=>(const Lease&, const Lease&) = default;
  };
  struct Waiting {
    std::set<Place> free;
    std::set<Lease> leased;
  };
  struct Row {
    std::uint64_t place = 0;
    Topic topic{""};
    bool free = false;
    Instant until;  // of a lease; meaningless while free or held by the lane's owner
  };
  void unlist(const WorkKey& key, const Row& row);

  std::uint64_t next_place_ = 0;
  std::map<WorkKey, Row> rows_;
  std::map<Topic, Waiting> topics_;
};

}  // namespace pawl::store::memory
