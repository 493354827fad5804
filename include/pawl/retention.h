// Retention: rules that say how long jobs are kept after their end. They are kept in the store, and every process that
// runs its jobs carries them out, in small batches.
//
//   pawl::Status keep_a_month(pawl::Runtime& runtime) {
//     const auto most = runtime.set_retention({.keep = std::chrono::hours(24 * 30)});
//     if (!most) return most;
//     return runtime.set_retention({.status = pawl::JobStatus::failed, .keep = std::chrono::hours(24 * 365)});
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pawl/time.h"
#include "pawl/view.h"

namespace pawl {

// A rule is known by its status and graph. For a job the rule with its graph and status counts; if there is none, the
// one with its graph, then the one with its status, then the one without both. A job with a `keep` of its own
// (StartOptions) follows that and no rule.
struct RetentionRule {
  std::optional<JobStatus> status{};  // completed, failed or interrupted; none: any of these
  std::string graph{};                // its name, APP/TOPIC; empty: any
  std::optional<Duration> keep{};     // after the job's end; none: for ever
  Instant set_at{};                   // as the store has it
};

struct RetentionOptions {
  bool dry_run = false;                                      // nothing is removed
  std::function<void(std::uint64_t removed)> progress = {};  // after each batch
};

struct RetentionSummary {
  std::uint64_t removed = 0;  // of a dry run: that would be removed
  std::uint64_t left = 0;     // whose time is over, but that cannot be removed, such as jobs of collation duplex
};

}  // namespace pawl
