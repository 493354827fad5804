// The shape of graphs: one mistake per case, with its line.
#include "graph/check/structure.h"

#include "base/format.h"
#include "graph/limits.h"
#include "graph/test_support.h"

namespace pawl::graph {
namespace {

using Codes = std::vector<std::string>;

// Every id gets a kind by its first letter: t trigger, w worker, h hook, j join, and so on.
std::string activities(std::initializer_list<std::string_view> ids) {
  std::string out = "activities:\n";
  for (const std::string_view id : ids) {
    std::string_view keys = "type: hook";
    if (id[0] == 't') keys = "type: trigger";
    if (id[0] == 'w') keys = "type: worker, topic: x";
    if (id[0] == 'j') keys = "type: join";
    if (id[0] == 'c') keys = "type: cycle, ancestor: h";
    if (id[0] == 'i') keys = "type: interrupt";
    if (id[0] == 'm') keys = "type: map, items: [1], join: j";
    if (id[0] == 's') keys = "type: hook, sleep: 5";
    out += format("  {}: {{{}}}\n", id, keys);
  }
  return out;
}

Codes codes(std::initializer_list<std::string_view> ids, std::string_view transitions) {
  return codes_of(check_graph(activities(ids) + "transitions: {" + std::string(transitions) + "}\n"));
}

TEST(Structure, a_graph_has_exactly_one_trigger) {
  EXPECT_EQ(codes({"h"}, ""), Codes{"G201"});
  EXPECT_EQ(codes({"t", "t2"}, ""), Codes{"G202"});
  EXPECT_EQ(codes({"t", "t2", "t3"}, ""), (Codes{"G202", "G202"}));
}

TEST(Structure, every_activity_is_reached_from_the_trigger) {
  EXPECT_EQ(codes({"t", "w"}, ""), Codes{"G205"});
  // A whole unreachable part is one mistake, at its first activity.
  const Checked island =
      check_graph(activities({"t", "w", "w2", "w3"}) + "transitions: {w: [{to: w2}], w2: [{to: w3}]}\n");
  EXPECT_EQ(codes_of(island), Codes{"G205"});
  EXPECT_EQ(island.mistakes[0].path, "app.graphs[0].activities.w");
  EXPECT_EQ(island.mistakes[0].message, "no transition leads from the trigger to 'w' and the 2 behind it");
  // Also a part without a first activity.
  EXPECT_EQ(codes({"t", "w", "w2"}, "w: [{to: w2}], w2: [{to: w}]"), Codes{"G205"});
}

TEST(Structure, only_a_join_has_two_parents) {
  EXPECT_EQ(codes({"t", "h1", "h2", "w"}, "t: [{to: h1}, {to: h2}], h1: [{to: w}], h2: [{to: w}]"), Codes{"G206"});
  EXPECT_EQ(codes({"t", "h1", "h2", "j"}, "t: [{to: h1}, {to: h2}], h1: [{to: j}], h2: [{to: j}]"), Codes{});
  EXPECT_EQ(codes({"t", "h1", "h2", "h3", "w"},
                  "t: [{to: h1}, {to: h2}, {to: h3}], h1: [{to: w}], h2: [{to: w}], h3: [{to: w}]"),
            (Codes{"G206", "G206"}));
}

TEST(Structure, a_join_with_one_parent_is_only_a_warning) {
  EXPECT_EQ(codes({"t", "j"}, "t: [{to: j}]"), Codes{"wG212"});
}

TEST(Structure, transitions_never_run_in_a_circle) {
  EXPECT_EQ(codes({"t", "j", "w"}, "t: [{to: j}], j: [{to: w}], w: [{to: j}]"), (Codes{"wG212", "G207"}));
  EXPECT_EQ(codes({"t", "h"}, "t: [{to: h}], h: [{to: h}]"), Codes{"G207"});
  EXPECT_EQ(codes({"t", "h"}, "t: [{to: h}], h: [{to: t}]"), Codes{"G208"});
}

TEST(Structure, the_same_transition_twice_is_a_mistake) {
  EXPECT_EQ(codes({"t", "h"}, "t: [{to: h}, {to: h, conditions: {code: 500}}]"), Codes{"G215"});
}

TEST(Structure, nothing_follows_a_cycle_or_the_end_of_the_own_job) {
  EXPECT_EQ(codes({"t", "h", "c", "w"}, "t: [{to: h}], h: [{to: c}], c: [{to: w}]"), Codes{"G211"});
  EXPECT_EQ(codes({"t", "i", "w"}, "t: [{to: i}], i: [{to: w}]"), Codes{"G211"});
  EXPECT_TRUE(check_graph("activities: {t: {type: trigger}, i: {type: interrupt, target: x}, w: "
                          "{type: hook}}\ntransitions: {t: [{to: i}], i: [{to: w}]}\n")
                  .app);
}

TEST(Structure, a_cycle_returns_to_a_pass_through_hook_on_its_own_path) {
  EXPECT_EQ(codes({"t", "h", "c"}, "t: [{to: h}], h: [{to: c}]"), Codes{});
  EXPECT_EQ(codes({"t", "h", "c"}, "t: [{to: h}, {to: c}]"), Codes{"G209"});
  EXPECT_EQ(codes_of(check_graph("activities: {t: {type: trigger}, w: {type: worker, topic: x}, c: {type: cycle, "
                                 "ancestor: w}}\ntransitions: {t: [{to: w}], w: [{to: c}]}\n")),
            Codes{"G210"});
  EXPECT_EQ(codes_of(check_graph("activities: {t: {type: trigger}, w: {type: hook, sleep: 5}, c: {type: "
                                 "cycle, ancestor: w}}\ntransitions: {t: [{to: w}], w: [{to: c}]}\n")),
            Codes{"G210"});
  EXPECT_EQ(codes_of(check_graph("activities: {t: {type: trigger}, c: {type: cycle, ancestor: "
                                 "c}}\ntransitions: {t: [{to: c}]}\n")),
            (Codes{"G209", "G210"}));
  // h is an ancestor, but another path reaches the join too: a second round would find it done.
  EXPECT_EQ(codes({"t", "h", "w", "j", "c"}, "t: [{to: h}, {to: w}], h: [{to: j}], w: [{to: j}], j: [{to: c}]"),
            Codes{"G209"});
}

TEST(Structure, a_pivot_is_marked_by_the_cycle_that_returns_to_it) {
  const Checked checked = check_graph(activities({"t", "h", "c"}) + "transitions: {t: [{to: h}], h: [{to: c}]}\n");
  const Graph& graph = checked.app->graphs[0];
  EXPECT_TRUE(std::get<Hook>(graph.activities[*graph.find("h")].kind).is_pivot);
}

TEST(Structure, a_map_ends_at_its_join) {
  EXPECT_EQ(codes({"t", "m", "w", "j"}, "t: [{to: m}], m: [{to: w}], w: [{to: j}]"), Codes{});
  EXPECT_EQ(codes({"t", "m", "w", "j"}, "t: [{to: m}, {to: j}], m: [{to: w}]"), Codes{"G213"});  // never reaches it
  EXPECT_EQ(codes({"t", "m", "j"}, "t: [{to: m}], m: [{to: j}]"), Codes{"G213"});                // empty body
  EXPECT_EQ(codes({"t", "m", "m2", "w", "j"}, "t: [{to: m}], m: [{to: m2}], m2: [{to: w}], w: [{to: j}]"),
            Codes{"G213"});
  EXPECT_EQ(codes_of(check_graph("activities: {t: {type: trigger}, m: {type: map, items: [1], join: j}, "
                                 "w: {type: hook}, j: {type: join, need: any}}\ntransitions: {t: [{to: "
                                 "m}], m: [{to: w}], w: [{to: j}]}\n")),
            Codes{"G212"});
}

TEST(Structure, no_transition_crosses_the_border_of_a_body) {
  EXPECT_EQ(codes({"t", "m", "w", "h", "j"}, "t: [{to: m}, {to: h}], m: [{to: w}], w: [{to: j}], h: [{to: j}]"),
            Codes{"G214"});
  EXPECT_EQ(codes({"t", "m", "j1", "h", "j"}, "t: [{to: m}, {to: h}], m: [{to: j1}], h: [{to: j1}], j1: [{to: j}]"),
            Codes{"G214"});
  EXPECT_EQ(codes({"t", "h", "m", "w", "c", "j"}, "t: [{to: h}], h: [{to: m}], m: [{to: w}], w: [{to: j}, {to: c}]"),
            Codes{"G214"});
}

TEST(Structure, a_hook_waits_for_one_topic) {
  const char* rule = "[{to: h, conditions: {match: [{expected: 1, actual: '{$hook.data.x}'}]}}]";
  EXPECT_EQ(codes_of(check_graph(activities({"t", "h"}) + "transitions: {t: [{to: h}]}\nhooks: {a: " + rule +
                                 ", b: " + rule + "}\n")),
            Codes{"G216"});
}

TEST(Structure, ids_and_topics_are_unique_in_an_app) {
  const std::string two =
      "app: {id: a, version: 1, graphs: [{subscribes: x, activities: {t: {type: trigger}}}, "
      "{subscribes: %, activities: {@: {type: trigger}}}]}";
  const auto with = [&](const std::string& topic, const std::string& id) {
    std::string text = two;
    text.replace(text.find('%'), 1, topic);
    text.replace(text.find('@'), 1, id);
    return codes_of(check_text(text));
  };
  EXPECT_EQ(with("y", "u"), Codes{});
  EXPECT_EQ(with("x", "u"), Codes{"G109"});
  EXPECT_EQ(with("y", "t"), Codes{"G108"});
}

TEST(Structure, references_see_ancestors_and_their_own_body_only) {
  const auto reading = [](const char* reference) {
    return codes_of(check_graph(format(R"(activities:
  t: {{type: trigger}}
  a: {{type: worker, topic: x}}
  b: {{type: worker, topic: x}}
  j: {{type: join}}
  m: {{type: map, items: "{{j.output.data.list}}", join: j2, collect: "{{body.output.data.x}}"}}
  body: {{type: worker, topic: x, input: {{maps: {{i: "{{m.output.data.item}}", a: "{{a.output.data.x}}"}}}}}}
  j2: {{type: join}}
  last: {{type: worker, topic: x, input: {{maps: {{v: "{}"}}}}}}
transitions:
  t: [{{to: a}}, {{to: b}}]
  a: [{{to: j}}]
  b: [{{to: j}}]
  j: [{{to: m}}]
  m: [{{to: body}}]
  body: [{{to: j2}}]
  j2: [{{to: last}}]
)",
                                       reference)));
  };
  EXPECT_EQ(reading("{a.output.data.x}"), Codes{});
  EXPECT_EQ(reading("{j2.output.data.items}"), Codes{});
  EXPECT_EQ(reading("{body.output.data.x}"), Codes{"G304"});
  EXPECT_EQ(reading("{t.input.data.x}"), Codes{});
  EXPECT_EQ(reading("{nobody.output.data.x}"), Codes{"G302"});
}

TEST(Structure, the_topology_says_where_everything_stands) {
  const Checked checked = check_graph(activities({"t", "h1", "h2", "j9", "m", "w", "j", "w9"}) +
                                      "transitions: {t: [{to: h1}, {to: h2}], h1: [{to: j9}], h2: [{to: j9}], j9: "
                                      "[{to: m}], m: [{to: w}], w: [{to: j}], j: [{to: w9}]}\n");
  ASSERT_TRUE(checked.app) << report_of(checked);
  const Graph& graph = checked.app->graphs[0];
  const auto chain = [&](const char* id) {
    std::string out;
    for (const ActivityIndex index : graph.topology.places[*graph.find(id)].chain)
      out += graph.activities[index].id + " ";
    return out;
  };
  EXPECT_EQ(chain("t"), "t ");
  EXPECT_EQ(chain("h2"), "t h2 ");
  EXPECT_EQ(chain("j9"), "t j9 ");  // the nearest common ancestor, then itself
  EXPECT_EQ(chain("w"), "t j9 m w ");
  EXPECT_EQ(chain("j"), "t j9 m j ");  // the map's plane, not an item's
  EXPECT_EQ(chain("w9"), "t j9 m j w9 ");
  EXPECT_EQ(graph.topology.places[*graph.find("w")].inside_map, graph.find("m"));
  EXPECT_EQ(graph.topology.places[*graph.find("j")].closes_map, graph.find("m"));
  EXPECT_FALSE(graph.topology.places[*graph.find("w9")].inside_map);
  EXPECT_TRUE(graph.topology.is_ancestor(*graph.find("h1"), *graph.find("w9")));
  EXPECT_FALSE(graph.topology.is_ancestor(*graph.find("h1"), *graph.find("h2")));
  EXPECT_EQ(graph.topology.order.size(), 8U);
}

std::string chain_of(std::size_t count) {
  std::string ids = "activities:\n  t: {type: trigger}\n";
  std::string transitions = "transitions:\n  t: [{to: w1}]\n";
  for (std::size_t i = 1; i < count; ++i) {
    ids += format("  w{}: {{type: hook}}\n", i);
    if (i + 1 < count) transitions += format("  w{}: [{{to: w{}}}]\n", i, i + 1);
  }
  return ids + transitions;
}

TEST(Structure, limits_hold_at_the_limit_and_break_one_above) {
  EXPECT_TRUE(check_graph(chain_of(activities_max)).app);
  EXPECT_EQ(codes_of(check_graph(chain_of(activities_max + 1))).at(0), "G110");
}

TEST(Structure, more_mistakes_than_can_be_shown_are_counted) {
  std::string text = "activities:\n  t: {type: trigger}\n";
  for (std::size_t i = 0; i < mistakes_max + 50; ++i) text += format("  x{}: {{type: hook}}\n", i);
  const Checked checked = check_graph(text);
  EXPECT_EQ(checked.mistakes.size(), mistakes_max);
  EXPECT_EQ(checked.left_out, 50U);
  EXPECT_FALSE(checked.app);
}

}  // namespace
}  // namespace pawl::graph
