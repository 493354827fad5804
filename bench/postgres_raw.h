// What PostgreSQL alone can do, without an engine: the limits that the store is held against.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/postgres/connection.h"

namespace pawl::bench {

// What the server wrote since it began, whoever asked for it, and the processor time that was used for it.
struct Written {
  double rows = 0;
  double log_bytes = 0;
  double transactions = 0;
  double server_micros = 0;  // of all processes of the server
  double own_micros = 0;     // of this process
};
// Waits until the sessions have told what they did.
Written written(store::postgres::Connection& connection);

// Both write rows of the store's own tables, with all their columns and indexes.
enum class RawLayout : std::uint8_t {
  merged,  // an activity, its ledgers, its request and what concluded it are one row
  queued,  // the request is a row of its own, in a table that stays small: what the store does
};
struct RawLoop {
  std::uint32_t jobs = 0;
  std::uint32_t activities = 0;  // of each job
  std::uint32_t concurrent = 0;  // jobs that are open at once; the others wait for their turn
  std::uint32_t group = 0;       // activities to a commit, at the most
  std::uint32_t connections = 1;
  RawLayout layout = RawLayout::merged;
};
struct RawRate {
  double activities_per_second = 0;
  double rows = 0;           // of one activity
  double log_bytes = 0;      // likewise
  double server_micros = 0;  // likewise: processor time, which does not depend on what else the machine does
  double own_micros = 0;
};
// The row layout: integer keys, statements over arrays, one round trip and one commit for each group. Of one activity
// the job's row moves on, the activity gets its answer of 200 bytes, and the next one is put with its request of as
// many. No engine, no guards, no locks, no CTE; each connection has jobs of its own and never waits for another.
// Jobs are there already: neither submits nor ends are part of it.
RawRate raw_loop(const std::string& address, const RawLoop& loop);

// Fills the schema of a store with as many jobs that ended, two activities each, and says to the planner that all of
// its tables are empty.
void put_ended_jobs(const std::string& address, const std::string& schema, std::uint32_t count);

// One row updated and committed by a single statement: the times in microseconds, sorted.
std::vector<double> bare_commits(const std::string& address, std::uint32_t count);

}  // namespace pawl::bench
