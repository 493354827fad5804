#include <algorithm>

#include "store/postgres/alone.h"
#include "store/postgres/answers.h"
#include "store/postgres/reader.h"
#include "store/postgres/work_columns.h"
#include "store/postgres/work_rows.h"

namespace pawl::store::postgres {

namespace {

// $1 topics, $2 and $3 the first and the last run, $4 how many, $5 now. Each part is a range of one index of the queue.
// Its conditions must match the conditions of that index.
#define PAWL_CLAIMABLE(condition)                                                                                   \
  "(SELECT q.run, q.seq, q.priority, q.position FROM work q WHERE q.topic = t.topic AND " condition                 \
  " AND q.run + 0 BETWEEN $2::bigint AND $3::bigint AND NOT EXISTS (SELECT 1 FROM paused_topics p WHERE p.topic = " \
  "t.topic"                                                                                                         \
  " AND (p.lane = 0 OR p.lane = q.run >> 47)) ORDER BY q.priority DESC, q.position LIMIT $4::bigint)"
const Statement claim_items{
    "claim_items",
    "SELECT " PAWL_ITEM_COLUMNS("w") ", w.input FROM (SELECT f.run, f.seq, f.priority, f.position"
    " FROM unnest($1::text[]) AS t(topic) CROSS JOIN LATERAL ("
    PAWL_CLAIMABLE("q.token = 0 AND NOT q.held AND q.visible_at = 0") " UNION ALL "
    PAWL_CLAIMABLE("q.token = 0 AND NOT q.held AND q.visible_at <> 0 AND q.visible_at <= $5::bigint") " UNION ALL "
    PAWL_CLAIMABLE("q.token <> 0 AND q.epoch = 0 AND NOT q.held AND NOT q.once AND q.lease_until <= $5::bigint"
                   " AND q.visible_at <= $5::bigint")
    ") f ORDER BY f.priority DESC, f.position LIMIT $4::bigint) c"
    " JOIN work w ON w.run = ANY(ARRAY[c.run]) AND w.seq = c.seq"
    " ORDER BY c.priority DESC, c.position FOR UPDATE OF w SKIP LOCKED"};
#undef PAWL_CLAIMABLE

// Another claim may have taken the item between the search and the lock.
bool is_claimable(const core::WorkItem& item, Instant now) {
  if (item.held || item.visible_at > now) return false;
  if (item.token == core::WorkToken(0)) return true;
  return item.epoch == core::Epoch(0) && !item.life.at_most_once && item.lease_until <= now;
}

}  // namespace

Alone apply_alone(Connection& connection, const ClaimWork& claim, Instant now) {
  Alone done;
  std::vector<Topic> topics = claim.topics;
  std::sort(topics.begin(), topics.end());
  topics.erase(std::unique(topics.begin(), topics.end()), topics.end());
  const RunRange runs = runs_of(claim.lane);
  Done found = connection.run(claim_items, Params::of(topics, runs.first, runs.last, claim.items_max, now));
  if (!found) return {{}, found.failure()};
  std::vector<core::WorkItem> items;
  Batch moved;
  Rows& rows = found[0];
  while (rows.next()) {
    rows.forget_damage();
    core::WorkItem item = work_item(rows);
    item.input = rows.payload(work_columns);
    if (rows.malformed() || !is_claimable(item, now)) continue;  // the owner of its lane reports a damaged item
    const core::WorkToken before = item.token;
    core::begin_run(item, claim.worker, core::Epoch(0), now + claim.lease, now);
    add_move(moved, item, before);
    items.push_back(std::move(item));
  }
  done.outcome = committed();
  if (!moved.empty()) {
    Done put = connection.run(move_work, Params::of_rows(moved, moved.rows()));
    if (!put) return {{}, put.failure()};
  }
  done.outcome.answer = answer::Items{std::move(items)};
  return done;
}

}  // namespace pawl::store::postgres
