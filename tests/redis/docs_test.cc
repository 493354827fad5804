// docs/REDIS.md is true: the rights it lists are those that are needed, and the tests it names exist.
#include <filesystem>
#include <regex>
#include <set>

#include "redis/runtimes.h"
#include "store/redis/rights.h"

namespace pawl::testing {
namespace {

const std::string root = PAWL_SOURCE_DIR;

TEST(RedisDocs, the_rights_are_those_that_are_needed_and_no_more) {
  const std::string page = read_file(root + "/docs/REDIS.md");
  const std::size_t from = page.find("ACL SETUSER pawl");
  ASSERT_NE(from, std::string::npos);
  const std::string listed = page.substr(from, page.find("```", from) - from);
  std::set<std::string> said, needed;
  const std::regex right(R"(\+[a-z_|]+)");
  for (auto one = std::sregex_iterator(listed.begin(), listed.end(), right); one != std::sregex_iterator(); ++one)
    said.insert(one->str());
  for (const std::string& rule : store::redis::least_rights("pawl")) {
    if (rule.front() == '+')
      needed.insert(rule);
    else
      EXPECT_NE(listed.find(rule), std::string::npos) << rule;
  }
  EXPECT_EQ(said, needed);
}

TEST(RedisDocs, the_tests_that_are_named_are_there) {
  std::string tests;
  for (const char* folder : {"/src", "/tests"})
    for (const auto& file : std::filesystem::recursive_directory_iterator(root + folder))
      if (file.path().string().ends_with("_test.cc")) tests += read_file(file.path().string());
  const std::string page = read_file(root + "/docs/REDIS.md");
  const std::regex name(R"(`([a-z]+(_[a-z0-9]+){4,})`)");
  std::size_t found = 0;
  for (auto one = std::sregex_iterator(page.begin(), page.end(), name); one != std::sregex_iterator(); ++one, ++found)
    EXPECT_NE(tests.find(", " + (*one)[1].str() + ")"), std::string::npos) << (*one)[1].str();
  EXPECT_GT(found, 30u);
}

}  // namespace
}  // namespace pawl::testing
