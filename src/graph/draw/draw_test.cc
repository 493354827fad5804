#include "graph/draw/draw.h"

#include <cmath>

#include "base/format.h"
#include "graph/draw/layout.h"
#include "graph/test_support.h"

namespace pawl::graph {
namespace {

constexpr const char* sample = R"(activities:
  start: {type: trigger, title: "Begin <here> & \"now\""}
  a: {type: worker, topic: do.a}
  b: {type: hook, sleep: 90}
  again: {type: hook}
  loop: {type: cycle, ancestor: again}
  stop: {type: interrupt}
  met: {type: join, need: any}
  each: {type: map, items: "{start.output.data.list}", parallel: 3, join: all}
  item: {type: await, topic: test.start}
  tell: {type: signal, topic: heard}
  all: {type: join}
transitions:
  start: [{to: a}, {to: b}, {to: again}, {to: each}]
  a: [{to: met}, {to: stop, conditions: {code: error}}]
  b: [{to: met}]
  again: [{to: loop, conditions: {match: [{expected: false, actual: "{start.output.data.done}"}]}}]
  each: [{to: item}]
  item: [{to: tell}]
  tell: [{to: all}]
hooks:
  heard: [{to: b, conditions: {match: [{expected: x, actual: "{$hook.data.key}"}]}}]
)";

Graphs graphs_of(const Checked& checked) {
  Graphs out;
  for (const Graph& graph : checked.app->graphs) out.push_back(&graph);
  return out;
}

TEST(Draw, text_is_a_tree_with_conditions) {
  const Checked checked = check_graph(sample);
  ASSERT_TRUE(checked.app) << report_of(checked);
  EXPECT_EQ(draw_text(graphs_of(checked)), R"(test.start
└─ start  trigger  "Begin <here> & "now""
   ├─ a  worker · do.a
   │  ├─ → met
   │  └─ [any error] stop  interrupt · this job
   ├─ b  hook · heard, at most 90s
   │  └─ met  join · any
   ├─ again  hook
   │  └─ [done = false] loop  cycle · to again
   └─ each  map · over list, 3 at once
      └─ item  await · test.start
         └─ tell  signal · heard
            └─ all  join · all
)");
}

TEST(Draw, svg_names_every_activity_and_escapes_its_words) {
  const Checked checked = check_graph(sample);
  const std::string svg = draw_svg(graphs_of(checked));
  for (const Activity& activity : checked.app->graphs[0].activities)
    EXPECT_NE(svg.find(format("<title>{}</title>", activity.id)), std::string::npos) << activity.id;
  EXPECT_NE(svg.find("Begin &lt;here&gt; &amp; &quot;now&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("<here>"), std::string::npos);
  EXPECT_NE(svg.find("any error"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(Draw, mermaid_holds_every_edge_and_the_body_of_a_map) {
  const Checked checked = check_graph(sample);
  const std::string text = draw_mermaid(graphs_of(checked));
  EXPECT_TRUE(text.starts_with("flowchart TD\n"));
  std::size_t arrows = 0;
  for (std::size_t at = text.find("-->"); at != std::string::npos; at = text.find("-->", at + 1)) ++arrows;
  EXPECT_EQ(arrows, checked.app->graphs[0].transitions.size());
  EXPECT_NE(text.find(" -.-> "), std::string::npos);
  EXPECT_NE(text.find("[\"each item\"]"), std::string::npos);
  EXPECT_NE(text.find("Begin #60;here#62; #38; #34;now#34;"), std::string::npos);
}

TEST(Draw, nodes_and_labels_never_overlap) {
  const Checked checked = check_graph(sample);
  const Layout layout = lay_out(checked.app->graphs[0]);
  std::vector<Box> boxes;
  for (const DrawnNode& node : layout.nodes) boxes.push_back(node.box);
  for (const DrawnEdge& edge : layout.edges)
    if (!edge.label.empty()) boxes.push_back(edge.label_box);
  EXPECT_EQ(boxes.size(), 13U);
  for (std::size_t a = 0; a < boxes.size(); ++a) {
    EXPECT_GE(boxes[a].left(), 0);
    EXPECT_LE(boxes[a].right(), layout.width);
    EXPECT_LE(boxes[a].bottom(), layout.height);
    for (std::size_t b = a + 1; b < boxes.size(); ++b) {
      const bool apart = boxes[a].right() <= boxes[b].left() || boxes[b].right() <= boxes[a].left() ||
                         boxes[a].bottom() <= boxes[b].top() || boxes[b].bottom() <= boxes[a].top();
      EXPECT_TRUE(apart) << a << " and " << b;
    }
  }
}

TEST(Draw, every_edge_runs_downwards_from_its_source_to_its_target) {
  const Checked checked = check_graph(sample);
  const Layout layout = lay_out(checked.app->graphs[0]);
  EXPECT_EQ(layout.edges.size(), checked.app->graphs[0].transitions.size());
  for (const DrawnEdge& edge : layout.edges)
    for (std::size_t i = 1; i < edge.points.size(); ++i) EXPECT_GT(edge.points[i].y, edge.points[i - 1].y);
  ASSERT_EQ(layout.loops.size(), 1U);
  EXPECT_LT(layout.loops[0].points.back().y, layout.loops[0].points.front().y);
  ASSERT_EQ(layout.regions.size(), 1U);
}

}  // namespace
}  // namespace pawl::graph
