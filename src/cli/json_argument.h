// JSON that a person gives on the command line: directly, or in a file.
#pragma once

#include <string>

#include "pawl/payload.h"
#include "pawl/result.h"

namespace pawl::cli {

// `@file` is the content of the file, `@-` that of the standard input, anything else the JSON itself. `what` names
// it in the error, such as "--input".
Result<Payload> read_json_argument(const std::string& what, const std::string& argument);

}  // namespace pawl::cli
