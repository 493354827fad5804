// Each difference between the default mode and `compat: hotmesh` that docs/COMPAT.md lists, both
// ways.
#include <boost/json.hpp>

#include "graph/test_support.h"

namespace pawl::graph {
namespace {

using Codes = std::vector<std::string>;

Checked ours(std::string_view graph) { return check_graph(graph); }
Checked theirs(std::string_view graph) { return check_graph(graph, "compat: hotmesh"); }

const Transition& only_transition(const Checked& checked) { return checked.app->graphs.at(0).transitions.at(0); }

constexpr const char* plain =
    "activities: {t: {type: trigger}, w: {type: worker, topic: x}}\ntransitions: {t: [{to: w}]}\n";

TEST(Compat, the_mode_is_in_the_file_or_on_the_command_line) {
  EXPECT_EQ(ours(plain).app->dialect, Dialect::pawl);
  EXPECT_EQ(theirs(plain).app->dialect, Dialect::hotmesh);
  EXPECT_EQ(check_text(app_with(plain), {.force_hotmesh = true}).app->dialect, Dialect::hotmesh);
}

TEST(Compat, an_edge_without_conditions_fires_on_errors_too) {
  EXPECT_EQ(only_transition(ours(plain)).on, Transition::On::not_error);
  EXPECT_EQ(only_transition(theirs(plain)).on, Transition::On::anything);
}

TEST(Compat, an_edge_with_conditions_and_no_code_waits_for_200_in_both) {
  const char* graph =
      "activities: {t: {type: trigger}, w: {type: hook}}\ntransitions: {t: [{to: w, conditions: "
      "{match: []}}]}\n";
  EXPECT_EQ(only_transition(ours(graph)).codes, std::vector<int>{200});
  EXPECT_EQ(only_transition(theirs(graph)).codes, std::vector<int>{200});
}

TEST(Compat, expected_of_a_transition_is_taken_literally) {
  const char* graph =
      "activities: {t: {type: trigger}, w: {type: hook}}\ntransitions: {t: [{to: w, conditions: "
      "{match: [{expected: '{t.output.data.a}', actual: '{t.output.data.b}'}]}}]}\n";
  EXPECT_TRUE(std::holds_alternative<Formula>(only_transition(ours(graph)).matches.at(0).expected));
  EXPECT_EQ(std::get<boost::json::value>(only_transition(theirs(graph)).matches.at(0).expected), "{t.output.data.a}");
}

TEST(Compat, unknown_keys_are_ignored) {
  const char* graph = "activities: {t: {type: trigger, foo: 1}}\ninputs: {}\n";
  EXPECT_EQ(codes_of(ours(graph)), (Codes{"G101", "G101"}));
  EXPECT_EQ(codes_of(theirs(graph)), (Codes{"wG101", "wG101"}));
  EXPECT_TRUE(theirs(graph).app);
}

TEST(Compat, a_code_beside_conditions_is_ignored) {
  const char* graph = "activities: {t: {type: trigger}, w: {type: hook}}\ntransitions: {t: [{to: w, code: 500}]}\n";
  EXPECT_EQ(codes_of(ours(graph)), Codes{"G101"});
  EXPECT_EQ(only_transition(theirs(graph)).on, Transition::On::anything);
}

TEST(Compat, keys_its_compiler_writes_are_ignored) {
  const char* graph = "activities: {t: {type: trigger, ancestors: [], consumes: {}, PRODUCES: []}}\n";
  EXPECT_EQ(codes_of(ours(graph)), (Codes{"G101", "G101", "G101"}));
  EXPECT_TRUE(theirs(graph).app);
}

TEST(Compat, a_node_with_two_parents_runs_once_per_edge) {
  const char* graph =
      "activities: {t: {type: trigger}, a: {type: hook}, b: {type: hook}, w: {type: "
      "hook}}\ntransitions: {t: [{to: a}, {to: b}], a: [{to: w}], b: [{to: w}]}\n";
  EXPECT_EQ(codes_of(ours(graph)), Codes{"G206"});
  EXPECT_EQ(theirs(graph).app->graphs.at(0).topology.places.at(3).in.size(), 2U);
}

TEST(Compat, an_unreachable_activity_is_ignored) {
  const char* graph = "activities: {t: {type: trigger}, w: {type: hook}}\n";
  EXPECT_EQ(codes_of(ours(graph)), Codes{"G205"});
  EXPECT_FALSE(theirs(graph).app->graphs.at(0).topology.places.at(1).reachable);
}

TEST(Compat, a_reference_to_a_stranger_reads_nothing) {
  const char* graph =
      "activities: {t: {type: trigger}, a: {type: hook, job: {maps: {x: '{b.output.data.y}'}}}, b: "
      "{type: hook}}\ntransitions: {t: [{to: a}, {to: b}]}\n";
  EXPECT_EQ(codes_of(ours(graph)), Codes{"G303"});
  EXPECT_EQ(codes_of(theirs(graph)), Codes{"wG303"});
  EXPECT_TRUE(theirs(graph).app);
}

TEST(Compat, a_reference_to_nobody_is_a_mistake_in_both) {
  const char* graph = "activities: {t: {type: trigger, job: {maps: {x: '{nobody.output.data.y}'}}}}\n";
  EXPECT_EQ(codes_of(ours(graph)), Codes{"G302"});
  EXPECT_EQ(codes_of(theirs(graph)), Codes{"G302"});
}

TEST(Compat, a_cycle_may_return_to_any_activity) {
  const char* graph =
      "activities: {t: {type: trigger}, w: {type: worker, topic: x}, c: {type: cycle, ancestor: "
      "w}}\ntransitions: {t: [{to: w}], w: [{to: c}]}\n";
  EXPECT_EQ(codes_of(ours(graph)), Codes{"G210"});
  EXPECT_TRUE(theirs(graph).app);
}

TEST(Compat, only_the_first_match_of_a_hook_rule_counts) {
  const char* graph =
      "activities: {t: {type: trigger}, h: {type: hook}}\ntransitions: {t: [{to: h}]}\nhooks: {s: "
      "[{to: h, conditions: {match: [{expected: a, actual: '{$hook.data.x}'}, {expected: b, "
      "actual: '{$hook.data.y}'}]}}]}\n";
  const auto matches = [](const Checked& checked) {
    return std::get<Hook>(checked.app->graphs.at(0).activities.at(1).kind).matches.size();
  };
  EXPECT_EQ(matches(ours(graph)), 2U);
  EXPECT_EQ(matches(theirs(graph)), 1U);
}

TEST(Compat, schemas_are_documentation) {
  const char* graph = "activities: {t: {type: trigger}}\ninput: {schema: {tpye: object}}\n";
  EXPECT_EQ(codes_of(ours(graph)), Codes{"G402"});
  EXPECT_TRUE(theirs(graph).app);
  EXPECT_TRUE(ours(plain).app->enforces_schemas());
  EXPECT_FALSE(theirs(plain).app->enforces_schemas());
}

TEST(Compat, topics_are_not_looked_up) {
  const char* graph =
      "activities: {t: {type: trigger}, a: {type: await, topic: elsewhere}}\ntransitions: {t: "
      "[{to: a}]}\n";
  EXPECT_EQ(codes_of(ours(graph)), Codes{"G204"});
  EXPECT_TRUE(theirs(graph).app);
}

TEST(Compat, maps_of_a_code_do_nothing) {
  const char* graph =
      "activities: {t: {type: trigger}, w: {type: worker, topic: x, job: {422: {maps: {a: "
      "1}}}}}\ntransitions: {t: [{to: w}]}\n";
  EXPECT_EQ(ours(graph).app->graphs.at(0).activities.at(1).job.maps_by_code.size(), 1U);
  EXPECT_EQ(theirs(graph).app->graphs.at(0).activities.at(1).job.maps_by_code.size(), 0U);
}

TEST(Compat, timeout_does_nothing) {
  const char* graph =
      "activities: {t: {type: trigger}, w: {type: worker, topic: x, timeout: 5}}\ntransitions: {t: "
      "[{to: w}]}\n";
  EXPECT_TRUE(ours(graph).app->graphs.at(0).activities.at(1).timeout);
  EXPECT_FALSE(theirs(graph).app->graphs.at(0).activities.at(1).timeout);
}

TEST(Compat, a_time_is_a_bare_number) {
  const char* graph = "activities: {t: {type: trigger}, h: {type: hook, sleep: 5m}}\ntransitions: {t: [{to: h}]}\n";
  EXPECT_TRUE(std::get<Hook>(ours(graph).app->graphs.at(0).activities.at(1).kind).sleep);
  EXPECT_TRUE(std::get<Hook>(theirs(graph).app->graphs.at(0).activities.at(1).kind).passes_through());
  const std::string said = theirs(graph).mistakes.front().message;
  EXPECT_NE(said.find("bare number"), std::string::npos) << said;
  EXPECT_EQ(said.find("such as"), std::string::npos) << "it offers what it refuses: " << said;
}

TEST(Compat, the_last_of_two_equal_transitions_counts) {
  const char* graph =
      "activities: {t: {type: trigger}, w: {type: hook}}\ntransitions: {t: [{to: w, conditions: "
      "{code: 404}}, {to: w, conditions: {code: 500}}]}\n";
  EXPECT_EQ(codes_of(ours(graph)), Codes{"G215"});
  EXPECT_EQ(theirs(graph).app->graphs.at(0).transitions.size(), 1U);
  EXPECT_EQ(only_transition(theirs(graph)).codes, std::vector<int>{500});
}

TEST(Compat, what_nothing_can_run_without_is_a_mistake_in_both) {
  for (const char* text : {"app: k", "app: {id: 5, version: 1, graphs: []}", "app: {id: a, version: 1, graphs: 5}",
                           "app: {id: a, version: 1, graphs: [{subscribes: 5, activities: {t: {type: trigger}}}]}",
                           "app: {id: a, version: 1, graphs: [{subscribes: a, activities: 5}]}",
                           "app: {id: a, version: [], graphs: [{subscribes: a, activities: {t: {type: trigger}}}]}"}) {
    EXPECT_FALSE(check_text(text).app) << text;
    EXPECT_FALSE(check_text(text, {.force_hotmesh = true}).app) << text;
  }
  EXPECT_FALSE(theirs("activities: {t: {type: trigger}, w: {type: worker, topic: 5}}\ntransitions: "
                      "{t: [{to: w}]}\n")
                   .app);
  EXPECT_FALSE(theirs("activities: {t: {type: trigger}, c: {type: cycle, ancestor: "
                      "5}}\ntransitions: {t: [{to: c}]}\n")
                   .app);
}

TEST(Compat, a_value_of_the_wrong_type_counts_as_absent) {
  const char* graph = "activities: {t: {type: trigger, emit: 5}}\n";
  EXPECT_EQ(codes_of(ours(graph)), Codes{"G103"});
  EXPECT_FALSE(theirs(graph).app->graphs.at(0).activities.at(0).emit);
}

}  // namespace
}  // namespace pawl::graph
