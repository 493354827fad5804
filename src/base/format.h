// The one way to make text: {fmt}, since g++ 12 has no std::format.
#pragma once

#include <fmt/format.h>

namespace pawl {
using fmt::format;
}
