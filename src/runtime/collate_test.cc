#include "runtime/collate.h"

#include <gtest/gtest.h>

#include <string>

#include "base/format.h"

namespace pawl::runtime {
namespace {

using core::ActivityStatus;

Graph graph_of(std::vector<Graph::Node> nodes) {
  return Graph::assemble({.name = GraphName("g"), .nodes = std::move(nodes)});
}

Graph::Node node(const std::string& name, Graph::Kind kind, std::vector<std::uint32_t> next) {
  Graph::Node made{.name = ActivityName(name), .kind = kind, .topic = Topic(""), .edges = {}, .policy = {}};
  for (const std::uint32_t to : next) made.edges.push_back({to, core::Condition::always()});
  return made;
}

class Job {
 public:
  Job& with(std::uint32_t at, ActivityStatus status) {
    core::Activity activity;
    activity.seq = core::ActivitySeq(count_++);
    activity.node = at;
    activity.status = status;
    state.put(std::move(activity));
    return *this;
  }
  core::JobState state;

 private:
  std::uint32_t count_ = 0;
};

// A trigger, two workers, and a join after both.
Graph two_and_a_join() {
  return graph_of({node("a", Graph::Kind::trigger, {1, 2}), node("b", Graph::Kind::worker, {3}),
                   node("c", Graph::Kind::worker, {3}), node("d", Graph::Kind::join, {})});
}

TEST(Collate, a_join_may_come_while_one_of_its_parents_has_not_ended) {
  Job job;
  job.with(0, ActivityStatus::completed).with(1, ActivityStatus::errored).with(2, ActivityStatus::open);
  EXPECT_EQ(collation_key_of(job.state, two_and_a_join())->own_digits(), "6789");
}

TEST(Collate, a_join_that_nothing_leads_to_any_more_is_skipped) {
  Job job;
  job.with(0, ActivityStatus::completed).with(1, ActivityStatus::errored).with(2, ActivityStatus::errored);
  EXPECT_EQ(collation_key_of(job.state, two_and_a_join())->own_digits(), "6773");
}

// Forty joins in a row have 2^40 paths through them; each activity is visited once.
TEST(Collate, joins_in_a_row_cost_no_more_than_their_number) {
  std::vector<Graph::Node> nodes;
  constexpr std::uint32_t rows = 40;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::uint32_t first = row * 3;
    nodes.push_back(
        node(format("a{}", row), row == 0 ? Graph::Kind::trigger : Graph::Kind::join, {first + 1, first + 2}));
    nodes.push_back(node(format("b{}", row), Graph::Kind::worker, {first + 3}));
    nodes.push_back(node(format("c{}", row), Graph::Kind::worker, {first + 3}));
  }
  nodes.push_back(node("end", Graph::Kind::join, {}));
  EXPECT_EQ(collation_key_of(Job().state, graph_of(std::move(nodes)))->own_digits(), std::string(rows * 3 + 1, '9'));
}

TEST(Collate, an_awaited_job_stands_between_one_and_two) {
  const Graph graph = graph_of(
      {node("a", Graph::Kind::trigger, {1}), node("b", Graph::Kind::await, {2}), node("c", Graph::Kind::hook, {})});
  Job job;
  job.with(0, ActivityStatus::completed).with(1, ActivityStatus::open);
  const auto inner = ledger::CollationKey::from(
      {{"x", ledger::CollationKey::State::completed}, {"y", ledger::CollationKey::State::started}});
  ASSERT_TRUE(inner);
  const auto key =
      collation_key_of(job.state, graph, [&](const core::Activity& activity) -> std::optional<ledger::CollationKey> {
        EXPECT_EQ(activity.node, 1U);
        return *inner;
      });
  ASSERT_TRUE(key);
  EXPECT_EQ(key->text(), "6816829");
}

}  // namespace
}  // namespace pawl::runtime
