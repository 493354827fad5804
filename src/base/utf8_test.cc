#include "base/utf8.h"

#include <gtest/gtest.h>

#include "base/quote.h"

namespace pawl {
namespace {

TEST(Utf8, valid_text_stays_as_it_is) {
  for (const char* text : {"", "plain", "é", "日本", "a😀b", "\x7f", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(valid_utf8(text), text);
}

TEST(Utf8, bytes_that_are_no_character_are_replaced_one_by_one) {
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a\uFFFDb");
  EXPECT_EQ(valid_utf8("\xff\xff"), "\uFFFD\uFFFD");
  EXPECT_EQ(valid_utf8("\xc3"), "\uFFFD");  // cut short
  EXPECT_EQ(valid_utf8("\xe6\x97"), "\uFFFD\uFFFD");
  EXPECT_EQ(valid_utf8("\xc0\xaf"), "\uFFFD\uFFFD");                      // longer than needed
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");            // half of a pair
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond the last character
  EXPECT_EQ(valid_utf8("é\x80日"), "é\uFFFD日");
}

TEST(Utf8, no_cut_goes_through_a_character) {
  const std::string text = "aé日😀z";
  for (std::size_t bytes = 0; bytes <= text.size() + 1; ++bytes) {
    const std::string_view head = cut_utf8(text, bytes);
    const std::string_view tail = tail_utf8(text, bytes);
    EXPECT_LE(head.size(), bytes);
    EXPECT_LE(tail.size(), bytes);
    EXPECT_EQ(valid_utf8(head), head) << bytes;
    EXPECT_EQ(valid_utf8(tail), tail) << bytes;
    EXPECT_TRUE(text.starts_with(head) && text.ends_with(tail));
    EXPECT_GT(head.size() + 4, std::min(bytes, text.size())) << "no more than one character less";
    EXPECT_GT(tail.size() + 4, std::min(bytes, text.size()));
  }
}

TEST(Utf8, what_is_kept_has_a_limit_although_replacements_are_longer) {
  const std::string bad(100, '\xff');
  for (std::size_t bytes = 0; bytes < 20; ++bytes) {
    const std::string kept = kept_text(bad, bytes);
    EXPECT_LE(kept.size(), bytes);
    EXPECT_EQ(valid_utf8(kept), kept);
  }
  EXPECT_EQ(kept_text(bad, 10), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(cut_utf8(bad, 10).size(), 10u) << "bytes without a boundary are cut at the limit";
  EXPECT_EQ(cut_utf8(std::string(100, '\x80'), 10).size(), 10u);
  EXPECT_EQ(tail_utf8(std::string(100, '\x80'), 10).size(), 10u);
}

TEST(Utf8, what_is_printed_tells_a_terminal_nothing) {
  EXPECT_EQ(printable("a\x1b[31mb\r\n\tc\x7f"), "a\u241B[31mb\u240D\n\tc\u2421");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J é\xff"),
            "<U+009B>2J é\uFFFD");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\u2400");
  EXPECT_EQ(printable_json("{\"a\":\n\"\x7f\xc2\x9b\xff\"}"), "{\"a\":\n\"\\u007f\\u009b\uFFFD\"}");
}

TEST(Utf8, a_quoted_text_is_json_whatever_it_held) {
  EXPECT_EQ(json_quoted("a\xff\"\\\x1b\n"), "\"a\uFFFD\\\"\\\\\\u001b\\u000a\"");
}

}  // namespace
}  // namespace pawl
