// The cases on stores with a server: PostgreSQL and Redis. A case must leave there what it leaves in memory, also when
// a commit is broken. Few and large tests, because each program starts its server.
//   PAWL_GRAPH_CASES=all    every case is broken, not only the chosen ones, in every way
//   PAWL_GRAPH_ONE_IN (1)   at one commit in this many
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>

#include "graph/check.h"
#include "graphs/all_cases.h"
#include "graphs/player.h"
#include "testing.h"

namespace pawl::graphs {

namespace {

const char* way(bool fusion) { return fusion ? ", fused" : ", every step alone"; }

// Each kind of activity, in a case of few commits.
constexpr const char* chosen_names[] = {
    "smoke_trigger_alone",
    "smoke_worker_with_maps",
    "smoke_sleep",
    "smoke_signal_meets_hook",
    "smoke_cycle",
    "smoke_await",
    "smoke_failing_child_fails_its_parent",
    "smoke_join_all",
    "smoke_map_over_three",
    "smoke_interrupt_itself",
    "smoke_signal_activity_wakes_another_job",
    "retry_a_try_that_fails_is_followed_by_another",
    "announce_persist_announces_the_end_though_the_job_goes_on",
    "stats_an_index_finds_jobs_by_value__an_entity_too",
    "signal_all_all_jobs_with_a_label_are_told__page_by_page",
    "interrupt_descend_ends_the_children_too",
    "original_item_05_timer_and_signal_at_once",
};

// What is broken, and how often.
struct Loop {
  static constexpr std::uint64_t long_case = 100;  // commits: a longer case mostly renews its lanes
  std::vector<const Case*> cases;
  std::uint64_t places_of_long = 20;
  std::uint64_t ways = 1;    // at each commit; the next commit is broken in other ways
  std::uint64_t one_in = 1;  // commits

  Loop() {
    const char* which = std::getenv("PAWL_GRAPH_CASES");
    if (which == nullptr || std::string(which) != "all") {
      for (const char* name : chosen_names) cases.push_back(&case_named(name));
      return;
    }
    for (const Case& one : graphs::cases()) cases.push_back(&one);
    ways = std::size(all_breaks);
    places_of_long = long_case;
    if (const char* said = std::getenv("PAWL_GRAPH_ONE_IN")) one_in = std::max(std::strtoull(said, nullptr, 10), 1ULL);
  }
  std::vector<Broken> faults(std::uint64_t commits) const {
    std::vector<Broken> all;
    const std::uint64_t stride = commits <= long_case ? one_in : std::max(one_in, commits / places_of_long);
    for (std::uint64_t call = 1; call <= commits; call += stride)
      for (std::uint64_t i = 0; i < ways; ++i)
        all.push_back({all_breaks[(all.size() + commits) % std::size(all_breaks)], call});
    return all;
  }
};

class ServerGraphs : public ::testing::TestWithParam<std::string> {};

TEST_P(ServerGraphs, leave_what_they_leave_in_memory) {
  std::uint64_t commits = 0;
  for (const Case& one : cases())
    for (const bool fusion : {true, false}) {
      const Played played = play(one, {GetParam(), fusion});
      EXPECT_EQ(compare(one, played, false), "") << one.name << way(fusion);
      EXPECT_EQ(told(played, false), told(play(one, {"memory", fusion}), false)) << one.name << way(fusion);
      commits += played.commits;
    }
  std::printf("  %zu cases on %s, fused and step by step: %llu commits\n", cases().size(), GetParam().c_str(),
              static_cast<unsigned long long>(commits));
}

// A timer and a signal of one moment have two correct ends, and a fault may decide. Then compare with what memory
// leaves under all faults.
std::set<std::string> ends_in_memory(const Case& one, bool fusion) {
  std::set<std::string> ends;
  const std::uint64_t commits = play(one, {"memory", fusion}).commits;
  for (std::uint64_t call = 1; call <= commits; ++call)
    for (const Break what : all_breaks) ends.insert(told(play(one, {"memory", fusion}, Broken{what, call}), true));
  return ends;
}

// Under every fault a case ends as without one.
TEST_P(ServerGraphs, survive_a_fault_at_each_commit) {
  const Loop loop;
  std::uint64_t commits = 0;
  std::uint64_t runs = 0;
  std::uint64_t others = 0;
  for (const Case* one : loop.cases)
    for (const bool fusion : {true, false}) {
      const Setting setting{GetParam(), fusion};
      const Played whole = play(*one, setting);
      commits += whole.commits;
      for (const Broken& broken : loop.faults(whole.commits)) {
        ++runs;
        const Played played = play(*one, setting, broken);
        const std::string where = one->name + ", " + std::string(name_of(broken.what)) + " at commit " +
                                  std::to_string(broken.call) + way(fusion);
        ASSERT_EQ(compare(*one, played, true), "") << where;
        const std::string end = told(played, true);
        if (end == told(whole, true)) continue;
        ++others;
        ASSERT_TRUE(ends_in_memory(*one, fusion).contains(end)) << where << " leaves\n"
                                                                << end << "and not\n"
                                                                << told(whole, true);
      }
    }
  std::printf(
      "  %zu cases on %s, fused and step by step: %llu commits, %llu broken runs, %llu with another right end\n",
      loop.cases.size(), GetParam().c_str(), static_cast<unsigned long long>(commits),
      static_cast<unsigned long long>(runs), static_cast<unsigned long long>(others));
}

TEST(Chosen, cases_have_every_kind_of_activity) {
  std::set<std::size_t> kinds;
  for (const char* name : chosen_names) {
    const graph::Checked checked = graph::check_text(case_named(name).app);
    for (const graph::Graph& graph : checked.app->graphs)
      for (const graph::Activity& activity : graph.activities) kinds.insert(activity.kind.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<graph::Kind>);
}

INSTANTIATE_TEST_SUITE_P(on, ServerGraphs, ::testing::Values("postgres", "redis", "redis_cluster"),
                         [](const auto& one) { return one.param; });

}  // namespace

}  // namespace pawl::graphs
