// Regular expressions by RE2: linear in the text, limited in memory, so a hostile pattern costs no more than a harmless
// one. What RE2 does not support (look-around, back-references) is refused with a clear error.
#pragma once

#include "pawl/result.h"

#include <cstddef>
#include <string_view>

namespace pawl::mapping {

// The byte where the first match begins, or not_found (text.h).
Result<std::size_t> find_pattern(std::string_view text, std::string_view pattern);

}  // namespace pawl::mapping
