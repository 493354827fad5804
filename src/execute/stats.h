// A job's labels and measures, from its trigger's `stats` and `entity`. Evaluated over the job's input alone, so the
// caller that starts the job learns of a mistake before the job exists.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "core/labels.h"
#include "graph/model.h"
#include "pawl/result.h"
#include "pawl/time.h"

namespace pawl::execute {

// Whether there is anything to evaluate.
bool has_stats(const graph::Graph& graph);

struct JobStats {
  std::vector<core::Label> labels;
  std::vector<core::Measure> measures;
};
Result<JobStats> stats_of(const graph::Graph& graph, const boost::json::value& input, Instant created);

// `stats.key` over this input; empty without one.
Result<std::string> stats_key(const graph::Graph& graph, const boost::json::value& input, Instant now);

// A label's value is stored as text: 7 and "7" are the same. Errors: over_limit.
Result<std::string> label_text(const boost::json::value& value);

// The slice of time that a job began in: 202402291305, or 0 for all of it.
std::string slice_of(Instant created, std::string_view granularity);

// The display name of a measure's target: the last part of the reference.
std::string name_of_target(const graph::Formula& target, std::size_t index);

}  // namespace pawl::execute
