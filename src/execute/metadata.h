// {id.output.metadata...} and {$job.metadata...}: the fields that are known; others are missing. Built only for
// expressions that read them.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string_view>

#include "core/program.h"
#include "graph/model.h"

namespace pawl::execute {

struct Answer {
  bool is_error = false;
  std::int32_t code = 0;
};
Answer answer_of(const core::Activity* instance);

// The source of an activity's metadata.
struct Facts {
  const core::Activity* instance = nullptr;
  Answer answer;
  const boost::json::value* error = nullptr;      // its error, or null
  std::optional<Instant> answered_at{};           // of the current answer, which is not stored yet
  std::string_view woken_by{};                    // of a hook that waited: "signal" or "sleep"
  graph::Dialect dialect = graph::Dialect::pawl;  // HotMesh writes times in another form
};
boost::json::value activity_metadata(const graph::Activity& activity, const Facts& facts);
boost::json::value job_metadata(const graph::App& app, const graph::Graph& graph, const core::Sight& sight,
                                const graph::Activity& here);

// A formula of the trigger's `stats`, over the input of a job that may not exist yet.
Result<boost::json::value> evaluate_stats(const graph::Activity& trigger, const graph::Formula& formula,
                                          std::string_view label, const boost::json::value& input, Instant now);

}  // namespace pawl::execute
