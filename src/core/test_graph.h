// For tests of core, which does not know apps: a plain graph of triggers and workers, built by hand.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/graph.h"
#include "pawl/result.h"

namespace pawl::core {

class TestGraph {
 public:
  explicit TestGraph(std::string name) { parts_.name = GraphName(std::move(name)); }

  TestGraph& trigger(std::string name) { return add(std::move(name), ActivityKind::trigger, ""); }
  TestGraph& worker(std::string name, std::string topic) {
    return add(std::move(name), ActivityKind::worker, std::move(topic));
  }
  TestGraph& after(const std::string& parent, Condition when = Condition::always()) {
    const auto last = static_cast<std::uint32_t>(parts_.nodes.size() - 1);
    Graph::Node& above = parts_.nodes[index(parent)];
    above.edges.push_back({last, std::move(when)});
    parts_.nodes[last].depth = above.depth + 1;
    return *this;
  }
  TestGraph& retry(Retry policy) {
    last().policy.retries = true;
    last().policy.retry = std::move(policy);
    return *this;
  }
  TestGraph& timeouts(Timeouts limits) { return last().policy.timeouts = limits, *this; }
  TestGraph& at_most_once(WhenUnknown then = WhenUnknown::hold) {
    last().policy.guarantee = Guarantee::at_most_once;
    last().policy.when_unknown = then;
    return *this;
  }
  TestGraph& priority(std::int32_t value) { return last().policy.priority = value, *this; }
  // The activity named last undoes this one.
  TestGraph& undoes(const std::string& name) {
    const auto last_index = static_cast<std::uint32_t>(parts_.nodes.size() - 1);
    parts_.nodes[index(name)].undo = last_index;
    last().depth = parts_.nodes[index(name)].depth + 1;
    return *this;
  }
  TestGraph& collation(Collation collation) { return parts_.collation = collation, *this; }
  TestGraph& drain() { return parts_.drains = true, *this; }
  TestGraph& result_of(const std::string& name) { return parts_.result = index(name), *this; }

  Result<Graph> build() const { return Graph::assemble(parts_); }

 private:
  TestGraph& add(std::string name, ActivityKind kind, std::string topic) {
    parts_.nodes.push_back(Graph::Node{ActivityName(std::move(name)), kind, Topic(std::move(topic)), {}, {}});
    return *this;
  }
  Graph::Node& last() { return parts_.nodes.back(); }
  std::uint32_t index(const std::string& name) const {
    for (std::uint32_t i = 0; i < parts_.nodes.size(); ++i)
      if (parts_.nodes[i].name.raw() == name) return i;
    ADD_FAILURE() << "no activity named " << name;
    return 0;
  }
  Graph::Parts parts_{};
};

}  // namespace pawl::core
