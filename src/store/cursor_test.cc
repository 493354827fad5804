#include "store/cursor.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace pawl::store {

namespace {

using Of = Cursor::Of;

Cursor cursor_of(Of of, std::initializer_list<std::pair<std::uint32_t, std::uint64_t>> places) {
  Cursor cursor(of);
  for (const auto& [lane, place] : places) cursor.set(core::LaneId(lane), place);
  return cursor;
}

TEST(cursor, comes_back_from_its_text_as_it_was) {
  for (const Cursor& cursor : {cursor_of(Of::announcements, {}), cursor_of(Of::announcements, {{1, 1}}),
                               cursor_of(Of::announcements, {{1, 0}, {2, 127}, {3, 128}, {4096, 16384}}),
                               cursor_of(Of::announcements, {{limits::lanes_max, (std::uint64_t{1} << 62) + 5}})}) {
    const auto parsed = Cursor::parse(cursor.text(), Of::announcements);
    ASSERT_TRUE(parsed) << cursor.text();
    EXPECT_EQ(*parsed, cursor);
  }
}

TEST(cursor, of_every_lane_there_can_be_has_a_text) {
  Cursor all(Of::newest_jobs);
  for (std::uint32_t lane = 1; lane <= limits::lanes_max; ++lane)
    all.set(core::LaneId(lane), (std::uint64_t{1} << core::run_sequence_bits) - lane);
  const auto parsed = Cursor::parse(all.text(), Of::newest_jobs);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, all);
}

// Scripts keep these texts: changing them needs a new version.
TEST(cursor, has_a_pinned_text) { EXPECT_EQ(cursor_of(Of::announcements, {{1, 5}, {3, 300}}).text(), "1alTmc0GK2h08"); }

TEST(cursor, is_good_for_what_it_was_made_for) {
  const std::string text = cursor_of(Of::newest_jobs, {{1, 5}}).text();
  const auto parsed = Cursor::parse(text, Of::oldest_jobs);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::invalid);
  EXPECT_NE(parsed.error().detail.find("a list of jobs, the newest first"), std::string::npos) << parsed.error().detail;
}

// Claim: a text that is not a whole cursor is a clear error. Checked with every cut and every changed letter.
TEST(cursor, that_was_cut_or_changed_is_refused) {
  const std::string text = cursor_of(Of::announcements, {{1, 5}, {2, 70'000}, {9, 1}}).text();
  const auto refused = [](const std::string& other) {
    const auto parsed = Cursor::parse(other, Of::announcements);
    ASSERT_FALSE(parsed) << other;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid);
  };
  for (std::size_t length = 0; length < text.size(); ++length) refused(text.substr(0, length));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = other[i] == 'x' ? 'y' : 'x';
    refused(other);
  }
  for (const char* other : {"17", "140737488355329", "1a", "1a!!!!", "hello", "-1"}) refused(other);
  refused(std::string(2'000'000, 'a'));
}

}  // namespace

}  // namespace pawl::store
