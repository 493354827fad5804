// What step 2 of the layout promises: files of version 1 still work, rows that wait for the clock cost the others
// nothing, and a removed job leaves no row behind.
#include <map>
#include <set>

#include "core/secret.h"
#include "store/sqlite/file_test.h"
#include "store/sqlite/open.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

class LifeTest : public FileTest {
 protected:
  // A file as the program of version 1 left it: one job with three work items (free, leased, held by the lane owner of
  // that time), one closed job, a message and their start keys.
  void make_version_1() {
    { ASSERT_TRUE(open_file(path(), {}, migrations().first(1))); }
    raw("INSERT INTO pools VALUES ('graphs', 1, 2);"
        "INSERT INTO lanes VALUES (1, 'graphs', 4, 'engine-a', 9), (2, 'graphs', 2, '', 1);"
        "INSERT INTO start_keys VALUES ('default', 'open', (1 << 47) + 1), ('default', 'done', (1 << 47) + 2);"
        "INSERT INTO jobs VALUES ((1 << 47) + 1, 'default', 'open', 'graph', 1, 7, 5, 3, 30, 0, 3, 0, 0, 3, 0, NULL, "
        "''),"
        " ((1 << 47) + 2, 'default', 'done', 'graph', 1, 7, 5, 3, 31, 1, 0, 0, 1, 0, 6, NULL, '');"
        "INSERT INTO activities (run, seq, node, place, ledger, status, code, opened_at, closed_at, position, topic,"
        " request, token, worker, epoch, lease_until, runs) VALUES"
        " ((1 << 47) + 1, 0, 0, ',0', 1100000000000, 0, 0, 5, 0, 10, 'topic', zeroblob(16), 0, '', 0, 0, 0),"
        " ((1 << 47) + 1, 1, 1, ',0', 1100000000000, 0, 0, 5, 0, 11, 'topic', zeroblob(16), 71, 'remote', 0, 2000000, "
        "1),"
        " ((1 << 47) + 1, 2, 2, ',0', 1100000000000, 0, 0, 5, 0, 12, 'topic', zeroblob(16), 72, 'local', 4, 0, 1);"
        "INSERT INTO inbox (run, guid, redeliveries, body) VALUES ((1 << 47) + 1, zeroblob(16), 2, x'0000');");
  }
  // The plan of every statement that a connection has prepared.
  static std::map<std::string, std::string> plans(sqlite3* database) {
    std::vector<std::string> all;
    for (sqlite3_stmt* one = sqlite3_next_stmt(database, nullptr); one != nullptr;
         one = sqlite3_next_stmt(database, one))
      all.emplace_back(sqlite3_sql(one));
    std::map<std::string, std::string> found;
    for (const std::string& sql : all) {
      sqlite3_stmt* explain = nullptr;
      EXPECT_EQ(sqlite3_prepare_v2(database, ("EXPLAIN QUERY PLAN " + sql).c_str(), -1, &explain, nullptr), SQLITE_OK);
      std::string& plan = found[sql];
      while (sqlite3_step(explain) == SQLITE_ROW)
        plan += std::string(reinterpret_cast<const char*>(sqlite3_column_text(explain, 3))) + "\n";
      sqlite3_finalize(explain);
    }
    return found;
  }
  static int steps_of(sqlite3* database) {
    int steps = 0;
    for (sqlite3_stmt* one = sqlite3_next_stmt(database, nullptr); one != nullptr;
         one = sqlite3_next_stmt(database, one))
      steps += sqlite3_stmt_status(one, SQLITE_STMTSTATUS_VM_STEP, 1);
    return steps;
  }
  static constexpr RunId old_run = core::make_run(core::LaneId(1), 1);
  static constexpr RunId old_done = core::make_run(core::LaneId(1), 2);
};

TEST_F(LifeTest, a_file_of_version_1_opens_and_says_what_it_said) {
  make_version_1();
  const auto store = make({.clock = &clock_});
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(raw("PRAGMA user_version"), std::to_string(migrations().size()));
  const auto found = store->read_job(old_run);
  ASSERT_TRUE(found) << to_string(found.error());
  ASSERT_TRUE(found->has_value());
  const StoredJob& read = **found;
  EXPECT_EQ(read.state.job.id, JobId("open"));
  EXPECT_EQ(read.state.job.priority, 0);
  EXPECT_FALSE(read.state.job.keep.has_value());
  EXPECT_EQ(read.state.job.deadline, Instant());
  EXPECT_EQ(read.inbox.size(), 1u);
  EXPECT_EQ(read.inbox[0].redeliveries, 2u);
  EXPECT_TRUE(read.timers.empty());
  ASSERT_EQ(read.state.work().size(), 3u);
  const core::WorkItem leased = *read.state.find_work(core::ActivitySeq(1));
  EXPECT_EQ(leased.worker, "remote");
  EXPECT_EQ(leased.life, core::WorkLife{});
  EXPECT_EQ((**store->read_job(old_done)).state.job.status, core::JobStatus::completed);
}

TEST_F(LifeTest, the_leases_of_a_version_1_file_are_due_when_they_end) {
  make_version_1();
  const auto store = make({.clock = &clock_});
  const auto due = store->read_due(core::LaneId(1), std::nullopt, 10);
  ASSERT_TRUE(due);
  ASSERT_EQ(due->size(), 1u);
  EXPECT_EQ((*due)[0], (Due{Instant::from_micros(2'000'000), old_run, Due::Kind::work, {}, core::ActivitySeq(1)}));
}

TEST_F(LifeTest, the_work_of_a_version_1_file_is_claimed_in_its_old_order) {
  make_version_1();
  store_ = make({.clock = &clock_});
  EXPECT_EQ(claim(10).size(), 1u) << "one is leased, one is the lane's owner's";
  clock_.advance(std::chrono::seconds(100));
  const auto items = claim(10);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].activity.raw(), 0u);
  EXPECT_EQ(items[1].activity.raw(), 1u);
}

TEST_F(LifeTest, a_version_1_file_takes_everything_that_is_new) {
  make_version_1();
  store_ = make({.clock = &clock_});
  lane_ = core::LaneId(1);
  epoch_ = acquire(lane_, "engine-b");
  core::ChangeWork change;
  change.activity = core::ActivitySeq(2);
  change.token = core::WorkToken(72);
  change.visible_at = clock_.now() + std::chrono::seconds(5);
  ASSERT_EQ(kind_of(bundle_with(
                old_run, {change, core::HoldWork{true}, core::PutMessage{start_message(1), clock_.now() + lease}})),
            OutcomeKind::committed);
  ASSERT_EQ(kind_of(bundle_with(old_run, {core::HoldWork{false}})), OutcomeKind::committed);
  EXPECT_EQ(store_->read_due(lane_, std::nullopt, 10)->size(), 3u);
  EXPECT_EQ(kind_of(RemoveJob{old_done, clock_.now() + lease}), OutcomeKind::committed);
  Submit again = a_submit(lane_, "open");
  again.reuse = Reuse::replace;
  EXPECT_EQ(commit(again).replaced(), old_run);
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(LifeTest, a_removed_job_leaves_no_row_in_any_table_but_its_start_key) {
  open_bench();
  Submit order = a_submit(lane_, "a");
  order.deadline = clock_.now() + lease;
  order.keep = lease;
  const RunId run = commit(order).run();
  enqueue(run, 3);
  commit(bundle_with(run, {core::PutRecord{std::nullopt, {guid(1), core::ActivitySeq(0), message_ledger(1)}},
                           core::PutMessage{start_message(2), clock_.now() + lease}}));
  core::Bundle last = bundle_for(run);  // closed without a sweep: all rows are still there
  std::get<core::JobHead>(last.head).status = core::JobStatus::failed;
  std::get<core::JobHead>(last.head).completions = 1;
  ASSERT_EQ(kind_of(last), OutcomeKind::committed);

  // Claim: no table has a row of this run. The list of tables comes from the file, so a new table is checked too.
  const std::string tables =
      raw("SELECT group_concat(m.name, ' ') FROM sqlite_schema m JOIN pragma_table_info(m.name) c"
          " WHERE m.type = 'table' AND c.name = 'run'");
  const auto rows = [&](const std::string& table) {
    return raw("SELECT count(*) FROM " + table + " WHERE run = " + std::to_string(run.raw()));
  };
  std::set<std::string> names;
  for (std::size_t from = 0; from < tables.size();) {
    const std::size_t end = std::min(tables.find(' ', from), tables.size());
    names.insert(tables.substr(from, end - from));
    from = end + 1;
  }
  for (const char* expected : {"jobs", "activities", "message_ledgers", "inbox", "timers", "start_keys"}) {
    EXPECT_TRUE(names.contains(expected)) << expected;
    EXPECT_NE(rows(expected), "0") << expected << " has nothing to lose";
  }
  ASSERT_EQ(kind_of(RemoveJob{run, clock_.now() + lease}), OutcomeKind::committed);
  for (const std::string& name : names) EXPECT_EQ(rows(name), name == "start_keys" ? "1" : "0") << name;
  ASSERT_EQ(kind_of(DropKeys{clock_.now() + lease, 10}), OutcomeKind::committed);
  for (const std::string& name : names) EXPECT_EQ(rows(name), "0") << name;
  EXPECT_TRUE(sqlite().verify());
}

TEST_F(LifeTest, no_statement_scans_a_table_that_grows_or_sorts_what_is_due) {
  open_bench();
  store_.reset();
  auto file = open_file(path(), {}, migrations());
  ASSERT_TRUE(file);
  auto again = open_again(**file, {}, Role::reader);
  ASSERT_TRUE(again);
  AlwaysOwner owner;
  auto writer = Writer::open(std::move(*file), clock_, owner);
  ASSERT_TRUE(writer);
  auto reader = Reader::open(std::move(*again));
  ASSERT_TRUE(reader);
  std::size_t seen = 0;
  std::size_t due = 0;
  for (sqlite3* database : {(*writer)->connection().handle(), (*reader)->connection().handle()}) {
    for (const auto& [sql, plan] : plans(database)) {
      ++seen;
      // Paused topics, lanes, and counts by graph and status have a limit. Open work is counted when a person asks.
      // Anything else that is scanned would be scanned at every commit.
      const bool asked =
          sql.starts_with("SELECT topic, sum(ready)") && plan.find("SCAN activities") == plan.npos;
      const bool limited = asked || plan.find("SCAN paused_topics") != std::string::npos || plan == "SCAN lanes\n" ||
                           plan == "SCAN job_counts\n";
      const bool scans = plan.find("SCAN") != plan.find("SCAN CONSTANT ROW");
      EXPECT_TRUE(limited || !scans) << sql << "\n" << plan;
      if (sql.find(">> 47") == std::string::npos) continue;
      ++due;
      EXPECT_EQ(plan.find("TEMP B-TREE"), std::string::npos) << sql << "\n" << plan;
      EXPECT_NE(plan.find("(<expr>=? AND "), std::string::npos) << sql << "\n" << plan;
    }
  }
  EXPECT_GT(seen, 90u);
  EXPECT_EQ(due, 4u);
}

TEST_F(LifeTest, many_timers_cost_nobody_else_anything) {
  // Claim: the reads at a start and at every look need the same work with ten timers as with 100,000. Counted in steps
  // of SQLite's machine, not in time.
  open_bench();
  const RunId run = submit("a");
  enqueue(run, 3);
  const auto fill = [&](int count) {
    raw("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(count) +
        ") INSERT INTO timers (run, guid, due, redeliveries, body) SELECT " + std::to_string(run.raw()) +
        " + i, randomblob(16), 1000000 + i, 0, x'0000' FROM n");
  };
  const auto look = [&](Reader& reader) {
    steps_of(reader.connection().handle());
    EXPECT_EQ(reader.read_waiting(lane_, RunId(0), 100)->size(), 1u);
    EXPECT_EQ(reader.read_work(lane_, {}, 100)->size(), 3u);
    const auto page = reader.read_due(lane_, std::nullopt, 10);
    EXPECT_EQ(page->size(), 10u);
    EXPECT_LE(reader.read_due(lane_, page->back(), 10)->size(), 10u);
    EXPECT_TRUE(reader.read_job(run)->has_value());
    return steps_of(reader.connection().handle());
  };
  fill(20);
  auto file = open_file(path(), {}, migrations());
  ASSERT_TRUE(file);
  auto again = open_again(**file, {}, Role::reader);
  ASSERT_TRUE(again);
  auto reader = Reader::open(std::move(*again));
  ASSERT_TRUE(reader);
  const int few = look(**reader);
  fill(100'000);
  const int many = look(**reader);
  EXPECT_GT(few, 0);
  EXPECT_LE(many, few * 2) << few;
}

TEST_F(LifeTest, an_item_without_a_policy_stores_nothing_of_it_and_enters_no_index_for_it) {
  open_bench();
  const RunId run = submit("a");
  core::WorkItem item;
  item.token = core::WorkToken(5);
  item.worker = "local";
  item.epoch = epoch_;
  item.runs = 1;
  enqueue_item(run, item);
  EXPECT_EQ(raw("SELECT life IS NULL AND wake_at = 0 AND visible_at = 0 AND held = 0 AND once = 0 AND priority = 0"
                " FROM activities WHERE request IS NOT NULL"),
            "1");
  for (const char* index : {"work_free", "work_later", "work_leased", "work_due"}) {
    const std::string count = format("SELECT count(*) FROM work_list INDEXED BY {} WHERE ", index);
    const std::string partial =
        raw(format("SELECT substr(sql, instr(sql, 'WHERE') + 6) FROM sqlite_schema WHERE name = '{}'", index));
    EXPECT_EQ(raw(count + partial), "0") << index;
  }
}

TEST_F(LifeTest, the_views_show_timers_tries_and_times) {
  open_bench();
  Submit order = a_submit(lane_, "a");
  order.start_at = Instant::from_micros(1'700'000'000'000'000);
  order.deadline = Instant::from_micros(1'800'000'000'000'000);
  const RunId run = commit(order).run();
  EXPECT_EQ(raw("SELECT due FROM timer_view WHERE job_id = 'a' AND kind = 'start'"), "2023-11-14 22:13:20.000");
  EXPECT_EQ(raw("SELECT due FROM timer_view WHERE job_id = 'a' AND kind = 'interrupt'"), "2027-01-15 08:00:00.000");
  core::WorkItem item;
  item.visible_at = order.start_at;
  enqueue_item(run, item);
  EXPECT_EQ(raw("SELECT next_try FROM work_view WHERE job_id = 'a'"), "2023-11-14 22:13:20.000");
  core::Bundle pause = bundle_for(run);
  std::get<core::JobHead>(pause.head).status = core::JobStatus::paused;
  ASSERT_EQ(kind_of(pause), OutcomeKind::committed);
  EXPECT_EQ(raw("SELECT status || ' ' || deadline FROM job_view WHERE job_id = 'a'"), "paused 2027-01-15 08:00:00.000");
  commit(to_run(run, {guid(1), core::Interrupt{}}));
  EXPECT_EQ(raw("SELECT kind FROM inbox_view WHERE job_id = 'a'"), "interrupt");
}

}  // namespace pawl::store::sqlite
