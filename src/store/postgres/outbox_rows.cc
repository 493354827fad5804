#include "store/postgres/outbox_rows.h"

#include <algorithm>

#include "core/codec.h"
#include "store/postgres/expected.h"

namespace pawl::store::postgres {

namespace {

const Statement lock_taken{"lock_taken",
                           "SELECT t.target, t.source, t.last_seq FROM outbox_taken t WHERE (t.target, t.source) IN"
                           " (SELECT u.target, u.source FROM unnest($1::bigint[], $2::bigint[]) AS u(target, source))"
                           " ORDER BY t.target, t.source FOR NO KEY UPDATE OF t"};
const Statement lock_routes{
    "lock_routes",
    "SELECT r.source, r.target, r.last_seq, r.dropped FROM outbox_routes r WHERE (r.source, r.target) IN"
    " (SELECT u.source, u.target FROM unnest($1::bigint[], $2::bigint[]) AS u(source, target))"
    " ORDER BY r.source, r.target FOR NO KEY UPDATE OF r"};
const Statement new_taken{
    "new_taken",
    "WITH put AS (INSERT INTO outbox_taken (target, source, last_seq)"
    " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) ON CONFLICT DO NOTHING RETURNING 1)"
    " SELECT " PAWL_EXPECT("count(*) = $4::bigint") " FROM put"};
const Statement put_taken{
    "put_taken",
    "UPDATE outbox_taken t SET last_seq = u.last_seq FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])"
    " AS u(target, source, last_seq) WHERE t.target = u.target AND t.source = u.source"};
const Statement new_routes{
    "new_routes",
    "WITH put AS (INSERT INTO outbox_routes (source, target, last_seq, dropped)"
    " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) ON CONFLICT DO NOTHING RETURNING 1)"
    " SELECT " PAWL_EXPECT("count(*) = $5::bigint") " FROM put"};
const Statement put_routes{
    "put_routes",
    "UPDATE outbox_routes r SET last_seq = u.last_seq, dropped = u.dropped FROM unnest($1::bigint[], $2::bigint[], "
    "$3::bigint[],"
    " $4::bigint[]) AS u(source, target, last_seq, dropped) WHERE r.source = u.source AND r.target = u.target"};
const Statement new_rows{"new_outbox_rows",
                         "INSERT INTO outbox (source, target, seq, envelope)"
                         " SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[])"};
const Statement drop_outbox_rows{
    "drop_outbox_rows",
    "DELETE FROM outbox o USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u(source, target, up_to)"
    " WHERE o.source = ANY(ARRAY[u.source]) AND o.target = u.target AND o.seq <= u.up_to"};

}  // namespace

const Statement find_outbox_row{"find_outbox_row",
                                "SELECT 1 FROM outbox WHERE source = $1::bigint AND target = $2::bigint"
                                " AND envelope = $3::bytea LIMIT 1"};

void OutboxRows::ask(Script& script) {
  taken_at_.reset();
  routes_at_.reset();
  Batch taken;
  for (const auto& [target, source] : wanted_taken_) taken.row(target, source);
  if (!taken.empty()) taken_at_ = script.add(lock_taken, Params::of_rows(taken));
  Batch routes;
  for (const auto& [source, target] : wanted_routes_) routes.row(source, target);
  if (!routes.empty()) routes_at_ = script.add(lock_routes, Params::of_rows(routes));
}

Status OutboxRows::take(Done& answers) {
  for (const auto& [at, counts] : {std::pair(taken_at_, &taken_), std::pair(routes_at_, &routes_)}) {
    if (!at) continue;
    Rows& rows = answers[*at];
    while (rows.next()) {
      Count& count = (*counts)[{core::LaneId(rows.small(0)), core::LaneId(rows.small(1))}];
      count = Count{true, rows.word(2), counts == &routes_ ? rows.word(3) : 0, false};
    }
    if (rows.malformed()) return Error{ErrorCode::corrupt, "the count of an outbox is malformed"};
  }
  return {};
}

std::uint64_t OutboxRows::last_taken(core::LaneId target, core::LaneId source) const {
  const auto found = taken_.find({target, source});
  return found == taken_.end() ? 0 : found->second.last;
}

void OutboxRows::take_row(core::LaneId target, core::LaneId source, std::uint64_t seq) {
  Count& count = taken_[{target, source}];
  count.last = seq;
  count.changed = true;
}

std::uint64_t OutboxRows::last_put(core::LaneId source, core::LaneId target) const {
  const auto found = routes_.find({source, target});
  return found == routes_.end() ? 0 : found->second.last;
}

void OutboxRows::put_row(core::LaneId source, core::LaneId target, const core::Envelope& envelope) {
  Count& count = routes_[{source, target}];
  count.changed = true;
  rows_.push_back({{source, target}, ++count.last, core::encode(envelope)});
}

bool OutboxRows::puts(core::LaneId source, core::LaneId target, const std::string& envelope) const {
  return std::any_of(rows_.begin(), rows_.end(),
                     [&](const Row& row) { return row.route == Route(source, target) && row.envelope == envelope; });
}

void OutboxRows::drop_rows(core::LaneId source, core::LaneId target, std::uint64_t up_to) {
  Count& count = routes_[{source, target}];
  if (up_to <= count.dropped) return;
  count.dropped = up_to;
  count.changed = true;
  std::erase_if(rows_, [&](const Row& row) { return row.route == Route(source, target) && row.seq <= up_to; });
  dropped_[{source, target}] = up_to;
}

void OutboxRows::write(Script& script) const {
  Batch new_counts;
  Batch put_counts;
  for (const auto& [route, count] : taken_)
    if (count.changed) (count.stored ? put_counts : new_counts).row(route.first, route.second, count.last);
  if (!new_counts.empty()) script.add(new_taken, Params::of_rows(new_counts, new_counts.rows()));
  if (!put_counts.empty()) script.add(put_taken, Params::of_rows(put_counts));
  Batch added;
  Batch put;
  for (const auto& [route, count] : routes_)
    if (count.changed) (count.stored ? put : added).row(route.first, route.second, count.last, count.dropped);
  if (!added.empty()) script.add(new_routes, Params::of_rows(added, added.rows()));
  if (!put.empty()) script.add(put_routes, Params::of_rows(put));
  Batch dropped;
  for (const auto& [route, up_to] : dropped_) dropped.row(route.first, route.second, up_to);
  if (!dropped.empty()) script.add(drop_outbox_rows, Params::of_rows(dropped));
  Batch rows;
  for (const Row& row : rows_) rows.row(row.route.first, row.route.second, row.seq, Blob{row.envelope});
  if (!rows.empty()) script.add(new_rows, Params::of_rows(rows));
}

}  // namespace pawl::store::postgres
