// What the builder writes, and its errors. execute/builder_words_test.cc shows that every key can be written.
#include <gtest/gtest.h>

#include "base/format.h"
#include "graph/check.h"
#include "graph/limits.h"
#include "pawl/graph.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;

struct Mistake {
  std::string name;
  GraphBuilder builder;
  std::string says;
};

GraphBuilder good() { return GraphBuilder("g").trigger("t").worker("a", "topic").after("t"); }
GraphBuilder retried(const Retry& retry) { return good().retry(retry); }

const std::vector<Mistake> mistakes = {
    {"bad_graph_name", GraphBuilder("a b").trigger("t"), "id: an app's id is made of"},
    {"empty_graph_name", GraphBuilder("").trigger("t"), "id: an app's id is made of"},
    {"bad_activity_name", good().worker("a b", "topic").after("t"), "activities[\"a b\"]: an id is 1 to"},
    {"long_activity_name", good().worker(std::string(200, 'x'), "topic").after("t"), "an id is 1 to 128"},
    {"no_trigger", GraphBuilder("g").worker("a", "topic"), "exactly one activity of type trigger"},
    {"nothing_at_all", GraphBuilder("g"), "activities"},
    {"two_triggers", good().trigger("u"), "'t' is the trigger of this graph already"},
    {"declared_twice", good().worker("a", "topic"), "'a'"},
    {"unknown_parent", good().worker("b", "topic").after("nobody"), "no activity 'nobody'"},
    {"unknown_target", good().transition("a", "nobody"), "no activity 'nobody'"},
    {"unknown_result", good().result_of("nobody"), "result_of: this graph has no activity 'nobody'"},
    {"two_parents", good().worker("b", "topic").after("t").after("a"), "'b' is reached from 't' and from 'a'"},
    {"same_transition_twice", good().after("t"), "'t' leads to 'a' already"},
    {"parent_of_the_trigger", good().transition("a", "t"), "nothing leads into a trigger"},
    {"unreachable", good().worker("b", "topic"), "no transition leads from the trigger to 'b'"},
    {"loop_of_two", good().worker("b", "x").after("a").transition("b", "a"), "to loop, use an activity of type cycle"},
    {"key_of_another_kind", good().sleep(5s), "'sleep' is a key of hook, not of worker"},
    {"key_of_nothing", good().set("slep", 5), "there is no key 'slep' here"},
    {"broken_json", good().input(Value::json("{\"a\": ")), "activities.a.input.maps: this is not JSON"},
    {"no_attempts", retried(Retry().attempts(0)), "activities.a.retry.maximumAttempts"},
    {"growth", retried(Retry().growth(0.5)), "activities.a.retry.backoffCoefficient"},
    {"jitter", retried(Retry().jitter(1.5)), "activities.a.retry.jitter"},
    {"negative_delay", retried(Retry().first_delay(-1s)), "activities.a.retry.initialInterval"},
    {"rule_without_attempts", retried(Retry().on(503, Retry().attempts(0))), "activities.a.retry.503.maximumAttempts"},
    {"rule_within", retried(Retry().on(503, Retry().within(-1s))), "activities.a.retry.503.within"},
    {"never_and_a_rule", retried(Retry().never_on({503}).on(503, Retry())), "'never_on' names 503"},
    {"codes_of_a_code", retried(Retry().on(503, Retry().never_on({500}))), "there is no key 'never_on' here"},
    {"before_the_worker", GraphBuilder("g").retry(Retry()).trigger("t"), "retry: there is no key 'retry' here"},
    {"priority", good().priority(2'000'000), "activities.a.priority"},
    {"long_timeout", good().timeouts(Timeouts().total(std::chrono::hours(24) * 365 * 101)),
     "timeouts.total: a time is"},
    {"two_totals", good().timeout("5m").timeouts(Timeouts().total(1s)), "'timeout' is the total already"},
    {"undo_unknown", good().compensate("nobody"), "no activity 'nobody'"},
    {"undo_itself", good().compensate("a"), "it cannot undo itself"},
    {"undo_with_a_transition", good().compensate("b").worker("b", "x").after("a"), "'b' has transitions"},
    {"undo_of_two", good().compensate("u").worker("b", "x").after("a").compensate("u").worker("u", "x"),
     "'u' undoes 'a' already"},
    {"undo_by_a_hook", good().compensate("u").hook("u"), "only a worker undoes"},
    {"under_duplex", good().collation(Collation::duplex).priority(3), "cannot be used under collation: duplex"},
};

class BuilderMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(BuilderMistakes, are_refused_with_the_key_they_are_about) {
  const auto app = GetParam().builder.build();
  ASSERT_FALSE(app);
  EXPECT_EQ(app.error().code, ErrorCode::invalid);
  EXPECT_NE(app.error().detail.find(GetParam().says), std::string::npos) << app.error().detail << "\n"
                                                                         << GetParam().builder.yaml();
}

INSTANTIATE_TEST_SUITE_P(Builder, BuilderMistakes, testing::ValuesIn(mistakes),
                         [](const auto& one) { return one.param.name; });

TEST(Builder, every_mistake_is_reported_at_once) {
  const auto app = good().worker("b", "x").worker("c", "x").after("nobody").build();
  ASSERT_FALSE(app);
  EXPECT_NE(app.error().detail.find("'b'"), std::string::npos);
  EXPECT_NE(app.error().detail.find("'nobody'"), std::string::npos);
}

TEST(Builder, writes_what_a_person_would) {
  const std::string yaml = GraphBuilder("order", 2)
                               .trigger("received")
                               .worker("charge", "payments.charge")
                               .after("received")
                               .retry(Retry().attempts(5).first_delay(250ms).on(503, Retry().attempts(50)))
                               .worker("refuse", "orders.refuse")
                               .after("charge", Condition::code(402))
                               .yaml();
  EXPECT_EQ(yaml, R"(app:
  id: order
  version: "2"
  graphs:
    - subscribes: order
      input_from: answers
      activities:
        received: {type: trigger}
        charge:
          type: worker
          topic: payments.charge
          retry: {maximumAttempts: 5, initialInterval: "250ms", "503": {maximumAttempts: 50, initialInterval: "1s"}}
        refuse: {type: worker, topic: orders.refuse}
      transitions: {received: [{to: charge}], charge: [{to: refuse, conditions: {code: [402]}}]}
)");
}

TEST(Builder, texts_that_look_like_something_else_stay_texts) {
  for (const char* text : {"true", "12", "1.5", "null", "~", "", " a ", "a: b", "- a", "{a}", "#", "yes", "\"q\"", "\n",
                           "2024-02-29", "0x10", "\xc3\xa4\xf0\x9f\x98\x80"}) {
    const auto app = GraphBuilder("g").trigger("t").settings(Fields{{"it", text}}).build();
    ASSERT_TRUE(app) << text << app.error().detail;
    const graph::Checked checked = graph::check_text(app->text);
    ASSERT_TRUE(checked.app);
    EXPECT_EQ(checked.app->graphs[0].activities[0].settings.at("it"), boost::json::value(text)) << app->text;
  }
}

TEST(Builder, a_plain_graph_may_be_long_and_one_with_expressions_not_so_long) {
  const auto chain = [](std::size_t count, InputFrom from) {
    GraphBuilder builder("long");
    builder.input_from(from).trigger("n0");
    for (std::size_t i = 1; i < count; ++i) builder.worker(format("n{}", i), "w").after(format("n{}", i - 1));
    return builder.build();
  };
  const auto longest = chain(graph::plain_activities_max, InputFrom::answers);
  EXPECT_TRUE(longest) << longest.error().detail.substr(0, 300);
  EXPECT_FALSE(chain(graph::plain_activities_max + 1, InputFrom::answers));
  const auto mapped = chain(graph::activities_max + 1, InputFrom::maps);
  ASSERT_FALSE(mapped);
  EXPECT_NE(mapped.error().detail.find("more than 2000 activities in one graph with expressions"), std::string::npos);
}

}  // namespace
}  // namespace pawl
