// Checking and compiling an app costs little beyond reading its YAML, at any size.
#include <algorithm>

#include "base/format.h"
#include "graph/test_cost.h"
#include "graph/test_support.h"

namespace pawl::graph {
namespace {

std::string graph_of(int count) {
  std::string activities = "activities:\n  t: {type: trigger}\n";
  std::string transitions = "transitions:\n  t: [{to: w1}]\n";
  for (int i = 1; i < count; ++i) {
    activities += format(R"(  w{0}:
    type: worker
    topic: step.{0}
    timeout: 30s
    input:
      schema: {{type: object, required: [a], properties: {{a: {{type: string}}, b: {{type: integer}}}}}}
      maps:
        a: "{{{1}.output.data.a}}"
        b:
          "@pipe":
            - ["{{{1}.output.data.b}}", 1]
            - ["{{@math.add}}"]
    job:
      maps: {{last_{0}: "{{$self.output.data.a}}"}}
)",
                         i, i == 1 ? std::string("t") : format("w{}", i - 1));
    if (i + 1 < count)
      transitions += format(
          "  w{0}: [{{to: w{1}, conditions: {{code: [200, 202], match: [{{expected: true, actual: "
          "\"{{w{0}.output.data.go}}\"}}]}}}}]\n",
          i, i + 1);
  }
  return activities + transitions;
}

struct Cost {
  double ms = 1e9;
  double yaml_ms = 1e9;
  double ratio() const { return ms / yaml_ms; }
};

// The best of several rounds of each: the cost on an undisturbed machine.
Cost cost_of(int activities) {
  const std::string text = app_with(graph_of(activities));
  Cost cost;
  for (int round = 0; round < 7; ++round) {
    const double yaml_ms = bare_yaml_ms(text);
    const double before = cpu_ms();
    const Checked checked = check_text(text);
    const double ms = cpu_ms() - before;
    EXPECT_TRUE(checked.app) << report_of(checked);
    if (!checked.app) break;
    EXPECT_EQ(checked.app->graphs[0].activities.size(), static_cast<std::size_t>(activities));
    cost.ms = std::min(cost.ms, ms);
    cost.yaml_ms = std::min(cost.yaml_ms, yaml_ms);
  }
  fmt::print("{} activities, {} bytes: {:.1f} ms, of which YAML {:.1f} ms\n", activities, text.size(), cost.ms,
             cost.yaml_ms);
  return cost;
}

TEST(Speed, five_hundred_activities_cost_less_than_three_times_their_yaml) {
  const Cost cost = cost_of(500);
  EXPECT_TRUE(sanitized || cost.ratio() < 3) << cost.ratio();
}

TEST(Speed, a_graph_eight_times_as_large_costs_no_more_per_byte) {
  const Cost small = cost_of(125);
  const Cost large = cost_of(1000);
  EXPECT_TRUE(sanitized || large.ratio() < small.ratio() * 2) << large.ratio() << " after " << small.ratio();
}

}  // namespace
}  // namespace pawl::graph
