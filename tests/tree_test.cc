// The rules of the tree: which folder may include which, what a public header may use, what no file may contain. A rule
// without a test does not last.
#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "testing.h"

namespace pawl {
namespace {

using namespace testing;
namespace fs = std::filesystem;

struct File {
  std::string path;  // from the root of the tree
  std::string text;
};

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_source(const std::string& path) { return ends_with(path, ".cc") || ends_with(path, ".h"); }

std::vector<File> files_below(const std::string& folder) {
  const fs::path root = PAWL_SOURCE_DIR;
  std::vector<File> files;
  if (!fs::exists(root / folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder))
    if (entry.is_regular_file())
      files.push_back({fs::relative(entry.path(), root).string(), read_file(entry.path().string())});
  return files;
}

struct Include {
  std::string what;
  bool quoted;
};

std::vector<Include> includes_of(const std::string& text) {
  static const std::regex pattern(R"re((?:^|\n)[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"])re");
  std::vector<Include> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    found.push_back({(*at)[2], (*at)[1] == "\""});
  return found;
}

std::string first_part(const std::string& path) { return path.substr(0, path.find('/')); }

// Folders of one rank do not include each other.
const std::map<std::string, int> ranks = {{"base", 0},  {"ledger", 1},  {"mapping", 2}, {"graph", 3},  {"flow", 3},
                                          {"core", 3},  {"execute", 4}, {"store", 4},   {"duplex", 5}, {"runtime", 6},
                                          {"serve", 7}, {"testing", 7}, {"cli", 8}};

TEST(Tree, a_folder_includes_only_what_is_to_its_left) {
  int seen = 0;
  for (const File& file : files_below("src")) {
    if (!is_source(file.path)) continue;
    const std::string folder = first_part(file.path.substr(4));
    ASSERT_TRUE(ranks.count(folder)) << file.path << ": give the folder a rank";
    for (const Include& include : includes_of(file.text)) {
      const std::string from = first_part(include.what);
      if (!include.quoted || from == "pawl" || from == "pawl_boost") continue;  // public headers
      ASSERT_TRUE(ranks.count(from)) << file.path << " includes " << include.what;
      EXPECT_TRUE(from == folder || ranks.at(from) < ranks.at(folder)) << file.path << " includes " << include.what;
      ++seen;
    }
  }
  EXPECT_GT(seen, 100) << "the pattern finds nothing";
}

// Tests may compare stores; a store may not include another one.
TEST(Tree, a_store_includes_no_other_store) {
  for (const File& file : files_below("src/store")) {
    const std::string within = file.path.substr(std::string("src/store/").size());
    const bool test = ends_with(file.path, "_test.cc") || ends_with(file.path, "_test.h");
    if (test || !is_source(file.path)) continue;
    const std::string folder = within.find('/') == std::string::npos ? "" : first_part(within);
    for (const Include& include : includes_of(file.text)) {
      if (include.what.rfind("store/", 0) != 0) continue;
      const std::string rest = include.what.substr(6);
      if (rest.find('/') == std::string::npos) continue;
      if (first_part(rest) == "transfer") continue;  // not a store: the neutral form for moves
      EXPECT_EQ(first_part(rest), folder) << file.path << " includes " << include.what;
    }
  }
}

TEST(Tree, public_headers_use_only_themselves_and_the_standard_library) {
  const std::regex standard("[a-z_0-9]+");
  int seen = 0;
  for (const File& file : files_below("include/pawl")) {
    for (const Include& include : includes_of(file.text)) {
      ++seen;
      const bool own = include.quoted && include.what.rfind("pawl/", 0) == 0;
      const bool of_the_language = !include.quoted && std::regex_match(include.what, standard);
      EXPECT_TRUE(own || of_the_language) << file.path << " includes " << include.what;
    }
  }
  EXPECT_GT(seen, 20);
}

TEST(Tree, the_storm_checker_and_supervisor_know_no_engine_code) {
  for (const File& file : files_below("tests/storm")) {
    const bool node =
        file.path.find("/storm_") != std::string::npos || file.path.find("synced_log") != std::string::npos;
    if (node || !is_source(file.path)) continue;
    for (const Include& include : includes_of(file.text)) {
      const bool server = include.what == "store/postgres/server_test.h";  // starts PostgreSQL, and uses no engine code
      EXPECT_TRUE(!include.quoted || server || include.what.find('/') == std::string::npos)
          << file.path << " includes " << include.what;
    }
  }
}

TEST(Tree, every_header_is_included_once) {
  for (const char* folder : {"include", "src", "tests", "sim", "bench"})
    for (const File& file : files_below(folder))
      EXPECT_TRUE(!ends_with(file.path, ".h") || file.text.find("#pragma once") != std::string::npos) << file.path;
}

// A route of the HTTP API is no path of a machine.
bool has_outside_of_routes(const std::string& text, const std::string& word) {
  constexpr std::string_view api = "/v1";
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (at < api.size() || text.compare(at - api.size(), api.size(), api) != 0) return true;
  return false;
}

// The words are put together here, so that this file does not contain them.
TEST(Tree, no_unfinished_marks_and_no_paths_of_one_machine) {
  const std::set<std::string> words = {std::string("TO") + "DO",   std::string("FIX") + "ME",
                                       std::string("XX") + "X:",   std::string("/ho") + "me/",
                                       std::string("/ro") + "ot/", std::string("/wo") + "rk/"};
  int seen = 0;
  for (const char* folder : {"include", "src", "tests", "sim", "bench", "examples", "fuzz", "docs", "scripts", "cmake"})
    for (const File& file : files_below(folder)) {
      if (fs::path(file.path).string().find("corpus") != std::string::npos) continue;
      ++seen;
      for (const std::string& word : words)
        EXPECT_FALSE(has_outside_of_routes(file.text, word)) << file.path << " has " << word;
    }
  EXPECT_GT(seen, 100);
}

// `make format` keeps to 120 columns. It leaves raw strings alone (YAML and SQL in tests), and so does this.
TEST(Tree, no_line_of_code_is_longer_than_120_columns) {
  const auto columns = [](const std::string& line) {
    return std::count_if(line.begin(), line.end(), [](unsigned char byte) { return (byte & 0xC0) != 0x80; });
  };
  int seen = 0;
  for (const char* folder : {"include", "src", "tests", "sim", "bench", "examples", "fuzz"})
    for (const File& file : files_below(folder)) {
      if (!is_source(file.path)) continue;
      std::istringstream lines(file.text);
      std::string line, closing;  // closing: the end of the raw string that contains the line
      for (int number = 1; std::getline(lines, line); ++number) {
        const bool inside = !closing.empty();
        const std::size_t end = inside ? line.find(closing) : 0;
        if (inside && end != std::string::npos) closing.clear();
        const std::size_t opens = closing.empty() ? line.rfind("R\"") : std::string::npos;
        const std::size_t bracket = opens == std::string::npos ? opens : line.find('(', opens);
        bool touches = inside;
        if (bracket != std::string::npos && bracket - opens <= 18) {
          touches = true;
          const std::string ends = ")" + line.substr(opens + 2, bracket - opens - 2) + "\"";
          if (line.find(ends, bracket) == std::string::npos) closing = ends;
        }
        EXPECT_TRUE(touches || columns(line) <= 120) << file.path << ":" << number << " is too long: run make format";
        ++seen;
      }
    }
  EXPECT_GT(seen, 10000);
}

TEST(Tree, a_folders_readme_is_short) {
  for (const File& file : files_below("src"))
    EXPECT_TRUE(!ends_with(file.path, "/README.md") || std::count(file.text.begin(), file.text.end(), '\n') <= 20)
        << file.path;
}

}  // namespace
}  // namespace pawl
