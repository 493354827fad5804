// A group of operations as bytes: what one row of the log holds. The grammar is that of core/codec.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/operation.h"

namespace pawl::log_store {

std::string encode_group(std::span<const store::Operation> group);
Result<std::vector<store::Operation>> decode_group(std::string_view bytes);

}  // namespace pawl::log_store
