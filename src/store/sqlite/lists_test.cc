// What the layout promises about lists: older files keep their announcements and their numbers, and a page costs the
// same, however many jobs there are.
#include "store/lists.h"

#include "store/sqlite/file_test.h"
#include "store/sqlite/limits.h"
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
  std::unique_ptr<Reader> reader_again() {
    auto connection = open_file(path(), {}, migrations());
    EXPECT_TRUE(connection) << to_string(connection.error());
    auto reader = Reader::open(std::move(*connection));
    EXPECT_TRUE(reader);
    return std::move(*reader);
  }
  // The instructions that SQLite runs for one page.
  std::int64_t cost(Reader& reader, ListQuery query, std::size_t found = 10) {
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
    EXPECT_EQ(rows->size(), found);
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

// Claim: what few jobs have, or none, is found without a look at the others. Each query is measured beside 400 and
// beside 20,000 jobs that it does not ask for.
TEST_F(ListsTest, what_few_jobs_have_costs_the_same_beside_many) {
  open_bench();
  fill(1, 400);
  raw("UPDATE jobs SET graph = 'rare', closed_at = 900000 WHERE run IN ((2 << 47) + 14, (2 << 47) + 15);"
      "UPDATE jobs SET namespace = 'aside' WHERE run = (2 << 47) + 16;"
      "INSERT INTO activities (run, seq, node, place, ledger, status, code, opened_at, closed_at)"
      " VALUES ((2 << 47) + 17, 0, 1, '', 0, 2, 500, 0, 0), ((2 << 47) + 17, 1, 2, '', 0, 2, 500, 0, 0),"
      " ((2 << 47) + 18, 0, 1, '', 0, 1, 200, 0, 0)");
  store_.reset();
  const auto reader = reader_again();
  using core::JobStatus;
  struct Asked {
    ListQuery query;
    std::size_t found;
  };
  std::vector<Asked> all(7);
  all[0].query.errored_only = true;
  all[0].found = 1;  // once, although two of its activities errored
  all[1].query.ended_since = Instant::from_micros(500'000);
  all[1].found = 2;
  all[2].query.ended_until = Instant::from_micros(3);
  all[2].found = 2;
  all[3].query.graph = GraphName("g");
  all[3].query.name_space = Namespace("aside");
  all[3].query.status = JobStatus::completed;
  all[3].found = 1;
  all[4].query.graph = GraphName("rare");
  all[4].query.name_space = Namespace("two");
  all[4].query.status = JobStatus::completed;
  all[4].found = 1;
  all[5].query.name_space = Namespace("one");
  all[5].query.label = ListQuery::Labelled{GraphName("g"), "side", "north", std::nullopt};
  all[5].query.status = JobStatus::parked;
  all[5].found = 0;
  all[6].query.ended_since = Instant::from_micros(500'000);
  all[6].query.graph = GraphName("rare");
  all[6].query.name_space = Namespace("one");
  all[6].query.status = JobStatus::completed;
  all[6].found = 1;
  const auto measure = [&] {
    std::vector<std::int64_t> costs;
    for (Asked one : all)
      for (const Direction direction : {Direction::up, Direction::down}) {
        one.query.direction = direction;
        one.query.lane = core::LaneId(2);
        one.query.after = direction == Direction::up ? RunId(0) : core::make_run(core::LaneId(3), 0);
        costs.push_back(cost(*reader, one.query, one.found));
      }
    return costs;
  };
  const auto few = measure();
  fill(401, 20'000);
  const auto many = measure();
  // A look at an index that turns out to have many rows for the search stops after limits::few_rows of them.
  constexpr std::int64_t a_look = 10 * limits::few_rows;
  for (std::size_t i = 0; i < few.size(); ++i)
    EXPECT_LT(many[i], few[i] * 3 / 2 + a_look) << "query " << i / 2 << (i % 2 == 0 ? " up " : " down ") << few[i];
}

// Claim: whichever index a search takes, it finds the same jobs, in the same order.
TEST_F(ListsTest, a_search_finds_the_same_jobs_by_every_index) {
  open_bench();
  fill(1, 6'000);
  raw("UPDATE jobs SET namespace = 'one', status = 4 WHERE run & 1023 = 8");
  store_.reset();
  const auto reader = reader_again();
  const auto ids = [&](const ListQuery& asked, const char* sql) {
    for (const Direction direction : {Direction::up, Direction::down}) {
      ListQuery query = asked;
      query.direction = direction;
      query.rows_max = 100'000;
      query.after = direction == Direction::up ? RunId(0) : RunId(~std::uint64_t{0});
      const auto rows = reader->list_jobs(query);
      ASSERT_TRUE(rows);
      std::string found;
      for (const core::JobRow& row : *rows) found += row.id.raw() + " ";
      const char* order = direction == Direction::up ? "ASC" : "DESC";
      std::string expected = raw(format("SELECT coalesce(group_concat(job_id, ' '), '') || ' ' FROM (SELECT job_id FROM"
                                        " jobs WHERE {} ORDER BY run {})", sql, order));
      if (expected == " ") expected.clear();
      EXPECT_EQ(found, expected) << sql;
    }
  };
  ListQuery parked;  // few of the namespace
  parked.name_space = Namespace("one");
  parked.graph = GraphName("g");
  parked.status = core::JobStatus::parked;
  ids(parked, "namespace = 'one' AND status = 4");
  ListQuery completed = parked;  // many of it
  completed.status = core::JobStatus::completed;
  ids(completed, "namespace = 'one' AND status = 1");
  ListQuery labelled;  // few of the status
  labelled.name_space = Namespace("one");
  labelled.status = core::JobStatus::parked;
  labelled.label = ListQuery::Labelled{GraphName("g"), "side", "north", std::nullopt};
  ids(labelled, "namespace = 'one' AND status = 4 AND run IN (SELECT run FROM labels WHERE namespace = 'one')");
  labelled.label->key = "k";
  ids(labelled, "namespace = 'one' AND status = 4 AND run IN (SELECT run FROM labels WHERE namespace = 'one')");
  labelled.label->key = "no such key";
  ids(labelled, "0");
  ListQuery ended;  // few in that time
  ended.ended_since = Instant::from_micros(100);
  ended.ended_until = Instant::from_micros(300);
  ids(ended, "closed_at >= 100 AND closed_at < 300");
  ended.status = core::JobStatus::failed;
  ids(ended, "closed_at >= 100 AND closed_at < 300 AND status = 2");
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
