// docs/MAPPING.md is correct: every example on it is run, and it lists exactly the functions that exist.
#include "mapping/functions/functions.h"
#include "mapping/test_support.h"

#include <set>
#include <sstream>

namespace pawl::mapping {
namespace {

struct Example {
  std::string source;
  std::string result;
};

struct Page {
  std::string data;  // the scopes that the examples read
  std::vector<Example> examples;
  std::set<std::string> functions;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The text between the first and the last backtick of a table's cell.
std::string code_in(const std::string& cell) {
  const std::size_t begin = cell.find('`');
  const std::size_t end = cell.rfind('`');
  return begin == std::string::npos || begin == end ? "" : cell.substr(begin + 1, end - begin - 1);
}

// "| `family.name(...)` | operands | result |"
void read_function_row(const std::string& line, Page& page) {
  const std::size_t first = line.find(" | ");
  const std::size_t last = line.rfind(" | ");
  const std::string signature = code_in(line.substr(0, first));
  const std::string name = signature.substr(0, signature.find('('));
  page.functions.insert(name);
  const std::string operands = first == last ? "" : code_in(line.substr(first, last - first));
  const std::string result = code_in(line.substr(last));
  if (result.empty()) return;  // math.random: its result is described, not shown
  const std::string rows = operands.empty() ? "" : "[" + operands + "], ";
  page.examples.push_back({"{\"@pipe\": [" + rows + "[\"{@" + name + "}\"]]}", result});
}

bool is_function_row(const std::string& line) {
  if (!line.starts_with("| `")) return false;
  const std::string code = code_in(line.substr(0, line.find(" | ")));
  const std::string name = code.substr(0, code.find('('));
  return code.find('(') != std::string::npos && name.find('.') != std::string::npos && name[0] != '{';
}

Page read_page() {
  Page page;
  std::string fence;
  std::string source;
  for (const std::string& line : lines_of(read_tree_file("docs/MAPPING.md"))) {
    if (line.starts_with("```")) {
      fence = fence.empty() ? line.substr(3) : "";
    } else if (fence == "json") {
      page.data += line + "\n";
    } else if (fence == "eval" && line.starts_with("=> ")) {
      page.examples.push_back({std::exchange(source, ""), line.substr(3)});
    } else if (fence == "eval") {
      source += line + "\n";
    } else if (is_function_row(line)) {
      read_function_row(line, page);
    }
  }
  return page;
}

TEST(Docs, every_example_gives_what_the_page_says) {
  const Page page = read_page();
  EXPECT_GT(page.examples.size(), 200U);
  for (const Example& example : page.examples)
    EXPECT_EQ(evaluate_text(example.source, page.data), example.result) << example.source;
}

TEST(Docs, every_function_has_a_row_and_every_row_a_function) {
  std::set<std::string> known;
  for (const Function& function : all_functions()) known.emplace(function.name);
  EXPECT_EQ(read_page().functions, known);
}

}  // namespace
}  // namespace pawl::mapping
