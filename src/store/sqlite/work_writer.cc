#include "store/sqlite/work_writer.h"

#include <algorithm>

#include "base/format.h"
#include "base/limits.h"
#include "core/apply.h"
#include "store/rules.h"
#include "store/sqlite/prepared.h"
#include "store/sqlite/run_range.h"
#include "store/sqlite/work_rows.h"

namespace pawl::store::sqlite {

namespace {

struct Candidate {
  std::int64_t before;  // the negated priority: smaller goes first
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
  return refused(OutcomeKind::conflict, format("work item {} is no longer held by this token", activity.raw()));
}

Status WorkWriter::prepare(Connection& connection) {
  return prepare_each(
      connection,
      {
          // A second request for the same activity keeps the first one's place in the queue.
          {&put_work_,
           "UPDATE activities SET position = coalesce(position, ?3), topic = ?4, request = ?5, token = ?6,"
           " worker = ?7, epoch = ?8, lease_until = ?9, runs = ?10, input = ?11, priority = ?12, visible_at = ?13,"
           " held = ?14, once = ?15, wake_at = ?16, life = ?17, plain_key = ?18, input_at = ?19, unlisted = 0"
           " WHERE run = ?1 AND seq = ?2"},
          // ?4: the token was checked before the bundle's first write. ?5: nothing of the item is in another table.
          {&drop_work_, "UPDATE activities SET " PAWL_NO_WORK
                        " WHERE run = ?1 AND seq = ?2 AND request IS NOT NULL AND (?4 OR token = ?3)"
                        " AND (?5 OR (input_at IS NOT -1 AND unlisted = 1))"},
          {&sweep_work_,
           "UPDATE activities INDEXED BY activities_by_run SET " PAWL_NO_WORK
           " WHERE run = ?1 AND request IS NOT NULL"},
          {&read_work_item_,
           "SELECT " PAWL_WORK_COLUMNS " FROM activities WHERE run = ?1 AND seq = ?2 AND request IS NOT NULL"},
          {&work_of_, "SELECT seq FROM activities INDEXED BY activities_by_run WHERE run = ?1 AND request IS NOT NULL"},
          {&move_work_,
           "UPDATE activities SET token = ?3, worker = ?4, epoch = ?5, lease_until = ?6, runs = ?7, visible_at = ?8,"
           " held = ?9, once = ?10, wake_at = ?11, life = ?12, unlisted = unlisted AND ?13"
           " WHERE run = ?1 AND seq = ?2 AND request IS NOT NULL"},
          {&hold_work_,
           "UPDATE activities INDEXED BY activities_by_run SET held = 1, wake_at = 0"
           " WHERE run = ?1 AND request IS NOT NULL"},
          // Each query repeats the conditions of its partial index literally.
          {&find_free_work_,
           "SELECT priority, position, run, seq FROM work_list INDEXED BY work_free"
           " WHERE topic = ?1 AND token = 0 AND held = 0 AND visible_at = 0 AND run BETWEEN ?3 AND ?4"
           " ORDER BY priority DESC, position LIMIT ?2"},
          {&find_visible_work_,
           "SELECT priority, position, run, seq FROM work_list INDEXED BY work_later"
           " WHERE topic = ?1 AND token = 0 AND held = 0 AND visible_at <> 0 AND visible_at <= ?5"
           " AND run BETWEEN ?3 AND ?4 ORDER BY priority DESC, position LIMIT ?2"},
          {&find_expired_work_,
           "SELECT priority, position, run, seq FROM work_list INDEXED BY work_leased"
           " WHERE topic = ?1 AND token <> 0 AND epoch = 0 AND held = 0 AND once = 0"
           " AND lease_until <= ?5 AND visible_at <= ?5 AND run BETWEEN ?3 AND ?4"
           " ORDER BY priority DESC, position LIMIT ?2"},
          {&find_pause_, "SELECT 1 FROM paused_topics WHERE topic = ?1"},
          {&count_pauses_, "SELECT count(*) FROM paused_topics"},
          {&put_pause_, "INSERT INTO paused_topics (topic) VALUES (?1) ON CONFLICT DO NOTHING"},
          {&drop_pause_, "DELETE FROM paused_topics WHERE topic = ?1"},
      });
}

Checked WorkWriter::is_paused(const Topic& topic) {
  Rows rows = find_pause_.query(topic);
  Checked checked{rows.next()};
  if (rows.failed()) checked.failed = failed(rows);
  return checked;
}

Applied WorkWriter::apply(const ClaimWork& claim) {
  const Instant now = clock_.now();
  const RunRange runs = runs_of(claim.lane);
  std::vector<Candidate> first;
  for (const Topic& topic : claim.topics) {
    const Checked paused = is_paused(topic);
    if (paused.failed) return *paused.failed;
    if (paused.yes) continue;
    int code = collect(find_free_work_.query(topic, claim.items_max, runs.first, runs.last), first);
    for (Statement* find : {&find_visible_work_, &find_expired_work_})
      if (code == SQLITE_OK) code = collect(find->query(topic, claim.items_max, runs.first, runs.last, now), first);
    if (code != SQLITE_OK) return Applied{code, false, {}};
  }
  std::sort(first.begin(), first.end());
  first.erase(std::unique(first.begin(), first.end()), first.end());  // a topic named twice
  if (first.size() > claim.items_max)
    first.erase(first.begin() + static_cast<std::ptrdiff_t>(claim.items_max), first.end());
  Applied applied;
  answer::Items claimed;
  for (const Candidate& one : first) {
    auto [item, unread] = read_item(one.run, one.activity);
    if (unread && unread->code != SQLITE_CORRUPT) return *unread;
    if (!item) continue;  // a damaged one is left to its lane owner, which reports it
    core::begin_run(*item, claim.worker, core::Epoch(0), now + claim.lease, now);
    Applied moved = move_item(*item);
    if (!is_done(moved)) return moved;
    applied.wrote = true;
    claimed.items.push_back(std::move(*item));
  }
  applied.outcome.answer = std::move(claimed);
  return applied;
}

Applied WorkWriter::apply(const ClaimItem& claim) {
  Applied guarded = lanes_.guard(core::lane_of(claim.run), claim.epoch);
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
  applied.outcome.answer = answer::Items{{std::move(found)}};
  return applied;
}

Applied WorkWriter::move_item(const core::WorkItem& item) {
  const StoredLife stored(item);
  const int moved = move_work_.run(item.run, item.activity, item.token, item.worker, item.epoch, item.lease_until,
                                   item.runs, item.visible_at, item.held, stored.once, stored.wake_at, stored.life(),
                                   is_quiet(item, stored.wake_at));
  if (moved == Statement::failed) return failed(move_work_);
  Applied listed = list_.put(item.run, item.activity);
  listed.wrote = true;
  return listed;
}

WorkWriter::ReadItem WorkWriter::read_item(RunId run, core::ActivitySeq activity) {
  Rows rows = read_work_item_.query(run, activity);
  if (!rows.next()) return {std::nullopt, rows.failed() ? std::optional(failed(rows)) : std::nullopt};
  core::WorkItem item = work_item(rows, run, activity);
  if (rows.failed()) return {std::nullopt, failed(rows)};
  if (rows.malformed())
    return {std::nullopt, damaged_row(format("run {}: work item {} is malformed", run.raw(), activity.raw()))};
  return {std::move(item)};
}

Applied WorkWriter::apply(const ExtendWork& extend) {
  auto [item, unread] = read_item(extend.run, extend.activity);
  if (unread) return *unread;
  if (!item || extend.token == core::WorkToken(0) || item->token != extend.token || awaits_decision(*item))
    return stale_item(extend.activity);
  store::extend(*item, extend, clock_.now());
  Applied applied = move_item(*item);
  applied.outcome.answer = answer::Items{{std::move(*item)}};
  return applied;
}

Applied WorkWriter::apply(const ReleaseWork& release) {
  if (release.epoch != core::Epoch(0)) {
    Applied guarded = lanes_.guard(core::lane_of(release.run), release.epoch);
    if (!is_done(guarded)) return guarded;
  }
  auto [item, unread] = read_item(release.run, release.activity);
  if (unread) return *unread;
  if (!item || release.token == core::WorkToken(0) || item->token != release.token || !may_release(*item, release))
    return stale_item(release.activity);
  core::release(*item, clock_.now(), release.began);
  return move_item(*item);
}

Applied WorkWriter::apply(const PauseTopic& pause) {
  if (pause.lane != core::LaneId(0))
    return refused(OutcomeKind::rejected, "this store pauses a topic in all of its lanes at once: name none");
  const Checked paused = is_paused(pause.topic);
  if (paused.failed) return *paused.failed;
  if (paused.yes == pause.paused) return refused(OutcomeKind::already_done, "");
  if (pause.paused) {
    Rows rows = count_pauses_.query();
    if (!rows.next()) return failed(rows);
    if (rows.word(0) >= pawl::limits::paused_topics_max)
      return refused(OutcomeKind::rejected, format("at most {} topics can be paused", pawl::limits::paused_topics_max));
  }
  Statement& put = pause.paused ? put_pause_ : drop_pause_;
  if (put.run(pause.topic) == Statement::failed) return failed(put);
  return Applied{SQLITE_OK, true, {}};
}

Applied WorkWriter::apply(const DeliverReply& delivery) {
  const auto* reply = std::get_if<core::Reply>(&delivery.message.body);
  if (reply == nullptr || reply->activity != delivery.activity)
    return refused(OutcomeKind::rejected, "the message is no answer to this work item");
  auto [item, unread] = read_item(delivery.run, delivery.activity);
  if (unread) return *unread;
  const bool answered = !item || awaits_decision(*item);
  if (answered) {
    // A repeated reply whose first answer was lost: its item is deleted, or waits for the job's decision.
    const Checked waits = inbox_.waits(delivery.run, delivery.message.guid);
    if (waits.failed) return *waits.failed;
    if (waits.yes) return refused(OutcomeKind::already_done, "");
  }
  if (answered || delivery.token == core::WorkToken(0) || item->token != delivery.token)
    return stale_item(delivery.activity);
  if (reply->status == core::ReplyStatus::success) {
    if (const Checked deleted = delete_item(delivery.run, delivery.activity, delivery.token, false); deleted.failed)
      return *deleted.failed;
  } else if (core::is_error(reply->status)) {
    await_decision(*item);
    Applied moved = move_item(*item);
    if (!is_done(moved)) return moved;
  }
  Applied applied = jobs_.deliver(delivery.run, delivery.message);
  applied.wrote = true;
  return applied;
}

Applied WorkWriter::check_tokens(const core::Bundle& bundle) {
  const auto check = [&](core::ActivitySeq activity, core::WorkToken token) -> Applied {
    Rows rows = read_work_item_.query(bundle.entity, activity);
    const bool held = rows.next() && core::WorkToken(rows.word(2)) == token;
    if (rows.failed()) return failed(rows);
    return held ? Applied{} : stale_item(activity);
  };
  for (const core::Write& write : bundle.writes) {
    Applied checked;
    if (const auto* drop = std::get_if<core::DropWork>(&write)) checked = check(drop->activity, drop->token);
    if (const auto* change = std::get_if<core::ChangeWork>(&write)) checked = check(change->activity, change->token);
    if (!is_done(checked)) return checked;
  }
  return {};
}

Applied WorkWriter::apply(const AtHand& at, const core::PutWork& write) {
  const core::WorkItem& item = write.item;
  const StoredLife stored(item);
  const std::int64_t position = transaction_.next_position();
  if (const Checked former = inputs_.drop(at.run(), item.activity); former.failed) return *former.failed;
  const InputWriter::Place input = inputs_.put(at, item, std::nullopt);
  if (input.failed) return *input.failed;
  const int changed =
      put_work_.run(at.run(), item.activity, position, item.topic, GuidBytes(item.request), item.token, item.worker,
                    item.epoch, item.lease_until, item.runs, *input.in_row, item.priority, item.visible_at, item.held,
                    stored.once, stored.wake_at, stored.life(), item.plain_key, input.at);
  if (changed == Statement::failed) return failed(put_work_);
  if (changed == 0) return contradicts(format("work for activity {}, which does not exist", item.activity.raw()));
  return list_.put(at.run(), item.activity);
}

Applied WorkWriter::apply(const AtHand& at, const core::DropWork& write) {
  const Checked deleted = delete_item(at.run(), write.activity, write.token, at.tokens_checked);
  if (deleted.failed) return *deleted.failed;
  return deleted.yes || at.tokens_checked ? Applied{} : stale_item(write.activity);
}

// Whether the item was there, with this token.
Checked WorkWriter::delete_item(RunId run, core::ActivitySeq activity, core::WorkToken token, bool token_checked) {
  int deleted = drop_work_.run(run, activity, token, token_checked, false);
  if (deleted == 0) {  // perhaps because of a large input, or because it is listed: that goes first
    const Checked input = inputs_.drop(run, activity);
    if (input.failed) return input;
    const Checked entry = list_.drop(run, activity, token_checked ? std::nullopt : std::optional(token));
    if (entry.failed) return entry;
    if (input.yes || entry.yes) deleted = drop_work_.run(run, activity, token, token_checked, true);
  }
  if (deleted == Statement::failed) return {false, failed(drop_work_)};
  return {deleted == 1};
}

// Its token was compared before the bundle's first write; a reply in the same bundle may have deleted the item since.
Applied WorkWriter::apply(const AtHand& at, const core::ChangeWork& write) {
  auto [item, unread] = read_item(at.run(), write.activity);
  if (unread) return *unread;
  if (!item) return {};
  core::apply_change(*item, write);
  return move_item(*item);
}

Applied WorkWriter::apply(const AtHand& at, const core::HoldWork& write) {
  if (write.held) {
    if (hold_work_.run(at.run()) == Statement::failed) return failed(hold_work_);
    return list_.hold(at.run());
  }
  std::vector<core::ActivitySeq> items;
  {
    Rows rows = work_of_.query(at.run());
    while (rows.next()) items.emplace_back(rows.small(0));
    if (rows.failed()) return failed(rows);
  }
  for (const core::ActivitySeq activity : items) {  // each wakes at its own time
    auto [item, unread] = read_item(at.run(), activity);
    if (unread) return *unread;
    if (!item) return damaged_row(format("work item {} is listed and not there", activity.raw()));
    item->held = false;
    Applied moved = move_item(*item);
    if (!is_done(moved)) return moved;
  }
  return {};
}

Applied WorkWriter::sweep(RunId run) {
  if (sweep_work_.run(run) == Statement::failed) return failed(sweep_work_);
  const Applied unlisted = list_.sweep(run);
  return is_done(unlisted) ? inputs_.sweep(run) : unlisted;
}

}  // namespace pawl::store::sqlite
