// What the store alone can do, without an engine: the limit with which the figures are compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pawl::bench {

struct RawFigure {
  double activities_per_second = 0;
  double rows_per_activity = 0;
  double log_bytes_per_activity = 0;
};

// The row layout: integer keys, rowid tables without any index, synchronous=FULL, a checkpoint every 20,000
// pages. `group` transitions go into one commit.
enum class Legs {
  // The writes of both legs, a row each. Leg 1: transition message taken, activity's ledger, work request. Leg 2:
  // work request taken, message ledger, activity's ledger and output, job's semaphore, next child, its transition.
  both,
  // The six writes that remain when a child's leg 1 is fused with its parent's leg 2: no transition message.
  fused,
};
RawFigure row_layout_loop(const std::string& path, std::uint32_t jobs, std::uint32_t activities, std::uint32_t group,
                          Legs legs, std::uint32_t output_bytes = 200);

// One row updated and committed, synchronous=FULL: the times in microseconds, sorted.
std::vector<double> bare_commits(const std::string& path, std::uint32_t count);

}  // namespace pawl::bench
