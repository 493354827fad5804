// One run of a user's scenario with at most one fault, and its result.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "pawl/testing.h"
#include "testing/driver.h"

namespace pawl::testing {

// The results that must be the same in every run of the scenario.
struct Came {
  std::string error;                          // of the scenario; empty: none
  std::map<std::string, std::string> jobs;    // by id: the compared fields as text
  std::map<std::string, std::string> notes;   // what the scenario noted
  std::map<std::uint64_t, std::string> told;  // a description of each commit
  std::uint64_t commits = 0;
};

class CrashRun {
 public:
  static Came play(const std::function<Status(TestRuntime&)>& scenario, const TestOptions& options, PlannedFault fault);
};

// As text; empty: there is no difference.
std::string difference(const Came& usual, const Came& broken, bool compare_jobs);

}  // namespace pawl::testing
