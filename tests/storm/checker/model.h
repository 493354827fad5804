// What each graph of the storm must produce, computed from a job's input alone. Written from the
// meaning of the graphs, not from the engine or from the graphs' code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace storm {

inline constexpr std::int64_t status_completed = 1, status_failed = 2;
inline constexpr std::int64_t activity_open = 0, activity_completed = 1, activity_errored = 2;

struct ExpectedActivity {
  std::string topic;  // empty: a trigger, which no worker runs
  std::int64_t node = 0;
  std::string place;
  std::string input, output;
  std::int64_t status = activity_completed;
  std::int64_t code = 200;
  std::int64_t messages = 1;  // pending replies and the concluding one
  bool may_be_cut = false;    // the job's failure may have come first
};

struct ExpectedJob {
  std::int64_t status = status_completed;
  std::string result, reason;
  std::vector<ExpectedActivity> activities;
};

std::optional<ExpectedJob> expect(const std::string& graph, const std::string& input);

// A job of the graph language and the one job that it starts: how both end, and what workers did for them.
struct ExpectedAppJob {
  std::string graph, result;
  std::vector<std::string> topics;  // of its workers, each called once with `input`
};
struct ExpectedFamily {
  ExpectedAppJob parent, child;
  std::string child_id;
  std::string input;  // of every worker
};
std::optional<ExpectedFamily> expect_family(const std::string& id, const std::string& graph);

}  // namespace storm
