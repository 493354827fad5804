#include "core/carried.h"

#include "base/limits.h"
#include "core/codec.h"

namespace pawl::core {

namespace {

constexpr std::string_view mark("\0pawl start 1\0", 14);

}  // namespace

bool is_packed(std::string_view input) { return input.starts_with(mark); }

Payload pack(const StartInput& start) {
  if (start.carried.empty() && start.earlier.empty() && !start.trace) return start.input;
  return Payload(std::string(mark) + encode(start));
}

Payload with_trace(Payload input, const std::optional<std::string>& trace) {
  if (!trace) return input;
  Payload packed = pack({input, {}, {}, *trace});
  return packed.size() <= limits::payload_bytes_max ? packed : input;
}

Result<StartInput> unpack_start(const Payload& packed) {
  if (!is_packed(packed.view())) return StartInput{packed};
  return decode_start(packed.view().substr(mark.size()));
}

}  // namespace pawl::core
