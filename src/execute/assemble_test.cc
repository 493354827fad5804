#include "execute/assemble.h"

#include "execute/test_support.h"

namespace pawl::execute {
namespace {

constexpr const char* join_graph = R"(on_error: drain
activities:
  start: {type: trigger}
  a: {type: worker, topic: do.a}
  b: {type: worker, topic: "{start.output.data.topic}"}
  c: {type: hook}
  two: {type: join, need: 2}
  after: {type: hook}
transitions:
  start: [{to: a}, {to: b}, {to: c}]
  a: [{to: two}]
  b: [{to: two}]
  c: [{to: two}]
  two: [{to: after}]
)";

TEST(Assemble, names_versions_and_fingerprints_a_graph) {
  const TestApp app = TestApp::of_graph(join_graph);
  ASSERT_EQ(app.graphs.size(), 1u);
  const Graph& graph = app.graphs[0];
  EXPECT_EQ(graph.name().raw(), "test/test.start");
  EXPECT_EQ(graph.version(), 1u);
  EXPECT_TRUE(graph.drains());
  EXPECT_EQ(graph.trigger(), app.node("start"));
  EXPECT_EQ(graph.fingerprint(), TestApp::of_graph(join_graph).graphs[0].fingerprint());
  EXPECT_NE(graph.fingerprint(), TestApp::of_graph(std::string(join_graph) + "title: x\n").graphs[0].fingerprint());
}

TEST(Assemble, fills_the_nodes_of_a_join) {
  const TestApp app = TestApp::of_graph(join_graph);
  EXPECT_EQ(app.node_of("start").edges.size(), 3u);
  EXPECT_EQ(app.node_of("start").edges[1].to, app.node("b"));
  EXPECT_EQ(app.node_of("a").topic.raw(), "do.a");
  EXPECT_EQ(app.node_of("b").topic.raw(), "");
  const Graph::Node& two = app.node_of("two");
  EXPECT_EQ(two.kind, Graph::Kind::join);
  EXPECT_EQ(two.depth, 2u);
  EXPECT_EQ(two.edges_in, 3u);
  EXPECT_EQ(two.need, 2u);
  EXPECT_FALSE(two.aim);
  EXPECT_FALSE(two.before_join);
  EXPECT_TRUE(app.node_of("start").before_join);
  EXPECT_TRUE(app.node_of("b").before_join);
  EXPECT_FALSE(app.node_of("after").before_join);
  EXPECT_EQ(app.node_of("a").edges[0].number, 0u);
  EXPECT_EQ(app.node_of("b").edges[0].number, 1u);
  EXPECT_EQ(app.node_of("c").edges[0].number, 2u);
}

TEST(Assemble, aims_cycles_maps_and_their_joins) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  again: {type: hook}
  each: {type: map, items: [1, 2], join: done}
  body: {type: hook}
  done: {type: join}
  back: {type: cycle, ancestor: again}
transitions:
  start: [{to: again}]
  again: [{to: each}]
  each: [{to: body}]
  body: [{to: done}]
  done: [{to: back}]
)");
  EXPECT_TRUE(app.node_of("again").is_pivot);
  EXPECT_FALSE(app.node_of("body").is_pivot);
  EXPECT_EQ(app.node_of("back").aim, app.node("again"));
  EXPECT_EQ(app.node_of("each").aim, app.node("done"));
  EXPECT_EQ(app.node_of("done").aim, app.node("each"));
  EXPECT_EQ(app.node_of("done").depth, 4u);
  EXPECT_EQ(app.node_of("body").depth, 4u);
  EXPECT_EQ(app.node_of("done").need, 0u);
}

TEST(Assemble, any_needs_one) {
  const TestApp app = TestApp::of_graph(R"(activities:
  t: {type: trigger}
  a: {type: hook}
  b: {type: hook}
  j: {type: join, need: any}
transitions:
  t: [{to: a}, {to: b}]
  a: [{to: j}]
  b: [{to: j}]
)");
  EXPECT_EQ(app.node_of("j").need, 1u);
}

TEST(Assemble, makes_policies_of_retry_rules) {
  const TestApp app = TestApp::of_graph(R"(activities:
  t: {type: trigger}
  plain: {type: worker, topic: x}
  general:
    type: worker
    topic: x
    retry: {maximumAttempts: 5, initialInterval: 2s, backoffCoefficient: 3, maximumInterval: 1m,
            "404": [0], "400": {maximumAttempts: 1}, "503": {maximumAttempts: 10, initialInterval: 7s}}
  coded: {type: await, topic: test.start, retry: {"500": [3], "404": [0]}}
transitions:
  t: [{to: plain}, {to: general}, {to: coded}]
)");
  EXPECT_FALSE(app.node_of("plain").policy.retries);
  const Policy& general = app.node_of("general").policy;
  EXPECT_TRUE(general.retries);
  EXPECT_EQ(general.retry.attempts(), 5u);
  EXPECT_EQ(general.retry.first_delay(), std::chrono::seconds(2));
  EXPECT_EQ(general.retry.growth(), 3.0);
  EXPECT_EQ(general.retry.longest_delay(), std::chrono::minutes(1));
  EXPECT_EQ(general.retry.when_exhausted(), WhenExhausted::fail);
  EXPECT_EQ(general.retry.for_codes().size(), 3u);
  EXPECT_EQ(general.retry.rule_for(404).attempts(), 1u);
  EXPECT_EQ(general.retry.rule_for(400).attempts(), 1u);
  EXPECT_EQ(general.retry.rule_for(500).attempts(), 5u);
  const Retry& busy = general.retry.rule_for(503);
  EXPECT_EQ(busy.attempts(), 10u);
  EXPECT_EQ(busy.when_exhausted(), WhenExhausted::fail);
  EXPECT_EQ(busy.first_delay(), std::chrono::seconds(7)) << "its own";
  EXPECT_EQ(busy.longest_delay(), std::chrono::minutes(1)) << "that of the rule without a code";
  const Policy& coded = app.node_of("coded").policy;
  EXPECT_TRUE(coded.retries);
  EXPECT_EQ(coded.retry.rule_for(500).attempts(), 4u);
  EXPECT_EQ(coded.retry.rule_for(404).attempts(), 1u);
  EXPECT_EQ(coded.retry.rule_for(503).attempts(), 1u) << "only codes have rules";
}

TEST(Assemble, version_texts_become_stable_numbers) {
  EXPECT_EQ(version_number("7"), 7u);
  EXPECT_EQ(version_number("0"), 0u);
  EXPECT_EQ(version_number("4294967295"), 4294967295u);
  EXPECT_LT(version_number("4294967296"), 1u << 31U);
  EXPECT_NE(version_number("07"), 7u);
  EXPECT_EQ(version_number("2.0"), 1895980351u);  // must not change: jobs are stored under it
  EXPECT_NE(version_number("2.0"), version_number("2.1"));
}

TEST(Assemble, refuses_names_that_the_engine_cannot_use) {
  const graph::Checked checked = graph::check_text(R"(app:
  id: test
  version: 1
  graphs:
    - subscribes: "größe"
      activities:
        -t: {type: trigger}
        w: {type: worker, topic: "a(b"}
      transitions: {-t: [{to: w}]}
)");
  ASSERT_TRUE(checked.app) << graph::report_of(checked);
  const auto made = assemble(checked.app, "");
  ASSERT_FALSE(made);
  const std::string& text = made.error().detail;
  EXPECT_NE(text.find("change 'subscribes'"), std::string::npos) << text;
  EXPECT_NE(text.find("activity \"-t\": its id"), std::string::npos) << text;
  EXPECT_NE(text.find("\"a(b\" cannot be used"), std::string::npos) << text;
}

}  // namespace
}  // namespace pawl::execute
