// WorkQueue: which work items a remote worker may claim, and which the clock will change. It holds only keys; the items
// are in their job's state.
//
// 1. The largest priority first, then the oldest. An item keeps the place it got when it was first put, even when it is
//    claimed and given back meanwhile.
// 2. Claimable: not held, visible, and either not claimed, or a remote worker's lease ran out and the attempt may be
//    repeated. An item claimed by the lane owner (epoch != 0) has no lease: only the lane owner hands it out again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/job_state.h"
#include "store/memory/due_list.h"

namespace pawl::store::memory {

struct WorkKey {
  RunId run{0};
  core::ActivitySeq activity{0};
  friend auto operator<=>(const WorkKey&, const WorkKey&) = default;
};

class WorkQueue {
 public:
  void put(const core::WorkItem& item);  // a new item, or one that changed
  void drop(const WorkKey& key);
  void drop_all_of(RunId run);

  using MayClaim = std::function<bool(const Topic& topic, RunId run)>;
  std::vector<WorkKey> claimable(std::span<const Topic> topics, std::size_t items_max, Instant now,
                                 const MayClaim& may_claim) const;
  std::vector<WorkKey> of_lane(core::LaneId lane, const WorkKey& after, std::size_t rows_max) const;
  const DueList& due() const { return due_; }

 private:
  struct Place {
    std::int64_t before = 0;  // the negated priority: smaller goes first
    std::uint64_t number = 0;
    WorkKey key;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Timed {  // claimable from then on
    Instant from;
    Place place;
    friend auto operator<=>(const Timed&, const Timed&) = default;
  };
  struct Waiting {
    std::set<Place> free;
    std::set<Timed> later;  // not visible yet, or leased
    bool empty() const { return free.empty() && later.empty(); }
  };
  enum class List : std::uint8_t { none, free, later };
  struct Row {
    Topic topic{""};
    Place place;
    List list = List::none;
    Instant from;  // in the later list
    Instant wake;
  };
  void list(const Row& row);
  void unlist(const Row& row);

  std::uint64_t next_place_ = 0;
  std::map<WorkKey, Row> rows_;
  std::map<Topic, Waiting> topics_;
  DueList due_;
};

}  // namespace pawl::store::memory
