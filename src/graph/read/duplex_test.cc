// What `collation: duplex` accepts, and how it refuses the rest: with the position and what to do.
#include "graph/test_support.h"

namespace pawl::graph {
namespace {

using Codes = std::vector<std::string>;

constexpr std::string_view plain =
    "collation: duplex\n"
    "input: {schema: {type: object}}\n"
    "title: Orders\n"
    "activities:\n"
    "  received: {type: trigger, title: An order, stats: {id: \"{$self.input.data.id}\"}}\n"
    "  charge: {type: worker, topic: payments.charge, settings: {a: 1}}\n"
    "  ship: {type: worker, topic: ship}\n"
    "  refuse: {type: worker, topic: refuse}\n"
    "  apologise: {type: worker, topic: apologise}\n"
    "transitions:\n"
    "  received: [{to: charge}]\n"
    "  charge:\n"
    "    - {to: ship}\n"
    "    - {to: refuse, conditions: {code: [402, 403]}}\n"
    "    - {to: apologise, conditions: {code: error}}\n";

TEST(DuplexGraphs, triggers_workers_and_conditions_on_codes_are_taken) {
  const Checked checked = check_graph(plain);
  ASSERT_TRUE(checked.app) << report_of(checked);
  EXPECT_TRUE(checked.mistakes.empty()) << report_of(checked);
  EXPECT_EQ(checked.app->graphs[0].collation, Collation::duplex);
  const Checked ledger = check_graph("collation: ledger\nactivities: {t: {type: trigger}}\n");
  ASSERT_TRUE(ledger.app) << report_of(ledger);
  EXPECT_EQ(ledger.app->graphs[0].collation, Collation::ledger);
  EXPECT_EQ(codes_of(check_graph("collation: double\nactivities: {t: {type: trigger}}\n")), Codes{"G104"});
}

// A graph with one unsupported key.
struct Beyond {
  const char* name;
  std::string graph;
  std::string path;
  std::string says;
};

class BeyondDuplex : public ::testing::TestWithParam<Beyond> {};

std::string with_activity(const std::string& keys) {
  return "collation: duplex\nactivities:\n  t: {type: trigger}\n  a: {" + keys + "}\ntransitions: {t: [{to: a}]}\n";
}
std::string with_condition(const std::string& conditions) {
  return "collation: duplex\nactivities:\n  t: {type: trigger}\n  a: {type: worker, topic: x}\ntransitions:\n"
         "  t: [{to: a, conditions: {" +
         conditions + "}}]\n";
}
std::string with_key(const std::string& key) {
  return "collation: duplex\n" + key + "\nactivities: {t: {type: trigger}}\n";
}

TEST_P(BeyondDuplex, is_refused_where_it_stands_with_what_to_do) {
  const Checked checked = check_graph(GetParam().graph);
  EXPECT_FALSE(checked.app);
  ASSERT_EQ(codes_of(checked), Codes{"G217"}) << report_of(checked);
  const Mistake& mistake = checked.mistakes[0];
  EXPECT_EQ(mistake.path, GetParam().path);
  EXPECT_GT(mistake.mark.line, 1u);
  EXPECT_NE(mistake.message.find(GetParam().says), std::string::npos) << mistake.message;
  EXPECT_NE(mistake.message.find("collation: ledger"), std::string::npos) << mistake.message;
}

const std::string here = "app.graphs[0].";
const Beyond beyond[] = {
    {"a_hook_that_sleeps", with_activity("type: hook, sleep: 5"), here + "activities.a.type", "not 'hook'"},
    {"an_interrupt", with_activity("type: interrupt"), here + "activities.a.type", "not 'interrupt'"},
    {"a_hook_that_passes_on", with_activity("type: hook"), here + "activities.a.type", "not 'hook'"},
    {"input_maps", with_activity("type: worker, topic: x, input: {maps: {a: 1}}"), here + "activities.a.input",
     "what its parent answered"},
    {"job_maps", with_activity("type: worker, topic: x, job: {maps: {a: 1}}"), here + "activities.a.job",
     "no data of its own"},
    {"a_retry", with_activity("type: worker, topic: x, retry: {maximumAttempts: 3}"), here + "activities.a.retry",
     "try again itself"},
    {"a_timeout", with_activity("type: worker, topic: x, timeout: 3s"), here + "activities.a.timeout",
     "no time runs out"},
    {"a_threshold", with_activity("type: worker, topic: x, statusThreshold: 1"), here + "activities.a.statusThreshold",
     "'statusThreshold' cannot be used"},
    {"a_computed_topic", with_activity("type: worker, topic: \"{t.output.data.topic}\""), here + "activities.a.topic",
     "a plain text"},
    {"a_match", with_condition("code: 200, match: [{expected: 1, actual: 1}]"),
     here + "transitions.t[0].conditions.match", "'match' cannot be used"},
    {"codes_and_error", with_condition("code: [402, error]"), here + "transitions.t[0].conditions.code", "not both"},
    {"publishes", with_key("publishes: told"), here + "publishes", "nothing is announced"},
    {"drain", with_key("on_error: drain"), here + "on_error", "ends the job"},
    {"expire", with_key("expire: 5m"), here + "expire", "jobs stay with the store"},
    {"measures", "collation: duplex\nactivities: {t: {type: trigger, stats: {key: a}}}\n",
     here + "activities.t.stats.key", "'key' cannot be used"},
};
INSTANTIATE_TEST_SUITE_P(all, BeyondDuplex, ::testing::ValuesIn(beyond),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(DuplexGraphs, every_mistake_is_told_at_once_with_its_line) {
  const Checked checked = check_graph(
      "collation: duplex\n"
      "activities:\n"
      "  t: {type: trigger}\n"
      "  nap: {type: hook, sleep: 5}\n"
      "  work:\n"
      "    type: worker\n"
      "    topic: x\n"
      "    retry: {maximumAttempts: 2}\n"
      "transitions: {t: [{to: nap}], nap: [{to: work}]}\n");
  const std::string report = report_of(checked);
  EXPECT_EQ(codes_of(checked), (Codes{"G217", "G217"})) << report;
  EXPECT_NE(report.find("app.yaml:9"), std::string::npos) << report;
  EXPECT_NE(report.find("app.yaml:13"), std::string::npos) << report;
}

TEST(DuplexGraphs, no_other_job_can_await_one) {
  const Checked checked = check_text(
      "app:\n  id: test\n  version: \"1\"\n  graphs:\n"
      "    - subscribes: parent\n      activities:\n        t: {type: trigger}\n        a: {type: await, topic: "
      "child}\n"
      "      transitions: {t: [{to: a}]}\n"
      "    - subscribes: child\n      collation: duplex\n      activities: {c: {type: trigger}}\n");
  ASSERT_EQ(codes_of(checked), Codes{"G217"}) << report_of(checked);
  EXPECT_EQ(checked.mistakes[0].path, "app.graphs[0].activities.a.topic");
}

TEST(DuplexGraphs, have_no_conditions_of_the_other_dialect) {
  const Checked checked = check_graph("collation: duplex\nactivities: {t: {type: trigger}}\n", "compat: hotmesh");
  EXPECT_FALSE(checked.app);
  EXPECT_EQ(codes_of(checked), Codes{"G217"}) << report_of(checked);
}

}  // namespace
}  // namespace pawl::graph
