#include "store/postgres/alone.h"

#include <algorithm>

#include "base/invariant.h"
#include "base/limits.h"
#include "store/postgres/answers.h"
#include "store/postgres/engine_rows.h"
#include "store/postgres/reader.h"

namespace pawl::store::postgres {

namespace {

const Statement lock_catalogue{"lock_catalogue", "SELECT 1 FROM store_state WHERE id = 1 FOR UPDATE"};
const Statement find_pool{"find_pool", "SELECT first_lane, lanes FROM pools WHERE pool = $1::text"};
const Statement find_last_lane{"find_last_lane", "SELECT coalesce(max(lane), 0) FROM lanes"};
const Statement put_pool{"put_pool",
                         "INSERT INTO pools (pool, first_lane, lanes) VALUES ($1::text, $2::bigint, $3::bigint)"};
const Statement put_lanes_of_pool{
    "put_lanes_of_pool",
    "INSERT INTO lanes (lane, epoch, owner, lease_until, pool)"
    " SELECT n, 0, '', NULL, $1::text FROM generate_series($2::bigint, $2::bigint + $3::bigint - 1) AS n"};
const Statement put_numbers_of_pool{
    "put_numbers_of_pool",
    "INSERT INTO lane_numbers (lane, next_run, next_announcement, next_signal)"
    " SELECT n, 1, 1, 1 FROM generate_series($1::bigint, $1::bigint + $2::bigint - 1) AS n"};

// A write that does not report which lanes the engine holds keeps the lanes that were stored before.
const Statement put_engine{
    "put_engine",
    "INSERT INTO engines AS e (pool, name, until, leaving, holds, serves) VALUES ($1::text, $2::text, $3::bigint, "
    "$4::boolean,"
    " coalesce($5::bigint[], '{}'), $6::text[]) ON CONFLICT (pool, name) DO UPDATE SET until = excluded.until,"
    " leaving = excluded.leaving, holds = coalesce($5::bigint[], e.holds), serves = excluded.serves"};
const Statement drop_dead_engines{"drop_dead_engines",
                                  "DELETE FROM engines WHERE pool = $1::text AND until <= $2::bigint"};
const Statement read_engines{
    "read_engines", "SELECT name, until, leaving, holds, serves FROM engines WHERE pool = $1::text ORDER BY name"};
const Statement drop_engine{"drop_engine", "DELETE FROM engines WHERE pool = $1::text AND name = $2::text"};

const Statement drop_old_keys{
    "drop_old_keys",
    "DELETE FROM start_keys d USING (SELECT k.namespace, k.job_id FROM start_keys k"
    " WHERE k.expires_at <> 0 AND k.expires_at + 0 <= $1::bigint AND k.run BETWEEN $3::bigint AND $4::bigint"
    " ORDER BY k.expires_at + 0, k.run LIMIT $2::bigint FOR UPDATE SKIP LOCKED) old"
    " WHERE d.namespace = ANY(ARRAY[old.namespace]) AND d.job_id = old.job_id"};

const Statement count_pauses{"count_pauses", "SELECT count(*) FROM paused_topics WHERE lane = $1::bigint"};
const Statement find_lane{"find_lane", "SELECT 1 FROM lanes WHERE lane = $1::bigint"};
const Statement find_pause{"find_pause", "SELECT 1 FROM paused_topics WHERE topic = $1::text AND lane = $2::bigint"};
const Statement put_pause{
    "put_pause", "INSERT INTO paused_topics (topic, lane) VALUES ($1::text, $2::bigint) ON CONFLICT DO NOTHING"};
const Statement drop_pause{"drop_pause", "DELETE FROM paused_topics WHERE topic = $1::text AND lane = $2::bigint"};

const Statement put_app{"put_app",
                        "INSERT INTO apps (namespace, app, version, deployed_at, body) VALUES ($1::text, $2::text, "
                        "$3::text, $4::bigint, $5::bytea)"
                        " ON CONFLICT DO NOTHING"};
const Statement is_same_app{
    "is_same_app",
    "SELECT body = $4::bytea FROM apps WHERE namespace = $1::text AND app = $2::text AND version = $3::text"};
const Statement activate_app{
    "activate_app",
    "INSERT INTO active_apps AS n (namespace, app, version) SELECT a.namespace, a.app, a.version FROM apps a"
    " WHERE a.namespace = $1::text AND a.app = $2::text AND a.version = $3::text"
    " ON CONFLICT (namespace, app) DO UPDATE SET version = excluded.version WHERE n.version <> excluded.version"};
const Statement find_app{"find_app",
                         "SELECT 1 FROM apps WHERE namespace = $1::text AND app = $2::text AND version = $3::text"};

Alone failed(const Done& done) { return {{}, done.failure()}; }

Alone run(Connection& connection, const OpenPool& open, Instant) {
  Script look;
  look.add(lock_catalogue);  // pools are numbered one after the other
  const std::size_t pool = look.add(find_pool, Params::of(open.pool));
  const std::size_t last_lane = look.add(find_last_lane);
  Done found = connection.run(look);
  if (!found) return failed(found);
  if (found[pool].next()) {
    const std::uint32_t lanes = found[pool].small(1);
    if (lanes == open.lanes) return {already_done()};
    return {rejected(format("pool {} has {} lanes for good; {} were asked for", open.pool.raw(), lanes, open.lanes))};
  }
  if (open.lanes == 0 || open.lanes > pawl::limits::lanes_per_pool_max)
    return {rejected(format("a pool has 1 to {} lanes, not {}", pawl::limits::lanes_per_pool_max, open.lanes))};
  found[last_lane].next();
  const std::uint32_t last = found[last_lane].small(0);
  if (last + open.lanes > pawl::limits::lanes_max)
    return {rejected(format("all pools together have at most {} lanes", pawl::limits::lanes_max))};
  Script put;
  put.add(put_pool, Params::of(open.pool, last + 1, open.lanes));
  put.add(put_lanes_of_pool, Params::of(open.pool, last + 1, open.lanes));
  put.add(put_numbers_of_pool, Params::of(last + 1, open.lanes));
  Done done = connection.run(put);
  return done ? Alone{committed()} : failed(done);
}

Alone run(Connection& connection, const BeatEngine& beat, Instant now) {
  Done pool = connection.run(find_pool, Params::of(beat.pool));
  if (!pool) return failed(pool);
  if (!pool[0].next()) return {rejected(missing_pool(beat.pool))};
  Params engine = Params::of(beat.pool, beat.name, now + beat.lease, beat.leaving);
  if (beat.holds)
    engine.add(*beat.holds);
  else
    engine.add(std::optional<Blob>());
  engine.add(beat.serves);
  Script script;
  script.add(put_engine, std::move(engine));
  script.add(drop_dead_engines, Params::of(beat.pool, now));
  const std::size_t all = script.add(read_engines, Params::of(beat.pool));
  Done done = connection.run(script);
  if (!done) return failed(done);
  Alone beaten{committed()};
  std::vector<EngineInfo> engines;
  Rows& rows = done[all];
  while (rows.next()) {
    auto info = engine_row(rows);
    if (!info) return {rejected(info.error().detail)};
    engines.push_back(std::move(*info));
  }
  beaten.outcome.answer = answer::Engines{std::move(engines)};
  return beaten;
}

Alone run(Connection& connection, const LeaveEngine& leave, Instant) {
  Done done = connection.run(drop_engine, Params::of(leave.pool, leave.name));
  if (!done) return failed(done);
  return {done[0].affected() == 0 ? already_done() : committed()};
}

Alone run(Connection& connection, const DropKeys& drop, Instant) {
  const RunRange runs = runs_of(drop.lane);
  Done done = connection.run(drop_old_keys, Params::of(drop.up_to, drop.rows_max, runs.first, runs.last));
  return done ? Alone{committed()} : failed(done);
}

Alone run(Connection& connection, const PauseTopic& pause, Instant) {
  Script look;
  const std::size_t lane = look.add(find_lane, Params::of(pause.lane));
  const std::size_t known = look.add(find_pause, Params::of(pause.topic, pause.lane));
  const std::size_t paused = look.add(count_pauses, Params::of(pause.lane));
  Done found = connection.run(look);
  if (!found) return failed(found);
  if (pause.lane != core::LaneId(0) && !found[lane].next()) return {rejected(no_lane(pause.lane))};
  if (found[known].next() == pause.paused) return {already_done()};
  found[paused].next();
  if (pause.paused && found[paused].word(0) >= pawl::limits::paused_topics_max)
    return {rejected(format("at most {} topics can be paused", pawl::limits::paused_topics_max))};
  Done done = connection.run(pause.paused ? put_pause : drop_pause, Params::of(pause.topic, pause.lane));
  return done ? Alone{committed()} : failed(done);
}

Alone run(Connection& connection, const PutApp& put, Instant now) {
  Script script;
  const std::size_t added = script.add(put_app, Params::of(put.name_space, put.app, put.version, now, Blob{put.body}));
  const std::size_t same = script.add(is_same_app, Params::of(put.name_space, put.app, put.version, Blob{put.body}));
  Done done = connection.run(script);
  if (!done) return failed(done);
  if (done[added].affected() == 1) return {committed()};
  const bool is_same = done[same].next() && done[same].flag(0);
  return {is_same ? already_done() : outcome_of(OutcomeKind::exists, other_app(put))};
}

Alone run(Connection& connection, const ActivateApp& activate, Instant) {
  const Params named = Params::of(activate.name_space, activate.app, activate.version);
  Script script;
  const std::size_t known = script.add(find_app, named);
  const std::size_t moved = script.add(activate_app, named);
  Done done = connection.run(script);
  if (!done) return failed(done);
  if (!done[known].next()) return {rejected(missing_app(activate))};
  return {done[moved].affected() == 0 ? already_done() : committed()};
}

}  // namespace

Alone apply_alone(Connection& connection, const Operation& operation, Instant now) {
  return std::visit(Overloaded{
                        [&](const ClaimWork& one) { return apply_alone(connection, one, now); },
                        [&](const OpenPool& one) { return run(connection, one, now); },
                        [&](const BeatEngine& one) { return run(connection, one, now); },
                        [&](const LeaveEngine& one) { return run(connection, one, now); },
                        [&](const DropKeys& one) { return run(connection, one, now); },
                        [&](const PauseTopic& one) { return run(connection, one, now); },
                        [&](const PutApp& one) { return run(connection, one, now); },
                        [&](const ActivateApp& one) { return run(connection, one, now); },
                        each_of<core::Bundle, Submit, Deliver, DeliverReply, ClaimItem, ExtendWork, ReleaseWork,
                                DropOutbox, AcquireLane, RenewLane, ReleaseLane, RemoveJob>([]() -> Alone {
                          invariant(false, "an operation for the desk");
                          return {};
                        }),
                    },
                    operation);
}

}  // namespace pawl::store::postgres
