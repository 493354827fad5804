#include "execute/test_support.h"

namespace pawl::execute {
namespace {

using std::chrono::seconds;

constexpr const char* chain = R"(activities:
  start: {type: trigger}
  first: {type: worker, topic: do.first}
  charge:
    type: worker
    topic: "{first.output.data.topic}"
    timeout: "{first.output.data.wait}"
    statusThreshold: "{first.output.data.threshold}"
    input:
      schema: {type: object, properties: {amount: {type: number}}}
      maps:
        amount: {"@pipe": [["{start.output.data.amount}", 1], ["{@math.add}"]]}
        name: "{first.output.data.name}"
        whole: "{start.output.data}"
        shared: "{$job.data.currency}"
        nothing: "{first.output.data.missing}"
  plain: {type: worker, topic: do.plain}
  text: {type: worker, topic: do.text, input: {maps: {said: "{first.output.data}"}}}
transitions:
  start: [{to: first}]
  first: [{to: charge}, {to: plain}, {to: text}]
)";

TEST(Input, evaluates_its_maps_over_ancestors_and_the_job) {
  const TestApp app = TestApp::of_graph(chain);
  TestStep step(app);
  step.ran("start", ",0", R"({"amount":41})").ran("first", ",0,0", R"({"name":"Ada"})");
  step.data(R"({"currency":"EUR"})");
  EXPECT_EQ(text_of_result(app.program().input(step.sight("charge", ",0,0,0"))),
            R"({"amount":42,"name":"Ada","whole":{"amount":41},"shared":"EUR"})");
  EXPECT_EQ(text_of_result(app.program().input(step.sight("plain", ",0,0,0"))), "{}");
}

TEST(Input, sees_what_is_not_json_as_a_text) {
  const TestApp app = TestApp::of_graph(chain);
  TestStep step(app);
  step.ran("start", ",0", "{}").ran("first", ",0,0", "plain words");
  EXPECT_EQ(text_of_result(app.program().input(step.sight("text", ",0,0,0"))), R"({"said":"plain words"})");
  TestStep broken(app);
  broken.ran("start", ",0", "{}").ran("first", ",0,0", "a\xff");
  EXPECT_EQ(text_of_result(app.program().input(broken.sight("text", ",0,0,0"))), "{\"said\":\"a\xEF\xBF\xBD\"}");
}

TEST(Input, errors_name_activity_key_and_place) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  charge:
    type: worker
    topic: x
    input: {maps: {amount: {"@pipe": [["{start.output.data.list}"], ["{@array.length}"]]}}}
transitions: {start: [{to: charge}]}
)");
  TestStep step(app);
  step.ran("start", ",0", R"({"list":5})");
  const auto made = app.program().input(step.sight("charge", ",0,0"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().detail.find("activity \"charge\": input.maps./amount/@pipe/1: "
                                     "array.length: "),
            0u)
      << made.error().detail;
}

TEST(Input, breaks_its_schema) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  charge:
    type: worker
    topic: x
    input:
      schema: {type: object, properties: {amount: {type: number}}}
      maps: {amount: "{start.output.data.amount}"}
transitions: {start: [{to: charge}]}
)");
  TestStep step(app);
  step.ran("start", ",0", R"({"amount":"much"})");
  const auto made = app.program().input(step.sight("charge", ",0,0"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().detail.find("activity \"charge\": input.schema./amount: "), 0u) << made.error().detail;
}

TEST(Leg1, topic_timeout_and_threshold_are_expressions) {
  const TestApp app = TestApp::of_graph(chain);
  TestStep step(app);
  step.ran("start", ",0", "{}").ran("first", ",0,0", R"({"topic":"pay.card","wait":"5m","threshold":2})");
  const core::Sight charge = step.sight("charge", ",0,0,0");
  EXPECT_EQ(app.program().topic(charge)->raw(), "pay.card");
  EXPECT_EQ(*app.program().timeout(charge), Duration(std::chrono::minutes(5)));
  EXPECT_EQ(*app.program().threshold(charge), 2);
  const core::Sight plain = step.sight("plain", ",0,0,0");
  EXPECT_EQ(app.program().topic(plain)->raw(), "do.plain");
  EXPECT_EQ(*app.program().timeout(plain), std::nullopt);
  EXPECT_EQ(*app.program().threshold(plain), 0);
}

TEST(Leg1, topic_timeout_and_threshold_of_a_wrong_type_are_errors) {
  const TestApp app = TestApp::of_graph(chain);
  TestStep step(app);
  step.ran("start", ",0", "{}").ran("first", ",0,0", R"({"topic":null,"wait":"soon","threshold":1.5})");
  const core::Sight charge = step.sight("charge", ",0,0,0");
  EXPECT_EQ(app.program().topic(charge).error().detail, "activity \"charge\": topic: wants a text, got null");
  EXPECT_EQ(app.program().timeout(charge).error().detail,
            "activity \"charge\": timeout: wants seconds or a text such as 90s, 5m or 2h, got a "
            "text");
  EXPECT_EQ(
      app.program().threshold(charge).error().detail.find("activity \"charge\": statusThreshold: wants a whole number"),
      0u);
}

TEST(Leg1, random_numbers_of_a_step_are_the_same_again) {
  const TestApp app = TestApp::of_graph(R"(activities:
  start: {type: trigger}
  a: {type: worker, topic: x, input: {maps: {r: "{@math.random}"}}}
transitions: {start: [{to: a}]}
)");
  TestStep step(app);
  step.ran("start", ",0", "{}");
  const std::string once = text_of_result(app.program().input(step.sight("a", ",0,0")));
  EXPECT_EQ(text_of_result(app.program().input(step.sight("a", ",0,0"))), once);
  EXPECT_NE(text_of_result(app.program().input(step.sight("a", ",1,0"))), once);
  step.state.job.rev = core::Rev(5);
  EXPECT_NE(text_of_result(app.program().input(step.sight("a", ",0,0"))), once);
}

TEST(Start, is_checked_against_the_schema_of_the_graph) {
  const TestApp app = TestApp::of_graph(R"(input: {schema: {type: object, required: [id]}}
activities:
  start: {type: trigger, stats: {id: "{$self.input.data.id}"}}
)");
  const GraphProgram& program = app.program();
  EXPECT_EQ(text_of_result(program.check_start(R"({"id": 5})")), R"({"id": 5})");
  EXPECT_EQ(program.check_start("{}").error().detail.find("start of \"test.start\": input.schema: "), 0u);
  EXPECT_EQ(program.check_start("hello").error().detail.find(
                "start of \"test.start\": the input is not JSON: line 1, column 1"),
            0u)
      << program.check_start("hello").error().detail;
  EXPECT_FALSE(program.check_start(Payload()));
  EXPECT_EQ((*program.start_id(R"({"id": 5})"))->raw(), "5");
  EXPECT_EQ((*program.start_id(R"({"id": "a-1"})"))->raw(), "a-1");
  EXPECT_EQ(*program.start_id("{}"), std::nullopt);
  EXPECT_EQ(
      program.start_id(R"({"id": "a b"})").error().detail.find("activity \"start\": stats.id: the job id: byte 2"), 0u);
  EXPECT_FALSE(program.start_id(R"({"id": [1]})"));
}

TEST(Start, without_a_schema_takes_nothing_for_an_empty_object) {
  const TestApp app = TestApp::of_graph("activities: {start: {type: trigger}}\n");
  EXPECT_EQ(text_of_result(app.program().check_start(Payload())), "{}");
  EXPECT_EQ(*app.program().start_id("{}"), std::nullopt);
}

TEST(Keep, follows_expire_unless_the_job_is_persistent) {
  const TestApp app = TestApp::of_graph(R"(expire: "{start.output.data.keep}"
persistent: "{start.output.data.for_ever}"
activities:
  start: {type: trigger}
  a: {type: hook}
transitions: {start: [{to: a}]}
)");
  const auto keep = [&](Payload input) {
    TestStep step(app);
    step.ran("start", ",0", std::move(input));
    return *app.program().keep(step.sight("a", ",0,0"));
  };
  EXPECT_EQ(keep(R"({"keep":90})"), Duration(seconds(90)));
  EXPECT_EQ(keep(R"({"keep":"2h"})"), Duration(std::chrono::hours(2)));
  EXPECT_EQ(keep(R"({"keep":0})"), Duration(0));
  EXPECT_EQ(keep(R"({"keep":90,"for_ever":true})"), std::nullopt);
  EXPECT_EQ(keep(R"({"keep":90,"for_ever":"yes"})"), Duration(seconds(90)));
  EXPECT_EQ(keep("{}"), std::nullopt);
}

}  // namespace
}  // namespace pawl::execute
