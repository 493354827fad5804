#include "execute/test_support.h"

namespace pawl::execute {
namespace {

using core::ReplyStatus;
using std::chrono::seconds;

constexpr const char* hooks_graph = R"(activities:
  start: {type: trigger}
  pass: {type: hook}
  nap: {type: hook, sleep: "{start.output.data.nap}"}
  ask: {type: hook, sleep: 1h, hook: {type: object, required: [id]}}
  other: {type: hook}
  same: {type: hook}
  tell:
    type: signal
    topic: "{start.output.data.topic}"
    signal: {maps: "{start.output.data.say}"}
    status: pending
    code: "{start.output.data.code}"
  tell_all: {type: signal, subtype: all, topic: told, key_name: k, key_value: v}
transitions:
  start: [{to: pass}, {to: nap}, {to: ask}, {to: other}, {to: same}, {to: tell}, {to: tell_all}]
hooks:
  told:
    - {to: ask, conditions: {match: [{expected: "{start.output.data.id}", actual: "{$hook.data.id}"}, {expected: 1, actual: "{$self.hook.data.n}"}]}}
    - {to: other, conditions: {match: [{expected: "{$job.metadata.jid}", actual: "{$hook.data.job}"}]}}
    - {to: same, conditions: {match: [{expected: "x", actual: "{$hook.data.job}"}]}}
)";

TEST(Wait, is_nothing_a_time_a_signal_or_both) {
  const TestApp app = TestApp::of_graph(hooks_graph);
  TestStep step(app);
  step.ran("start", ",0", R"({"nap":1.5,"id":{"b":1,"a":2}})");
  const auto wait = [&](const char* activity) { return *app.program().wait(step.sight(activity, ",0,0")); };
  EXPECT_FALSE(wait("pass").sleep || wait("pass").mailbox);
  EXPECT_EQ(wait("nap").sleep, Duration(1500000));
  EXPECT_FALSE(wait("nap").mailbox);
  EXPECT_EQ(wait("ask").sleep, Duration(seconds(3600)));
  ASSERT_TRUE(wait("ask").mailbox);
  EXPECT_EQ(wait("ask").mailbox->name_space.raw(), "tenant");
  EXPECT_EQ(wait("ask").mailbox->topic.raw(), "told");
  EXPECT_EQ(wait("ask").mailbox->key.substr(16), R"(:[{"a":2,"b":1},1])");
  EXPECT_EQ(wait("other").mailbox->key.substr(16), R"(:["order-17"])");
  EXPECT_FALSE(wait("other").sleep);
  EXPECT_EQ(wait("other").mailbox->key.substr(0, 16), wait("same").mailbox->key.substr(0, 16));
  EXPECT_NE(wait("other").mailbox->key.substr(0, 16), wait("ask").mailbox->key.substr(0, 16));
}

TEST(Wait, a_sleep_of_nothing_passes_through) {
  const TestApp app = TestApp::of_graph(hooks_graph);
  for (const char* input : {R"({"nap":0})", R"({"nap":null})", "{}"}) {
    TestStep step(app);
    step.ran("start", ",0", input);
    EXPECT_EQ(app.program().wait(step.sight("nap", ",0,0"))->sleep, std::nullopt) << input;
  }
  for (const char* input : {R"({"nap":-1})", R"({"nap":true})", R"({"nap":"soon"})"}) {
    TestStep step(app);
    step.ran("start", ",0", input);
    EXPECT_EQ(app.program().wait(step.sight("nap", ",0,0")).error().detail.find("activity \"nap\": sleep: wants "), 0u)
        << input;
  }
}

TEST(Signal, finds_the_mailbox_in_which_the_hook_waits) {
  const TestApp app = TestApp::of_graph(hooks_graph);
  TestStep step(app);
  step.ran("start", ",0",
           R"({"topic":"told","id":{"a":2,"b":1.0},"say":{"n":1,"id":{"b":1,"a":2},"job":"order-17"},"code":202})");
  const auto telling = app.program().signal(step.sight("tell", ",0,0"));
  ASSERT_TRUE(telling) << telling.error().detail;
  EXPECT_EQ(telling->data.view(), R"({"n":1,"id":{"b":1,"a":2},"job":"order-17"})");
  EXPECT_EQ(telling->status, ReplyStatus::pending);
  EXPECT_EQ(telling->code, 202);
  ASSERT_EQ(telling->to.size(), 2u);  // two different rules; `other` and `same` share one
  EXPECT_EQ(telling->to[0], *app.program().wait(step.sight("ask", ",0,0"))->mailbox);
  EXPECT_EQ(telling->to[1], *app.program().wait(step.sight("other", ",0,0"))->mailbox);

  const auto keys = app.program().keys_of(Topic("told"), telling->data);
  ASSERT_TRUE(keys);
  EXPECT_EQ(*keys, (std::vector<std::string>{telling->to[0].key, telling->to[1].key}));
}

TEST(Signal, leaves_out_hooks_whose_schema_the_payload_breaks) {
  const TestApp app = TestApp::of_graph(hooks_graph);
  const auto keys = app.program().keys_of(Topic("told"), R"({"job":"x"})");
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->size(), 1u);

  const TestApp strict = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  ask: {type: hook, hook: {type: object, required: [id]}}
transitions: {start: [{to: ask}]}
hooks: {told: [{to: ask, conditions: {match: [{expected: 1, actual: "{$hook.data.id}"}]}}]}
)");
  EXPECT_EQ(strict.program().keys_of(Topic("told"), "{}").error().detail.find("the payload of a signal \"told\": "),
            0u);
  EXPECT_TRUE(strict.program().keys_of(Topic("told"), R"({"id":2})"));
}

TEST(Signal, to_all_names_the_label_and_tells_each_by_its_id) {
  const TestApp app = TestApp::of_graph(hooks_graph);
  TestStep step(app);
  step.ran("start", ",0", "{}");
  const auto sight = step.sight("tell_all", ",0,0");
  const auto telling = app.program().signal(sight);
  ASSERT_TRUE(telling) << telling.error().detail;
  ASSERT_TRUE(telling->all);
  EXPECT_TRUE(telling->to.empty());
  EXPECT_EQ(telling->all->graph.raw().substr(0, 5), "test/");
  EXPECT_EQ(telling->all->label, (core::Label{"", "k", "v"}));
  EXPECT_EQ(telling->all->topic.raw(), "told");
  const auto one = app.program().tell(sight, telling->all->topic, R"({"job":"x"})", JobId("order-18"));
  ASSERT_TRUE(one) << one.error().detail;
  EXPECT_EQ(one->data.view(), R"({"job":"x","id":"order-18"})");
  EXPECT_EQ(one->to.size(), 2u);
}

TEST(Signal, errors) {
  const TestApp app = TestApp::of_graph(hooks_graph);
  const auto error = [&](const char* activity, Payload input) {
    TestStep step(app);
    step.ran("start", ",0", std::move(input));
    return app.program().signal(step.sight(activity, ",0,0")).error().detail;
  };
  EXPECT_EQ(error("tell", R"({"topic":"tolt"})"),
            "activity \"tell\": signal: no hook of the app \"test\" waits for the topic \"tolt\"");
  EXPECT_EQ(error("tell", "{}"), "activity \"tell\": topic: wants a text, got null");
  EXPECT_EQ(error("tell", R"({"topic":"told","code":5})"),
            "activity \"tell\": code: wants a whole number from 100 to 999, got 5");
  EXPECT_EQ(app.program().keys_of(Topic("tolt"), "{}").error().code, ErrorCode::not_found);
}

TEST(MailboxKey, has_a_limit) {
  const TestApp app = TestApp::of_graph(hooks_graph);
  TestStep step(app);
  step.ran("start", ",0", "{\"id\":\"" + std::string(2000, 'x') + "\"}");
  EXPECT_EQ(app.program().wait(step.sight("ask", ",0,0")).error().code, ErrorCode::over_limit);
}

constexpr const char* parents = R"(app:
  id: parents
  version: 3
  graphs:
    - subscribes: parent
      activities:
        p: {type: trigger}
        child: {type: await, topic: "{p.output.data.topic}", await: "{p.output.data.wait}"}
      transitions: {p: [{to: child}]}
    - subscribes: child
      input: {schema: {type: object, properties: {id: {type: string}}}}
      activities:
        c: {type: trigger, stats: {id: "{$self.input.data.id}"}}
    - subscribes: .hidden
      activities:
        h: {type: trigger}
)";

TEST(Child, is_a_graph_of_the_same_app) {
  const TestApp app(parents);
  const auto child = [&](Payload input, Payload sent) {
    TestStep step(app);
    step.ran("p", ",0", std::move(input));
    return app.program().child(step.sight("child", ",0,0"), sent);
  };
  const auto named = child(R"({"topic":"child"})", R"({"id":"c-1"})");
  ASSERT_TRUE(named) << named.error().detail;
  EXPECT_EQ(named->graph.name.raw(), "parents/child");
  EXPECT_EQ(named->graph.version, 3u);
  EXPECT_EQ(named->graph.fingerprint, app.graphs[1].fingerprint());
  EXPECT_EQ(named->id->raw(), "c-1");
  EXPECT_TRUE(named->awaits);
  const auto hidden = child(R"({"topic":".hidden","wait":false})", "{}");
  ASSERT_TRUE(hidden) << hidden.error().detail;
  EXPECT_EQ(hidden->graph.name.raw(), "parents/.hidden");
  EXPECT_FALSE(hidden->id);
  EXPECT_FALSE(hidden->awaits);
  EXPECT_TRUE(child(R"({"topic":"child","wait":0})", "{}")->awaits);  // anything but exactly false waits
  EXPECT_EQ(child(R"({"topic":"chidl"})", "{}").error().detail,
            "activity \"child\": topic: no graph of the app \"parents\" subscribes \"chidl\"");
  EXPECT_EQ(child(R"({"topic":"child"})", R"({"id":5})")
                .error()
                .detail.find("activity \"child\": input.schema of \"child\"./id: "),
            0u);
}

TEST(Ending, has_all_keys) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  own: {type: interrupt}
  other:
    type: interrupt
    target: "{start.output.data.job}"
    reason: "{start.output.data.why}"
    code: 499
    throw: false
    descend: true
    expire: 2m
transitions: {start: [{to: own}, {to: other}]}
)");
  TestStep step(app);
  step.ran("start", ",0", R"({"job":"order-18","why":"late"})");
  const auto own = *app.program().ending(step.sight("own", ",0,0"));
  EXPECT_FALSE(own.target);
  EXPECT_EQ(own.code, 410);
  EXPECT_EQ(own.reason, "");
  EXPECT_TRUE(own.throws);
  EXPECT_FALSE(own.descend);
  EXPECT_FALSE(own.keep);
  const auto other = *app.program().ending(step.sight("other", ",0,0"));
  EXPECT_EQ(other.target->raw(), "order-18");
  EXPECT_EQ(other.code, 499);
  EXPECT_EQ(other.reason, "late");
  EXPECT_FALSE(other.throws);
  EXPECT_TRUE(other.descend);
  EXPECT_EQ(other.keep, Duration(seconds(120)));

  // Without a target this job would end.
  TestStep empty(app);
  empty.ran("start", ",0", "{}");
  EXPECT_EQ(app.program().ending(empty.sight("other", ",0,0")).error().detail,
            "activity \"other\": target: wants a text, got null");
}

constexpr const char* map_graph = R"(activities:
  start: {type: trigger}
  each: {type: map, items: "{start.output.data.list}", parallel: "{start.output.data.width}", join: done}
  body: {type: worker, topic: x}
  done: {type: join}
transitions:
  start: [{to: each}]
  each: [{to: body}]
  body: [{to: done}]
)";

Result<core::Program::Items> items_of(const TestApp& app, Payload input) {
  TestStep step(app);
  step.ran("start", ",0", std::move(input));
  return app.program().items(step.sight("each", ",0,0"));
}

TEST(Items, of_lists_and_maps) {
  const TestApp app = TestApp::of_graph(map_graph);
  const auto list = items_of(app, R"({"list":["a",{"b":1}],"width":8})");
  ASSERT_TRUE(list) << list.error().detail;
  EXPECT_EQ(list->count, 2u);
  EXPECT_EQ(list->parallel, 8u);
  EXPECT_EQ(text_of_result(app.program().item(list->items, 0)), R"({"item":"a","index":0,"key":"0"})");
  EXPECT_EQ(text_of_result(app.program().item(list->items, 1)), R"({"item":{"b":1},"index":1,"key":"1"})");
  EXPECT_FALSE(app.program().item(list->items, 2));

  const auto map = items_of(app, R"({"list":{"x":1,"y":2}})");
  ASSERT_TRUE(map);
  EXPECT_EQ(map->parallel, 1u);
  EXPECT_EQ(text_of_result(app.program().item(map->items, 1)), R"({"item":2,"index":1,"key":"y"})");
  // The same bytes at another address, then other bytes: the cache must not confuse them.
  EXPECT_EQ(text_of_result(app.program().item(Payload(map->items.str()), 0)), R"({"item":1,"index":0,"key":"x"})");
  EXPECT_EQ(text_of_result(app.program().item("[5]", 0)), R"({"item":5,"index":0,"key":"0"})");
  EXPECT_EQ(text_of_result(app.program().collect(TestStep(app).ran("start", ",0", "{}").sight("each", ",0,0"))),
            "null");
  EXPECT_EQ(items_of(app, R"({"list":[]})")->count, 0u);
}

TEST(Items, errors) {
  const TestApp app = TestApp::of_graph(map_graph);
  EXPECT_EQ(items_of(app, "{}").error().detail, "activity \"each\": items: wants a list or a map, got null");
  EXPECT_EQ(items_of(app, R"({"list":[],"width":0})").error().detail,
            "activity \"each\": parallel: wants a whole number from 1 to 1000, got 0");
}

TEST(Items, of_a_long_list_are_parsed_once) {
  // Without the cache this takes minutes.
  const TestApp app = TestApp::of_graph(map_graph);
  std::string list = "[0";
  for (int i = 1; i < 10'000; ++i) list += "," + std::to_string(i);
  const Payload items(list + "]");
  for (std::uint32_t i = 0; i < 10'000; ++i) ASSERT_TRUE(app.program().item(items, i));
}

}  // namespace
}  // namespace pawl::execute
