// DueList: what is due by the clock, by lane and then in the order of store::Due.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "store/store.h"

namespace pawl::store::memory {

class DueList {
 public:
  // Something that never happens (at 0) is not listed.
  void put(const Due& due) {
    if (due.at != Instant()) lanes_[core::lane_of(due.run)].insert(due);
  }
  void drop(const Due& due) {
    const auto lane = lanes_.find(core::lane_of(due.run));
    if (lane == lanes_.end()) return;
    lane->second.erase(due);
    if (lane->second.empty()) lanes_.erase(lane);
  }
  std::vector<Due> after(core::LaneId lane, const std::optional<Due>& cursor, std::size_t rows_max) const {
    std::vector<Due> rows;
    const auto found = lanes_.find(lane);
    if (found == lanes_.end()) return rows;
    auto row = cursor ? found->second.upper_bound(*cursor) : found->second.begin();
    for (; row != found->second.end() && rows.size() < rows_max; ++row) rows.push_back(*row);
    return rows;
  }

 private:
  std::map<core::LaneId, std::set<Due>> lanes_;
};

// The four kinds, each with its key.
inline Due due_message(Instant at, RunId run, const core::Guid& guid) {
  return {at, run, Due::Kind::message, guid, core::ActivitySeq(0)};
}
inline Due due_work(Instant at, RunId run, core::ActivitySeq activity) {
  return {at, run, Due::Kind::work, {}, activity};
}
// A job that is open, or whose completion tasks are still to be done, has a time but is not removed.
inline Due due_removal(const core::JobRow& job) {
  const bool over = core::is_closed(job.status) && job.completions > 0;
  return {over ? job.remove_at : Instant(), job.run, Due::Kind::removal, {}, core::ActivitySeq(0)};
}
inline Due due_key(Instant at, RunId run) { return {at, run, Due::Kind::key, {}, core::ActivitySeq(0)}; }

}  // namespace pawl::store::memory
