// The pages and the examples match the program.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/format.h"
#include "graph/limits.h"
#include "graph/test_support.h"

namespace pawl::graph {
namespace {

std::string read_source(const std::string& name) {
  std::ifstream stream(std::string(PAWL_SOURCE_DIR) + "/" + name);
  EXPECT_TRUE(stream) << name;
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

struct Block {
  std::string kind;
  std::string text;
  std::size_t line;
};

std::vector<Block> blocks_of(const std::string& page) {
  std::vector<Block> out;
  std::istringstream lines(page);
  std::size_t number = 0;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with("```")) {
      if (!inside) out.push_back({line.substr(3), "", number});
      inside = !inside;
    } else if (inside) {
      out.back().text += line + "\n";
    }
  }
  return out;
}

TEST(Docs, every_example_of_the_graph_page_checks) {
  std::size_t count = 0;
  for (const Block& block : blocks_of(read_source("docs/GRAPHS.md"))) {
    if (block.kind == "cpp") continue;  // tested in execute/builder_words_test.cc
    const Checked checked = block.kind == "yaml graph" ? check_graph(block.text) : check_text(block.text);
    EXPECT_TRUE(checked.app) << "docs/GRAPHS.md:" << block.line << "\n" << report_of(checked);
    EXPECT_TRUE(checked.mistakes.empty()) << report_of(checked);
    ++count;
  }
  EXPECT_GE(count, 12U);
}

TEST(Docs, every_example_app_checks) {
  std::size_t count = 0;
  const std::filesystem::path folder = std::string(PAWL_SOURCE_DIR) + "/examples/graphs";
  std::vector<std::filesystem::path> files{folder / "many_files" / "app.yaml"};
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  for (const auto& file : files) {
    const Checked checked = check_file(file.string());
    EXPECT_TRUE(checked.app && checked.mistakes.empty()) << file << "\n" << report_of(checked);
    ++count;
  }
  EXPECT_EQ(count, 13U);
}

TEST(Docs, every_mistake_has_a_row) {
  const std::string page = read_source("docs/MISTAKES.md");
  for (const CodeInfo& info : all_codes())
    EXPECT_NE(page.find(format("| {} | {}", id_of(info.code), info.title)), std::string::npos) << id_of(info.code);
  EXPECT_EQ(static_cast<std::size_t>(std::count(page.begin(), page.end(), '\n')), all_codes().size() + 8);
}

TEST(Docs, every_difference_of_the_compat_page_is_a_test) {
  const std::string tests = read_source("src/graph/compat_test.cc");
  std::istringstream lines(read_source("docs/COMPAT.md"));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ") || line.starts_with("| default")) continue;
    const auto bar = line.rfind(" | ");
    const std::string name = line.substr(bar + 3, line.size() - bar - 5);
    EXPECT_NE(tests.find("TEST(Compat, " + name + ")"), std::string::npos) << name;
    ++count;
  }
  EXPECT_EQ(count, 20U);
}

TEST(Docs, every_limit_is_told) {
  const std::string page = read_source("docs/GRAPHS.md");
  const std::pair<const char*, std::size_t> limits[] = {
      {"file_bytes_max", file_bytes_max},
      {"files_max", files_max},
      {"document_depth_max", document_depth_max},
      {"document_nodes_max", document_nodes_max},
      {"ref_nodes_max", ref_nodes_max},
      {"key_bytes_max", key_bytes_max},
      {"flow_depth_max", flow_depth_max},
      {"mistakes_max", mistakes_max},
      {"graphs_max", graphs_max},
      {"activities_max", activities_max},
      {"plain_activities_max", plain_activities_max},
      {"transitions_max", transitions_max},
      {"id_bytes_max", id_bytes_max},
      {"parallel_max", parallel_max},
      {"schema_nodes_max", schema_nodes_max},
      {"schema_pattern_bytes_max", schema_pattern_bytes_max},
      {"schema_steps_max", schema_steps_max},
      {"schema_depth_max", schema_depth_max},
      {"schema_faults_max", schema_faults_max},
  };
  for (const auto& [name, value] : limits)
    EXPECT_NE(page.find(format("| {} | {} |", name, value)), std::string::npos) << name;
}

}  // namespace
}  // namespace pawl::graph
