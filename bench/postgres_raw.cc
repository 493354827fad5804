#include "postgres_raw.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "jobs.h"
#include "store/postgres/store.h"

namespace pawl::bench {

namespace {

namespace pg = store::postgres;
using Clock = std::chrono::steady_clock;

const pg::Statement step_jobs{
    "raw_jobs",
    "UPDATE jobs j SET rev = rev + 1, bundle = u.bundle, semaphore = semaphore + u.delta,"
    " next_activity = next_activity + 1"
    " FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bigint[]) AS bundle, unnest($3::bigint[]) AS delta) AS u"
    " WHERE j.run = u.run"};
const pg::Statement answer{
    "raw_answer",
    "UPDATE activities a SET ledger = 1111000000001, status = 1, code = 200, closed_at = u.at, closing_guid = u.guid,"
    " closing_ledger = 11000000001, output = u.output, state = NULL"
    " FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bigint[]) AS seq, unnest($3::bigint[]) AS at,"
    " unnest($4::bytea[]) AS guid, unnest($5::bytea[]) AS output) AS u WHERE a.run = u.run AND a.seq = u.seq"};
// `state` has room for the request where the layout is merged; the store leaves it empty here.
const pg::Statement next{
    "raw_next",
    "INSERT INTO activities (run, seq, node, parent, ledger, opened_at, closed_at, code, status, place, state)"
    " SELECT run, seq, seq, seq - 1, 1100000000000, at, 0, 0, 0, place, request"
    " FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bigint[]) AS seq, unnest($3::bigint[]) AS at,"
    " unnest($4::text[]) AS place, unnest($5::bytea[]) AS request) AS u"};
const pg::Statement put_work{
    "raw_work",
    "INSERT INTO work (run, seq, token, epoch, lease_until, visible_at, wake_at, runs, priority, held, once, plain_key,"
    " topic, worker, request, input) SELECT run, seq, 1, 1, 0, 0, 0, 1, 0, false, false, false, 'noop', '', guid, input"
    " FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bigint[]) AS seq, unnest($3::bytea[]) AS guid,"
    " unnest($4::bytea[]) AS input) AS u"};
const pg::Statement drop_work{"raw_drop",
                              "DELETE FROM work w USING (SELECT unnest($1::bigint[]) AS run,"
                              " unnest($2::bigint[]) AS seq) AS u WHERE w.run = u.run AND w.seq = u.seq"};
const pg::Statement bare{"bare", "UPDATE one SET value = value + 1 WHERE id = 1"};

double number(pg::Connection& connection, const std::string& sql) {
  return std::atof(must(connection.ask(sql)).c_str());
}

// Of /proc/PID/stat, behind the name: the parent, the time of the process, the time of its children that ended.
struct Process {
  int parent = 0;
  double ticks = 0;
  double ended_ticks = 0;
};
Process process(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};  // it ended
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  Process found;
  fields >> skipped >> found.parent;
  for (int i = 0; i < 9; ++i) fields >> skipped;
  double user = 0, system = 0, ended_user = 0, ended_system = 0;
  fields >> user >> system >> ended_user >> ended_system;
  found.ticks = user + system;
  found.ended_ticks = ended_user + ended_system;
  return found;
}

// Processor time of the server of the connection, which runs on this machine.
double server_micros(pg::Connection& connection) {
  const int postmaster = process(must(connection.ask("SELECT pg_backend_pid()"))).parent;
  const Process first = process(std::to_string(postmaster));
  double ticks = first.ticks + first.ended_ticks;
  for (const auto& entry : std::filesystem::directory_iterator("/proc"))
    if (const Process one = process(entry.path().filename()); one.parent == postmaster) ticks += one.ticks;
  return ticks * 1e6 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_micros() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto micros = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return micros(used.ru_utime) + micros(used.ru_stime);
}

std::unique_ptr<pg::Connection> open(const std::string& address) {
  return must(pg::Connection::open(pg::Address{address, "raw"}));
}

// Runs of 16 lanes, as the store numbers them.
std::int64_t run_of(std::uint32_t job) { return (std::int64_t{1} + job % 16) << 47 | job; }
constexpr const char* sql_run = "((1 + n % 16)::bigint << 47 | n)";

void make_tables(pg::Connection& connection, const std::string& address, std::uint32_t jobs) {
  must(connection.execute("DROP SCHEMA IF EXISTS raw CASCADE"));
  pg::Options options;
  options.schema = "raw";
  must(pg::Store::open(address, options));
  const std::string all = fmt::format(" FROM generate_series(1, {}) AS n", jobs);
  must(connection.execute(fmt::format(
      "INSERT INTO jobs (run, semaphore, fingerprint, version, created_at, deadline, priority, namespace, job_id, "
      "graph,"
      " next_activity) SELECT {}, 1, 1234567890123, 1, 1700000000000000, 0, 0, 'default', 'job-' || n, 'chain', 1{};"
      " INSERT INTO activities (run, seq, node, ledger, opened_at, closed_at, code, status, place)"
      " SELECT {}, 0, 0, 1100000000000, 1700000000000000, 0, 0, 0, ',0'{}",
      sql_run, all, sql_run, all)));
}

void run_group(pg::Connection& connection, RawLayout layout, std::uint32_t step, std::uint32_t begin,
               std::uint32_t end) {
  const std::string output(200, 'x');
  const std::string place = ",0,0,0";
  const std::int64_t at = 1'700'000'000'000'000;
  pg::Batch runs, answered, here, after, requests;
  for (std::uint32_t job = begin; job < end; ++job) {
    const std::int64_t run = run_of(job);
    const core::Guid guid{job, step};
    runs.row(run, std::uint64_t{0x5bd1e995} * job, 0);
    answered.row(run, step, at, guid, pg::Blob{output});
    here.row(run, step);
    std::optional<pg::Blob> request;
    if (layout == RawLayout::merged) request = pg::Blob{output};
    after.row(run, step + 1, at, place, request);
    requests.row(run, step + 1, guid, pg::Blob{output});
  }
  pg::Script script;
  script.add(pg::begin_statement);
  script.add(step_jobs, pg::Params::of_rows(runs));
  script.add(answer, pg::Params::of_rows(answered));
  script.add(next, pg::Params::of_rows(after));
  if (layout == RawLayout::queued) {
    script.add(drop_work, pg::Params::of_rows(here));
    script.add(put_work, pg::Params::of_rows(requests));
  }
  script.add(pg::commit_statement);
  if (const pg::Done done = connection.run(script); !done) must(Status(pg::error_of(done.failure())));
}

// The jobs first .. last: so many of them open at once, `group` at a time, all of these one step after the other.
void run_jobs(pg::Connection& connection, const RawLoop& loop, std::uint32_t first, std::uint32_t last) {
  const std::uint32_t open = std::max(1u, loop.concurrent / loop.connections);
  const std::uint32_t group = std::min(loop.group, open);
  for (std::uint32_t from = first; from < last; from += open) {
    const std::uint32_t to = std::min(from + open, last);
    for (std::uint32_t step = 0; step < loop.activities; ++step)
      for (std::uint32_t begin = from; begin < to; begin += group)
        run_group(connection, loop.layout, step, begin, std::min(begin + group, to));
  }
}

}  // namespace

Written written(pg::Connection& connection) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  must(connection.execute("SELECT pg_stat_force_next_flush()"));
  return {number(connection, "SELECT sum(tup_inserted + tup_updated + tup_deleted) FROM pg_stat_database"),
          number(connection, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"),
          number(connection, "SELECT sum(xact_commit) FROM pg_stat_database"), server_micros(connection), own_micros()};
}

RawRate raw_loop(const std::string& address, const RawLoop& loop) {
  std::vector<std::unique_ptr<pg::Connection>> connections;
  for (std::uint32_t i = 0; i < loop.connections; ++i) connections.push_back(open(address));
  make_tables(*connections[0], address, loop.jobs);
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
          (after.log_bytes - before.log_bytes) / activities, (after.server_micros - before.server_micros) / activities,
          (after.own_micros - before.own_micros) / activities};
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
