// The version of an app that a job runs on, by the name that it was deployed under.
#pragma once

#include <string>
#include <vector>

#include "pawl/query.h"
#include "pawl/view.h"

namespace pawl {

// A job keeps a number for its version: the deployed one is the one with that number. A graph that was built in C++ and
// is not in the store has only the number.
std::string version_name(const std::vector<AppVersion>& apps, const JobView& job);

}  // namespace pawl
