#include "postgres_raw.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "jobs.h"

namespace pawl::bench {

namespace {

namespace pg = store::postgres;
using Clock = std::chrono::steady_clock;

const pg::Statement step_jobs{"raw_jobs",
                              "UPDATE jobs j SET rev = rev + 1, semaphore = semaphore + u.delta"
                              " FROM unnest($1::bigint[], $2::bigint[]) AS u(run, delta) WHERE j.run = u.run"};
const pg::Statement answer{
    "raw_answer",
    "UPDATE activities a SET ledger = 1111000000001, status = 1, closing_guid = u.guid,"
    " closing_ledger = 11000000001, output = u.output, request = NULL"
    " FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[]) AS u(run, seq, guid, output)"
    " WHERE a.run = u.run AND a.seq = u.seq"};
const pg::Statement next{"raw_next",
                         "INSERT INTO activities (run, seq, ledger, status, request)"
                         " SELECT run, seq, 1100000000000, 0, request"
                         " FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS u(run, seq, request)"};
const pg::Statement next_without_request{"raw_next_without_request",
                                         "INSERT INTO activities (run, seq, ledger, status)"
                                         " SELECT run, seq, 1100000000000, 0"
                                         " FROM unnest($1::bigint[], $2::bigint[]) AS u(run, seq)"};
const pg::Statement put_work{"raw_work",
                             "INSERT INTO work (run, seq, token, topic, input) SELECT run, seq, 1, 'noop', input"
                             " FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS u(run, seq, input)"};
const pg::Statement drop_work{"raw_drop",
                              "DELETE FROM work w USING unnest($1::bigint[], $2::bigint[]) AS u(run, seq)"
                              " WHERE w.run = u.run AND w.seq = u.seq"};
const pg::Statement bare{"bare", "UPDATE one SET value = value + 1 WHERE id = 1"};

double number(pg::Connection& connection, const std::string& sql) {
  return std::atof(must(connection.ask(sql)).c_str());
}

std::unique_ptr<pg::Connection> open(const std::string& address) {
  return must(pg::Connection::open(pg::Address{address, "raw"}));
}

void make_tables(pg::Connection& connection, std::uint32_t jobs) {
  must(connection.execute(
      "DROP SCHEMA IF EXISTS raw CASCADE; CREATE SCHEMA raw;"
      " CREATE TABLE jobs (run bigint PRIMARY KEY, rev bigint NOT NULL DEFAULT 0, semaphore bigint NOT NULL DEFAULT 1)"
      " WITH (fillfactor = 60);"
      " CREATE TABLE activities (run bigint, seq bigint, ledger bigint, closing_ledger bigint, status smallint,"
      " closing_guid bytea, output bytea, request bytea, PRIMARY KEY (run, seq)) WITH (fillfactor = 70);"
      " CREATE TABLE work (run bigint, seq bigint, token bigint, topic text, input bytea, PRIMARY KEY (run, seq))"));
  must(
      connection.execute(fmt::format("INSERT INTO jobs SELECT n FROM generate_series(1, {0}) AS n;"
                                     " INSERT INTO activities SELECT n, 0, 0, 0, 0 FROM generate_series(1, {0}) AS n",
                                     jobs)));
}

// The jobs first .. last, `group` at a time, all of them one step after the other.
void run_jobs(pg::Connection& connection, const RawLoop& loop, std::uint32_t first, std::uint32_t last) {
  const std::string output(200, 'x');
  const core::Guid guid{1, 2};
  for (std::uint32_t step = 0; step < loop.activities; ++step)
    for (std::uint32_t begin = first; begin < last; begin += loop.group) {
      pg::Batch runs, answered, here, after, requests;
      for (std::uint32_t run = begin; run < std::min(begin + loop.group, last); ++run) {
        runs.row(run, 0);
        answered.row(run, step, guid, pg::Blob{output});
        here.row(run, step);
        after.row(run, step + 1);
        requests.row(run, step + 1, pg::Blob{output});
      }
      pg::Script script;
      script.add(pg::begin_statement);
      script.add(step_jobs, pg::Params::of_rows(runs));
      script.add(answer, pg::Params::of_rows(answered));
      if (loop.layout == RawLayout::merged) {
        script.add(next, pg::Params::of_rows(requests));
      } else {
        script.add(drop_work, pg::Params::of_rows(here));
        script.add(next_without_request, pg::Params::of_rows(after));
        script.add(put_work, pg::Params::of_rows(requests));
      }
      script.add(pg::commit_statement);
      if (const pg::Done done = connection.run(script); !done) must(Status(pg::error_of(done.failure())));
    }
}

}  // namespace

Written written(pg::Connection& connection) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  must(connection.execute("SELECT pg_stat_force_next_flush()"));
  return {number(connection, "SELECT sum(tup_inserted + tup_updated + tup_deleted) FROM pg_stat_database"),
          number(connection, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"),
          number(connection, "SELECT sum(xact_commit) FROM pg_stat_database")};
}

RawRate raw_loop(const std::string& address, const RawLoop& loop) {
  std::vector<std::unique_ptr<pg::Connection>> connections;
  for (std::uint32_t i = 0; i < loop.connections; ++i) connections.push_back(open(address));
  make_tables(*connections[0], loop.jobs);
  const Written before = written(*connections[0]);
  const auto begin = Clock::now();
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < loop.connections; ++i) {
    const std::uint32_t first = 1 + loop.jobs * i / loop.connections;
    const std::uint32_t last = 1 + loop.jobs * (i + 1) / loop.connections;
    threads.emplace_back([&, i, first, last] { run_jobs(*connections[i], loop, first, last); });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const Written after = written(*connections[0]);
  const double activities = static_cast<double>(loop.jobs) * loop.activities;
  return {activities / seconds, (after.rows - before.rows) / activities,
          (after.log_bytes - before.log_bytes) / activities};
}

void put_ended_jobs(const std::string& address, const std::string& schema, std::uint32_t count) {
  auto connection = must(pg::Connection::open(pg::Address{address, schema}));
  const std::string run = "((1 + n % 16)::bigint << 47) + 100000000 + n";
  const std::string all = fmt::format(" FROM generate_series(1, {}) AS n", count);
  must(connection->execute(
      "INSERT INTO jobs (run, semaphore, fingerprint, version, created_at, closed_at, deadline, priority,"
      " status, namespace, job_id, graph, completions, next_activity) SELECT " +
      run + ", 0, 1, 1, 0, 1, 0, 0, 1, 'default', 'ended-' || n, 'g', 1, 2" + all));
  must(connection->execute(
      "INSERT INTO activities (run, seq, node, ledger, opened_at, closed_at, code, status, place, output)"
      " SELECT " +
      run + ", s, s, 1111000000001, 0, 1, 200, 1, ',0', repeat('x', 50)::bytea" + all +
      ", generate_series(0, 1) AS s"));
  must(connection->execute("INSERT INTO start_keys SELECT 'default', 'ended-' || n, " + run + ", 0" + all));
  must(
      connection->execute(fmt::format("UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relkind IN ('r', 'i')"
                                      " AND relnamespace = '{}'::regnamespace",
                                      schema)));
}

std::vector<double> bare_commits(const std::string& address, std::uint32_t count) {
  auto connection = open(address);
  must(
      connection->execute("CREATE SCHEMA IF NOT EXISTS raw; DROP TABLE IF EXISTS one;"
                          " CREATE TABLE one (id bigint PRIMARY KEY, value bigint); INSERT INTO one VALUES (1, 0)"));
  std::vector<double> micros;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    if (const pg::Done done = connection->run(bare); !done) must(Status(pg::error_of(done.failure())));
    micros.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::sort(micros.begin(), micros.end());
  return micros;
}

}  // namespace pawl::bench
