// The work queue: conditional writes on one work row, never on its job's row.
#include <algorithm>
#include <tuple>

#include "base/format.h"
#include "core/work_token.h"
#include "store/sqlite/work_rows.h"
#include "store/sqlite/writer.h"

namespace pawl::store::sqlite {

namespace {

struct Candidate {
  std::int64_t position;
  RunId run;
  core::ActivitySeq activity;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

int collect(Rows rows, std::vector<Candidate>& candidates) {
  while (rows.next())
    candidates.push_back({rows.number(0), RunId(rows.word(1)), core::ActivitySeq(rows.small(2))});
  return rows.failed() ? rows.rc() : SQLITE_OK;
}

}  // namespace

Applied stale_item(core::ActivitySeq activity) {
  return refused(OutcomeKind::conflict,
                 format("work item {} is no longer held by this token", activity.raw()));
}

Applied Writer::apply(const ClaimWork& claim) {
  const Instant now = clock_.now();
  std::vector<Candidate> oldest;
  for (const Topic& topic : claim.topics) {
    int code = collect(sql_.find_free_work.query(topic, claim.items_max), oldest);
    if (code == SQLITE_OK)
      code = collect(sql_.find_expired_work.query(topic, claim.items_max, now), oldest);
    if (code != SQLITE_OK) return Applied{code, false, {}};
  }
  std::sort(oldest.begin(), oldest.end());
  oldest.erase(std::unique(oldest.begin(), oldest.end()), oldest.end());  // a topic named twice
  if (oldest.size() > claim.items_max)
    oldest.erase(oldest.begin() + static_cast<std::ptrdiff_t>(claim.items_max), oldest.end());
  Applied applied;
  for (const Candidate& one : oldest) {
    auto item = read_item(one.run, one.activity);
    if (!item) return Applied{SQLITE_CORRUPT, applied.wrote, {}};
    if (!*item) continue;
    core::WorkItem& found = **item;
    found.worker = claim.worker;
    found.epoch = core::Epoch(0);
    found.lease_until = now + claim.lease;
    if (claim_item(found) == Statement::failed) return failed(sql_.claim_work);
    applied.wrote = true;
    applied.outcome.items.push_back(std::move(found));
  }
  return applied;
}

Applied Writer::apply(const ClaimItem& claim) {
  Applied guarded = guard(core::lane_of(claim.run), claim.epoch);
  if (!is_done(guarded)) return guarded;
  auto item = read_item(claim.run, claim.activity);
  if (!item) return Applied{SQLITE_CORRUPT, false, {}};
  if (!*item || (*item)->token != claim.before) return stale_item(claim.activity);
  core::WorkItem& found = **item;
  found.worker = claim.worker;
  found.epoch = claim.epoch;
  found.lease_until = Instant();
  if (claim_item(found) == Statement::failed) return failed(sql_.claim_work);
  Applied applied;
  applied.wrote = true;
  applied.outcome.items.push_back(std::move(found));
  return applied;
}

// Hands the item out once more, under a new token.
int Writer::claim_item(core::WorkItem& item) {
  item.runs += 1;
  item.token = core::token_of(item.request, item.runs);
  return sql_.claim_work.run(item.run, item.activity, item.token, item.worker, item.epoch,
                             item.lease_until, item.runs);
}

Result<std::optional<core::WorkItem>> Writer::read_item(RunId run, core::ActivitySeq activity) {
  Rows rows = sql_.read_work_item.query(run, activity);
  if (!rows.next()) {
    if (rows.failed()) return connection_->error(rows.rc(), "read");
    return std::optional<core::WorkItem>();
  }
  core::WorkItem item = work_item(rows, run, activity);
  if (rows.malformed())
    return Error{ErrorCode::corrupt,
                 format("run {}: work item {} is malformed", run.raw(), activity.raw())};
  return std::optional<core::WorkItem>(std::move(item));
}

Applied Writer::apply(const ExtendWork& extend) {
  if (extend.token == core::WorkToken(0)) return stale_item(extend.activity);
  const int changed =
      sql_.extend_work.run(extend.run, extend.activity, extend.token, clock_.now() + extend.lease);
  if (changed == Statement::failed) return failed(sql_.extend_work);
  return changed == 1 ? Applied{SQLITE_OK, true, {}} : stale_item(extend.activity);
}

Applied Writer::apply(const ReleaseWork& release) {
  if (release.token == core::WorkToken(0)) return stale_item(release.activity);
  const int changed = sql_.release_work.run(release.run, release.activity, release.token);
  if (changed == Statement::failed) return failed(sql_.release_work);
  return changed == 1 ? Applied{SQLITE_OK, true, {}} : stale_item(release.activity);
}

}  // namespace pawl::store::sqlite
