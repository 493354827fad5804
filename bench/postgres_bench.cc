// The PostgreSQL store beside what the server itself can do, in the same run: worker activities per second of 10-step
// jobs at 64, 256 and 2,000 concurrent, with one node and with two; the time of a job of one step; the same while ended
// jobs are removed; with --ended the same beside so many jobs that ended; with --messages how large the queues are
// while so many pass.
//
//   postgres_bench [--jobs N] [--lanes N] [--connections N] [--group N] [--alone N] [--ended N] [--messages N]
//                  [--only CONCURRENT] [--nodes N] [--least_nodes N] [--raw 0|1] [--merged 0|1] [--crowds 0|1]
//                  [--removal 0|1] [--statements 0|1] [--sync MICROS] [--dir DIR]
//
// Starts a server of its own (fsync on). With --sync its files are in memory, where a sync costs nothing, and each
// commit waits this long before it: a disk that is as fast today as tomorrow. Prints one JSON object.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "jobs.h"
#include "postgres_nodes.h"
#include "postgres_raw.h"
#include "store/postgres/server_test.h"

namespace {

namespace pg = pawl::store::postgres;
using namespace pawl::bench;

struct Settings {
  std::uint32_t jobs = 5'000;
  std::uint32_t lanes = 16;
  std::uint32_t connections = 4;
  std::uint32_t group = 256;  // of the raw loop
  std::uint32_t alone = 300;
  std::uint32_t ended = 0;
  std::uint32_t messages = 0;
  std::uint32_t only = 0;   // concurrent; 0: all of them
  std::uint32_t nodes = 2;  // at the most
  std::uint32_t least_nodes = 1;
  std::uint32_t sync = 0;  // in memory, with syncs of this time; 0: on disk
  bool raw = true;
  bool merged = true;  // the loop with fewer rows too
  bool crowds = true;  // many jobs at once
  bool removal = true;
  bool statements = false;  // prints where the server's time goes
};
constexpr std::uint32_t steps = 10;

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const auto number = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
    if (flag == "--jobs")
      settings.jobs = number;
    else if (flag == "--lanes")
      settings.lanes = number;
    else if (flag == "--connections")
      settings.connections = number;
    else if (flag == "--group")
      settings.group = number;
    else if (flag == "--alone")
      settings.alone = number;
    else if (flag == "--ended")
      settings.ended = number;
    else if (flag == "--messages")
      settings.messages = number;
    else if (flag == "--statements")
      settings.statements = number != 0;
    else if (flag == "--removal")
      settings.removal = number != 0;
    else if (flag == "--only")
      settings.only = number;
    else if (flag == "--nodes")
      settings.nodes = number;
    else if (flag == "--least_nodes")
      settings.least_nodes = number;
    else if (flag == "--sync")
      settings.sync = number;
    else if (flag == "--merged")
      settings.merged = number != 0;
    else if (flag == "--crowds")
      settings.crowds = number != 0;
    else if (flag == "--raw")
      settings.raw = number != 0;
    else if (flag == "--dir")
      continue;  // its server has a folder of its own
    else {
      fmt::print(stderr, "unknown option {}\n", flag);
      std::exit(2);
    }
  }
  return settings;
}

// The best of the row layouts with so many jobs at once, with as many connections as suit it.
double print_raw(const Settings& settings, const std::string& address, std::uint32_t concurrent) {
  double best = 0;
  fmt::print(" \"raw_{}\": {{", concurrent);
  const char* separator = "";
  for (const auto& [layout, name] : {std::pair{RawLayout::merged, "merged"}, std::pair{RawLayout::queued, "queued"}}) {
    if (layout == RawLayout::merged && !settings.merged) continue;
    for (const std::uint32_t connections : {1u, 2u, settings.connections}) {
      const RawRate rate = raw_loop(address, {settings.jobs, steps, concurrent, settings.group, connections, layout});
      best = std::max(best, rate.activities_per_second);
      fmt::print(
          "{}\n  \"{}_{}\": {{\"activities_per_second\": {:.0f}, \"rows\": {:.2f}, \"log_bytes\": {:.0f},"
          " \"server_micros\": {:.1f}, \"own_micros\": {:.1f}}}",
          separator, name, connections, rate.activities_per_second, rate.rows, rate.log_bytes, rate.server_micros,
          rate.own_micros);
      std::fflush(stdout);
      separator = ",";
    }
  }
  fmt::print("}},\n");
  return best;
}

// What the server itself says of its statements, per activity, on standard error.
void print_statements(pg::Connection& watcher, double activities) {
  for (int place = 0; place < 24; ++place) {
    const std::string line = must(watcher.ask(
        fmt::format("SELECT format('%s us, %s calls, %s rows: %s', round((total_exec_time * 1000 / {0})::numeric, 2),"
                    " calls, rows, left(regexp_replace(query, '\\s+', ' ', 'g'), 90)) FROM pg_stat_statements"
                    " ORDER BY total_exec_time DESC OFFSET {1} LIMIT 1",
                    activities, place)));
    if (!line.empty()) fmt::print(stderr, "{}\n", line);
  }
}

void print_rate(const Settings& settings, const std::string& address, std::uint32_t nodes, std::uint32_t concurrent,
                double raw) {
  Nodes running(
      {address, fmt::format("bench_{}_{}", nodes, concurrent), nodes, settings.lanes, settings.connections, steps});
  auto watcher = must(pg::Connection::open(pg::Address{address, "public"}));
  const Written before = written(*watcher);
  if (settings.statements) must(watcher->execute("SELECT pg_stat_statements_reset()"));
  const pg::Stats stats_before = running.stats();
  const double seconds = running.run(settings.jobs, concurrent);
  const Written after = written(*watcher);
  const pg::Stats stats = running.stats();
  const double activities = static_cast<double>(settings.jobs) * steps;
  const double commits = static_cast<double>(stats.commits - stats_before.commits);
  fmt::print(
      " \"nodes_{}_concurrent_{}\": {{\"activities_per_second\": {:.0f}, \"of_raw_at_as_many\": {:.2f}, \"rows\": "
      "{:.2f},"
      " \"log_bytes\": {:.0f}, \"round_trips\": {:.4f}, \"transactions\": {:.4f}, \"statements\": {:.3f},"
      " \"operations_per_commit\": {:.1f}, \"server_micros\": {:.1f}, \"own_micros\": {:.1f}}},\n",
      nodes, concurrent, activities / seconds, activities / seconds / raw, (after.rows - before.rows) / activities,
      (after.log_bytes - before.log_bytes) / activities,
      static_cast<double>(stats.round_trips - stats_before.round_trips) / activities,
      (after.transactions - before.transactions) / activities,
      static_cast<double>(stats.statements - stats_before.statements) / activities,
      static_cast<double>(stats.operations - stats_before.operations) / commits,
      (after.server_micros - before.server_micros) / activities, (after.own_micros - before.own_micros) / activities);
  std::fflush(stdout);
  if (settings.statements) print_statements(*watcher, activities);
}

void print_alone(const Settings& settings, const std::string& address) {
  Nodes running({address, "bench_alone", 1, settings.lanes, settings.connections, 1});
  running.run_alone(20);  // everything is prepared
  const auto half = [](const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; };
  const double bare_before = half(bare_commits(address, settings.alone));
  auto watcher = must(pg::Connection::open(pg::Address{address, "public"}));
  const pg::Stats stats_before = running.stats();
  const Written before = written(*watcher);
  if (settings.statements) must(watcher->execute("SELECT pg_stat_statements_reset()"));
  const double job = half(running.run_alone(settings.alone));
  if (settings.statements) print_statements(*watcher, settings.alone);
  const Written after = written(*watcher);
  const pg::Stats stats = running.stats();
  const double bare = (bare_before + half(bare_commits(address, settings.alone))) / 2;
  fmt::print(
      " \"bare_commit_p50_us\": {:.0f}, \"one_step_job_p50_us\": {:.0f}, \"one_step_job_of_bare_commit\": {:.2f},"
      " \"one_step_job_round_trips\": {:.2f}, \"one_step_job_commits\": {:.2f},"
      " \"one_step_job_server_micros\": {:.0f}, \"one_step_job_own_micros\": {:.0f},\n",
      bare, job, job / bare, static_cast<double>(stats.round_trips - stats_before.round_trips) / settings.alone,
      static_cast<double>(stats.commits - stats_before.commits) / settings.alone,
      (after.server_micros - before.server_micros) / settings.alone,
      (after.own_micros - before.own_micros) / settings.alone);
}

constexpr std::uint32_t crowd = 2'000;

// While jobs are removed as soon as they ended, against the same without.
void print_removal(const Settings& settings, const std::string& address) {
  double rates[2];
  for (const bool removes : {false, true}) {
    NodesOptions options{
        address, fmt::format("bench_keep_{}", removes ? 0 : 1), 1, settings.lanes, settings.connections, steps};
    if (removes) options.keep = std::chrono::milliseconds(1);
    Nodes running(options);
    rates[removes ? 1 : 0] = static_cast<double>(settings.jobs) * steps / running.run(settings.jobs, crowd);
  }
  fmt::print(" \"removal\": {{\"activities_per_second\": {:.0f}, \"of_without\": {:.2f}}},\n", rates[1],
             rates[1] / rates[0]);
}

// Beside many jobs that ended, which the statistics do not know, against an empty store.
void print_ended(const Settings& settings, const std::string& address) {
  double rates[2];
  for (const bool full : {false, true}) {
    const std::string schema = fmt::format("bench_ended_{}", full ? 1 : 0);
    Nodes running({address, schema, 1, settings.lanes, settings.connections, steps});
    if (full) put_ended_jobs(address, schema, settings.ended);
    running.run(settings.jobs / 5, crowd);
    rates[full ? 1 : 0] = static_cast<double>(settings.jobs) * steps / running.run(settings.jobs, crowd);
  }
  fmt::print(" \"beside_ended_jobs\": {{\"ended\": {}, \"activities_per_second\": {:.0f}, \"of_empty\": {:.2f}}},\n",
             settings.ended, rates[1], rates[1] / rates[0]);
}

// How large the queues are after each quarter of the messages.
void print_queues(const Settings& settings, const std::string& address) {
  Nodes running({address, "bench_queues", 1, settings.lanes, settings.connections, steps});
  auto watcher = must(pg::Connection::open(pg::Address{address, "bench_queues"}));
  fmt::print(" \"queue_kilobytes\": {{");
  for (int quarter = 1; quarter <= 4; ++quarter) {
    running.run(settings.messages / 4 / steps, crowd);
    const auto size = [&](const char* table) {
      return std::atof(must(watcher->ask(fmt::format("SELECT pg_total_relation_size('{}') / 1024", table))).c_str());
    };
    fmt::print("{}\"after_{}\": {{\"work\": {:.0f}, \"inbox\": {:.0f}}}", quarter == 1 ? "" : ", ",
               settings.messages / 4 * quarter, size("work"), size("inbox"));
    std::fflush(stdout);
  }
  fmt::print("}},\n");
}

}  // namespace

int main(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  std::vector<std::string> set{"shared_buffers=512MB", "max_wal_size=4GB"};
  if (settings.statements) set.emplace_back("shared_preload_libraries=pg_stat_statements");
  if (settings.sync > 0) {
    set.push_back(fmt::format("commit_delay={}", settings.sync));
    set.emplace_back("commit_siblings=0");
  }
  auto server = pg::TestServer::start(set, settings.sync > 0 ? pg::TestServer::Keeps::in_memory
                                                             : pg::TestServer::Keeps::on_disk);
  if (!server) return 1;
  const std::string address = server->address();
  if (settings.statements)
    must(must(pg::Connection::open(pg::Address{address, "public"}))->execute("CREATE EXTENSION pg_stat_statements"));
  fmt::print("{{\"jobs\": {}, \"lanes\": {}, \"connections\": {}, \"raw_group\": {},\n", settings.jobs, settings.lanes,
             settings.connections, settings.group);
  if (settings.alone > 0) print_alone(settings, address);
  double best = 0;
  for (const std::uint32_t concurrent : {64u, 256u, 2'000u}) {
    if (!settings.crowds || (settings.only != 0 && settings.only != concurrent)) continue;
    const double raw = settings.raw ? print_raw(settings, address, concurrent) : 0;
    best = std::max(best, raw);
    for (std::uint32_t nodes = settings.least_nodes; nodes <= settings.nodes; ++nodes)
      print_rate(settings, address, nodes, concurrent, raw);
  }
  if (settings.removal) print_removal(settings, address);
  if (settings.ended > 0) print_ended(settings, address);
  if (settings.messages > 0) print_queues(settings, address);
  fmt::print(" \"best_raw_activities_per_second\": {:.0f}}}\n", best);
  server->remove();
}
