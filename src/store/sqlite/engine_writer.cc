#include "store/sqlite/engine_writer.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

namespace {

constexpr char lane_end = ',';
constexpr char topic_end = '\n';

std::string text_of(const std::vector<core::LaneId>& lanes) {
  std::string text;
  for (const core::LaneId lane : lanes) text += std::to_string(lane.raw()) + lane_end;
  return text;
}

std::string text_of(const std::vector<Topic>& topics) {
  std::string text;
  for (const Topic& topic : topics) text += topic.raw() + topic_end;
  return text;
}

// Calls `take` with each part. False: it refused one, or the last one has no end.
template <class Take>
bool take_parts(std::string_view text, char end, const Take& take) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = text.find(end, at);
    if (next == std::string_view::npos || !take(text.substr(at, next - at))) return false;
    at = next + 1;
  }
  return true;
}

bool read_lanes(std::string_view text, std::vector<core::LaneId>& lanes) {
  return take_parts(text, lane_end, [&](std::string_view part) {
    std::uint32_t lane = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), lane);
    lanes.emplace_back(lane);
    return error == std::errc{} && stop == part.data() + part.size();
  });
}

bool read_topics(std::string_view text, std::vector<Topic>& topics) {
  return take_parts(text, topic_end, [&](std::string_view part) {
    topics.emplace_back(std::string(part));
    return true;
  });
}

}  // namespace

Status EngineWriter::prepare(Connection& connection) {
  return prepare_each(
      connection,
      {
          {&find_pool_, "SELECT 1 FROM pools WHERE pool = ?1"},
          // Without a list of held lanes, the list from before the restart stays.
          {&put_engine_,
           "INSERT INTO engines (pool, name, until, leaving, holds, serves) VALUES (?1, ?2, ?3, ?4, coalesce(?5, ''), "
           "?6)"
           " ON CONFLICT DO UPDATE SET until = excluded.until, leaving = excluded.leaving,"
           " holds = coalesce(?5, holds), serves = excluded.serves"},
          {&drop_dead_, "DELETE FROM engines WHERE pool = ?1 AND until <= ?2"},
          {&read_engines_, "SELECT name, until, leaving, holds, serves FROM engines WHERE pool = ?1 ORDER BY name"},
          {&drop_engine_, "DELETE FROM engines WHERE pool = ?1 AND name = ?2"},
      });
}

Applied EngineWriter::apply(const BeatEngine& beat) {
  {
    Rows rows = find_pool_.query(beat.pool);
    const bool there = rows.next();
    if (rows.failed()) return failed(rows);
    if (!there) return refused(OutcomeKind::rejected, missing_pool(beat.pool));
  }
  const Instant now = clock_.now();
  std::optional<std::string> holds;
  if (beat.holds) holds = text_of(*beat.holds);
  if (put_engine_.run(beat.pool, beat.name, now + beat.lease, beat.leaving ? 1 : 0, holds, text_of(beat.serves)) ==
      Statement::failed)
    return failed(put_engine_);
  if (drop_dead_.run(beat.pool, now) == Statement::failed) return failed(drop_dead_);
  answer::Engines alive;
  Rows rows = read_engines_.query(beat.pool);
  while (rows.next()) {
    EngineInfo engine;
    engine.name = std::string(rows.text(0));
    engine.until = Instant::from_micros(rows.number(1));
    engine.leaving = rows.number(2) != 0;
    if (!read_lanes(rows.text(3), engine.holds) || !read_topics(rows.text(4), engine.serves) || rows.malformed())
      return damaged_row("the row of engine " + engine.name + " is malformed");
    alive.engines.push_back(std::move(engine));
  }
  if (rows.failed()) return failed(rows);
  Applied applied{SQLITE_OK, true, {}};
  applied.outcome.answer = std::move(alive);
  return applied;
}

Applied EngineWriter::apply(const LeaveEngine& leave) {
  const int gone = drop_engine_.run(leave.pool, leave.name);
  if (gone == Statement::failed) return failed(drop_engine_);
  return gone == 0 ? refused(OutcomeKind::already_done, "") : Applied{SQLITE_OK, true, {}};
}

}  // namespace pawl::store::sqlite
