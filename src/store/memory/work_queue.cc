#include "store/memory/work_queue.h"

#include <algorithm>

namespace pawl::store::memory {

void WorkQueue::list(const Row& row) {
  due_.put(due_work(row.wake, row.place.key.run, row.place.key.activity));
  if (row.list == List::free) topics_[row.topic].free.insert(row.place);
  if (row.list == List::later) topics_[row.topic].later.insert({row.from, row.place});
}

void WorkQueue::unlist(const Row& row) {
  due_.drop(due_work(row.wake, row.place.key.run, row.place.key.activity));
  const auto waiting = topics_.find(row.topic);
  if (waiting == topics_.end()) return;
  waiting->second.free.erase(row.place);
  waiting->second.later.erase({row.from, row.place});
  if (waiting->second.empty()) topics_.erase(waiting);
}

void WorkQueue::put(const core::WorkItem& item) {
  const WorkKey key{item.run, item.activity};
  const auto [found, is_new] = rows_.try_emplace(key);
  Row& row = found->second;
  if (is_new)
    row.place.number = next_place_++;
  else
    unlist(row);
  row.topic = item.topic;
  row.place.before = -std::int64_t{item.priority};
  row.place.key = key;
  row.wake = core::wake_of(item);
  row.from = item.visible_at;
  if (item.held) {
    row.list = List::none;
  } else if (item.token == core::WorkToken(0)) {
    row.list = item.visible_at == Instant() ? List::free : List::later;
  } else {
    row.list = item.epoch == core::Epoch(0) && !item.life.at_most_once ? List::later : List::none;
    row.from = std::max(item.lease_until, item.visible_at);
  }
  list(row);
}

void WorkQueue::drop(const WorkKey& key) {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return;
  unlist(found->second);
  rows_.erase(found);
}

void WorkQueue::drop_all_of(RunId run) {
  auto row = rows_.lower_bound({run, core::ActivitySeq(0)});
  while (row != rows_.end() && row->first.run == run) {
    unlist(row->second);
    row = rows_.erase(row);
  }
}

std::vector<WorkKey> WorkQueue::claimable(std::span<const Topic> topics, std::size_t items_max, Instant now,
                                          const MayClaim& may_claim) const {
  std::set<Place> first;  // a set: a topic that is named twice gives its items once
  for (const Topic& topic : topics) {
    const auto waiting = topics_.find(topic);
    if (waiting == topics_.end()) continue;
    std::size_t taken = 0;
    for (const Place& place : waiting->second.free) {
      if (taken == items_max) break;
      if (!may_claim(topic, place.key.run)) continue;
      ++taken;
      first.insert(place);
    }
    for (const Timed& timed : waiting->second.later) {
      if (timed.from > now) break;
      if (may_claim(topic, timed.place.key.run)) first.insert(timed.place);
    }
  }
  std::vector<WorkKey> keys;
  for (const Place& place : first) {
    if (keys.size() == items_max) break;
    keys.push_back(place.key);
  }
  return keys;
}

std::vector<WorkKey> WorkQueue::of_lane(core::LaneId lane, const WorkKey& after, std::size_t rows_max) const {
  std::vector<WorkKey> keys;
  const WorkKey first{core::make_run(lane, 0), core::ActivitySeq(0)};
  for (auto row = rows_.upper_bound(std::max(after, first)); row != rows_.end(); ++row) {
    if (keys.size() == rows_max || core::lane_of(row->first.run) != lane) break;
    keys.push_back(row->first);
  }
  return keys;
}

}  // namespace pawl::store::memory
