// "Did you mean": the known name that is nearest to a misspelled one.
#pragma once

#include <span>
#include <string_view>

namespace pawl::mapping {

// Empty when nothing is near: more than a third of the letters would have to change, and it is not how exactly one of
// them begins.
std::string_view nearest(std::string_view wrong, std::span<const std::string_view> known);

}  // namespace pawl::mapping
