// The one way to format text: {fmt}, because g++ 12 has no std::format.
#pragma once

#include <fmt/format.h>

namespace pawl {
using fmt::format;
}
