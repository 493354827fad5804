#include "cli/token.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace pawl::cli {
namespace {

class TokenTest : public ::testing::Test {
 protected:
  TokenTest() { unsetenv("PAWL_TOKEN"); }
  ~TokenTest() override {
    unsetenv("PAWL_TOKEN");
    std::filesystem::remove(file_);
  }
  std::string file_with(const std::string& text) {
    std::ofstream(file_, std::ios::binary) << text;
    return file_;
  }
  const std::string file_ = ::testing::TempDir() + "token-" + std::to_string(getpid());
};

TEST_F(TokenTest, without_a_file_and_a_variable_there_is_none) { EXPECT_EQ(*read_token(""), ""); }

TEST_F(TokenTest, the_first_line_counts_whatever_ends_it) {
  for (const char* text : {"secret", "secret\n", "secret\r\nmore\r\n", "secret  \n"})
    EXPECT_EQ(*read_token(file_with(text)), "secret") << text;
  setenv("PAWL_TOKEN", "of the environment", 1);
  EXPECT_EQ(*read_token(file_with("secret\n")), "secret");
}

TEST_F(TokenTest, one_that_is_named_and_empty_is_a_mistake) {
  for (const char* text : {"", "\n", "\nsecret\n", "\r\n", "  \n"}) EXPECT_FALSE(read_token(file_with(text))) << text;
  EXPECT_FALSE(read_token("/nonexistent/token"));
  setenv("PAWL_TOKEN", "", 1);
  EXPECT_FALSE(read_token(""));
  setenv("PAWL_TOKEN", "two words", 1);
  EXPECT_FALSE(read_token(""));
  setenv("PAWL_TOKEN", "secret", 1);
  EXPECT_EQ(*read_token(""), "secret");
}

}  // namespace
}  // namespace pawl::cli
