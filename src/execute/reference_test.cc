// Every form of a reference, and where in a job it finds its value.
#include "execute/test_support.h"

namespace pawl::execute {
namespace {

// The value of one expression, as the input of the worker `probe` at `address`.
std::string probe(const TestApp& app, TestStep& step, std::string_view address) {
  return text_of_result(app.program().input(step.sight("probe", address)));
}

TEST(Reference, reads_the_instance_of_its_own_plane) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  many: {type: worker, topic: x}
  probe: {type: worker, topic: x, input: {maps: {v: "{many.output.data.v}"}}}
transitions:
  start: [{to: many}]
  many: [{to: probe}]
)");
  TestStep step(app);
  step.ran("start", ",0", "{}").ran("many", ",0,0", R"({"v":"last"})", 3);
  step.in_plane(0, R"({"v":"first"})").in_plane(1, R"({"v":"second"})");
  EXPECT_EQ(probe(app, step, ",0,0,0"), R"({"v":"first"})");
  EXPECT_EQ(probe(app, step, ",0,1,0"), R"({"v":"second"})");
  EXPECT_EQ(probe(app, step, ",0,2,0"), R"({"v":"last"})");
}

TEST(Reference, reads_the_pivot_of_its_round) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  again: {type: hook}
  work: {type: worker, topic: x}
  probe: {type: worker, topic: x, input: {maps: {n: "{again.output.data.n}", w: "{work.output.data.w}"}}}
  back: {type: cycle, ancestor: again}
transitions:
  start: [{to: again}]
  again: [{to: work}]
  work: [{to: probe}]
  probe: [{to: back}]
)");
  TestStep step(app);
  step.ran("start", ",0", "{}").ran("again", ",0,0", R"({"n":0})", 3);
  step.in_plane(1, R"({"n":1})").in_plane(2, R"({"n":2})");
  step.ran("work", ",0,0,0", R"({"w":"a"})").ran("work", ",0,2,0", R"({"w":"c"})");
  EXPECT_EQ(probe(app, step, ",0,0,0,0"), R"({"n":0,"w":"a"})");
  EXPECT_EQ(probe(app, step, ",0,2,0,0"), R"({"n":2,"w":"c"})");
}

TEST(Reference, behind_a_join_reads_the_branches) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  a: {type: worker, topic: x}
  a2: {type: worker, topic: x}
  b: {type: worker, topic: x}
  both: {type: join}
  probe:
    type: worker
    topic: x
    input: {maps: {a: "{a.output.data}", a2: "{a2.output.data}", b: "{b.output.data}"}}
transitions:
  start: [{to: a}, {to: b}]
  a: [{to: a2}]
  a2: [{to: both}]
  b: [{to: both}]
  both: [{to: probe}]
)");
  TestStep step(app);
  step.ran("start", ",0", "{}").ran("a", ",0,0", "1").ran("both", ",0,0", "{}");
  step.ran("a2", ",0,0,0", "2");
  EXPECT_EQ(probe(app, step, ",0,0,0"), R"({"a":1,"a2":2})");  // b was skipped: it reads nothing

  // In the last plane: `a` sent a pending answer before its final one, and both fired transitions.
  TestStep twice(app);
  twice.ran("start", ",0", "{}").ran("a", ",0,0", "\"final\"", 2).in_plane(0, "\"early\"");
  twice.ran("a2", ",0,0,0", "\"of early\"").ran("a2", ",0,1,0", "\"of final\"");
  EXPECT_EQ(probe(app, twice, ",0,0,0"), R"({"a":"final","a2":"of final"})");
}

constexpr const char* map_graph = R"(activities:
  start: {type: trigger}
  each:
    type: map
    items: "{start.output.data.list}"
    collect: {r: "{body.output.data.r}", i: "{each.output.data.index}", k: "{$self.output.data.key}"}
    join: done
  body: {type: worker, topic: x}
  probe: {type: worker, topic: x, input: {maps: {item: "{each.output.data.item}", r: "{body.output.data.r}"}}}
  done: {type: join, output: {maps: {m: "{each.output.data}"}}}
  end: {type: worker, topic: x, input: {maps: {each: "{each.output.data}", items: "{done.output.data.items}"}}}
transitions:
  start: [{to: each}]
  each: [{to: body}]
  body: [{to: probe}]
  probe: [{to: done}]
  done: [{to: end}]
)";

TEST(Reference, inside_a_body_reads_the_item_of_its_plane) {
  const TestApp app = TestApp::of_graph(map_graph);
  TestStep step(app);
  step.ran("start", ",0", "{}").ran("each", ",0,0", R"({"whole":true})", 2);
  step.in_plane(0, R"({"item":"x","index":0,"key":"0"})");
  step.in_plane(1, R"({"item":"y","index":1,"key":"1"})");
  step.ran("body", ",0,0,0", R"({"r":"X"})").ran("body", ",0,1,0", R"({"r":"Y"})");
  step.ran("done", ",0,0,0", R"({"items":[1,2]})");
  EXPECT_EQ(probe(app, step, ",0,0,0,0"), R"({"item":"x","r":"X"})");
  EXPECT_EQ(probe(app, step, ",0,1,0,0"), R"({"item":"y","r":"Y"})");
  EXPECT_EQ(text_of_result(app.program().input(step.sight("end", ",0,0,0,0"))),
            R"({"each":{"whole":true},"items":[1,2]})");
  // `collect` is evaluated at the map or at its join, in the plane of the item.
  for (const auto& [activity, address] : {std::pair{"each", ",0,1"}, {"done", ",0,1,0"}})
    EXPECT_EQ(text_of_result(app.program().collect(step.sight(activity, address))), R"({"r":"Y","i":1,"k":"1"})")
        << activity;
}

TEST(Reference, reads_input_and_hook_of_the_activity_itself) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger, job: {maps: {in: "{$self.input.data.x}", named: "{start.input.data.x}", out: "{$self.output.data.x}"}}}
  ask:
    type: hook
    output: {maps: {yes: "{$self.hook.data.yes}"}}
    job: {maps: {said: "{$self.hook.data}", kept: "{$self.output.data}", by_id: "{ask.hook.data.yes}"}}
  work: {type: worker, topic: x, job: {maps: {sent: "{$self.input.data.s}", got: "{work.output.data.g}"}}}
  probe: {type: worker, topic: x, input: {maps: {h: "{ask.hook.data}", o: "{ask.output.data}", t: "{start.input.data}"}}}
transitions:
  start: [{to: ask}]
  ask: [{to: probe}, {to: work}]
hooks:
  told: [{to: ask, conditions: {match: [{expected: 1, actual: "{$hook.data.id}"}]}}]
)");
  TestStep trigger(app);
  trigger.answer(R"({"x":7})");
  EXPECT_EQ(app.program().work(trigger.sight("start", ",0"))->data->view(), R"({"in":7,"named":7,"out":7})");

  TestStep hook(app);
  hook.ran("start", ",0", "{}").answer(R"({"id":1,"yes":true})").said_by(core::Speaker::signal);
  const auto worked = app.program().work(hook.sight("ask", ",0,0"));
  ASSERT_TRUE(worked) << worked.error().detail;
  EXPECT_EQ(worked->output.view(), R"({"output":{"yes":true},"hook":{"id":1,"yes":true}})");
  EXPECT_EQ(worked->data->view(), R"({"said":{"id":1,"yes":true},"kept":{"yes":true},"by_id":true})");

  TestStep after(app);
  after.ran("start", ",0", R"({"q":1})").ran("ask", ",0,0", worked->output);
  EXPECT_EQ(probe(app, after, ",0,0,0"), R"({"h":{"id":1,"yes":true},"o":{"yes":true},"t":{"q":1}})");

  TestStep work(app);
  work.input(R"({"s":"in"})").answer(R"({"g":"out"})");
  EXPECT_EQ(app.program().work(work.sight("work", ",0,0,0"))->data->view(), R"({"sent":"in","got":"out"})");
}

TEST(Reference, reads_metadata) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger, stats: {key: "{$self.input.data.shop}", granularity: 10m}}
  work: {type: worker, topic: do.work}
  probe:
    type: worker
    topic: x
    input: {maps: {job: "{$job.metadata}", work: "{work.output.metadata}", aid: "{work.output.metadata.aid}"}}
transitions:
  start: [{to: work}]
  work: [{to: probe}]
)");
  TestStep step(app);
  step.ran("start", ",0", R"({"shop":"north"})").ran("work", ",0,0", "{}");
  step.state.job.parent = core::ParentLink{RunId(41), core::ActivitySeq(2), {}, true};
  EXPECT_EQ(probe(app, step, ",0,0,0"),
            R"({"job":{"jid":"order-17","gid":"42","dad":",0,0,0","aid":"probe","app":"test","vrs":"1",)"
            R"("tpc":"test.start","jc":"2024-02-29T13:00:00.000Z","ju":"2024-02-29T13:05:09.007Z","js":1,)"
            R"("ts":"202402291300","key":"north","pg":"41"},)"
            R"("work":{"aid":"work","atp":"worker","stp":"do.work","ac":"2024-02-29T13:00:01.000Z",)"
            R"("au":"2024-02-29T13:00:02.000Z","dad":",0,0","as":"000000000000001"},"aid":"work"})");
}

TEST(Reference, reads_the_error_of_an_answer) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  work:
    type: worker
    topic: x
    job:
      maps: &maps {err: "{$self.output.metadata.err}", why: "{$self.output.metadata.$error}"}
      402: {maps: *maps}
transitions: {start: [{to: work}]}
)");
  TestStep step(app);
  step.answer(R"({"message":"no money"})", core::ReplyStatus::error, 402);
  EXPECT_EQ(app.program().work(step.sight("work", ",0,0"))->data->view(),
            R"({"err":"{\"message\":\"no money\"}","why":{"message":"no money","code":402}})");
  step.answer("{}");
  EXPECT_EQ(app.program().work(step.sight("work", ",0,0"))->data->view(), "{}");
}

TEST(Reference, reads_the_error_of_a_hook_without_its_wrapping) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  ask: {type: hook, job: {403: {maps: {err: "{$self.output.metadata.err}"}}}}
  probe: {type: worker, topic: x, input: {maps: {err: "{ask.output.metadata.err}"}}}
transitions: {start: [{to: ask}], ask: [{to: probe, conditions: {code: error}}]}
hooks: {told: [{to: ask, conditions: {match: [{expected: 1, actual: "{$hook.data.id}"}]}}]}
)");
  TestStep step(app);
  step.ran("start", ",0", "{}").answer(R"({"why":"no"})", core::ReplyStatus::error, 403);
  const auto worked = app.program().work(step.sight("ask", ",0,0"));
  ASSERT_TRUE(worked) << worked.error().detail;
  EXPECT_EQ(worked->data->view(), R"({"err":"{\"why\":\"no\"}"})");
  TestStep after(app);
  after.ran("start", ",0", "{}").ran("ask", ",0,0", worked->output);
  core::Activity errored = *after.state.find(core::ActivitySeq(1));
  errored.status = core::ActivityStatus::errored;
  after.state.put(errored);
  EXPECT_EQ(probe(app, after, ",0,0,0"), R"({"err":"{\"why\":\"no\"}"})");
}

TEST(Reference, app_and_graph_are_absent) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  probe: {type: worker, topic: x, input: {maps: {a: "{$app.id}", g: "{$graph.id}", d: "{$job.data}"}}}
transitions: {start: [{to: probe}]}
)");
  TestStep step(app);
  step.ran("start", ",0", "{}");
  EXPECT_EQ(probe(app, step, ",0,0"), "{}");
}

TEST(Reference, to_a_stranger_reads_nothing_under_compat) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  a: {type: worker, topic: x}
  probe: {type: worker, topic: x, input: {maps: {v: "{a.output.data}"}}}
transitions: {start: [{to: a}, {to: probe}]}
)",
                                        "compat: hotmesh\n");
  TestStep step(app);
  step.ran("start", ",0", "{}").ran("a", ",0,0", "1");
  EXPECT_EQ(probe(app, step, ",0,0"), "{}");
}

TEST(Reference, sees_what_the_same_bundle_wrote) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  a: {type: worker, topic: x}
  probe: {type: worker, topic: x, input: {maps: {a: "{a.output.data}", d: "{$job.data.d}"}}}
transitions:
  start: [{to: a}]
  a: [{to: probe}]
)");
  TestStep step(app);
  step.ran("start", ",0", "{}");
  core::Draft draft(step.state);
  core::Activity fresh;
  fresh.seq = draft.next_activity();
  fresh.node = app.node("a");
  fresh.at = at(",0,0");
  fresh.output = Payload("5");
  draft.put(fresh);
  draft.share(R"({"d":1})");
  const core::Sight sight{draft, app.node("probe"), at(",0,0,0"), test_now};
  EXPECT_EQ(text_of_result(app.program().input(sight)), R"({"a":5,"d":1})");
}

}  // namespace
}  // namespace pawl::execute
