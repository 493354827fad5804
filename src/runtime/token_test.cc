#include "runtime/token.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace pawl::runtime {
namespace {

constexpr core::Guid here{0x1234567890abcdefULL, 0xfedcba0987654321ULL};
constexpr core::Guid elsewhere{1, 2};

WorkRun some_run(Random& random) {
  return WorkRun{WorkRef{RunId(random.next()), core::ActivitySeq(static_cast<std::uint32_t>(random.next()))},
                 core::WorkToken(random.next() >> 1 | 1)};
}

TEST(Token, reads_back_as_the_run_that_it_names) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const WorkRun run = some_run(random);
    const auto read = parse_token(token_text(run, here), here);
    ASSERT_TRUE(read.ok()) << read.error().detail;
    EXPECT_EQ(*read, run);
  }
}

TEST(Token, of_another_store_names_nothing_here) {
  const WorkRun run{WorkRef{RunId(1), core::ActivitySeq(1)}, core::WorkToken(77)};
  const auto read = parse_token(token_text(run, elsewhere), here);
  ASSERT_TRUE(read.ok());
  EXPECT_NE(read->token, run.token);
}

TEST(Token, that_is_not_whole_or_was_changed_in_form_is_invalid_and_says_what_it_saw) {
  const std::string good = token_text(WorkRun{WorkRef{RunId(31), core::ActivitySeq(2)}, core::WorkToken(77)}, here);
  std::vector<std::string> bad{"",          "w-",       "w-1",       "w-1-2",           "w-1-2-",
                               "x" + good,  good + " ", good + "-1", " " + good,        "w--1-2-3",
                               "w-01-2-3",  "w-+1-2-3", "w-1-2-3z",  "w-1-100000000-3", "w-10000000000000000-2-3",
                               "w-1-2-0x3", "w-1-2-3A"};
  for (std::size_t length = 0; length < 6; ++length) bad.push_back(good.substr(0, length));
  for (const std::string& text : bad) {
    const auto read = parse_token(text, here);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid);
    EXPECT_NE(read.error().detail.find("\"" + text.substr(0, 40) + "\" is no work token"), std::string::npos);
  }
}

TEST(Token, of_any_bytes_is_read_without_harm) {
  Random random(2);
  const std::string alphabet = "w-0123456789abcdefx\xff";
  for (int i = 0; i < 20'000; ++i) {
    std::string text = "w-";
    for (std::uint64_t left = random.below(40); left > 0; --left) text += alphabet[random.below(alphabet.size())];
    if (const auto read = parse_token(text, here)) {
      EXPECT_EQ(token_text(*read, here), text);
    }
  }
}

}  // namespace
}  // namespace pawl::runtime
