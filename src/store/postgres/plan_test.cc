// Every statement of the store finds its rows by their key. Its generic plan is the same for any table contents and any
// statistics, also when these report an empty table, as they do for a queue.
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "store/postgres/store_test.h"

namespace pawl::store::postgres {

namespace {

struct Scan {
  std::string node, index, condition, filter;
};

// A plan in EXPLAIN's JSON has one key per line. The lines of child nodes follow the node's own keys.
std::vector<Scan> nodes_of(const std::string& plan) {
  std::vector<Scan> nodes;
  std::istringstream lines(plan);
  static const std::regex pair("^\\s*\"([^\"]+)\": \"(.*)\",?$");
  static const std::regex qualifier("\\b[a-z_0-9]+\\.");
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (!std::regex_match(line, found, pair)) continue;
    const std::string key = found[1];
    const std::string value = std::regex_replace(found[2].str(), qualifier, "");
    if (key == "Node Type")
      nodes.push_back({value, {}, {}, {}});
    else if (nodes.empty())
      continue;
    else if (key == "Index Name")
      nodes.back().index = value;
    else if (key == "Index Cond")
      nodes.back().condition = value;
    else if (key == "Filter")
      nodes.back().filter = value;
  }
  return nodes;
}

bool is_scan(const Scan& node) { return node.node.find("Index") != std::string::npos; }

// Statements that may scan more than a key, and what bounds the scan.
const std::map<std::string, std::string> may_walk = {
    {"find_all_pauses", "paused_topics_max"},
    {"read_pauses", "paused_topics_max"},
    {"count_pauses", "paused_topics_max"},
    {"count_jobs_by", "an index of all jobs, for people who count them"},
    {"count_topic_work", "the work of open jobs, for people who count it"},
    {"read_ends", "lanes_max"},
    {"find_last_lane", "lanes_max"},
    {"lock_taken", "pairs of lanes"},
    {"lock_routes", "pairs of lanes"},
    {"put_taken", "pairs of lanes"},
    {"put_routes", "pairs of lanes"},
    {"read_waiting_runs", "one seek for each run, by recursion"},
    {"read_measure_rows", "the measures of one graph"},
    {"read_announced", "the announcements behind a cursor"},
    {"list_mailbox_rows", "the mailboxes behind a cursor, for people who look for kept signals"},
    {"end_stuck", "sessions of the server"},
};

class Plans : public PostgresTest {
 protected:
  void SetUp() override {
    store_ = open();
    ASSERT_NE(store_, nullptr);
    session_ = SharedServer::get().connect(schema_.name());
    ASSERT_NE(session_, nullptr);
    for (const Statement* one = Statement::first; one != nullptr; one = one->next) prepare(*one);
    ASSERT_GT(arguments_.size(), 100u);
    read_indexes();
    leave_alone();
  }
  void TearDown() override {
    if (session_ != nullptr)
      run("TRUNCATE jobs, activities, message_ledgers, start_keys, work, inbox, timers, mailboxes,"
          " mailbox_entries, signal_ids, labels, announcements, outbox, duplex_stream, duplex_cells");
  }
  void run(const std::string& sql) {
    const auto done = session_->execute(sql);
    EXPECT_TRUE(done) << to_string(done.error()) << "\n" << sql;
  }
  std::string ask(const std::string& sql) {
    const auto answer = session_->ask(sql);
    EXPECT_TRUE(answer) << to_string(answer.error()) << "\n" << sql;
    return answer ? *answer : std::string();
  }
  // Statements that begin or end transactions have no plan.
  void prepare(const Statement& statement) {
    const std::string sql = statement.sql;
    const std::string name = statement.name;
    if (sql.starts_with("BEGIN") || sql.starts_with("COMMIT") || sql.starts_with("ROLLBACK") ||
        sql.starts_with("SAVEPOINT") || sql.starts_with("RELEASE"))
      return;
    run("PREPARE " + name + " AS " + sql);
    const int count = std::atoi(
        ask(format("SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = '{}'", name)).c_str());
    std::string values;
    for (int i = 0; i < count; ++i) values += i == 0 ? "(NULL" : ", NULL";
    arguments_[name] = count == 0 ? "" : values + ")";
  }
  // No autovacuum writes statistics of its own between what a test says of the tables and the plans that follow.
  void leave_alone() {
    run(format("DO $$ DECLARE one regclass; BEGIN FOR one IN SELECT oid FROM pg_class WHERE relkind = 'r' AND"
               " relnamespace = '{}'::regnamespace LOOP EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)',"
               " one); END LOOP; END $$",
               schema_.name()));
  }
  void read_indexes() {
    std::istringstream lines(
        ask(format("SELECT string_agg(i.indexrelid::regclass::text || '|' || pg_get_indexdef(i.indexrelid, k, false) "
                   "|| '|' || k, E'\\n'"
                   " ORDER BY i.indexrelid, k) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid,"
                   " generate_series(1, i.indnkeyatts) AS k WHERE c.relnamespace = '{}'::regnamespace",
                   schema_.name())));
    for (std::string line; std::getline(lines, line);) {
      const auto first = line.find('|');
      const auto last = line.rfind('|');
      std::string column = line.substr(first + 1, last - first - 1);
      if (column.starts_with('(') && column.ends_with(')')) column = column.substr(1, column.size() - 2);
      columns_[line.substr(0, first)].push_back(std::move(column));
    }
    ASSERT_GT(columns_.size(), 40u);
  }
  std::string plan_of(const std::string& name) {
    return ask("EXPLAIN (FORMAT JSON, COSTS OFF) EXECUTE " + name + arguments_.at(name));
  }

  void expect_by_key(const std::string& name, const std::string& plan) {
    const std::vector<Scan> nodes = nodes_of(plan);
    const auto has = [&](const std::string& node) {
      return std::any_of(nodes.begin(), nodes.end(), [&](const Scan& one) { return one.node == node; });
    };
    if (may_walk.contains(name)) return;
    for (const char* bad : {"Seq Scan", "Hash Join", "Merge Join", "Materialize"})
      EXPECT_FALSE(has(bad)) << name << ": " << bad << "\n" << plan;
    const bool is_page = has("Limit") && !has("Sort") && !has("Incremental Sort");
    for (const Scan& scan : nodes) {
      if (!is_scan(scan)) continue;
      const auto known = columns_.find(scan.index);
      ASSERT_NE(known, columns_.end()) << name << ": " << scan.index;
      const std::vector<std::string>& columns = known->second;
      const auto is_bound = [&](const std::string& column, const std::string& by) {
        return by.find("(" + column + " = ") != std::string::npos ||
               by.find("((" + column + ") = ") != std::string::npos;
      };
      EXPECT_TRUE(is_bound(columns.front(), scan.condition) || (is_page && !scan.condition.empty()))
          << name << " walks " << scan.index << " by " << scan.condition << "\n"
          << plan;
      for (const std::string& column : columns)
        EXPECT_FALSE(is_bound(column, scan.filter))
            << name << " walks " << scan.index << " and leaves out rows by " << scan.filter << "\n"
            << plan;
    }
  }
  // The indexes that the statement uses.
  using Shape = std::set<std::string>;
  static Shape shape_of(const std::string& plan) {
    Shape shape;
    for (const Scan& scan : nodes_of(plan))
      if (is_scan(scan)) shape.insert(scan.index);
    return shape;
  }
  std::map<std::string, Shape> expect_good_plans(const std::string& when) {
    SCOPED_TRACE(when);
    std::map<std::string, Shape> shapes;
    for (const auto& [name, arguments] : arguments_) {
      const std::string plan = plan_of(name);
      expect_by_key(name, plan);
      shapes[name] = shape_of(plan);
    }
    return shapes;
  }
  void fill(std::int64_t jobs) {
    const std::string few = std::to_string(std::min<std::int64_t>(jobs, 5'000));
    const std::string all = std::to_string(jobs);
#define PAWL_RUN "(1::bigint << 47) + 1000000 + n"
    run("INSERT INTO jobs (run, semaphore, fingerprint, version, created_at, closed_at, deadline, priority, status, "
        "namespace,"
        " job_id, graph, completions, next_activity, remove_at) SELECT " PAWL_RUN
        ", 0, 1, 1, 0, 1, 0, 0, 1, 'default',"
        " 'ended-' || n, 'g', 1, 2, n FROM generate_series(1, " +
        all + ") AS n");
    run("INSERT INTO activities (run, seq, node, ledger, opened_at, closed_at, code, status, place)"
        " SELECT " PAWL_RUN ", s, s, 1111000000001, 0, 1, 200, 1, ',0' FROM generate_series(1, " +
        all +
        ") AS n,"
        " generate_series(0, 1) AS s");
    run("INSERT INTO start_keys SELECT 'default', 'ended-' || n, " PAWL_RUN ", 0 FROM generate_series(1, " + all +
        ") AS n");
    run("INSERT INTO message_ledgers SELECT " PAWL_RUN ", decode(md5(n::text), 'hex'), 1, 1 FROM generate_series(1, " +
        few + ") AS n");
    run("INSERT INTO work (run, seq, token, epoch, lease_until, visible_at, wake_at, runs, priority, held, once, "
        "plain_key, topic,"
        " worker, request) SELECT " PAWL_RUN
        ", 1, n % 2, 0, n, n % 3, n, 1, 0, false, false, true, 'topic-' || n % 50, 'w', '\\x00'"
        " FROM generate_series(1, " +
        few + ") AS n");
    run("INSERT INTO inbox (run, guid, body) SELECT " PAWL_RUN
        ", decode(md5(n::text), 'hex'), '\\x00' FROM generate_series(1, " +
        few + ") AS n");
    run("INSERT INTO timers (run, guid, due, body) SELECT " PAWL_RUN
        ", decode(md5(n::text), 'hex'), n, '\\x00' FROM generate_series(1, " +
        few + ") AS n");
    run("INSERT INTO mailboxes SELECT " PAWL_RUN
        ", 1, 1, 1, 0, 0, 'default', 't', n::text::bytea FROM generate_series(1, " +
        few + ") AS n");
    run("INSERT INTO mailbox_entries SELECT " PAWL_RUN
        ", s, s % 2, 0, decode(md5(n::text), 'hex'), NULL, NULL, '\\x00' FROM"
        " generate_series(1, " +
        few + ") AS n, generate_series(0, 1) AS s");
    run("INSERT INTO signal_ids SELECT 1, n, n, decode(md5(n::text), 'hex') FROM generate_series(1, " + few + ") AS n");
    run("INSERT INTO labels SELECT 'default', 'g', 'side', 'v' || n % 5, '', " PAWL_RUN " FROM generate_series(1, " +
        few + ") AS n");
    run("INSERT INTO announcements SELECT " PAWL_RUN ", " PAWL_RUN ", 0, 200, 0, 0, 'topic' FROM generate_series(1, " +
        few + ") AS n");
#undef PAWL_RUN
  }
  // Makes the statistics look as after a vacuum of a drained queue: the table has pages, and no row.
  void call_them_empty() {
    run(format(
        "UPDATE pg_class SET reltuples = 0, relpages = 100 WHERE relkind = 'r' AND relnamespace = '{0}'::regnamespace;"
        " UPDATE pg_class SET reltuples = 0, relpages = 10 WHERE relkind = 'i' AND relnamespace = '{0}'::regnamespace;"
        " DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE relnamespace = "
        "'{0}'::regnamespace)",
        schema_.name()));
    run("DISCARD PLANS");
  }

  std::unique_ptr<Store> store_;
  std::unique_ptr<Connection> session_;
  std::map<std::string, std::string> arguments_;             // for each statement: as many as it has parameters
  std::map<std::string, std::vector<std::string>> columns_;  // of each index
};

// PAWL_PLAN_JOBS: how many jobs have ended (5,000,000 is the full proof).
TEST_F(Plans, every_statement_finds_its_rows_by_their_key_however_many_there_are_and_whatever_is_said_of_them) {
  const char* asked = getenv("PAWL_PLAN_JOBS");
  const auto empty = expect_good_plans("empty, and nothing is known");
  fill(asked == nullptr ? 50'000 : std::atoll(asked));
  call_them_empty();
  const auto called_empty = expect_good_plans("full, and said to be empty");
  run("ANALYZE");
  const auto known = expect_good_plans("full, and all is known");
  for (const auto& [name, shape] : empty) {
    if (may_walk.contains(name)) continue;
    EXPECT_EQ(called_empty.at(name), shape) << name;
    EXPECT_EQ(known.at(name), shape) << name;
  }
}

}  // namespace

}  // namespace pawl::store::postgres
