// A table for every key of the language: a value it accepts and values it refuses, with the code of the mistake.
#include "base/format.h"
#include "graph/test_support.h"

namespace pawl::graph {
namespace {

struct Case {
  const char* key;                                       // may be a dotted path, the last part is the key under test
  std::vector<const char*> good;                         // YAML flow values
  std::vector<std::pair<const char*, const char*>> bad;  // value, expected code
};

using Codes = std::vector<std::string>;

std::string nested(std::string key, const std::string& value) {
  const auto dot = key.find('.');
  if (dot == std::string::npos) return format("{}: {}", key, value);
  return format("{}: {{{}}}", key.substr(0, dot), nested(key.substr(dot + 1), value));
}

// `place` takes one line "key: value" and makes an app of it.
template <class Place>
void run(const std::vector<Case>& cases, Place place) {
  for (const Case& one : cases) {
    for (const char* value : one.good) {
      const Checked checked = place(nested(one.key, value));
      EXPECT_TRUE(checked.app) << one.key << ": " << value << "\n" << report_of(checked);
    }
    for (const auto& [value, code] : one.bad) {
      const Checked checked = place(nested(one.key, value));
      EXPECT_EQ(codes_of(checked), Codes{code}) << one.key << ": " << value << "\n" << report_of(checked);
    }
  }
}

constexpr const char* schema_bad = "{type: objct}";

TEST(Keys, of_the_app) {
  const auto place = [](const std::string& line) {
    std::string text = "app:\n  " + line + "\n";
    if (!line.starts_with("id:")) text += "  id: test\n";
    if (!line.starts_with("version:")) text += "  version: 1\n";
    if (!line.starts_with("graphs:")) text += "  graphs: [{subscribes: a, activities: {t: {type: trigger}}}]\n";
    return check_text(text);
  };
  run({{"id", {"orders", "my-app_2"}, {{"a b", "G105"}, {"5", "G103"}, {"''", "G105"}}},
       {"version", {"1", "'2.0'"}, {{"1.5", "G103"}, {"[1]", "G103"}, {"-1", "G103"}, {"''", "G103"}}},
       {"compat", {"hotmesh", "pawl"}, {{"hotmash", "G104"}, {"1", "G104"}}},
       {"settings", {"{any: thing}", "5"}, {}},
       {"title", {"text"}, {{"5", "G103"}}},
       {"graphs",
        {"[{subscribes: b, activities: {u: {type: trigger}}}]"},
        {{"{}", "G103"}, {"[]", "G104"}, {"[5]", "G103"}}},
       {"grphs", {}, {{"[]", "G101"}}}},
      place);
}

TEST(Keys, of_the_root) {
  EXPECT_EQ(codes_of(check_text("")), Codes{"G102"});
  EXPECT_EQ(codes_of(check_text("[1]")), Codes{"G102"});
  EXPECT_EQ(codes_of(check_text("app: 5")), Codes{"G103"});
  EXPECT_EQ(codes_of(check_text("app: {}")), (Codes{"G102", "G102", "G102"}));
  EXPECT_EQ(codes_of(check_text("x-shared: {a: 1}\napp: {id: a, version: 1, graphs: [{subscribes: "
                                "a, activities: {t: {type: trigger}}}]}\nother: 1\n")),
            Codes{"G101"});
}

TEST(Keys, of_a_graph) {
  const auto place = [](const std::string& line) {
    std::string text = "app:\n  id: test\n  version: 1\n  graphs:\n    - title: x\n";
    if (line.starts_with("title:")) text = "app:\n  id: test\n  version: 1\n  graphs:\n    - persistent: true\n";
    text += "      " + line + "\n";
    if (!line.starts_with("subscribes:")) text += "      subscribes: a.b\n";
    if (!line.starts_with("activities:"))
      text += "      activities: {t: {type: trigger}, w: {type: worker, topic: x}, h: {type: hook}}\n";
    if (line.starts_with("activities:")) return check_text(text);
    if (!line.starts_with("transitions:")) text += "      transitions: {t: [{to: w}, {to: h}]}\n";
    return check_text(text);
  };
  run({{"subscribes", {"a.b", ".private"}, {{"5", "G103"}, {"'a b'", "G105"}}},
       {"publishes", {"a.c"}, {{"5", "G103"}, {"'{a}'", "G105"}}},
       {"title", {"Orders"}, {{"5", "G103"}}},
       {"expire",
        {"120", "2h", "'{t.output.data.keep}'", "1.5"},
        {{"soon", "G103"}, {"true", "G103"}, {"'{w.output.data.x}'", "G303"}}},
       {"persistent", {"true", "'{t.output.data.keep}'"}, {{"5", "G103"}}},
       {"on_error", {"fail", "drain"}, {{"dran", "G104"}, {"5", "G104"}}},
       {"input", {"{schema: {type: object}}"}, {{"5", "G103"}, {"{maps: {}}", "G101"}}},
       {"input.schema", {"true", "{type: string}"}, {{schema_bad, "G401"}, {"{tpye: object}", "G402"}}},
       {"output", {"{schema: {type: object}, 422: {schema: {type: object}}}"}, {{"{99: {}}", "G101"}}},
       {"output.422.schema", {"{type: object}"}, {{schema_bad, "G401"}}},
       {"activities", {"{t: {type: trigger}}"}, {{"[]", "G103"}, {"{}", "G201"}, {"{'a b': {type: trigger}}", "G105"}}},
       {"transitions",
        {"{t: [{to: w}, {to: h}]}"},
        {{"{t: [{to: w}, {to: h}, {to: q}]}", "G203"},
         {"{t: [{to: w}, {to: h}, {}]}", "G102"},
         {"{t: [{to: w}, {to: h, code: 5}]}", "G101"},
         {"{t: [{to: w}, {to: h}], q: []}", "G203"},
         {"{t: [{to: w}, {to: h}], w: {to: h}}", "G103"}}},
       {"hooks",
        {"{s: [{to: h, conditions: {match: [{expected: 1, actual: '{$hook.data.x}'}]}}]}"},
        {{"{s: [{to: q, conditions: {match: [{expected: 1, actual: 1}]}}]}", "G203"},
         {"{s: [{to: w, conditions: {match: [{expected: 1, actual: 1}]}}]}", "G216"},
         {"{s: [{to: h}]}", "G216"},
         {"{s: [{to: h, conditions: {gate: or, match: [{expected: 1, actual: 1}]}}]}", "G216"},
         {"{s: [{to: h, conditions: {match: [{expected: 1}]}}]}", "G102"},
         {"{s: {to: h}}", "G103"},
         {"{s: [{to: h, conditions: {match: [{expected: 1, actual: '{t.output.data.x}'}]}}]}", "G305"}}},
       {"input.shcema", {}, {{"{}", "G101"}}}},
      place);
  EXPECT_EQ(codes_of(check_text("app: {id: a, version: 1, graphs: [{}]}")), (Codes{"G102", "G102"}));
}

// An activity `x` of the given type below a trigger, with one more line.
Checked with_activity(const std::string& keys, const std::string& line) {
  return check_graph(format(R"(activities:
  t: {{type: trigger}}
  p: {{type: hook}}
  x:
    {}
    {}
  m1: {{type: worker, topic: m}}
  mj: {{type: join}}
  sink: {{type: hook}}
transitions:
  t: [{{to: p}}, {{to: sink}}]
  p: [{{to: x}}]
{}
hooks:
  known: [{{to: sink, conditions: {{match: [{{expected: 1, actual: "{{$self.hook.data.k}}"}}]}}}}]
)",
                            keys, line,
                            keys.find("type: map") != std::string::npos
                                ? "  x: [{to: m1}]\n  m1: [{to: mj}]"
                                : "  sink: [{to: m1}, {to: mj}]\n  m1: [{to: mj}]"));
}

auto on(const std::string& keys) {
  return [keys](const std::string& line) { return with_activity(keys, line); };
}

TEST(Keys, that_every_activity_has) {
  const std::vector<Case> common{
      {"title", {"A title"}, {{"5", "G103"}}},
      {"subtype", {"any"}, {}},
      {"input.maps",
       {"{a: 1}", "{a: '{t.output.data.x}'}", "'{t.output.data}'"},
       {{"5", "G103"},
        {"{a: '{q.output.data.x}'}", "G302"},
        {"{a: '{sink.output.data.x}'}", "G303"},
        {"{a: '{t.output.dta.x}'}", "G301"},
        {"{a: '{$self.output.data.x}'}", "G305"},
        {"{a: '{p.hok.data.x}'}", "G301"},
        {"{a: '{p.input.data.x}'}", "G305"}}},
      {"input.schema", {"{type: object}"}, {{schema_bad, "G401"}}},
      {"output.schema", {"{type: object}"}, {{schema_bad, "G401"}}},
      {"output.422.schema", {"{type: object}"}, {{schema_bad, "G401"}}},
      {"output.maps", {"{a: '{t.output.data.x}'}"}, {{"5", "G103"}}},
      {"job.maps",
       {"{a: '{$self.output.data.x}'}", "{a: '{x.output.data.x}'}"},
       {{"[1]", "G103"},
        {"{a: '{@math.ad}'}", "G301"},
        {"{a: '{$job.dta.x}'}", "G301"},
        {"{a: '{$job.metadata.jdi}'}", "G305"},
        {"{a: '{t.output.metadata.acc}'}", "G305"},
        {"{a: '{$hook.data.x}'}", "G305"}}},
      {"job.schema", {"{type: object}"}, {{schema_bad, "G401"}}},
      {"job.422.maps", {"{a: 1}"}, {{"5", "G103"}}},
      {"telemetry", {"{a: 1}"}, {{"5", "G103"}}},
      {"emit", {"true", "'{$self.output.data.x}'"}, {{"5", "G103"}}},
      {"persist", {"true"}, {{"'yes'", "G103"}}},
      {"statusThreshold", {"1", "'{t.output.data.x}'"}, {{"high", "G103"}}},
      {"timeout", {"30", "30s", "250ms", "'{t.output.data.x}'"}, {{"soon", "G103"}}},
      {"settings", {"{a: 1}"}, {}},
      {"tpoic", {}, {{"x", "G101"}}},
      {"ancestors", {}, {{"[a]", "G101"}}},
      {"collationInt", {}, {{"1", "G101"}}},
      {"stats", {}, {{"{}", "G101"}}},
      {"cycle", {"true"}, {{"5", "G103"}}},
  };
  run(common, on("type: hook"));
}

TEST(Keys, that_have_no_effect_are_warnings) {
  const auto codes = [](const char* keys, const char* line) {
    const Checked checked = with_activity(keys, line);
    EXPECT_TRUE(checked.app) << report_of(checked);
    return codes_of(checked);
  };
  EXPECT_EQ(codes("type: hook", "statusThresholdType: stop"), Codes{"wG107"});
  EXPECT_EQ(codes("type: hook", "eventName: x"), Codes{"wG107"});
  EXPECT_EQ(codes("{type: worker, topic: x, output: {maps: {a: 1}}}", ""), Codes{"wG107"});
  EXPECT_EQ(codes("{type: interrupt, timeout: 5}", ""), Codes{"wG107"});
  EXPECT_EQ(codes("{type: signal, topic: known, scrub: true}", ""), Codes{"wG107"});
  EXPECT_EQ(codes_of(with_activity("type: hook", "statusThresholdType: stpo")), Codes{"G104"});
}

TEST(Keys, of_a_trigger) {
  const auto place = [](const std::string& line) {
    return check_graph("activities:\n  t:\n    type: trigger\n    " + line + "\n");
  };
  const char* self = "'{$self.input.data.x}'";
  run({{"stats.id", {self, "'{t.input.data.x}'", "fixed"}, {{"5", "G103"}, {"'{t.output.data.x}'", "G305"}}},
       {"stats.key", {self}, {{"5", "G103"}}},
       {"stats.parent", {self}, {{"5", "G103"}}},
       {"stats.adjacent", {self}, {{"5", "G103"}}},
       {"stats.granularity", {"5m", "10m", "15m", "30m", "1h", "infinity"}, {{"7m", "G104"}}},
       {"stats.measures",
        {"[{measure: count}]", "[{measure: sum, target: '{$self.input.data.x}'}]"},
        {{"[{measure: cuont}]", "G104"},
         {"[{}]", "G102"},
         {"[{measure: sum}]", "G102"},
         {"{}", "G103"},
         {"[{measure: count, of: 1}]", "G101"}}},
       {"stats.grain", {}, {{"5", "G101"}}},
       {"entity", {self, "order"}, {{"5", "G103"}}},
       {"topic", {}, {{"x", "G101"}}}},
      place);
  for (const char* measure : {"avg", "min", "max", "mdn", "index"})
    EXPECT_TRUE(place(format("stats: {{measures: [{{measure: {}, target: '{{$self.input.data.x}}'}}]}}", measure)).app)
        << measure;
}

TEST(Keys, of_a_worker) {
  EXPECT_EQ(codes_of(with_activity("type: worker", "")), Codes{"G102"});
  run({{"topic", {"x.y", "'{t.output.data.topic}'"}, {{"5", "G103"}, {"'{x.output.data.y}'", "G305"}}}},
      on("type: worker"));
  run({{"retry",
        {"{'500': [3]}", "{maximumAttempts: 3}",
         "{maximumAttempts: 3, initialInterval: 1s, maximumInterval: 2m, backoffCoefficient: 1.5}",
         "{'503': {maximumAttempts: 2}, maximumAttempts: 3}"},
        {{"5", "G103"},
         {"{'500': 3}", "G103"},
         {"{'500': [x]}", "G104"},
         {"{'99': [1]}", "G101"},
         {"{maximumAttempts: 0}", "G104"},
         {"{initialInterval: 1s}", "G102"},
         {"{'503': {initialInterval: 1s}, maximumAttempts: 2}", "G102"},
         {"{maximumAttempts: 2, backoffCoefficient: 0}", "G104"},
         {"{maximumAttempts: 2, maximumInterval: long}", "G104"},
         {"{maxAttempts: 2}", "G101"}}},
       {"sleep", {}, {{"5", "G101"}}}},
      on("type: worker\n    topic: x"));
}

TEST(Keys, of_an_await) {
  EXPECT_EQ(codes_of(with_activity("type: await", "")), Codes{"G102"});
  run({{"topic", {"test.start", "'{t.output.data.topic}'"}, {{"5", "G103"}, {"test.strat", "G204"}}}},
      on("type: await"));
  run({{"await", {"true", "false", "'{t.output.data.x}'"}, {{"5", "G103"}}},
       {"retry", {"{'500': [3]}"}, {{"5", "G103"}}}},
      on("type: await\n    topic: test.start"));
}

TEST(Keys, of_a_hook) {
  run({{"sleep",
        {"5", "10s", "1.5", "'{t.output.data.x}'", "{'@pipe': [['{t.output.data.x}', 1], ['{@math.add}']]}"},
        {{"soon", "G103"}, {"true", "G103"}}},
       {"hook", {"{type: object}", "true"}, {{schema_bad, "G401"}}},
       {"cycle", {"true", "false"}, {{"'yes'", "G103"}}},
       {"escalation", {"{role: agent, priority: 1}"}, {{"{rloe: agent}", "G101"}, {"5", "G103"}}},
       {"retry", {}, {{"{}", "G101"}}}},
      on("type: hook"));
  EXPECT_TRUE(with_activity("type: activity", "").app);  // HotMesh's old name
}

TEST(Keys, of_a_signal) {
  EXPECT_EQ(codes_of(with_activity("type: signal", "")), Codes{"G102"});
  run({{"topic", {"known", "'{t.output.data.x}'"}, {{"knwon", "G204"}, {"5", "G103"}}}}, on("type: signal"));
  run({{"subtype", {"one", "all"}, {{"some", "G104"}}},
       {"signal.maps", {"{k: 1}"}, {{"5", "G103"}}},
       {"signal.schema", {"{type: object}"}, {{schema_bad, "G401"}}},
       {"status", {"success", "pending", "error"}, {{"done", "G104"}}},
       {"code", {"202", "'{t.output.data.x}'"}, {{"high", "G103"}}}},
      on("type: signal\n    topic: known"));
  run({{"key_name", {"k"}, {{"5", "G103"}}},
       {"key_value", {"k", "5", "'{t.output.data.x}'"}, {}},
       {"scrub", {"true"}, {{"5", "G103"}}},
       {"resolver.maps", {"{data: 1}"}, {{"5", "G103"}}},
       {"resolver.schema", {"{type: object}"}, {{schema_bad, "G401"}}}},
      on("type: signal\n    topic: known\n    subtype: all"));
}

TEST(Keys, of_a_cycle) {
  EXPECT_EQ(codes_of(with_activity("type: cycle", "")), Codes{"G102"});
  run({{"ancestor", {"p"}, {{"5", "G103"}, {"pp", "G203"}, {"t", "G210"}, {"sink", "G209"}}}},
      [](const std::string& line) {
        Checked checked = with_activity("type: cycle", line);
        // `sink` also waits for a signal; the first mistake is the one under test.
        if (checked.mistakes.size() == 2 && checked.mistakes[0].code == Code::cycle_not_ancestor)
          checked.mistakes.pop_back();
        return checked;
      });
  run({{"input.maps", {"{a: '{t.output.data.x}'}"}, {{"5", "G103"}}}}, on("type: cycle\n    ancestor: p"));
}

TEST(Keys, of_an_interrupt) {
  run({{"target", {"job-1", "'{t.output.data.x}'"}, {{"5", "G103"}}},
       {"topic", {"test.start"}, {{"none", "G204"}, {"5", "G103"}}},
       {"reason", {"because"}, {{"5", "G103"}}},
       {"code", {"410"}, {{"high", "G103"}}},
       {"throw", {"false"}, {{"5", "G103"}}},
       {"descend", {"true"}, {{"5", "G103"}}},
       {"stack", {"text"}, {{"5", "G103"}}},
       {"expire", {"60", "1h"}, {{"late", "G103"}}}},
      on("type: interrupt"));
}

TEST(Keys, of_a_join) {
  const auto place = [](const std::string& line) {
    return check_graph(
        "activities:\n  t: {type: trigger}\n  a: {type: hook}\n  b: {type: hook}\n  j:\n    type: "
        "join\n    " +
        line + "\ntransitions: {t: [{to: a}, {to: b}], a: [{to: j}], b: [{to: j}]}\n");
  };
  run({{"need", {"all", "any", "1", "2"}, {{"3", "G212"}, {"0", "G104"}, {"ayn", "G104"}, {"true", "G104"}}},
       {"timeout", {"5m"}, {{"x", "G103"}}},
       {"output.maps", {"{a: '{a.output.data.x}'}"}, {}},
       {"items", {}, {{"5", "G101"}}}},
      place);
}

TEST(Keys, of_a_map) {
  EXPECT_EQ(codes_of(with_activity("type: map", "")), (Codes{"G102", "G102"}));
  run({{"items", {"'{t.output.data.list}'", "[1, 2]", "{a: 1}"}, {{"5", "G103"}, {"text", "G103"}}}},
      on("type: map\n    join: mj"));
  run({{"join", {"mj"}, {{"mk", "G203"}, {"m1", "G213"}, {"5", "G103"}}}}, on("type: map\n    items: [1]"));
  run({{"parallel", {"1", "1000", "'{t.output.data.n}'"}, {{"0", "G104"}, {"1001", "G104"}, {"many", "G103"}}},
       {"collect",
        {"'{m1.output.data.x}'", "{a: '{m1.output.data.x}', b: '{t.output.data.y}'}"},
        {{"'{sink.output.data.x}'", "G303"}, {"'{mj.output.data.x}'", "G303"}}}},
      on("type: map\n    items: [1]\n    join: mj"));
}

TEST(Keys, of_a_transition) {
  const auto place = [](const std::string& line) {
    return check_graph(
        "activities: {t: {type: trigger}, w: {type: worker, topic: w}, x: {type: "
        "hook}}\ntransitions:\n  t: [{to: w}]\n  w:\n    - to: x\n      conditions:\n        " +
        line + "\n");
  };
  run({{"code",
        {"200", "'404'", "[404, '500']", "error", "[402, error]"},
        {{"99", "G104"}, {"1000", "G104"}, {"ok", "G104"}, {"[5]", "G104"}}},
       {"gate", {"and", "or"}, {{"xor", "G104"}}},
       {"match",
        {"[]", "[{expected: 1, actual: '{w.output.data.x}'}]",
         "[{expected: '{t.output.data.y}', actual: '{$self.output.data.x}'}]"},
        {{"{}", "G103"},
         {"[{expected: 1}]", "G102"},
         {"[{actual: 1}]", "G102"},
         {"[{expected: 1, actual: 1, x: 1}]", "G101"},
         {"[{expected: 1, actual: '{x.output.data.y}'}]", "G303"}}},
       {"codes", {}, {{"200", "G101"}}}},
      place);
}

TEST(Keys, an_unknown_type_is_one_mistake) {
  const Checked checked = with_activity("{type: wroker, topic: x, sleep: 5, retry: {}, items: 3}", "");
  EXPECT_EQ(codes_of(checked), Codes{"G106"});
  EXPECT_EQ(checked.mistakes[0].suggestion, "worker");
  EXPECT_EQ(codes_of(with_activity("title: x", "")), Codes{"G102"});
  EXPECT_EQ(codes_of(with_activity("type: 5", "")), Codes{"G106"});
}

}  // namespace
}  // namespace pawl::graph
