#include "base/failure_words.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(FailureWords, are_the_message_of_a_failure) {
  EXPECT_EQ(failure_words(R"({"code":402,"message":"declined"})"), R"("declined")");
  EXPECT_EQ(failure_words(R"({"code":-1,"message":"no \"luck\\","data":{"message":"x"}})"), R"("no \"luck\\")");
  EXPECT_EQ(failure_words(R"({"code":500,"message":""})"), R"("")");
}

TEST(FailureWords, are_the_whole_output_if_it_is_something_else) {
  for (const std::string_view other :
       {"", "output", R"("declined")", R"({"message":"x"})", R"({"code":402})", R"({"code":"402","message":"x"})",
        R"({"code":402,"message":7})", R"({"code":402,"message":"cut)", R"({"code":402,"message":"cut\)", R"({"code":)",
        R"({"code":402,"message":)"})
    EXPECT_EQ(failure_words(other), other);
}

}  // namespace
}  // namespace pawl
