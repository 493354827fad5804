#include "pawl/graph.h"

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/limits.h"
#include "ledger/dimensions.h"

namespace pawl {

namespace {

// Every mistake is refused, and the error's text says which one it is.
struct Mistake {
  std::string name;
  GraphBuilder builder;
  std::string says;
};

GraphBuilder good() { return GraphBuilder("g").trigger("t").worker("a", "topic").after("t"); }

const std::vector<Mistake> mistakes = {
    {"bad_graph_name", GraphBuilder("a b").trigger("t"), "graph name"},
    {"empty_graph_name", GraphBuilder("").trigger("t"), "graph name is empty"},
    {"bad_activity_name", good().worker("a b", "topic").after("t"), "activity name"},
    {"option_like_activity_name", good().worker("-a", "topic").after("t"), "starts with '-'"},
    {"long_activity_name", good().worker(std::string(limits::name_bytes_max + 1, 'x'), "topic").after("t"),
     "at most 200"},
    {"bad_topic", good().worker("b", "to pic").after("t"), "topic of activity b"},
    {"empty_topic", good().worker("b", "").after("t"), "topic of activity b is empty"},
    {"no_trigger", GraphBuilder("g").worker("a", "topic"), "has 0 triggers"},
    {"nothing_at_all", GraphBuilder("g"), "has 0 triggers"},
    {"two_triggers", good().trigger("u"), "has 2 triggers"},
    {"declared_twice", good().worker("a", "topic"), "activity a is declared twice"},
    {"unknown_parent", good().worker("b", "topic").after("nobody"), "no activity named nobody"},
    {"unknown_source", good().transition("nobody", "a"), "no activity named nobody"},
    {"unknown_target", good().transition("a", "nobody"), "no activity named nobody"},
    {"after_nothing", GraphBuilder("g").after("t").trigger("t"), "no activity named "},
    {"unknown_result", good().result_of("nobody"), "result_of: no activity named nobody"},
    {"two_parents", good().worker("b", "topic").after("t").after("a"), "activity b has two parents, t and a"},
    {"same_transition_twice", good().after("t"), "transition t -> a is declared twice"},
    {"empty_condition", good().worker("b", "topic").after("a", Condition::codes({})),
     "a condition without codes never fires"},
    {"parent_of_the_trigger", good().transition("a", "t"), "a trigger has no parent"},
    {"unreachable", good().worker("b", "topic"), "activity b is not reachable from the trigger"},
    {"unreachable_chain", good().worker("b", "topic").worker("c", "topic").after("b"), "activity c is not reachable"},
    {"cycle_of_one", good().worker("b", "topic").after("b"), "cycle without a pivot: b -> b"},
    {"cycle_of_two", good().worker("b", "topic").worker("c", "topic").after("b").transition("c", "b"),
     "cycle without a pivot: b -> c -> b"},
};

class GraphMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(GraphMistakes, are_refused_with_words_that_name_them) {
  const auto graph = GetParam().builder.build();
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::invalid);
  EXPECT_NE(graph.error().detail.find(GetParam().says), std::string::npos) << graph.error().detail;
}

INSTANTIATE_TEST_SUITE_P(graph, GraphMistakes, testing::ValuesIn(mistakes),
                         [](const auto& one) { return one.param.name; });

TEST(graph_builder, reports_every_mistake_at_once_one_line_each) {
  const auto graph = good().worker("a", "topic").transition("x", "y").result_of("z").build();
  ASSERT_FALSE(graph);
  const std::string& text = graph.error().detail;
  EXPECT_NE(text.find("declared twice"), std::string::npos);
  EXPECT_NE(text.find("no activity named x"), std::string::npos);
  EXPECT_NE(text.find("no activity named y"), std::string::npos);
  EXPECT_NE(text.find("no activity named z"), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

TEST(graph_builder, names_a_cycle_once) {
  const auto graph =
      good().worker("b", "x").worker("c", "x").after("b").worker("d", "x").after("c").transition("d", "b").build();
  ASSERT_FALSE(graph);
  const std::string& text = graph.error().detail;
  EXPECT_EQ(text.find("cycle"), text.rfind("cycle")) << text;
}

TEST(graph_builder, keeps_what_was_declared) {
  const auto graph = GraphBuilder("order", 3)
                         .trigger("received")
                         .worker("charge", "pay")
                         .after("received")
                         .worker("refund", "pay.back")
                         .after("charge", Condition::codes({402, 409}))
                         .worker("alarm", "ops")
                         .after("charge", Condition::error())
                         .result_of("charge")
                         .build();
  ASSERT_TRUE(graph) << graph.error().detail;
  EXPECT_EQ(graph->name(), GraphName("order"));
  EXPECT_EQ(graph->version(), 3u);
  EXPECT_EQ(graph->trigger(), 0u);
  ASSERT_EQ(graph->nodes().size(), 4u);
  EXPECT_EQ(graph->nodes()[1].topic, Topic("pay"));
  ASSERT_EQ(graph->nodes()[1].edges.size(), 2u);
  EXPECT_EQ(graph->nodes()[1].edges[0].when.code_list(), (std::vector<std::int32_t>{402, 409}));
  EXPECT_EQ(graph->nodes()[1].edges[1].when.kind(), Condition::Kind::on_error);
  EXPECT_EQ(graph->find(ActivityName("alarm")), 3u);
  EXPECT_EQ(graph->find(ActivityName("nobody")), std::nullopt);
  EXPECT_EQ(graph->result_of(), 1u);
}

TEST(graph_builder, a_trigger_alone_is_a_graph) { EXPECT_TRUE(GraphBuilder("g").trigger("t").build()); }

TEST(graph_builder, takes_as_many_activities_as_the_limit_and_no_more) {
  GraphBuilder builder("wide");
  builder.trigger("t");
  for (std::uint32_t i = 1; i < limits::graph_activities_max; ++i) builder.worker(format("w{}", i), "x").after("t");
  EXPECT_TRUE(builder.build());
  const auto too_many = builder.worker("one-more", "x").after("t").build();
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().code, ErrorCode::over_limit);
}

TEST(graph_builder, takes_a_chain_of_as_many_activities_as_a_graph_may_have_and_no_more) {
  static_assert(limits::graph_activities_max <= ledger::Dimensions::depth_max);
  GraphBuilder builder("deep");
  builder.trigger("w1");
  for (std::size_t i = 2; i <= limits::graph_activities_max; ++i)
    builder.worker(format("w{}", i), "x").after(format("w{}", i - 1));
  EXPECT_TRUE(builder.build());
  const auto too_deep = builder.worker("deeper", "x").after(format("w{}", limits::graph_activities_max)).build();
  ASSERT_FALSE(too_deep);
  EXPECT_EQ(too_deep.error().code, ErrorCode::over_limit);
}

TEST(graph_fingerprint, is_the_same_for_the_same_graph_and_another_for_every_change) {
  const auto base = [] { return GraphBuilder("g").trigger("t").worker("a", "x").after("t"); };
  const std::vector<GraphBuilder> others = {
      GraphBuilder("h").trigger("t").worker("a", "x").after("t"),
      GraphBuilder("g").trigger("u").worker("a", "x").after("u"),
      GraphBuilder("g").trigger("t").worker("b", "x").after("t"),
      GraphBuilder("g").trigger("t").worker("a", "y").after("t"),
      GraphBuilder("g").trigger("t").worker("a", "x").after("t", Condition::error()),
      GraphBuilder("g").trigger("t").worker("a", "x").after("t", Condition::code(200)),
      GraphBuilder("g").trigger("t").worker("a", "x").after("t", Condition::code(201)),
      GraphBuilder("g").trigger("t").worker("a", "x").after("t", Condition::codes({200, 201})),
      base().result_of("a"),
      base().result_of("t"),
      base().worker("b", "x").after("a"),
      base().worker("b", "x").after("t"),
  };
  EXPECT_EQ(base().build()->fingerprint(), base().build()->fingerprint());
  std::vector<std::uint64_t> seen = {base().build()->fingerprint()};
  for (const GraphBuilder& other : others) {
    const std::uint64_t fingerprint = other.build()->fingerprint();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), fingerprint), 0);
    seen.push_back(fingerprint);
  }
}

}  // namespace

}  // namespace pawl
