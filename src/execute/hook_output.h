// What is kept of a hook that waits for signals. It has two documents, {id.output.data} and {id.hook.data}, stored
// together as one JSON object {"output": ..., "hook": ...}. "hook" is absent when no signal came (its sleep was over
// first). All other activities store their output directly.
#pragma once

#include <boost/json/value.hpp>
#include <optional>

#include "graph/model.h"

namespace pawl::execute {

// Whether the output of this activity is kept in that form.
bool keeps_payload(const graph::Activity& activity);

boost::json::value join_outputs(boost::json::value output, std::optional<boost::json::value> payload);
// The two parts; null when absent. A value that was not stored in that form is an output.
const boost::json::value* output_in(const boost::json::value& kept);
const boost::json::value* payload_in(const boost::json::value& kept);

}  // namespace pawl::execute
