// One language in two forms: the examples and the test cases in YAML are built again in C++ and must give the same app.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/format.h"
#include "execute/assemble.h"
#include "execute/builder_calls_test.h"
#include "graph/check.h"
#include "graph/report.h"
#include "graph/yaml.h"

namespace pawl::execute {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

std::string show(const Retry& retry) {
  std::string out = format("{} {} {} {} {} {} {}", retry.attempts(), retry.first_delay().count(), retry.growth(),
                           retry.longest_delay().count(), retry.jitter(), retry.within().count(),
                           static_cast<int>(retry.when_exhausted()));
  for (const std::int32_t code : retry.never_on()) out += format(" never {}", code);
  std::map<std::int32_t, std::string> rules;
  for (const Retry::ForCode& one : retry.for_codes()) rules[one.code] = show(one.rule);
  for (const auto& [code, rule] : rules) out += format(" [{}: {}]", code, rule);
  return out;
}

// Everything in a compiled graph except its expressions.
std::string show(const Graph& graph) {
  std::string out = format("{} {} {} {} {}\n", graph.name().raw(), graph.version(), graph.drains(), graph.hands_on(),
                           name_of(graph.collation()));
  for (const Graph::Node& node : graph.nodes()) {
    const Policy& policy = node.policy;
    out += format("{} {} '{}' {} {} {} {}/{} pivot {} {} undo {} {}", node.name.raw(), name_of(node.kind),
                  node.topic.raw(), node.depth, node.aim.value_or(9999), node.need, node.edges_in, node.edges.size(),
                  node.is_pivot, node.before_join, node.undo.value_or(9999), node.calls_off.size());
    out += format(" {} {} {} {} {} {} {} {} '{}'", policy.retries, policy.timeouts.attempt().count(),
                  policy.timeouts.heartbeat().count(), policy.timeouts.queue().count(), policy.timeouts.total().count(),
                  static_cast<int>(policy.guarantee), static_cast<int>(policy.when_unknown), policy.priority,
                  policy.retries ? show(policy.retry) : "");
    for (const Graph::Edge& edge : node.edges)
      out += format(" {}:{}:{}", edge.to, edge.number, static_cast<int>(edge.when.kind()));
    out += "\n";
  }
  return out;
}

// One form of a value: keys in ascending order, whole numbers as integers.
json::value canonical(const json::value& value) {
  if (const auto* list = value.if_array()) {
    json::array made;
    for (const json::value& item : *list) made.push_back(canonical(item));
    return made;
  }
  if (const auto* object = value.if_object()) {
    std::map<std::string, const json::value*> sorted;
    for (const auto& [key, item] : *object) sorted.emplace(key, &item);
    json::object made;
    for (const auto& [key, item] : sorted) made.emplace(key, canonical(*item));
    return made;
  }
  const double* number = value.if_double();
  const bool whole = number != nullptr && std::abs(*number) < 1e15 && std::trunc(*number) == *number;
  return whole ? json::value(static_cast<std::int64_t>(*number)) : value;
}

// The document without what the two forms may write differently: times and attempts are compared in compiled form.
json::value normal(json::value document) {
  for (json::value& one : document.at("app").at("graphs").as_array()) {
    json::object& graph = one.as_object();
    if (graph.contains("collation") && graph.at("collation") == "ledger") graph.erase("collation");
    if (graph.contains("input_from") && graph.at("input_from") == "maps") graph.erase("input_from");
    for (const char* empty : {"transitions", "hooks"})
      if (graph.contains(empty) && graph.at(empty).is_object() && graph.at(empty).as_object().empty())
        graph.erase(empty);
    for (auto& activity : graph.at("activities").as_object()) {
      json::object& keys = activity.value().as_object();
      for (const char* key : {"retry", "timeouts", "guarantee", "when_unknown"}) keys.erase(key);
      if (keys.contains("type") && keys.at("type") == "activity") keys.at("type") = "hook";
      if (keys.contains("type") && keys.at("type") == "hook" && keys.contains("cycle") && keys.at("cycle") == false)
        keys.erase("cycle");
    }
    if (graph.contains("transitions"))
      for (auto& list : graph.at("transitions").as_object())
        for (json::value& transition : list.value().as_array()) {
          json::object& keys = transition.as_object();
          if (!keys.contains("conditions")) continue;
          json::object& conditions = keys.at("conditions").as_object();
          if (conditions.empty())
            keys.erase("conditions");
          else if (conditions.contains("code") && !conditions.at("code").is_array())
            conditions.at("code") = json::array{conditions.at("code")};
        }
    if (graph.contains("hooks"))
      for (auto& list : graph.at("hooks").as_object()) {
        std::set<std::string> sorted;
        for (json::value& rule : list.value().as_array()) {
          rule.at("conditions").as_object().erase("gate");
          sorted.insert(json::serialize(canonical({rule.at("to"), rule.at("conditions").at("match")})));
        }
        list.value() = json::value_from(sorted);
      }
  }
  json::value& version = document.at("app").at("version");
  if (!version.is_string()) version = json::string(json::serialize(version));
  return canonical(document);
}

void expect_the_same(const graph::Loader& loader, const std::string& file, const std::string& what) {
  const graph::Checked original = graph::check(loader, file);
  ASSERT_NE(original.app, nullptr) << what << graph::report_text(original, graph::Colours::off);
  const json::value document = document_of_app(loader, file);
  const AppBuilder builder = said_app(document.at("app").as_object());
  const graph::Checked again = graph::check_text(builder.yaml());
  ASSERT_NE(again.app, nullptr) << what << graph::report_text(again, graph::Colours::off) << builder.yaml();
  const json::value said_again = document_of_app(graph::MemoryLoader({{"app.yaml", builder.yaml()}}), "app.yaml");
  EXPECT_EQ(json::serialize(normal(said_again)), json::serialize(normal(document))) << what << "\n" << builder.yaml();
  const auto first = assemble(original.app, "same"), second = assemble(again.app, "same");
  ASSERT_TRUE(first.ok() && second.ok()) << what;
  ASSERT_EQ(first->size(), second->size());
  for (std::size_t i = 0; i < first->size(); ++i) EXPECT_EQ(show((*first)[i]), show((*second)[i])) << what;
  // The text is stable: building it once more changes nothing.
  EXPECT_EQ(said_app(said_again.at("app").as_object()).yaml(), builder.yaml()) << what;
}

std::vector<fs::path> files_of(const char* folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(PAWL_SOURCE_DIR) / folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  return files;
}

TEST(TwoForms, say_the_same_in_every_example) {
  const auto files = files_of("examples/graphs");
  ASSERT_GE(files.size(), 10U);
  for (const fs::path& path : files)
    expect_the_same(graph::FolderLoader(path.parent_path().string()), path.filename().string(), path.string());
}

TEST(TwoForms, say_the_same_in_every_case) {
  std::size_t count = 0;
  for (const fs::path& path : files_of("tests/graphs")) {
    graph::Sources sources;
    graph::Mistakes mistakes;
    std::ifstream stream(path);
    std::stringstream all;
    all << stream.rdbuf();
    const auto file = sources.add(path.filename().string(), all.str());
    const auto root = graph::parse_yaml(sources, file, mistakes);
    ASSERT_TRUE(root) << path;
    for (const graph::Node& one : root->find("cases")->items) {
      const graph::Node* app = one.find("app");
      if (app == nullptr || app->text.empty()) continue;
      const graph::MemoryLoader loader({{"app.yaml", app->text}});
      if (graph::check(loader, "app.yaml").app == nullptr) continue;  // a case that must be refused
      expect_the_same(loader, "app.yaml", path.string() + ": " + one.find("name")->text);
      ++count;
    }
  }
  EXPECT_GE(count, 150U);
}

}  // namespace
}  // namespace pawl::execute
