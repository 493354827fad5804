#include "execute/test_support.h"

namespace pawl::execute {
namespace {

using core::ReplyStatus;

constexpr const char* kinds_graph = R"(activities:
  start: {type: trigger}
  work:
    type: worker
    topic: x
    output:
      schema: {type: object, required: [a]}
      202: {schema: {type: object, required: [b]}}
    job:
      maps: {result: {a: "{$self.output.data.a}"}, from: work}
      422: {maps: {reason: "{$self.output.data.reason}"}}
    emit: "{$self.output.data.emit}"
    persist: "{$self.output.data.final}"
  plain: {type: worker, topic: x}
  again: {type: hook, output: {maps: {round: first}}}
  nap: {type: hook, sleep: 1}
  ask: {type: hook, hook: {type: object, required: [id]}}
  tell: {type: signal, topic: told, output: {maps: {told: "{start.output.data.x}"}}}
  quiet: {type: signal, topic: told}
  back: {type: cycle, ancestor: again}
  both: {type: join, output: {maps: {x: "{start.output.data.x}"}}}
transitions:
  start: [{to: work}, {to: plain}, {to: again}, {to: nap}, {to: ask}, {to: tell}, {to: quiet}]
  again: [{to: back}]
  work: [{to: both}]
  plain: [{to: both}]
hooks:
  told: [{to: ask, conditions: {match: [{expected: 1, actual: "{$hook.data.id}"}]}}]
)";

struct Work : testing::Test {
  Result<core::Program::Worked> work(const char* activity, const char* address, Payload answer,
                                     ReplyStatus status = ReplyStatus::success, std::int32_t code = 200,
                                     Payload data = {}, core::Speaker speaker = core::Speaker::answer) {
    TestStep step(app);
    step.said_by(speaker);
    step.ran("start", ",0", R"({"x":7})").data(std::move(data));
    step.answer(std::move(answer), status, code);
    return app.program().work(step.sight(activity, address));
  }
  std::string output(const char* activity, const char* address, Payload answer,
                     ReplyStatus status = ReplyStatus::success, std::int32_t code = 200) {
    const auto worked = work(activity, address, std::move(answer), status, code);
    return worked ? worked->output.str() : "error: " + worked.error().detail;
  }
  const TestApp app = TestApp::of_graph(kinds_graph);
};

TEST_F(Work, an_answer_is_the_output_as_it_is) {
  EXPECT_EQ(output("plain", ",0,0", R"({ "any" : [1.0] })"), R"({ "any" : [1.0] })");
  EXPECT_EQ(output("plain", ",0,0", "no JSON"), "no JSON");
  EXPECT_EQ(output("plain", ",0,0", {}), "{}");
  EXPECT_EQ(output("start", ",0", R"({"in":1})"), R"({"in":1})");
  EXPECT_FALSE(work("plain", ",0,0", "1")->data);
}

TEST_F(Work, of_a_hook_maps_its_output) {
  const auto said = [&](const char* activity, const char* address, Payload answer, core::Speaker speaker) {
    const auto worked = work(activity, address, std::move(answer), ReplyStatus::success, 200, {}, speaker);
    return worked ? worked->output.str() : "error: " + worked.error().detail;
  };
  using core::Speaker;
  EXPECT_EQ(output("again", ",0,0", {}), R"({"round":"first"})");
  EXPECT_EQ(said("again", ",0,1", R"({"round":2})", Speaker::cycle), R"({"round":2})");  // the cycle's input
  EXPECT_EQ(said("again", ",0,1", "{}", Speaker::cycle), "{}");
  EXPECT_EQ(said("nap", ",0,0", {}, Speaker::sleep), "{}");
  EXPECT_EQ(said("ask", ",0,0", R"({"id":1})", Speaker::signal), R"({"output":{},"hook":{"id":1}})");
  EXPECT_EQ(said("ask", ",0,0", "{}", Speaker::sleep), R"({"output":{}})");
  EXPECT_EQ(said("ask", ",0,0", R"({"x":1})", Speaker::signal).find("error: activity \"ask\": hook"), 0u);
  EXPECT_EQ(output("ask", ",0,0", R"("late")", ReplyStatus::error, 596), R"({"output":"late"})");
}

TEST_F(Work, is_shown_without_the_form_it_is_kept_in) {
  const auto shown = [&](const char* activity, const char* kept) {
    TestStep step(app);
    return app.program().shown(step.sight(activity, ",0,0").node, Payload(kept)).str();
  };
  EXPECT_EQ(shown("ask", R"({"output":{},"hook":{"id":1}})"), R"({"id":1})");
  EXPECT_EQ(shown("ask", R"({"output":{"a":1}})"), R"({"a":1})");
  EXPECT_EQ(shown("ask", R"({"output":{"a":1},"hook":{"id":1}})"), R"({"output":{"a":1},"hook":{"id":1}})");
  EXPECT_EQ(shown("plain", R"({"output":{},"hook":1})"), R"({"output":{},"hook":1})");
}

TEST_F(Work, of_signal_and_join_maps_its_output) {
  EXPECT_EQ(output("tell", ",0,0", {}), R"({"told":7})");
  EXPECT_EQ(output("quiet", ",0,0", {}), "{}");
  EXPECT_EQ(output("both", ",0,0", {}), R"({"x":7})");
  EXPECT_EQ(output("both", ",0,0", R"("timed out")", ReplyStatus::error, 596), R"("timed out")");
}

TEST_F(Work, merges_the_data_of_the_job) {
  const auto data = [&](Payload answer, std::int32_t code, Payload before) {
    const auto worked = work("work", ",0,0", std::move(answer), ReplyStatus::success, code, before);
    return worked ? worked->data->str() : worked.error().detail;
  };
  EXPECT_EQ(data(R"({"a":1})", 200, {}), R"({"result":{"a":1},"from":"work"})");
  EXPECT_EQ(data(R"({"a":1})", 200, R"({"result":{"z":2},"from":[1],"kept":true})"),
            R"({"result":{"z":2,"a":1},"from":"work","kept":true})");
  EXPECT_EQ(data(R"({"a":1,"reason":"no"})", 422, R"({"k":1})"), R"({"k":1,"reason":"no"})");
  EXPECT_EQ(data(R"({"a":{"b":[1]}})", 200, R"({"result":{"a":{"b":[0],"c":1}}})"),
            R"({"result":{"a":{"b":[1],"c":1}},"from":"work"})");
}

TEST_F(Work, of_an_error_shares_only_what_its_code_says) {
  const auto shares = [&](std::int32_t code) {
    return work("work", ",0,0", R"({"reason":"no"})", ReplyStatus::error, code)->data;
  };
  EXPECT_EQ(shares(422)->view(), R"({"reason":"no"})");
  EXPECT_FALSE(shares(500));
  const TestApp theirs = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  work: {type: worker, topic: x, job: {maps: {from: work}}}
transitions: {start: [{to: work}]}
)",
                                           "compat: hotmesh\n");
  TestStep step(theirs);
  step.answer("{}", ReplyStatus::error, 500);
  EXPECT_EQ(theirs.program().work(step.sight("work", ",0,0"))->data->view(), R"({"from":"work"})");
}

TEST_F(Work, enforces_the_schema_of_an_answer_but_not_of_an_error) {
  EXPECT_EQ(output("work", ",0,0", "{}").find("error: activity \"work\": output.schema: "), 0u)
      << output("work", ",0,0", "{}");
  EXPECT_EQ(
      output("work", ",0,0", R"({"a":1})", ReplyStatus::pending, 202).find("error: activity \"work\": output.schema: "),
      0u);
  EXPECT_EQ(output("work", ",0,0", R"({"b":1})", ReplyStatus::pending, 202), R"({"b":1})");
  EXPECT_EQ(output("work", ",0,0", "{}", ReplyStatus::error, 500), "{}");
}

TEST_F(Work, emits_and_persists_on_exactly_true) {
  const auto yes = work("work", ",0,0", R"({"a":1,"emit":true,"final":true})");
  EXPECT_TRUE(yes->emits && yes->persists);
  const auto no = work("work", ",0,0", R"({"a":1,"emit":"true","final":1})");
  EXPECT_FALSE(no->emits || no->persists);
}

TEST(Share, refuses_what_is_no_map_or_breaks_the_schema) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger, job: {maps: "{$self.output.data.share}", schema: {type: object, required: [n]}}}
)");
  const auto share = [&](Payload answer) {
    TestStep step(app);
    step.answer(std::move(answer));
    const auto worked = app.program().work(step.sight("start", ",0"));
    if (!worked) return worked.error().detail;
    return worked->data ? worked->data->str() : "nothing";
  };
  EXPECT_EQ(share(R"({"share":{"n":1}})"), R"({"n":1})");
  EXPECT_EQ(share("{}"), "nothing");
  EXPECT_EQ(share(R"({"share":5})"), "activity \"start\": job.maps: wants a map, got a number");
  EXPECT_EQ(share(R"({"share":{}})").find("activity \"start\": job.schema: "), 0u);
}

TEST(Share, stops_where_the_data_could_not_be_read_again) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger, job: {maps: {deeper: "{$job.data}", n: 1}}}
)");
  Payload data("{}");
  int rounds = 0;
  for (; rounds < 1000; ++rounds) {
    TestStep step(app);
    step.data(data).answer("{}");
    const auto worked = app.program().work(step.sight("start", ",0"));
    if (!worked) {
      EXPECT_EQ(worked.error().detail, "activity \"start\": job.maps: nests more than 64 deep");
      break;
    }
    data = *worked->data;
  }
  EXPECT_EQ(rounds, 63);
}

TEST(Share, knows_the_key_forms_of_the_original_under_compat) {
  const char* graph = R"(activities:
  start: {type: trigger, job: {maps: {"list[25]": "{$self.output.data.list}", "a[-]": "{$self.output.data.marks}", "b[_]": "{$self.output.data.search}", "c[x]": 1}}}
)";
  const auto share = [&](const char* keys) {
    const TestApp app = TestApp::of_graph(graph, keys);
    TestStep step(app);
    step.answer(R"({"list":{"0":"x"},"marks":{"-m":1},"search":{"_s":2}})");
    return app.program().work(step.sight("start", ",0"))->data->str();
  };
  EXPECT_EQ(share("compat: hotmesh\n"), R"({"list":{"0":"x"},"-m":1,"_s":2,"c[x]":1})");
  EXPECT_EQ(share(""), R"({"list[25]":{"0":"x"},"a[-]":{"-m":1},"b[_]":{"_s":2},"c[x]":1})");
}

TEST(ClosingJoin, has_what_was_collected_as_items) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  each: {type: map, items: [1, 2], join: done}
  body: {type: hook}
  done:
    type: join
    output: {maps: {n: "{$self.output.data.items.length}"}}
    job: {maps: {all: "{$self.output.data.items}"}}
transitions:
  start: [{to: each}]
  each: [{to: body}]
  body: [{to: done}]
)");
  for (const char* collected : {"[10,20]", R"({"items":[10,20]})"}) {
    TestStep step(app);
    step.ran("start", ",0", "{}").answer(collected);
    const auto worked = app.program().work(step.sight("done", ",0,0,0"));
    ASSERT_TRUE(worked) << worked.error().detail;
    EXPECT_EQ(worked->output.view(), R"({"items":[10,20],"n":2})");
    EXPECT_EQ(worked->data->view(), R"({"all":[10,20]})");
  }
  TestStep step(app);
  step.ran("start", ",0", "{}");
  EXPECT_EQ(app.program().work(step.sight("each", ",0,0"))->output.view(), "{}");
}

TEST(Schema, is_documentation_under_compat) {
  const TestApp app = TestApp::of_graph(R"(input: {schema: {type: object, required: [id]}}
activities:
  start: {type: trigger}
  work: {type: worker, topic: x, input: {schema: {type: string}}, output: {schema: {type: string}}}
transitions: {start: [{to: work}]}
)",
                                        "compat: hotmesh\n");
  TestStep step(app);
  step.ran("start", ",0", "{}").answer("{}");
  EXPECT_TRUE(app.program().check_start("{}"));
  EXPECT_TRUE(app.program().input(step.sight("work", ",0,0")));
  EXPECT_TRUE(app.program().work(step.sight("work", ",0,0")));
}

constexpr const char* edges_graph = R"(activities:
  start: {type: trigger}
  work: {type: worker, topic: x}
  fine: {type: hook}
  later: {type: hook}
  broken: {type: hook}
  special: {type: hook}
  either: {type: hook}
  late: {type: hook}
transitions:
  start: [{to: work}]
  work:
    - to: fine
    - {to: later, conditions: {code: [429, 503]}}
    - {to: broken, conditions: {code: error}}
    - {to: special, conditions: {match: [{expected: true, actual: "{work.output.data.s}"}, {expected: "{start.output.data.colour}", actual: "{$self.output.data.colour}"}]}}
    - {to: either, conditions: {gate: or, match: [{expected: 1, actual: "{$self.output.data.n}"}, {expected: 2, actual: "{$self.output.data.n}"}]}}
    - {to: late, conditions: {code: [error, 200]}}
)";

struct Fired : testing::Test {
  std::vector<std::uint32_t> fired(Payload answer, ReplyStatus status = ReplyStatus::success, std::int32_t code = 200) {
    TestStep step(app);
    step.ran("start", ",0", R"({"colour":"red"})").answer(std::move(answer), status, code);
    const auto edges = app.program().fired(step.sight("work", ",0,0"));
    EXPECT_TRUE(edges) << edges.error().detail;
    return *edges;
  }
  using Edges = std::vector<std::uint32_t>;
  const TestApp app = TestApp::of_graph(edges_graph);
};

TEST_F(Fired, without_conditions_on_success_and_pending_never_on_an_error) {
  EXPECT_EQ(fired("{}"), (Edges{0, 5}));
  EXPECT_EQ(fired("{}", ReplyStatus::pending, 202), Edges{0});
  EXPECT_EQ(fired("{}", ReplyStatus::success, 503), (Edges{0, 1}));
}

TEST_F(Fired, on_codes_and_on_any_error) {
  EXPECT_EQ(fired("{}", ReplyStatus::error, 503), (Edges{1, 2, 5}));
  EXPECT_EQ(fired("{}", ReplyStatus::error, 500), (Edges{2, 5}));
  EXPECT_EQ(fired("{}", ReplyStatus::fatal, 400), (Edges{2, 5}));
}

TEST_F(Fired, on_matches_and_gates) {
  EXPECT_EQ(fired(R"({"s":true,"colour":"red"})"), (Edges{0, 3, 5}));
  EXPECT_EQ(fired(R"({"s":true,"colour":"blue"})"), (Edges{0, 5}));
  EXPECT_EQ(fired(R"({"s":"true","colour":"red"})"), (Edges{0, 5}));
  EXPECT_EQ(fired(R"({"n":2.0})"), (Edges{0, 4, 5}));
  EXPECT_EQ(fired(R"({"n":"2"})"), (Edges{0, 5}));
  EXPECT_EQ(fired(R"({"s":true,"colour":"red"})", ReplyStatus::pending, 202), Edges{0});
}

TEST_F(Fired, of_a_hook_sees_its_signal) {
  const TestApp hooks = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  ask: {type: hook, output: {maps: {o: 1}}}
  yes: {type: hook}
  no: {type: hook}
transitions:
  start: [{to: ask}]
  ask:
    - {to: yes, conditions: {match: [{expected: true, actual: "{$self.hook.data.yes}"}, {expected: 1, actual: "{ask.output.data.o}"}]}}
    - {to: no, conditions: {match: [{expected: false, actual: "{ask.hook.data.yes}"}]}}
hooks: {told: [{to: ask, conditions: {match: [{expected: 1, actual: "{$hook.data.id}"}]}}]}
)");
  TestStep step(hooks);
  step.answer(R"({"output":{"o":1},"hook":{"yes":true}})");
  EXPECT_EQ(*hooks.program().fired(step.sight("ask", ",0,0")), Edges{0});
  step.answer(R"({"output":{"o":1},"hook":{"yes":false}})");
  EXPECT_EQ(*hooks.program().fired(step.sight("ask", ",0,0")), Edges{1});
  step.answer(R"({"output":{"o":1}})");
  EXPECT_EQ(*hooks.program().fired(step.sight("ask", ",0,0")), Edges{});
}

TEST_F(Fired, on_anything_under_compat_and_takes_expected_literally) {
  const TestApp theirs = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  work: {type: worker, topic: x}
  a: {type: hook}
  b: {type: hook}
transitions:
  start: [{to: work}]
  work:
    - to: a
    - {to: b, conditions: {match: [{expected: "{start.output.data.x}", actual: "{work.output.data.x}"}]}}
)",
                                           "compat: hotmesh\n");
  TestStep step(theirs);
  step.ran("start", ",0", R"({"x":1})").answer(R"({"x":1})", ReplyStatus::error, 500);
  EXPECT_EQ(*theirs.program().fired(step.sight("work", ",0,0")), Edges{0});
  step.answer(R"({"x":"{start.output.data.x}"})");
  EXPECT_EQ(*theirs.program().fired(step.sight("work", ",0,0")), (Edges{0, 1}));
}

TEST_F(Fired, errors_name_the_transition) {
  const TestApp bad = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  a: {type: hook}
transitions:
  start: [{to: a, conditions: {match: [{expected: 1, actual: {"@pipe": [["{start.output.data.x}"], ["{@array.length}"]]}}]}}]
)");
  TestStep step(bad);
  step.answer(R"({"x":5})");
  EXPECT_EQ(bad.program()
                .fired(step.sight("start", ",0"))
                .error()
                .detail.find("activity \"start\": transition to \"a\"./@pipe/1: array.length: "),
            0u)
      << bad.program().fired(step.sight("start", ",0")).error().detail;
}

}  // namespace
}  // namespace pawl::execute
