// Streams of collation duplex: a file of the previous version is migrated, and every statement of a dequeue reads one
// range of an index.
#include <sqlite3.h>

#include "store/sqlite/duplex_rows.h"
#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/schema.h"

namespace pawl::store::sqlite {

namespace {

class StreamsTest : public FileTest {
 protected:
  static RunId run(std::uint64_t number) { return core::make_run(core::LaneId(1), number); }
  static std::string plan_of(sqlite3* database, const std::string& sql) {
    std::string plan;
    const auto keep = [](void* out, int, char** values, char**) {
      *static_cast<std::string*>(out) += std::string(values[3]) + "\n";
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database, ("EXPLAIN QUERY PLAN " + sql).c_str(), keep, &plan, nullptr), SQLITE_OK);
    return plan;
  }
};

TEST_F(StreamsTest, what_waited_before_is_found_in_its_order_and_a_parked_jobs_messages_are_not) {
  { ASSERT_TRUE(open_file(path(), {}, migrations().first(7))); }
  raw("INSERT INTO pools VALUES ('graphs', 1, 1); INSERT INTO lanes VALUES (1, 'graphs', 1, '', 9);"
      "INSERT INTO jobs (run, namespace, job_id, graph, version, fingerprint, created_at, rev, bundle, status, "
      "semaphore,"
      " threshold, completions, next_activity, closed_at, reason) VALUES"
      " ((1 << 47) + 1, 'default', 'runs', 'graph', 1, 7, 5, 0, 0, 0, 0, 0, 0, 0, 0, ''),"
      " ((1 << 47) + 2, 'default', 'parked', 'graph', 1, 7, 5, 0, 0, 4, 0, 0, 0, 0, 0, '');"
      "INSERT INTO duplex_jobs VALUES ((1 << 47) + 1), ((1 << 47) + 2);"
      "INSERT INTO duplex_stream (id, run, guid, lane, kind, node, place, topic, status, code, number, data, claim, "
      "epoch,"
      " free_at, claims, given_back, done) VALUES"
      " (1, (1 << 47) + 1, zeroblob(16), 1, 1, 1, ',0,0', '', 0, 0, 0, NULL, 77, 1, 1, 1, 0, 0),"
      " (2, (1 << 47) + 2, zeroblob(16), 1, 1, 1, ',0,0', '', 0, 0, 0, NULL, 0, 0, 0, 0, 0, 0),"
      " (3, (1 << 47) + 1, x'00000000000000000000000000000001', 1, 4, 2, ',0,0', '', 2, 402, 0, x'6E6F', 0, 0, 0, 0, "
      "0, 0);");
  const auto store = make({.clock = &clock_});
  ASSERT_NE(store, nullptr);
  DuplexStore& duplex = dynamic_cast<Store&>(*store).duplex();
  const auto outcome =
      duplex.commit_one(Dequeue{core::LaneId(1), Topic(""), 10, ClaimId(5), core::Epoch(2), std::chrono::seconds(30)});
  ASSERT_TRUE(outcome.ok()) << to_string(outcome.error());
  const auto& messages = outcome->handed().messages;
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<stream::Transition>(messages[0].message.body)) << "of an owner that is gone";
  EXPECT_EQ(messages[0].deliveries, 2u);
  const auto& cleanup = std::get<stream::Cleanup>(messages[1].message.body);
  ASSERT_TRUE(cleanup.failure);
  EXPECT_EQ(cleanup.failure->code, 402);
  EXPECT_EQ(cleanup.failure->reason.str(), "no");
  EXPECT_EQ((*duplex.read(run(2)))->stream.size(), 1u) << "it is still there to be looked at";
}

// A scan of the table, or of an index without the bounds of its range, would cost more the more messages wait.
TEST_F(StreamsTest, every_statement_on_a_stream_goes_through_a_range_of_one_index) {
  ASSERT_NE(make({.clock = &clock_}), nullptr);
  auto opened = Connection::open({path(), Connection::Mode::existing, "", std::chrono::milliseconds(100)});
  ASSERT_TRUE(opened.ok()) << to_string(opened.error());
  sqlite3* database = (*opened)->handle();
  DuplexStatements statements;
  ASSERT_TRUE(statements.prepare(**opened));
  std::size_t looked_at = 0;
  for (sqlite3_stmt* one = sqlite3_next_stmt(database, nullptr); one != nullptr;
       one = sqlite3_next_stmt(database, one)) {
    const std::string sql = sqlite3_sql(one);
    if (sql.find("topic = ?2") == std::string::npos) continue;
    ++looked_at;
    const auto plan = plan_of(database, sql);
    EXPECT_NE(plan.find("INDEX duplex_stream_"), std::string::npos) << sql << "\n" << plan;
    EXPECT_EQ(plan.find("SCAN"), std::string::npos) << sql << "\n" << plan;
    EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << sql << "\n" << plan;
  }
  EXPECT_EQ(looked_at, 7u) << "free three ways, find the claim, the free ones, and the next one twice";
}

}  // namespace

}  // namespace pawl::store::sqlite
