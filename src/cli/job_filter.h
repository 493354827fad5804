// Which jobs are meant: the options that `jobs` and every command on many jobs share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pawl/pawl.h"
#include "serve/parse_time.h"

namespace CLI {
class App;
}

namespace pawl::cli {

struct FilterOptions {
  std::vector<std::string> statuses;
  std::string name_space;
  std::string graph;
  std::vector<std::string> where;
  std::string collation_key;
  std::string activity;
  std::string error;
  std::int32_t code = 0;
  std::string since, until, ended_since, ended_until;
  std::string older_than, younger_than;
  std::string label;
  std::string key;

  bool is_empty() const;
};
// A signal has a --code of its own: then jobs are not filtered by theirs.
enum class OwnCode { no, yes };
void add_filter_options(CLI::App& command, FilterOptions& options, OwnCode own_code = OwnCode::no);

// `now`: what ages are counted from.
Result<JobFilter> filter_of(const FilterOptions& options, Instant now);

Instant clock_now();

// Whether the graph of the filter exists, for a command that found no job: a mistyped name matches nothing.
Status check_graph(Runtime& runtime, const FilterOptions& options);

}  // namespace pawl::cli
