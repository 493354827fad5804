// The bearer token of a server, as the server and its clients read it.
#pragma once

#include <string>

#include "pawl/result.h"

namespace pawl::cli {

// The first line of the file, else what PAWL_TOKEN says; without both there is none. One that is named and empty is a
// mistake: a server would be open to everybody because a file was not filled in yet.
Result<std::string> read_token(const std::string& token_file);

}  // namespace pawl::cli
