#include "store/sqlite/engine_writer.h"

#include <optional>
#include <string>

#include "store/sqlite/engine_rows.h"
#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

namespace {

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
    auto engine = engine_row(rows);
    if (!engine) return damaged_row(engine.error().detail);
    alive.engines.push_back(std::move(*engine));
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
