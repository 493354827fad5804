// TopicTally: work items counted by topic, for stores that have no way to count where the items are.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/job_state.h"
#include "store/queries.h"

namespace pawl::store {

class TopicTally {
 public:
  explicit TopicTally(Instant now) : now_(now) {}

  static bool is_ready(const core::WorkItem& item, Instant now) {
    return !item.held && item.token == core::WorkToken(0) && item.visible_at <= now;
  }

  // `opened_at`: when its activity was opened.
  void add(const core::WorkItem& item, Instant opened_at) {
    TopicWork& work = topics_[item.topic];
    if (item.held) {
      ++work.held;
    } else if (item.token != core::WorkToken(0)) {
      ++work.taken;
    } else if (!is_ready(item, now_)) {
      ++work.later;
    } else {
      ++work.ready;
      const Instant since = std::max(opened_at, item.visible_at);
      if (work.since == Instant() || since < work.since) work.since = since;
    }
  }

  std::vector<TopicWork> rows() && {
    std::vector<TopicWork> rows;
    for (auto& [topic, work] : topics_) {
      work.topic = topic;
      rows.push_back(std::move(work));
    }
    return rows;
  }

 private:
  const Instant now_;
  std::map<Topic, TopicWork> topics_;
};

}  // namespace pawl::store
