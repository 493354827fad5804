// What a commit was about, in a few words for a report. Empty: nothing that a reader would know by a name.
#pragma once

#include <string>

#include "pawl/testing.h"
#include "store/operation.h"

namespace pawl::testing {

std::string words_of(const Event& event);
std::string words_of(const store::Operation& operation);

}  // namespace pawl::testing
