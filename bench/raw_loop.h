// What the store alone can do, without an engine: the limit our figures are held against.
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

// The row layout: integer keys, rowid tables, synchronous=FULL, a checkpoint every 20,000 pages. Per
// activity the six row writes of both legs, fused: job, activity, message ledger, work given back, child, its
// work request; 200 bytes of output. `group` transitions go into one commit.
RawFigure row_layout_loop(const std::string& path, std::uint32_t jobs, std::uint32_t activities, std::uint32_t group);

// One row updated and committed, synchronous=FULL: the times in microseconds, sorted.
std::vector<double> bare_commits(const std::string& path, std::uint32_t count);

}  // namespace pawl::bench
