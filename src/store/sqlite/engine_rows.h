// The row of an engine, read in one order by the writer and the readers: name, until, leaving, holds, serves.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "store/operation.h"
#include "store/sqlite/statement.h"

namespace pawl::store::sqlite {

inline constexpr char lane_end = ',';
inline constexpr char topic_end = '\n';

// Calls `take` with each part. False: it refused one, or the last one has no end.
template <class Take>
inline bool take_parts(std::string_view text, char end, const Take& take) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = text.find(end, at);
    if (next == std::string_view::npos || !take(text.substr(at, next - at))) return false;
    at = next + 1;
  }
  return true;
}

inline bool read_lanes(std::string_view text, std::vector<core::LaneId>& lanes) {
  return take_parts(text, lane_end, [&](std::string_view part) {
    std::uint32_t lane = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), lane);
    lanes.emplace_back(lane);
    return error == std::errc{} && stop == part.data() + part.size();
  });
}

inline bool read_topics(std::string_view text, std::vector<Topic>& topics) {
  return take_parts(text, topic_end, [&](std::string_view part) {
    topics.emplace_back(std::string(part));
    return true;
  });
}

inline Result<EngineInfo> engine_row(Rows& rows) {
  EngineInfo engine;
  engine.name = std::string(rows.text(0));
  engine.until = Instant::from_micros(rows.number(1));
  engine.leaving = rows.number(2) != 0;
  if (!read_lanes(rows.text(3), engine.holds) || !read_topics(rows.text(4), engine.serves) || rows.malformed())
    return Error{ErrorCode::corrupt, "the row of engine " + engine.name + " is malformed"};
  return engine;
}

}  // namespace pawl::store::sqlite
