// What PostgreSQL alone can do, without an engine: the limits with which the store is compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/postgres/connection.h"

namespace pawl::bench {

// What the server has written since its start, for all clients.
struct Written {
  double rows = 0;
  double log_bytes = 0;
  double transactions = 0;
};
// Waits until the sessions have reported their statistics.
Written written(store::postgres::Connection& connection);

enum class RawLayout : std::uint8_t {
  merged,  // an activity, its ledgers, its request and its concluding message are one row
  queued,  // the request is a separate row, in a table that stays small
};
struct RawLoop {
  std::uint32_t jobs = 0;
  std::uint32_t activities = 0;  // of each job
  std::uint32_t group = 0;       // activities to a commit
  std::uint32_t connections = 1;
  RawLayout layout = RawLayout::merged;
};
struct RawRate {
  double activities_per_second = 0;
  double rows = 0;       // of one activity
  double log_bytes = 0;  // of one activity
};
// The row layout: integer keys, no index except the keys, statements over arrays; one round trip for each group. For
// one activity the job's row advances, the activity gets its reply of 200 bytes, and the next one is put with its
// request. No engine, no guards, no locks; each connection has its own jobs.
RawRate raw_loop(const std::string& address, const RawLoop& loop);

// Fills the schema of a store with this many ended jobs, two activities each, and makes the planner's statistics show
// all its tables as empty.
void put_ended_jobs(const std::string& address, const std::string& schema, std::uint32_t count);

// One row updated and committed by a single statement: the times in microseconds, sorted.
std::vector<double> bare_commits(const std::string& address, std::uint32_t count);

}  // namespace pawl::bench
