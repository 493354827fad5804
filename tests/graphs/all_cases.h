// Every case of tests/graphs/*.yaml, by the name of its file and its own.
#pragma once

#include <vector>

#include "graphs/case.h"

namespace pawl::graphs {

const std::vector<Case>& cases();
// Ends the program if there is no such case.
const Case& case_named(const std::string& name);

}  // namespace pawl::graphs
