// Every app of the tree that is meant to run can be assembled: the examples, and the cases of tests/graphs.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "execute/test_support.h"
#include "graph/node.h"
#include "graph/yaml.h"

namespace pawl::execute {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> yaml_files(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(PAWL_SOURCE_DIR) / folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  EXPECT_FALSE(files.empty()) << folder;
  return files;
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void expect_runs(const graph::Checked& checked, const std::string& name) {
  ASSERT_TRUE(checked.app) << name << "\n" << graph::report_of(checked);
  const auto made = assemble(checked.app, "");
  EXPECT_TRUE(made) << name << ": " << made.error().detail;
}

TEST(Apps, of_the_examples_can_be_assembled) {
  for (const fs::path& path : yaml_files("examples/graphs"))
    expect_runs(graph::check_file(path.string()), path.filename().string());
}

TEST(Apps, of_the_graph_cases_can_be_assembled_and_have_what_they_speak_of) {
  std::set<std::string> names;
  for (const fs::path& path : yaml_files("tests/graphs")) {
    graph::Sources sources;
    graph::Mistakes mistakes;
    const auto file = sources.add(path.filename().string(), read_text(path));
    const auto root = graph::parse_yaml(sources, file, mistakes);
    ASSERT_TRUE(root && root->find("cases")) << path;
    for (const graph::Node& one : root->find("cases")->items) {
      ASSERT_TRUE(one.find("name") && one.find("app") && one.find("expect")) << path;
      const std::string name = path.stem().string() + ": " + one.find("name")->text;
      EXPECT_TRUE(names.insert(name).second) << name;
      const std::string& app = one.find("app")->text;
      expect_runs(graph::check_text(app), name);
      const graph::Node* activities = one.find("expect")->find("activities");
      if (activities == nullptr) continue;
      for (const graph::Entry& entry : activities->entries)
        EXPECT_NE(app.find(entry.key + ":"), std::string::npos) << name << ": " << entry.key;
    }
  }
  EXPECT_GE(names.size(), 60u);
}

}  // namespace
}  // namespace pawl::execute
