// The error of a start that found no room: nothing is wrong, and it succeeds when something else is committed.
#pragma once

#include <cstddef>
#include <string>

#include "pawl/error.h"

namespace pawl::runtime {

std::string no_room(std::size_t bytes_max);
// Also of one that came from a server: its detail is the same.
bool is_no_room(const Error& error);

}  // namespace pawl::runtime
