// What the layout promises about lists: older files keep their announcements and their numbers, and a page costs the
// same, however many jobs there are.
#include "store/lists.h"

#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/schema.h"

namespace pawl::store::sqlite {

class ListsTest : public FileTest {
 protected:
  static constexpr std::size_t steps_before = 11;

  // Equally many jobs in each of two lanes: one in two has another namespace, one in ten failed, all have a label.
  void fill(int from, int to) {
    raw(format(
        "WITH RECURSIVE n (i) AS (VALUES ({}) UNION ALL SELECT i + 1 FROM n WHERE i < {})"
        " INSERT INTO jobs (run, namespace, job_id, graph, version, fingerprint, created_at, rev, bundle, status,"
        " semaphore, threshold, completions, next_activity, closed_at, reason)"
        " SELECT (lane << 47) + i, CASE i % 2 WHEN 0 THEN 'one' ELSE 'two' END, lane || '-' || i, 'g', 1, 7, i, 0, 0,"
        " CASE i % 10 WHEN 3 THEN 2 ELSE 1 END, 0, 0, 1, 0, i, '' FROM n, lanes;"
        "INSERT OR IGNORE INTO labels SELECT namespace, 'g', 'side', 'north', 'k', run FROM jobs;"
        "UPDATE lanes SET next_run = {} + 1",
        from, to, to));
  }
  // The instructions that SQLite runs for one page.
  std::int64_t cost(Reader& reader, ListQuery query) {
    std::int64_t count = 0;
    const auto tick = [](void* counter) {
      ++*static_cast<std::int64_t*>(counter);
      return 0;
    };
    query.rows_max = 10;
    sqlite3_progress_handler(reader.connection().handle(), 1, tick, &count);
    const auto rows = reader.list_jobs(query);
    sqlite3_progress_handler(reader.connection().handle(), 0, nullptr, nullptr);
    EXPECT_TRUE(rows);
    EXPECT_EQ(rows->size(), 10u);
    return count;
  }
};

TEST_F(ListsTest, a_page_costs_a_page_with_every_filter) {
  open_bench();
  fill(1, 400);
  store_.reset();
  auto connection = open_file(path(), {}, migrations());
  ASSERT_TRUE(connection) << to_string(connection.error());
  auto reader = Reader::open(std::move(*connection));
  ASSERT_TRUE(reader);
  std::vector<ListQuery> queries(6);
  queries[1].name_space = queries[3].name_space = Namespace("two");
  queries[2].status = queries[3].status = core::JobStatus::failed;
  queries[4].name_space = queries[5].name_space = Namespace("one");
  queries[4].label = ListQuery::Labelled{GraphName("g"), "side", "north", std::nullopt};
  queries[5].label = ListQuery::Labelled{GraphName("g"), "side", "north", "k"};
  std::vector<std::int64_t> costs;
  const auto measure = [&](std::uint64_t jobs) {
    std::vector<std::int64_t> all;
    for (ListQuery query : queries)
      for (const Direction direction : {Direction::up, Direction::down}) {
        query.direction = direction;
        query.lane = core::LaneId(2);
        query.after = core::make_run(core::LaneId(2), jobs / 2);
        all.push_back(cost(**reader, query));
      }
    return all;
  };
  const auto few = measure(400);
  fill(401, 20'000);
  const auto many = measure(20'000);
  for (std::size_t i = 0; i < few.size(); ++i)
    EXPECT_LT(many[i], few[i] * 3 / 2) << "query " << i / 2 << (i % 2 == 0 ? " up" : " down") << " of " << few[i];
}

TEST_F(ListsTest, announcements_of_an_older_file_keep_their_numbers_and_go_on_behind_them) {
  { ASSERT_TRUE(open_file(path(), {}, migrations().first(steps_before))); }
  raw("INSERT INTO pools VALUES ('graphs', 1, 2);"
      "INSERT INTO lanes VALUES (1, 'graphs', 4, '', 9), (2, 'graphs', 2, '', 9);"
      "INSERT INTO jobs (run, namespace, job_id, graph, version, fingerprint, created_at, rev, bundle, status, "
      "semaphore,"
      " threshold, completions, next_activity, closed_at, reason)"
      " SELECT (lane << 47) + 1, 'default', 'job-' || lane, 'graph', 1, 7, lane, 0, 0, 0, 0, 0, 0, 0, 0, '' FROM lanes;"
      "INSERT INTO announcements (run, topic, what, status, code, at, data) VALUES ((2 << 47) + 1, 't', 0, 1, 202, 10, "
      "x'61'),"
      " ((1 << 47) + 1, 't', 0, 1, 202, 20, x'62'), ((2 << 47) + 1, 't', 1, 0, 200, 30, x'63'), ((1 << 47) + 1, 't', "
      "1, 0, 200, 40, x'64');"
      "DELETE FROM announcements WHERE seq = 4");
  store_ = make({.clock = &clock_});
  ASSERT_NE(store_, nullptr);
  auto list = AnnouncementList::begin(*store_, {}, "", 10);
  ASSERT_TRUE(list);
  std::string heard;
  for (auto row = list->next(); row && *row; row = list->next())
    heard += format("{}{} ", (*row)->said.data.str(), (*row)->seq);
  EXPECT_EQ(heard, "a1 b2 c3 ");
  const core::LaneId lane(1);
  const core::Epoch epoch = acquire(lane, "engine-a");
  core::Bundle bundle;
  bundle.entity = core::make_run(lane, 1);
  bundle.epoch = epoch;
  bundle.id = core::BundleId(77);
  bundle.head = core::JobHead{};
  bundle.writes = {core::Announce{Topic("t"), core::Announce::What::end, core::ReplyStatus::success, 200,
                                  Instant::from_micros(50), Payload("e")}};
  ASSERT_EQ(kind_of(bundle), OutcomeKind::committed);
  auto more = AnnouncementList::begin(*store_, {}, list->cursor().text(), 10);
  ASSERT_TRUE(more);
  const auto next = more->next();
  ASSERT_TRUE(next && *next);
  EXPECT_EQ((*next)->said.data, Payload("e"));
  EXPECT_EQ((*next)->seq, 5u) << "number 4 was given, and its reader may have gone on behind it";
  EXPECT_EQ(raw("SELECT lane || ' ' || number || ' ' || data FROM announcement_view WHERE what = 'end' AND lane = 1"),
            "1 5 e");
  EXPECT_TRUE(sqlite().verify());
}

}  // namespace pawl::store::sqlite
