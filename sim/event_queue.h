// EventQueue: events by their moment of virtual time; events of one moment in the order they were posted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "pawl/time.h"

namespace pawl::sim {

class EventQueue {
 public:
  void post(Duration at, std::function<void()> act) {
    events_.push_back(Event{at, ++order_, std::move(act)});
    std::push_heap(events_.begin(), events_.end(), later);
  }
  bool empty() const { return events_.empty(); }
  Duration next_at() const { return events_.front().at; }  // REQUIRES: not empty, as for take()
  std::function<void()> take() {
    std::pop_heap(events_.begin(), events_.end(), later);
    auto act = std::move(events_.back().act);
    events_.pop_back();
    return act;
  }

 private:
  struct Event {
    Duration at;
    std::uint64_t order;
    std::function<void()> act;
  };
  static bool later(const Event& a, const Event& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; }
  std::vector<Event> events_;  // a heap, soonest first
  std::uint64_t order_ = 0;
};

}  // namespace pawl::sim
