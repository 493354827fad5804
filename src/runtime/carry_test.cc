#include "runtime/carry.h"

#include <map>

#include "core/draft.h"
#include "core/secret.h"
#include "runtime/engine_bench.h"

namespace pawl::runtime {
namespace {

// When `one` is answered its first edge does not fire; when the job has failed, it would.
constexpr const char* turned = R"(
app:
  id: turned
  version: 1
  graphs:
    - subscribes: turned.starts
      activities:
        start: {type: trigger}
        one: {type: worker, topic: work}
        flag: {type: worker, topic: work, job: {maps: {flag: true}}}
        other: {type: hook}
        two: {type: worker, topic: work}
      transitions:
        start: [{to: one}, {to: flag}]
        one: [{to: other, conditions: {match: [{expected: true, actual: "{$job.data.flag}"}]}}, {to: two}]
)";

class Carry : public ::testing::TestWithParam<core::Fusion> {
 protected:
  void SetUp() override {
    bench = std::make_unique<Bench>(GetParam());
    bench->deploy(Result<AppText>(AppText{turned}));
    graph = bench->graphs.newest(GraphName("turned/turned.starts"));
    ASSERT_NE(graph, nullptr);
    two = graph->find(ActivityName("two")).value();
    bench->submit("j", "turned/turned.starts");
    bench->run([&](const core::WorkItem& item) {
      const core::Activity asked = *bench->state("j").find(item.activity);
      requests[asked.node] = item.request;
      return asked.node == two ? reply(item, core::ReplyStatus::fatal, 503) : reply(item);
    });
    ASSERT_EQ(bench->state("j").job.status, core::JobStatus::failed);
    ASSERT_EQ(bench->state("j").job.data.str(), R"({"flag":true})");
  }
  const core::Carried* of_two(const std::vector<core::Carried>& carried) const {
    for (const core::Carried& one : carried)
      if (one.node == two) return &one;
    return nullptr;
  }

  std::unique_ptr<Bench> bench;
  std::shared_ptr<const core::Graph> graph;
  std::uint32_t two = 0;
  std::map<std::uint32_t, core::Guid> requests;
};
INSTANTIATE_TEST_SUITE_P(fusion, Carry, ::testing::Values(core::Fusion::on, core::Fusion::off),
                         [](const auto& one) { return one.param == core::Fusion::on ? "on" : "off"; });

TEST_P(Carry, work_that_failed_keeps_its_name_whatever_edges_would_fire_now) {
  const auto carried = carried_from(bench->state("j"), *graph, WorkNames::kept);
  ASSERT_TRUE(carried.ok()) << carried.error().detail;
  const core::Carried* again = of_two(*carried);
  ASSERT_NE(again, nullptr);
  EXPECT_FALSE(again->answered);
  EXPECT_EQ(again->request, requests.at(two));
  EXPECT_EQ(carried->size(), 3u) << "and the two answers";
}

TEST_P(Carry, work_of_a_new_job_has_a_new_name) {
  const auto carried = carried_from(bench->state("j"), *graph, WorkNames::fresh, "two");
  ASSERT_TRUE(carried.ok()) << carried.error().detail;
  EXPECT_EQ(of_two(*carried), nullptr);
  EXPECT_EQ(carried->size(), 2u);
}

}  // namespace
}  // namespace pawl::runtime
