#include "mapping/functions/pattern.h"

#include "base/format.h"
#include "mapping/limits.h"
#include "mapping/text.h"

#include <re2/re2.h>

namespace pawl::mapping {

Result<std::size_t> find_pattern(std::string_view text, std::string_view pattern) {
  if (pattern.size() > pattern_bytes_max)
    return Error{ErrorCode::over_limit, format("the pattern is longer than {} bytes", pattern_bytes_max)};
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(pattern_memory_max);
  const RE2 expression(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!expression.ok()) return Error{ErrorCode::invalid, format("cannot use the pattern: {}", expression.error())};
  const re2::StringPiece input(text.data(), text.size());
  re2::StringPiece match;
  if (!expression.Match(input, 0, input.size(), RE2::UNANCHORED, &match, 1)) return not_found;
  return static_cast<std::size_t>(match.data() - input.data());
}

}  // namespace pawl::mapping
