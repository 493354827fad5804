// The soak: jobs arrive at a steady rate for a day of virtual time; one engine runs them on the SQLite store and dies
// from time to time; answers get lost. Every job must end as in the model, and nothing may grow: the process's memory
// and the stored rows of its last quarter are compared with those of its second.
//
// On SQLite and not on the memory store, because there the closed jobs themselves would be the memory that grows. A
// crash closes the store and opens it again, as a new process would.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pawl/time.h"
#include "sim/verdict.h"

namespace pawl::sim {

// The stored rows that must not grow. Once closed jobs expire, all of them.
enum class CountedRows : std::uint8_t { live, all };

struct SoakOptions {
  std::uint64_t seed = 1;
  Duration length = std::chrono::hours(24);
  std::uint32_t jobs_per_hour = 3600;
  std::uint32_t samples = 48;
  std::uint32_t faults_per_ten_thousand = 20;  // of all commits
  // About as many. A crash loses all running work, and work that was lost twice runs one at a time from then on
  // (docs/decisions/004-suspects.md): many crashes during one attempt would starve the queue by design.
  std::uint32_t crashes = 24;
  CountedRows counted = CountedRows::live;
  std::string directory;  // for the store's file
};

struct SoakSample {
  Duration at{0};
  std::uint64_t submitted = 0;
  std::uint64_t closed = 0;
  std::uint64_t open = 0;  // submitted, and not closed yet
  std::uint64_t live_rows = 0;
  std::uint64_t closed_rows = 0;  // of closed jobs
  std::uint64_t heap_bytes = 0;   // in use
  std::uint64_t resident_bytes = 0;
};

struct SoakReport {
  std::vector<SoakSample> samples;
  std::optional<Violation> violation;
  std::uint64_t commits = 0;
  std::uint64_t faults = 0;
  std::uint64_t crashes = 0;
};

SoakReport run_soak(const SoakOptions& options);

// What grew from the second to the last quarter; empty: nothing.
std::optional<Violation> growth_in(const std::vector<SoakSample>& samples, CountedRows counted);

}  // namespace pawl::sim
