// From which size on a payload is not stored with what has it.
#pragma once

#include <algorithm>
#include <cstddef>

#include "store/sqlite/limits.h"

namespace pawl::store::sqlite {

struct PayloadLimits {
  std::size_t in_row = limits::payload_in_row_bytes;  // an input up to this size is stored with its work
  std::size_t shared() const { return std::min(limits::payload_shared_bytes, in_row); }
};

}  // namespace pawl::store::sqlite
