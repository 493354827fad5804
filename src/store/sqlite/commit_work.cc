// The work queue: conditional writes on one work row, never on its job's row.
#include <algorithm>
#include <tuple>

#include "base/format.h"
#include "base/limits.h"
#include "store/rules.h"
#include "store/sqlite/work_rows.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

namespace {

struct Candidate {
  std::int64_t before;  // the negated priority: what goes first is smaller
  std::int64_t position;
  RunId run;
  core::ActivitySeq activity;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

int collect(Rows rows, std::vector<Candidate>& candidates) {
  while (rows.next())
    candidates.push_back({-rows.number(0), rows.number(1), RunId(rows.word(2)), core::ActivitySeq(rows.small(3))});
  return rows.failed() ? rows.rc() : SQLITE_OK;
}

}  // namespace

Applied stale_item(core::ActivitySeq activity) {
  return refused(OutcomeKind::conflict,
                 format("work item {} is no longer held by this token", activity.raw()));
}

Checked Writer::is_paused(const Topic& topic) {
  Rows rows = sql_.find_pause.query(topic);
  Checked checked{rows.next()};
  if (rows.failed()) checked.failed = failed(rows);
  return checked;
}

Applied Writer::apply(const ClaimWork& claim) {
  const Instant now = clock_.now();
  std::vector<Candidate> first;
  for (const Topic& topic : claim.topics) {
    const Checked paused = is_paused(topic);
    if (paused.failed) return *paused.failed;
    if (paused.yes) continue;
    int code = collect(sql_.find_free_work.query(topic, claim.items_max), first);
    for (Statement* find : {&sql_.find_visible_work, &sql_.find_expired_work})
      if (code == SQLITE_OK) code = collect(find->query(topic, claim.items_max, now), first);
    if (code != SQLITE_OK) return Applied{code, false, {}};
  }
  std::sort(first.begin(), first.end());
  first.erase(std::unique(first.begin(), first.end()), first.end());  // a topic named twice
  if (first.size() > claim.items_max)
    first.erase(first.begin() + static_cast<std::ptrdiff_t>(claim.items_max), first.end());
  Applied applied;
  for (const Candidate& one : first) {
    auto [item, unread] = read_item(one.run, one.activity);
    if (unread && unread->code != SQLITE_CORRUPT) return *unread;
    if (!item) continue;  // a damaged one is left to its lane's owner, who says so
    core::begin_run(*item, claim.worker, core::Epoch(0), now + claim.lease, now);
    Applied moved = move_item(*item);
    if (!is_done(moved)) return moved;
    applied.wrote = true;
    applied.outcome.items.push_back(std::move(*item));
  }
  return applied;
}

Applied Writer::apply(const ClaimItem& claim) {
  Applied guarded = guard(core::lane_of(claim.run), claim.epoch);
  if (!is_done(guarded)) return guarded;
  auto [item, unread] = read_item(claim.run, claim.activity);
  if (unread) return *unread;
  if (!item || item->token != claim.before) return stale_item(claim.activity);
  core::WorkItem& found = *item;
  if (found.held) return refused(OutcomeKind::conflict, "the job is paused or parked");
  const Checked paused = is_paused(found.topic);
  if (paused.failed) return *paused.failed;
  if (paused.yes) return refused(OutcomeKind::conflict, format("topic {} is paused", found.topic.raw()));
  core::begin_run(found, claim.worker, claim.epoch, Instant(), clock_.now());
  Applied applied = move_item(found);
  applied.outcome.items.push_back(std::move(found));
  return applied;
}

// Stores whatever may have changed of an item after it was put.
Applied Writer::move_item(const core::WorkItem& item) {
  const StoredLife stored(item);
  const int moved = sql_.move_work.run(item.run, item.activity, item.token, item.worker, item.epoch, item.lease_until,
                                       item.runs, item.visible_at, item.held, stored.once, stored.wake_at,
                                       stored.life());
  if (moved == Statement::failed) return failed(sql_.move_work);
  return Applied{SQLITE_OK, true, {}};
}

ReadItem Writer::read_item(RunId run, core::ActivitySeq activity) {
  Rows rows = sql_.read_work_item.query(run, activity);
  if (!rows.next()) return {std::nullopt, rows.failed() ? std::optional(failed(rows)) : std::nullopt};
  core::WorkItem item = work_item(rows, run, activity);
  if (rows.malformed())
    return {std::nullopt, damaged_row(format("run {}: work item {} is malformed", run.raw(), activity.raw()))};
  return {std::move(item)};
}

Applied Writer::apply(const ExtendWork& extend) {
  auto [item, unread] = read_item(extend.run, extend.activity);
  if (unread) return *unread;
  if (!item || extend.token == core::WorkToken(0) || item->token != extend.token || awaits_decision(*item))
    return stale_item(extend.activity);
  store::extend(*item, extend, clock_.now());
  Applied applied = move_item(*item);
  applied.outcome.items.push_back(std::move(*item));
  return applied;
}

Applied Writer::apply(const ReleaseWork& release) {
  if (release.epoch != core::Epoch(0)) {
    Applied guarded = guard(core::lane_of(release.run), release.epoch);
    if (!is_done(guarded)) return guarded;
  }
  auto [item, unread] = read_item(release.run, release.activity);
  if (unread) return *unread;
  if (!item || release.token == core::WorkToken(0) || item->token != release.token || !may_release(*item, release))
    return stale_item(release.activity);
  core::release(*item, clock_.now(), release.began);
  return move_item(*item);
}

Applied Writer::apply(const PauseTopic& pause) {
  const Checked paused = is_paused(pause.topic);
  if (paused.failed) return *paused.failed;
  if (paused.yes == pause.paused) return refused(OutcomeKind::already_done, "");
  if (pause.paused) {
    Rows rows = sql_.count_pauses.query();
    if (!rows.next()) return Applied{rows.rc(), false, {}};
    if (rows.word(0) >= pawl::limits::paused_topics_max)
      return refused(OutcomeKind::rejected, format("at most {} topics can be paused", pawl::limits::paused_topics_max));
  }
  Statement& put = pause.paused ? sql_.put_pause : sql_.drop_pause;
  if (put.run(pause.topic) == Statement::failed) return failed(put);
  return Applied{SQLITE_OK, true, {}};
}

}  // namespace pawl::store::sqlite
