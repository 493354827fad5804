// Describes a commit in a few words for a report. Empty: it contains nothing that a reader knows by name.
#pragma once

#include <string>

#include "pawl/testing.h"
#include "store/operation.h"

namespace pawl::testing {

std::string words_of(const Event& event);
std::string words_of(const store::Operation& operation);

}  // namespace pawl::testing
