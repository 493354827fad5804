// The PostgreSQL store: worker activities per second of 10-step jobs, beside a loop over the server that writes the rows of such
// an activity by hand, in the same run.
//
//   postgres_bench [--jobs N] [--lanes N] [--connections N] [--group N]
//
// Starts a server of its own (fsync on). Prints one JSON object.
#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "jobs.h"
#include "pawl/pawl.h"
#include "runtime/local_runtime.h"
#include "runtime/open_store.h"
#include "store/postgres/connection.h"
#include "store/postgres/server_test.h"
#include "store/postgres/store.h"

namespace {

namespace pg = pawl::store::postgres;
using Clock = std::chrono::steady_clock;
using pawl::bench::chain;
using pawl::bench::must;
constexpr std::uint32_t activities_per_job = 10;

struct Settings {
  std::uint32_t jobs = 5'000;
  std::uint32_t lanes = 8;
  std::uint32_t connections = 4;
  std::uint32_t group = 256;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const auto number = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
    if (flag == "--jobs") settings.jobs = number;
    else if (flag == "--lanes") settings.lanes = number;
    else if (flag == "--connections") settings.connections = number;
    else if (flag == "--group") settings.group = number;
    else {
      fmt::print(stderr, "unknown option {}\n", flag);
      std::exit(2);
    }
  }
  return settings;
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double number(pg::Connection& connection, const std::string& sql) { return std::atof(must(connection.ask(sql)).c_str()); }

// Rows that were written, and bytes of the log, since the server began.
struct Written {
  double rows = 0;
  double log_bytes = 0;
};
Written written(pg::Connection& connection) {
  must(connection.execute("SELECT pg_stat_force_next_flush()"));
  return {number(connection, "SELECT sum(tup_inserted + tup_updated + tup_deleted) FROM pg_stat_database"),
          number(connection, "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")};
}

struct Figure {
  std::uint32_t concurrent = 0;
  double activities_per_second = 0;
  double rows = 0;  // of one activity, as the next three
  double log_bytes = 0;
  double round_trips = 0;
  double operations_per_commit = 0;
};

Figure engine_rate(const Settings& settings, const pg::TestServer& server, std::uint32_t concurrent) {
  pg::Options options;
  options.schema = fmt::format("bench_{}", concurrent);
  options.connections = settings.connections;
  pawl::runtime::OpenedStore opened;
  auto store = must(pg::Store::open(server.address(), options));
  pg::Store& postgres = *store;
  const pawl::Pool pool("graphs");
  const pawl::store::Operation made = pawl::store::OpenPool{pool, settings.lanes};
  must(store->commit({&made, 1}));
  const auto info = *must(store->read_pool(pool));
  opened.duplex = &store->duplex();
  opened.store = std::move(store);
  opened.lease = std::chrono::seconds(10);
  opened.stats = [] { return pawl::RuntimeStats{}; };
  pawl::RuntimeOptions runtime_options;
  runtime_options.lanes = settings.lanes;
  runtime_options.worker_threads = 2;
  runtime_options.worker_queue = 65'536;
  pawl::runtime::LocalRuntime runtime(runtime_options, std::move(opened), info);
  runtime.on_problem([](const std::string& text) { fmt::print(stderr, "{}\n", text); });
  must(runtime.deploy(chain(activities_per_job)));
  const pawl::Payload output(std::string(200, 'x'));
  must(runtime.serve("noop", [&](pawl::Work&) { return pawl::Reply::success(output); }));
  std::mutex mutex;
  std::condition_variable changed;
  std::uint32_t submitted = 0;
  std::uint32_t closed = 0;
  const std::function<void()> submit_next = [&] {
    if (submitted >= settings.jobs) return;
    runtime.submit({.graph = "chain", .id = fmt::format("job-{}", submitted++), .input = "{}"},
                   [](pawl::Result<pawl::Submission> result) { must(std::move(result)); });
  };
  runtime.observe([&](const pawl::Event& event) {
    if (event.kind != pawl::Event::Kind::job_closed) return;
    const std::lock_guard lock(mutex);
    ++closed;
    submit_next();
    if (closed == settings.jobs) changed.notify_all();
  });
  must(runtime.start());
  auto watcher = must(pg::Connection::open(pg::Address{server.address(), "public"}));
  const Written before = written(*watcher);
  const pg::Stats before_stats = postgres.stats();
  const auto begin = Clock::now();
  std::unique_lock lock(mutex);
  for (std::uint32_t i = 0; i < concurrent; ++i) submit_next();
  changed.wait(lock, [&] { return closed == settings.jobs; });
  const double seconds = seconds_since(begin);
  lock.unlock();
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));  // until the sessions have told what they wrote
  const Written after = written(*watcher);
  const pg::Stats stats = postgres.stats();
  runtime.stop();
  const double activities = settings.jobs * activities_per_job;
  Figure figure;
  figure.concurrent = concurrent;
  figure.activities_per_second = activities / seconds;
  figure.rows = (after.rows - before.rows) / activities;
  figure.log_bytes = (after.log_bytes - before.log_bytes) / activities;
  figure.round_trips = static_cast<double>(stats.round_trips - before_stats.round_trips) / activities;
  figure.operations_per_commit =
      static_cast<double>(stats.operations - before_stats.operations) / static_cast<double>(stats.commits - before_stats.commits);
  return figure;
}

// What is written of one activity by hand, `group` of them to a commit, over one connection: the job moves on, the activity is
// answered, the next one and its work are put, the old work goes. No engine, no guards, no locks.
const pg::Statement raw_jobs{"raw_jobs",
                             "UPDATE jobs j SET rev = rev + 1, semaphore = semaphore FROM unnest($1::bigint[]) AS u(run)"
                             " WHERE j.run = u.run"};
const pg::Statement raw_answer{"raw_answer",
                               "UPDATE activities a SET ledger = 110000000001, status = 1, output = u.output"
                               " FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS u(run, seq, output)"
                               " WHERE a.run = u.run AND a.seq = u.seq"};
const pg::Statement raw_next{"raw_next",
                             "INSERT INTO activities (run, seq, ledger, status) SELECT run, seq, 100000000000, 0"
                             " FROM unnest($1::bigint[], $2::bigint[]) AS u(run, seq)"};
const pg::Statement raw_work{"raw_work",
                             "INSERT INTO work (run, seq, token, topic, input) SELECT run, seq, 1, 'noop', input"
                             " FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS u(run, seq, input)"};
const pg::Statement raw_drop{"raw_drop",
                             "DELETE FROM work w USING unnest($1::bigint[], $2::bigint[]) AS u(run, seq)"
                             " WHERE w.run = u.run AND w.seq = u.seq"};

double raw_rate(const Settings& settings, const pg::TestServer& server) {
  auto connection = must(pg::Connection::open(pg::Address{server.address(), "raw"}));
  must(connection->execute(
      "CREATE SCHEMA raw; CREATE TABLE jobs (run bigint PRIMARY KEY, rev bigint NOT NULL DEFAULT 0, semaphore bigint NOT NULL"
      " DEFAULT 1) WITH (fillfactor = 60); CREATE TABLE activities (run bigint, seq bigint, ledger bigint, status smallint,"
      " output bytea, PRIMARY KEY (run, seq)) WITH (fillfactor = 70); CREATE TABLE work (run bigint, seq bigint, token bigint,"
      " topic text, input bytea, PRIMARY KEY (run, seq))"));
  must(connection->execute(fmt::format("INSERT INTO jobs SELECT n FROM generate_series(1, {}) AS n;"
                                       " INSERT INTO activities SELECT n, 0, 0, 0 FROM generate_series(1, {}) AS n",
                                       settings.jobs, settings.jobs)));
  const std::string output(200, 'x');
  const auto begin = Clock::now();
  for (std::uint32_t step = 0; step < activities_per_job; ++step)
    for (std::uint32_t first = 1; first <= settings.jobs; first += settings.group) {
      pg::Batch runs;
      pg::Batch here;
      pg::Batch answered;
      pg::Batch next;
      pg::Batch work;
      for (std::uint32_t run = first; run < first + settings.group && run <= settings.jobs; ++run) {
        runs.row(run);
        here.row(run, step);
        answered.row(run, step, pg::Blob{output});
        next.row(run, step + 1);
        work.row(run, step + 1, pg::Blob{output});
      }
      pg::Script script;
      script.add(pg::begin_statement);
      script.add(raw_jobs, pg::Params::of_rows(runs));
      script.add(raw_answer, pg::Params::of_rows(answered));
      script.add(raw_drop, pg::Params::of_rows(here));
      script.add(raw_next, pg::Params::of_rows(next));
      script.add(raw_work, pg::Params::of_rows(work));
      script.add(pg::commit_statement);
      if (const pg::Done done = connection->run(script); !done) must(pawl::Status(pg::error_of(done.failure())));
    }
  return settings.jobs * activities_per_job / seconds_since(begin);
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  auto server = pg::TestServer::start();
  if (!server) return 1;
  const double raw = raw_rate(settings, *server);
  fmt::print("{{\"jobs\": {}, \"lanes\": {}, \"connections\": {}, \"raw_activities_per_second\": {:.0f}, \"raw_group\": {},\n"
             " \"runs\": [",
             settings.jobs, settings.lanes, settings.connections, raw, settings.group);
  const char* separator = "";
  for (const std::uint32_t concurrent : {64u, 256u, 2'000u}) {
    const Figure figure = engine_rate(settings, *server, concurrent);
    fmt::print("{}\n  {{\"concurrent\": {}, \"activities_per_second\": {:.0f}, \"of_raw\": {:.2f}, \"rows\": {:.2f},"
               " \"log_bytes\": {:.0f}, \"round_trips\": {:.3f}, \"operations_per_commit\": {:.1f}}}",
               separator, figure.concurrent, figure.activities_per_second, figure.activities_per_second / raw, figure.rows,
               figure.log_bytes, figure.round_trips, figure.operations_per_commit);
    std::fflush(stdout);
    separator = ",";
  }
  fmt::print("]}}\n");
  server->remove();
}
