// JSON text to a value. Boost.JSON 1.81 rounds some numbers to the neighbour of the nearest double
// (99.99 may come back as another number); this reads them exactly, so that a value survives being
// written and read.
#pragma once

#include "pawl/result.h"

#include <boost/json/fwd.hpp>

#include <string_view>

namespace pawl::mapping {

// Errors: `invalid` with line and column; also for a number too large for a double, which JSON
// allows and no result may contain. Nesting is limited to json_depth_max (limits.h).
Result<boost::json::value> parse_json(std::string_view text);

}  // namespace pawl::mapping
