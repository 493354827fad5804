// Kept signals, rules of retention and tasks as JSON, both ways: for the API, the remote runtime and `--json`.
#pragma once

#include <boost/json.hpp>

#include "pawl/query.h"
#include "pawl/retention.h"
#include "pawl/task.h"

namespace pawl::serve {

boost::json::object json_of(const KeptSignal& signal);
boost::json::object json_of(const RetentionRule& rule);
boost::json::object json_of(const Task& task);

KeptSignal read_kept_signal(const boost::json::object& object);
RetentionRule read_rule(const boost::json::object& object);
Task read_task(const boost::json::object& object);

}  // namespace pawl::serve
