// Every key of the graph language has a call of the builder, and every call has a key.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "execute/builder_calls_test.h"
#include "graph/check.h"

namespace pawl::execute {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using graph::Level;

// Where the key must be in the document of `sample_of`.
std::string pointer_of(Level level, const std::string& key) {
  const std::string graph = "/app/graphs/0";
  switch (level) {
    case Level::app:
      return "/app/" + key;
    case Level::graph:
      return graph + "/" + key;
    case Level::stats:
      return graph + "/activities/x/stats/" + key;
    case Level::measure:
      return graph + "/activities/x/stats/measures/0/" + key;
    case Level::schemas:
      return graph + "/input/" + key;
    case Level::channel:
      return graph + "/activities/x/input/" + key;
    case Level::retry:
      return graph + "/activities/x/retry/" + key;
    case Level::timeouts:
      return graph + "/activities/x/timeouts/" + key;
    case Level::transition:
      return graph + "/transitions/t/0/" + key;
    case Level::conditions:
      return graph + "/transitions/t/0/conditions/" + key;
    case Level::match:
      return graph + "/transitions/t/0/conditions/match/0/" + key;
    case Level::hook_rule:
      return graph + "/hooks/told/0/" + key;
    case Level::hook_conditions:
      return graph + "/hooks/told/0/conditions/" + key;
    default:
      return graph + "/activities/x/" + key;
  }
}

// A builder that sets all keys of the levels below an activity.
GraphBuilder full() {
  return GraphBuilder("g")
      .input_schema(Fields{})
      .trigger("t")
      .worker("x", "topic")
      .after("t", Condition::match("{t.output.data.a}", 1).or_match("{t.output.data.b}", 2).with_code(200))
      .input(Fields{{"a", 1}})
      .input_schema(Fields{})
      .retry(Retry()
                 .attempts(5)
                 .first_delay(std::chrono::milliseconds(250))
                 .growth(3)
                 .longest_delay(std::chrono::seconds(9))
                 .jitter(0.5)
                 .within(std::chrono::minutes(1))
                 .never_on({402})
                 .when_exhausted(WhenExhausted::park))
      .timeouts(Timeouts()
                    .attempt(std::chrono::seconds(1))
                    .heartbeat(std::chrono::seconds(2))
                    .queue(std::chrono::seconds(3))
                    .total(std::chrono::seconds(4)))
      .hook("h")
      .after("x")
      .waits_for("told", 1, "{$hook.data.id}");
}

AppBuilder sample_of(Level level, const std::string& key) {
  AppBuilder app("g", "1");
  app.title("A title").settings(Fields{{"a", 1}}).set("compat", "pawl");
  if (level == Level::stats || level == Level::measure) {
    const Stats stats = Stats()
                            .id("{$self.input.data.id}")
                            .key("k")
                            .parent("p")
                            .adjacent("a")
                            .granularity("1h")
                            .measure("sum", "{$self.input.data.n}")
                            .count();
    return app.add(GraphBuilder("g").trigger("x").stats(stats));
  }
  if (level == Level::hook_conditions && key == "gate") return app.add(full());
  if (level > Level::map || level == Level::app) return app.add(full());
  const auto found = sayings().find({level, key});
  if (found == sayings().end() || std::string_view(found->second.sample).empty()) return app.add(full());
  const Saying& saying = found->second;
  GraphBuilder graph("g");
  if (level == Level::graph) saying.call(graph, value_of(json::parse(saying.sample)));
  if (level == Level::trigger) {
    graph.trigger("x");
    saying.call(graph, value_of(json::parse(saying.sample)));
    return app.add(graph);
  }
  graph.trigger("t");
  if (level == Level::worker || level == Level::graph || level == Level::activity)
    graph.worker("x", "topic").after("t");
  if (level == Level::await) graph.await("x", "g").after("t");
  if (level == Level::hook) graph.hook("x").after("t");
  if (level == Level::signal) graph.signal("x", "told").after("t").to_all();
  if (level == Level::interrupt) graph.interrupt("x").after("t");
  if (level == Level::join) graph.hook("a").after("t").hook("b").after("t").join("x").after("a").after("b");
  if (level == Level::map) graph.map("x", Values{1, 2}, "end").after("t");
  if (level != Level::graph) saying.call(graph, value_of(json::parse(saying.sample)));
  if (level == Level::map) graph.hook("body").after("x").join("end").after("body");
  if (level == Level::signal) graph.hook("h").after("x").waits_for("told", 1, "{$hook.data.id}");
  if (key == "compensate") graph.worker("undo", "undo.it");
  return app.add(graph);
}

TEST(BuilderWords, every_word_of_the_language_has_a_call) {
  // Keys that only files have: the builder has the one form that means the same.
  const std::set<std::pair<Level, std::string>> not_said{{Level::hook_conditions, "gate"}};
  for (const graph::Word& word : graph::words()) {
    const std::string key(word.key);
    const bool of_kind = word.level == Level::graph || (word.level >= Level::activity && word.level <= Level::map);
    if (of_kind) {
      EXPECT_TRUE(sayings().contains({word.level, key}))
          << "no call of the builder is known for the key '" << key << "'";
    }
    if (not_said.contains({word.level, key})) continue;
    if (word.level == Level::cycle || (word.level == Level::map && (key == "items" || key == "join"))) continue;
    const bool with_its_name = of_kind && sayings().contains({word.level, key}) &&
                               std::string_view(sayings().at({word.level, key}).sample).empty();
    if (with_its_name && word.level != Level::graph) continue;  // set by worker("x", "topic") and similar calls
    const std::string yaml = sample_of(word.level, key).yaml();
    const json::value document = document_of_app(graph::MemoryLoader({{"app.yaml", yaml}}), "app.yaml");
    boost::system::error_code missing;
    (void)document.find_pointer(pointer_of(word.level, key), missing);
    EXPECT_FALSE(missing) << pointer_of(word.level, key) << " is not there:\n" << yaml;
    const graph::Checked checked = graph::check_text(yaml);
    for (const graph::Mistake& mistake : checked.mistakes)
      EXPECT_NE(mistake.code, graph::Code::unknown_key) << mistake.path << ": " << mistake.message << "\n" << yaml;
  }
  for (const auto& [word, saying] : sayings())
    EXPECT_TRUE(graph::is_word(word.first, word.second)) << word.second << " is no word of the language";
}

// Same as the example in docs/GRAPHS.md.
TEST(BuilderWords, the_example_of_the_page_is_right) {
  const auto trip = GraphBuilder("trip")
                        .input_from(InputFrom::maps)
                        .trigger("booked")
                        .worker("flight", "flight.book")
                        .after("booked")
                        .compensate("no_flight")
                        .worker("no_flight", "flight.cancel")
                        .input(Fields{{"ticket", "{flight.output.data.ticket}"}})
                        .retry(Retry().attempts(10))
                        .hook("sure")
                        .after("flight")
                        .sleep(std::chrono::hours(1))
                        .waits_for("trip.sure", "{$job.metadata.jid}", "{$self.hook.data.trip}")
                        .worker("car", "car.book")
                        .after("sure", Condition::match("{sure.hook.data.yes}", true));
  const auto app = trip.build();
  ASSERT_TRUE(app) << app.error().detail;
}

TEST(BuilderWords, every_call_of_the_builder_is_a_word) {
  std::ifstream stream(fs::path(PAWL_SOURCE_DIR) / "include/pawl/graph.h");
  std::stringstream all;
  all << stream.rdbuf();
  const std::string header = all.str();
  const std::string body = header.substr(header.find("class GraphBuilder {"),
                                         header.find("class AppBuilder {") - header.find("class GraphBuilder {"));
  const std::string shown = body.substr(0, body.find(" private:"));
  std::set<std::string> known;
  for (const auto& [word, saying] : sayings()) {
    std::istringstream methods(saying.methods);
    for (std::string method; methods >> method;) known.insert(method);
  }
  const std::regex call(R"(GraphBuilder& (\w+)\()");
  std::size_t count = 0;
  for (std::sregex_iterator at(shown.begin(), shown.end(), call), end; at != end; ++at, ++count)
    EXPECT_TRUE(known.contains((*at)[1])) << "no key of the language is known for " << (*at)[1] << "()";
  EXPECT_GE(count, 60U);
}

}  // namespace
}  // namespace pawl::execute
