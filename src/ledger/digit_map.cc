#include "ledger/digit_map.h"

#include "base/format.h"

namespace pawl::ledger {

std::string fifteen_digits(std::uint64_t value) { return format("{:0{}}", value, digit_count); }

}  // namespace pawl::ledger
