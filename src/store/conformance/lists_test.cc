// Lists for people: in order over several lanes, with nothing missed or repeated while these commit in parallel.
#include "store/lists.h"

#include <algorithm>
#include <map>

#include "store/conformance/conformance.h"

namespace pawl::store {

namespace {

class Lists : public StoreTest {
 protected:
  core::LaneId lane(std::uint64_t i) const { return i % 2 == 0 ? lane_ : other_lane_; }

  // Ids of one page; `after` continues behind it.
  std::vector<std::string> page(ListOrder order, std::string& after, std::size_t rows, const ListQuery& filter = {}) {
    std::vector<std::string> ids;
    auto list = JobList::begin(*store_, JobQuery{filter}, order, after, rows);
    EXPECT_TRUE(list);
    while (list && ids.size() < rows) {
      const auto row = list->next();
      if (!row || !*row) break;
      ids.push_back((*row)->id.raw());
      after = list->cursor().text();
    }
    return ids;
  }
  std::vector<std::string> pages(ListOrder order, std::size_t rows, const ListQuery& filter = {}) {
    std::vector<std::string> all;
    std::string after;
    for (;;) {
      const auto ids = page(order, after, rows, filter);
      all.insert(all.end(), ids.begin(), ids.end());
      if (ids.size() < rows) return all;
    }
  }
  RunId submit_later(std::uint64_t i, const std::string& name_space = "default") {
    clock_.advance(std::chrono::seconds(1));
    return submit_to(lane(i), format("{}", i), name_space);
  }
  void announce(RunId run, std::uint64_t number, Instant at) {
    const core::Announce said{
        Topic(number % 3 == 0 ? "rare" : "t"), core::Announce::What::progress, core::ReplyStatus::pending, 202, at,
        Payload(format("{}", number))};
    ASSERT_EQ(kind_of(bundle_with(run, {said})), OutcomeKind::committed);
  }
  std::vector<std::uint64_t> heard(std::string& after, std::size_t rows, const AnnouncementQuery& filter = {}) {
    std::vector<std::uint64_t> numbers;
    auto list = AnnouncementList::begin(*store_, filter, after, rows);
    EXPECT_TRUE(list);
    while (list && numbers.size() < rows) {
      const auto row = list->next();
      if (!row || !*row) break;
      numbers.push_back(std::stoull((*row)->said.data.str()));
      after = list->cursor().text();
    }
    return numbers;
  }
};
using Ids = std::vector<std::string>;
constexpr ListOrder both_orders[] = {ListOrder::oldest_first, ListOrder::newest_first};

// Run numbers go lane by lane; the list does not.
TEST_P(Lists, are_really_oldest_or_newest_first) {
  Ids expected;
  for (std::uint64_t i : {1u, 2u, 4u, 3u, 5u, 7u, 6u, 8u, 10u, 9u}) {
    submit_later(i);
    expected.push_back(format("{}", i));
  }
  const Ids reversed(expected.rbegin(), expected.rend());
  for (const std::size_t rows : {1u, 2u, 3u, 7u, 10u, 100u}) {
    EXPECT_EQ(pages(ListOrder::oldest_first, rows), expected) << rows;
    EXPECT_EQ(pages(ListOrder::newest_first, rows), reversed) << rows;
  }
}

TEST_P(Lists, have_the_same_order_with_every_filter) {
  std::map<std::string, Ids> expected;
  for (std::uint64_t i = 0; i < 24; ++i) {
    const std::string name_space = i % 3 == 0 ? "other" : "default";
    const RunId run = submit_later(i, name_space);
    const std::string id = format("{}", i);
    if (i % 2 == 0) {
      const core::Label label{i % 4 == 0 ? "york" : "bath", "side", "north"};
      ASSERT_EQ(kind_of(bundle_with(run, {core::PutLabel{label}})), OutcomeKind::committed);
      if (i % 3 != 0) expected["label"].push_back(id);
      if (i % 3 != 0 && i % 4 == 0) expected["label and key"].push_back(id);
    }
    if (i % 5 == 0) close(run, core::JobStatus::failed);
    if (i % 5 == 0) expected["status"].push_back(id);
    if (i % 3 == 0) expected["namespace"].push_back(id);
    if (i % 5 == 0 && i % 3 == 0) expected["both"].push_back(id);
  }
  std::map<std::string, ListQuery> filters;
  filters["status"].status = filters["both"].status = core::JobStatus::failed;
  filters["namespace"].name_space = filters["both"].name_space = Namespace("other");
  filters["label"].name_space = filters["label and key"].name_space = Namespace("default");
  filters["label"].label = ListQuery::Labelled{GraphName("graph"), "side", "north", std::nullopt};
  filters["label and key"].label = ListQuery::Labelled{GraphName("graph"), "side", "north", "york"};
  for (const auto& [name, filter] : filters) {
    const Ids& wanted = expected[name];
    ASSERT_FALSE(wanted.empty());
    for (const std::size_t rows : {1u, 3u, 100u}) {
      EXPECT_EQ(pages(ListOrder::oldest_first, rows, filter), wanted) << name;
      EXPECT_EQ(pages(ListOrder::newest_first, rows, filter), Ids(wanted.rbegin(), wanted.rend())) << name;
    }
  }
}

// Claim: a reader of the oldest first also gets what is committed meanwhile, also in a lane that it has passed, and
// with an older time than what it has seen: the clocks of two submitters differ.
TEST_P(Lists, oldest_first_shows_what_came_since) {
  for (std::uint64_t i = 1; i <= 4; ++i) submit_later(i);
  std::string after;
  EXPECT_EQ(page(ListOrder::oldest_first, after, 3), (Ids{"1", "2", "3"}));
  const core::GraphRef graph{GraphName("graph"), 1, 7};
  ASSERT_EQ(kind_of(Submit{Namespace("default"), JobId("late"), lane(3), graph, "{}", Instant::from_micros(1)}),
            OutcomeKind::committed);
  submit_later(6);
  Ids rest = page(ListOrder::oldest_first, after, 100);
  std::sort(rest.begin(), rest.end());
  EXPECT_EQ(rest, (Ids{"4", "6", "late"}));
  EXPECT_EQ(page(ListOrder::oldest_first, after, 100), Ids{});
  submit_later(7);
  EXPECT_EQ(page(ListOrder::oldest_first, after, 100), Ids{"7"});
}

TEST_P(Lists, newest_first_shows_what_was_there_when_it_began) {
  for (std::uint64_t i = 1; i <= 5; ++i) submit_later(i * 2);  // all in one lane: nothing of the other one was seen
  std::string after;
  EXPECT_EQ(page(ListOrder::newest_first, after, 2), (Ids{"10", "8"}));
  submit_later(11);
  submit_later(12);
  EXPECT_EQ(page(ListOrder::newest_first, after, 2), (Ids{"6", "4"}));
  EXPECT_EQ(page(ListOrder::newest_first, after, 100), Ids{"2"});
  EXPECT_EQ(page(ListOrder::newest_first, after, 100), Ids{});
}

TEST_P(Lists, a_page_of_a_random_history_misses_nothing_and_repeats_nothing) {
  Random random(2026);
  for (const ListOrder order : both_orders) {
    std::multiset<std::string> seen;
    std::set<std::string> wanted;
    std::string after;
    for (std::uint64_t i = 0; i < 60; ++i) {
      const std::string id = format("{}{}", order == ListOrder::newest_first ? "n" : "o", i);
      clock_.advance(std::chrono::milliseconds(random.below(3)));
      submit_to(lane(random.below(2)), id);
      wanted.insert(id);
      if (order == ListOrder::oldest_first && random.one_in(3))
        for (const std::string& one : page(order, after, 1 + random.below(4))) seen.insert(one);
    }
    for (;;) {
      const Ids ids = page(order, after, 7);
      seen.insert(ids.begin(), ids.end());
      if (ids.size() < 7) break;
    }
    if (order == ListOrder::newest_first) std::erase_if(seen, [](const std::string& id) { return id[0] == 'o'; });
    EXPECT_EQ(seen, std::multiset<std::string>(wanted.begin(), wanted.end()));
  }
}

TEST_P(Lists, of_announcements_are_merged_by_time) {
  const RunId a = submit_to(lane_, "a");
  const RunId b = submit_to(other_lane_, "b");
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 1; i <= 12; ++i) {
    clock_.advance(std::chrono::milliseconds(1));
    announce(i % 5 < 2 ? a : b, i, clock_.now());
    expected.push_back(i);
  }
  for (const std::size_t rows : {1u, 2u, 5u, 100u}) {
    std::vector<std::uint64_t> all;
    std::string after;
    for (;;) {
      const auto page = heard(after, rows);
      all.insert(all.end(), page.begin(), page.end());
      if (page.size() < rows) break;
    }
    EXPECT_EQ(all, expected) << rows;
  }
  AnnouncementQuery of_topic;
  of_topic.topic = Topic("rare");
  std::string after;
  EXPECT_EQ(heard(after, 100, of_topic), (std::vector<std::uint64_t>{3, 6, 9, 12}));
  AnnouncementQuery of_run;
  of_run.run = b;
  after.clear();
  EXPECT_EQ(heard(after, 3, of_run), (std::vector<std::uint64_t>{2, 3, 4}));
  EXPECT_EQ(heard(after, 100, of_run), (std::vector<std::uint64_t>{7, 8, 9, 12}));
}

// Claim: a reader that continues behind its cursor gets each announcement once, whichever lane commits between two
// pages and whatever their clocks show. Checked over random histories, with pages of several sizes.
TEST_P(Lists, of_announcements_miss_nothing_while_lanes_commit) {
  const RunId a = submit_to(lane_, "a");
  const RunId b = submit_to(other_lane_, "b");
  Random random(7);
  std::uint64_t number = 0;
  std::map<RunId, std::vector<std::uint64_t>> said;
  std::map<RunId, std::vector<std::uint64_t>> got;
  std::map<std::uint64_t, RunId> by;
  std::string after;
  const auto hear = [&](std::size_t rows) {
    const auto page = heard(after, rows);
    for (const std::uint64_t one : page) got[by.at(one)].push_back(one);
    return page.size();
  };
  for (int round = 0; round < 150; ++round) {
    const RunId run = random.one_in(3) ? a : b;
    const Duration ahead = std::chrono::milliseconds(run == a ? 500 : 0);
    by.emplace(++number, run);
    said[run].push_back(number);
    clock_.advance(std::chrono::milliseconds(random.below(2)));
    announce(run, number, clock_.now() + ahead);
    if (random.one_in(3)) hear(1 + random.below(4));
  }
  while (hear(7) == 7) continue;
  EXPECT_EQ(got, said) << "each once, and each lane's in the order of its commits";
}

TEST_P(Lists, take_only_a_cursor_of_their_own) {
  submit_later(1);
  std::string newest;
  page(ListOrder::newest_first, newest, 1);
  for (const std::string& after : {newest, std::string("140737488355329")}) {
    const auto list = JobList::begin(*store_, {}, ListOrder::oldest_first, after, 10);
    ASSERT_FALSE(list);
    EXPECT_EQ(list.error().code, ErrorCode::invalid);
    EXPECT_FALSE(AnnouncementList::begin(*store_, {}, after, 10));
  }
}

INSTANTIATE_TEST_SUITE_P(stores, Lists, testing::ValuesIn(all_stores()), store_name);
INSTANTIATE_TEST_SUITE_P(islands, Lists, testing::ValuesIn(island_stores()), store_name);

}  // namespace

}  // namespace pawl::store
