// A dequeue. Its cost depends on the messages that it takes and those that became free since the last one, not on how
// many wait: each statement reads one range of one index.
#include <algorithm>

#include "store/postgres/duplex_columns.h"
#include "store/postgres/duplex_writer.h"
#include "store/postgres/limits.h"

namespace pawl::store::postgres {

namespace {

#define PAWL_HELD " WHERE lane = $1::bigint AND topic = $2::text AND done = 0 AND free_at > 0"
const Statement free_orphans{"free_orphans",
                             "UPDATE duplex_stream SET free_at = 0" PAWL_HELD " AND epoch > 0 AND epoch < $3::bigint"};
const Statement free_due{
    "free_due", "UPDATE duplex_stream s SET free_at = 0 FROM (SELECT run, guid FROM duplex_stream" PAWL_HELD
                " AND epoch = $3::bigint AND free_at <= $4::bigint ORDER BY free_at LIMIT $5::bigint FOR UPDATE) d"
                " WHERE s.run = ANY(ARRAY[d.run]) AND s.guid = d.guid"};
const Statement free_later_epochs{"free_later_epochs", "UPDATE duplex_stream SET free_at = 0" PAWL_HELD
                                                       " AND epoch > $3::bigint AND free_at <= $4::bigint"};
const Statement claimed_by{"claimed_by",
                           "SELECT " PAWL_STREAM_COLUMNS
                           " FROM duplex_stream WHERE claim = $3::bigint AND claim <> 0 AND done = 0 AND free_at > 0"
                           " AND lane = $1::bigint AND topic = $2::text ORDER BY position"};
const Statement find_free{
    "find_free",
    "SELECT s.run, s.guid, coalesce(octet_length(s.data), 0) FROM duplex_stream s WHERE s.lane = $1::bigint"
    " AND s.topic = $2::text AND s.done = 0 AND s.free_at = 0 AND (SELECT true FROM jobs j WHERE j.run = s.run)"
    " ORDER BY s.position LIMIT $3::bigint FOR UPDATE OF s SKIP LOCKED"};
const Statement claim_free{
    "claim_free",
    "UPDATE duplex_stream s SET claim = $3::bigint, epoch = $4::bigint, free_at = $5::bigint, claims = claims + 1"
    " FROM unnest($1::bigint[], $2::bytea[]) AS u(run, guid) WHERE s.run = ANY(ARRAY[u.run]) AND s.guid = u.guid"};
const Statement has_free{
    "has_free",
    "SELECT 1 FROM duplex_stream s WHERE s.lane = $1::bigint AND s.topic = $2::text AND s.done = 0 AND s.free_at = 0"
    " AND (SELECT true FROM jobs j WHERE j.run = s.run) ORDER BY s.position LIMIT 1"};
const Statement next_held{"next_held", "SELECT free_at FROM duplex_stream" PAWL_HELD
                                       " AND epoch = $3::bigint AND claim <> $4::bigint ORDER BY free_at LIMIT 1"};
const Statement next_of_later_epochs{"next_of_later_epochs", "SELECT min(free_at) FROM duplex_stream" PAWL_HELD
                                                             " AND epoch > $3::bigint AND claim <> $4::bigint"};
#undef PAWL_HELD

DuplexOutcome refused_dequeue(const char* why) { return {OutcomeKind::rejected, why, {}}; }

}  // namespace

DuplexWriter::Applied DuplexWriter::run(const Dequeue& dequeue) {
  if (dequeue.claim == ClaimId(0)) return {refused_dequeue("a claim needs a name")};
  if (dequeue.epoch == core::Epoch(0)) return {refused_dequeue("a claim needs the epoch of its lane")};
  const Params mine = Params::of(dequeue.lane, dequeue.topic, dequeue.claim);
  // Frees the messages that were claimed under an earlier epoch or longer than their lease, and those whose delay is
  // over. Each message is freed once and then waits in the queue with the others.
  Script free;
  free.add(free_orphans, Params::of(dequeue.lane, dequeue.topic, dequeue.epoch));
  for (const core::Epoch epoch : {core::Epoch(0), dequeue.epoch})
    free.add(free_due, Params::of(dequeue.lane, dequeue.topic, epoch, now_, limits::freed_per_dequeue_max));
  free.add(free_later_epochs, Params::of(dequeue.lane, dequeue.topic, dequeue.epoch, now_));
  const std::size_t again = free.add(claimed_by, mine);
  const std::size_t found = free.add(find_free, Params::of(dequeue.lane, dequeue.topic, dequeue.items_max));
  Done freed = connection_.run(free);
  if (!freed) return {{}, freed.failure()};
  Handed handed;
  if (auto failure = take_claimed(freed[again], handed)) return {{}, failure};
  const bool is_again = !handed.messages.empty();
  Script claim;
  std::optional<std::size_t> claimed;
  if (!is_again) {
    Batch taken;
    std::size_t bytes = 0;
    Rows& rows = freed[found];
    while (rows.next()) {
      bytes += static_cast<std::size_t>(rows.number(2));
      if (bytes > dequeue.bytes_max && !taken.empty()) break;
      taken.row(RunId(rows.word(0)), rows.guid(1));
    }
    if (!taken.empty()) {
      claim.add(claim_free, Params::of_rows(taken, dequeue.claim, dequeue.epoch, now_ + dequeue.lease));
      claimed = claim.add(claimed_by, mine);
    }
  }
  const std::size_t more = claim.add(has_free, Params::of(dequeue.lane, dequeue.topic));
  std::vector<std::size_t> next;
  for (const core::Epoch epoch : {core::Epoch(0), dequeue.epoch})
    next.push_back(claim.add(next_held, Params::of(dequeue.lane, dequeue.topic, epoch, dequeue.claim)));
  next.push_back(
      claim.add(next_of_later_epochs, Params::of(dequeue.lane, dequeue.topic, dequeue.epoch, dequeue.claim)));
  Done done = connection_.run(claim);
  if (!done) return {{}, done.failure()};
  if (claimed)
    if (auto failure = take_claimed(done[*claimed], handed)) return {{}, failure};
  if (done[more].next()) handed.next_free = now_;
  for (const std::size_t at : next) {
    if (handed.next_free == now_ || !done[at].next() || done[at].is_null(0)) continue;
    const Instant free_at = std::max(now_, done[at].instant(0));
    if (!handed.next_free || free_at < *handed.next_free) handed.next_free = free_at;
  }
  return {{is_again ? OutcomeKind::already_done : OutcomeKind::committed, {}, std::move(handed)}};
}

// A message that is damaged (no store writes such a row) parks its job. Other jobs continue.
std::optional<Failure> DuplexWriter::take_claimed(Rows& rows, Handed& handed) {
  std::vector<RunId> damaged;
  while (rows.next()) {
    rows.forget_damage();
    auto message = claimed_message(rows);
    if (message)
      handed.messages.push_back(std::move(*message));
    else
      damaged.emplace_back(rows.word(0));
  }
  for (const RunId run : damaged)
    if (auto failure = park(run, "corrupt: a message of its stream is malformed")) return failure;
  return std::nullopt;
}

}  // namespace pawl::store::postgres
