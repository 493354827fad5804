#include "store/memory/work_queue.h"

#include <algorithm>

namespace pawl::store::memory {

void WorkQueue::unlist(const WorkKey& key, const Row& row) {
  const auto waiting = topics_.find(row.topic);
  const Place place{row.place, key};
  waiting->second.free.erase(place);
  waiting->second.leased.erase(Lease{row.until, place});
  if (waiting->second.free.empty() && waiting->second.leased.empty()) topics_.erase(waiting);
}

void WorkQueue::put(const core::WorkItem& item) {
  const WorkKey key{item.run, item.activity};
  const auto [found, is_new] = rows_.try_emplace(key);
  Row& row = found->second;
  if (is_new) {
    row.place = next_place_++;
  } else if (topics_.contains(row.topic)) {
    unlist(key, row);
  }
  row.topic = item.topic;
  row.free = item.token == core::WorkToken(0);
  row.until = item.lease_until;
  if (row.free)
    topics_[row.topic].free.emplace(row.place, key);
  else if (item.epoch == core::Epoch(0))
    topics_[row.topic].leased.insert(Lease{row.until, {row.place, key}});
}

void WorkQueue::drop(const WorkKey& key) {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return;
  if (topics_.contains(found->second.topic)) unlist(key, found->second);
  rows_.erase(found);
}

void WorkQueue::drop_all_of(RunId run) {
  auto row = rows_.lower_bound({run, core::ActivitySeq(0)});
  while (row != rows_.end() && row->first.run == run) {
    if (topics_.contains(row->second.topic)) unlist(row->first, row->second);
    row = rows_.erase(row);
  }
}

std::vector<WorkKey> WorkQueue::claimable(std::span<const Topic> topics, std::size_t items_max,
                                          Instant now) const {
  std::set<Place> oldest;  // a set: a topic named twice gives its items once
  for (const Topic& topic : topics) {
    const auto waiting = topics_.find(topic);
    if (waiting == topics_.end()) continue;
    std::size_t taken = 0;
    for (const Place& place : waiting->second.free) {
      if (taken++ == items_max) break;
      oldest.insert(place);
    }
    for (const Lease& lease : waiting->second.leased) {
      if (lease.until > now) break;
      oldest.insert(lease.place);
    }
  }
  std::vector<WorkKey> keys;
  for (const Place& place : oldest) {
    if (keys.size() == items_max) break;
    keys.push_back(place.second);
  }
  return keys;
}

std::vector<WorkKey> WorkQueue::of_lane(core::LaneId lane, const WorkKey& after,
                                        std::size_t rows_max) const {
  std::vector<WorkKey> keys;
  const WorkKey first{core::make_run(lane, 0), core::ActivitySeq(0)};
  for (auto row = rows_.upper_bound(std::max(after, first)); row != rows_.end(); ++row) {
    if (keys.size() == rows_max || core::lane_of(row->first.run) != lane) break;
    keys.push_back(row->first);
  }
  return keys;
}

}  // namespace pawl::store::memory
