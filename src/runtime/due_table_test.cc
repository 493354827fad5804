#include "runtime/due_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/limits.h"
#include "base/random.h"

namespace pawl::runtime {

namespace {

using store::Due;

Due at(std::int64_t time, std::uint64_t run = 1) { return Due{Instant::from_micros(time), RunId(run)}; }

// A store's list, read as the engine reads it.
struct Fixture {
  explicit Fixture(std::size_t entries_max = 8) : table(Instant(), entries_max) {}

  void read() {
    while (table.wants_page()) {
      std::vector<Due> page;
      auto from = table.horizon() ? stored.upper_bound(*table.horizon()) : stored.begin();
      for (; from != stored.end() && page.size() < rows; ++from) page.push_back(*from);
      table.add_page(table.ask_page(), page, rows);
      ++pages;
    }
  }
  void commit(const Due& due) {
    stored.insert(due);
    table.add(due);
  }
  std::vector<Due> take_all(std::int64_t now) {
    std::vector<Due> taken;
    for (read();;) {
      const auto due = table.take(Instant::from_micros(now));
      if (!due && !table.wants_page()) return taken;
      if (due) {
        taken.push_back(*due);
        stored.erase(*due);
      }
      read();
    }
  }

  static constexpr std::size_t rows = 4;
  std::set<Due> stored;
  DueTable table;
  int pages = 0;
};

TEST(due_table, what_is_added_while_a_page_is_read_is_not_lost) {
  DueTable table(Instant(), 8);
  const auto number = table.ask_page();
  table.add(at(5));  // committed after the store was read
  EXPECT_FALSE(table.wants_page()) << "one page at a time";
  table.add_page(number, {at(3), at(7)}, 4);
  EXPECT_EQ(table.take(Instant::from_micros(9)), at(3));
  EXPECT_EQ(table.take(Instant::from_micros(9)), at(5));
  EXPECT_EQ(table.take(Instant::from_micros(9)), at(7));
}

TEST(due_table, a_page_that_was_asked_for_before_others_wrote_is_not_used) {
  DueTable table(Instant(), 8);
  const auto number = table.ask_page();
  table.forget_horizon();
  EXPECT_TRUE(table.wants_page());
  const auto newer = table.ask_page();
  table.add_page(number, {}, 4);
  EXPECT_FALSE(table.wants_page()) << "the newer one is on its way";
  table.add_page(newer, {at(2)}, 4);
  EXPECT_EQ(table.take(Instant::from_micros(9)), at(2));
}

TEST(due_table, too_much_that_is_added_meanwhile_is_read_instead) {
  DueTable table(Instant(), 2);
  const auto number = table.ask_page();
  for (int i = 1; i <= 3; ++i) table.add(at(i));
  EXPECT_TRUE(table.wants_page());
  table.add_page(number, {}, 4);
  EXPECT_TRUE(table.wants_page()) << "what was added last is on no page that was read";
}

TEST(due_table, a_page_that_cannot_be_read_is_asked_for_again) {
  DueTable table(Instant(), 8);
  const auto number = table.ask_page();
  table.add(at(5));
  table.page_failed(number);
  EXPECT_TRUE(table.wants_page());
  table.add_page(table.ask_page(), {at(5)}, 4);
  EXPECT_EQ(table.take(Instant::from_micros(9)), at(5));
}

TEST(due_table, gives_nothing_before_its_time) {
  Fixture fixture;
  fixture.commit(at(10));
  EXPECT_TRUE(fixture.take_all(9).empty());
  EXPECT_EQ(fixture.table.next(), Instant::from_micros(10));
  EXPECT_EQ(fixture.take_all(10), std::vector{at(10)});
  EXPECT_EQ(fixture.table.next(), std::nullopt);
}

TEST(due_table, reads_on_when_the_window_is_empty_and_not_before) {
  Fixture fixture;
  for (int i = 0; i < 100; ++i) fixture.stored.insert(at(i));
  fixture.read();
  EXPECT_EQ(fixture.pages, 1);
  EXPECT_EQ(fixture.take_all(49).size(), 50u);
  EXPECT_EQ(fixture.table.next(), Instant::from_micros(50));
  EXPECT_LE(fixture.pages, 14);
}

TEST(due_table, takes_in_what_is_committed_before_the_horizon_and_leaves_the_rest_to_the_store) {
  Fixture fixture;
  for (int i = 0; i < 100; ++i) fixture.stored.insert(at(i * 10));
  fixture.read();
  fixture.commit(at(15));
  fixture.commit(at(555));
  const auto taken = fixture.take_all(600);
  EXPECT_EQ(std::count(taken.begin(), taken.end(), at(15)), 1);
  EXPECT_EQ(std::count(taken.begin(), taken.end(), at(555)), 1);
  EXPECT_TRUE(std::is_sorted(taken.begin(), taken.end()));
}

TEST(due_table, holds_no_more_than_its_limit) {
  Fixture fixture(8);
  fixture.read();
  for (int i = 1000; i > 0; --i) fixture.commit(at(i));
  const auto taken = fixture.take_all(2000);
  EXPECT_EQ(taken.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(taken.begin(), taken.end()));
}

TEST(due_table, sees_what_others_wrote_once_it_is_told) {
  Fixture fixture;
  fixture.commit(at(500));
  fixture.read();
  fixture.stored.insert(at(5));  // another process
  fixture.table.forget_horizon();
  EXPECT_EQ(fixture.take_all(10), std::vector{at(5)});
}

TEST(due_table, misses_nothing_in_random_histories) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    Fixture fixture(1 + random.below(12));
    std::int64_t now = 0;
    std::size_t put = 0;
    std::size_t taken = 0;
    for (int step = 0; step < 300; ++step) {
      const std::uint64_t what = random.below(10);
      if (what < 6) {
        fixture.commit(at(now + 1 + static_cast<std::int64_t>(random.below(50)), ++put));
      } else if (what < 7) {
        fixture.stored.insert(at(now + 1 + static_cast<std::int64_t>(random.below(50)), ++put));
        fixture.table.forget_horizon();
      } else {
        now += static_cast<std::int64_t>(random.below(20));
        for (const Due& due : fixture.take_all(now)) {
          EXPECT_LE(due.at.micros(), now);
          ++taken;
        }
        for (const Due& left : fixture.stored) ASSERT_GT(left.at.micros(), now) << "seed " << seed;
      }
    }
    taken += fixture.take_all(now + 100).size();
    EXPECT_EQ(taken, put) << "seed " << seed;
  }
}

TEST(due_table, what_is_due_soon_is_looked_at_once_in_order_and_stays) {
  DueTable table(Instant(), 8);
  table.add_page(table.ask_page(), {at(3), at(5), at(7), at(9)}, 8);
  const auto now = Instant::from_micros(3);
  EXPECT_EQ(table.next_ahead(now), Instant::from_micros(5)) << "what is due already is not ahead";
  EXPECT_EQ(table.take_ahead(now, Instant::from_micros(7)), at(5));
  EXPECT_EQ(table.take_ahead(now, Instant::from_micros(7)), at(7));
  EXPECT_EQ(table.take_ahead(now, Instant::from_micros(7)), std::nullopt);
  EXPECT_EQ(table.next_ahead(now), Instant::from_micros(9));
  EXPECT_EQ(table.next(), Instant::from_micros(3));
  for (const int time : {3, 5, 7, 9}) EXPECT_EQ(table.take(Instant::from_micros(9)), at(time));
}

TEST(due_table, what_is_read_again_is_looked_at_again) {
  DueTable table(Instant(), 8);
  table.add_page(table.ask_page(), {at(5)}, 8);
  EXPECT_EQ(table.take_ahead(Instant(), Instant::from_micros(9)), at(5));
  table.forget_horizon();
  EXPECT_EQ(table.next_ahead(Instant()), std::nullopt);
  table.add_page(table.ask_page(), {at(5)}, 8);
  EXPECT_EQ(table.take_ahead(Instant(), Instant::from_micros(9)), at(5));
}

TEST(due_table, a_look_ahead_reads_beyond_the_horizon_while_there_is_room_for_a_page) {
  for (const bool room : {false, true}) {
    DueTable table(Instant(), limits::due_page_rows + (room ? 2 : 1));
    table.add_page(table.ask_page(), {at(3), at(5)}, 2);
    const auto until = Instant::from_micros(9);
    EXPECT_FALSE(table.wants_page_ahead(Instant(), until)) << "these come first";
    EXPECT_EQ(table.take_ahead(Instant(), until), at(3));
    EXPECT_EQ(table.take_ahead(Instant(), until), at(5));
    EXPECT_EQ(table.wants_page_ahead(Instant(), until), room);
    EXPECT_EQ(table.next_ahead(Instant()).has_value(), room);
    if (!room) continue;
    EXPECT_FALSE(table.wants_page_ahead(Instant(), Instant::from_micros(4))) << "the horizon is later";
    const auto number = table.ask_page();
    EXPECT_FALSE(table.wants_page_ahead(Instant(), until)) << "one page at a time";
    table.add_page(number, {at(6)}, 2);
    EXPECT_EQ(table.take_ahead(Instant(), until), at(6));
    EXPECT_FALSE(table.wants_page_ahead(Instant(), until)) << "that was all";
  }
}

}  // namespace

}  // namespace pawl::runtime
