// The row of an engine: name, until, leaving, holds, serves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/operation.h"
#include "store/postgres/rows.h"

namespace pawl::store::postgres {

inline Result<EngineInfo> engine_row(Rows& rows) {
  EngineInfo info;
  info.name = std::string(rows.text(0));
  info.until = rows.instant(1);
  info.leaving = rows.flag(2);
  for (const std::string_view lane : rows.array(3)) {
    std::uint64_t value = 0;  // eight bytes
    for (const char c : lane) value = value << 8 | static_cast<unsigned char>(c);
    info.holds.emplace_back(static_cast<std::uint32_t>(value));
  }
  for (const std::string_view topic : rows.array(4)) info.serves.emplace_back(std::string(topic));
  if (rows.malformed()) return Error{ErrorCode::corrupt, "the row of engine " + info.name + " is malformed"};
  return info;
}

}  // namespace pawl::store::postgres
