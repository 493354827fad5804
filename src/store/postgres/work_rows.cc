#include "store/postgres/work_rows.h"

#include "store/postgres/expected.h"
#include "store/postgres/job_rows.h"
#include "store/postgres/work_columns.h"

namespace pawl::store::postgres {

namespace {

const Statement read_items{
    "read_items",
    "SELECT " PAWL_ITEM_COLUMNS("w") " FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bigint[]) AS seq) AS u"
    " JOIN work w ON w.run = ANY(ARRAY[u.run]) AND w.seq = u.seq"};
const Statement read_whole_items{
    "read_whole_items",
    "SELECT " PAWL_ITEM_COLUMNS("w") ", w.input FROM (SELECT unnest($1::bigint[]) AS run,"
    " unnest($2::bigint[]) AS seq) AS u"
    " JOIN work w ON w.run = ANY(ARRAY[u.run]) AND w.seq = u.seq"};
const Statement read_items_of_runs{"read_items_of_runs",
                                   "SELECT " PAWL_ITEM_COLUMNS("w") " FROM work w WHERE w.run = ANY($1::bigint[])"};
const Statement find_pauses{"find_pauses", "SELECT topic, lane FROM paused_topics WHERE topic = ANY($1::text[])"};
const Statement expect_no_pauses{
    "expect_no_pauses", "SELECT " PAWL_EXPECT("count(*) = 0") " FROM paused_topics WHERE topic = ANY($1::text[])"};
const Statement find_all_pauses{"find_all_pauses", "SELECT topic, lane FROM paused_topics"};
const Statement sweep_work{"sweep_work", "DELETE FROM work WHERE run = ANY($1::bigint[])"};
// An item with a token must be held by it.
const Statement drop_work{
    "drop_work",
    "WITH dropped AS (DELETE FROM work w USING (SELECT unnest($1::bigint[]) AS run, unnest($2::bigint[]) AS seq,"
    " unnest($3::bigint[]) AS token) AS u"
    " WHERE w.run = ANY(ARRAY[u.run]) AND w.seq = u.seq AND (u.token IS NULL OR w.token = u.token) RETURNING u.token)"
    " SELECT " PAWL_EXPECT("count(token) = $4::bigint") " FROM dropped"};
// Rows are inserted in the order of the arrays and get ascending positions.
const Statement new_work{
    "new_work",
    "INSERT INTO work (run, seq, topic, request, token, worker, epoch, lease_until, runs, priority, visible_at, held,"
    " once, life, plain_key, wake_at, input) SELECT run, seq, topic, request, coalesce(token, 0), coalesce(worker, ''),"
    " coalesce(epoch, 0), coalesce(lease_until, 0), coalesce(runs, 0), coalesce(priority, 0), coalesce(visible_at, 0),"
    " coalesce(held, false), coalesce(once, false), life, coalesce(plain_key, false), coalesce(wake_at, 0), input"
    " FROM (SELECT unnest($1::bigint[]) AS run,"
    " unnest($2::bigint[]) AS seq, unnest($3::text[]) AS topic, unnest($4::bytea[]) AS request,"
    " unnest($5::bigint[]) AS token, unnest($6::text[]) AS worker, unnest($7::bigint[]) AS epoch,"
    " unnest($8::bigint[]) AS lease_until, unnest($9::bigint[]) AS runs, unnest($10::bigint[]) AS priority,"
    " unnest($11::bigint[]) AS visible_at, unnest($12::boolean[]) AS held, unnest($13::boolean[]) AS once,"
    " unnest($14::bytea[]) AS life, unnest($15::boolean[]) AS plain_key, unnest($16::bigint[]) AS wake_at,"
    " unnest($17::bytea[]) AS input) AS u"};
const Statement replace_work{
    "replace_work",
    "WITH replaced AS (UPDATE work w SET topic = u.topic, request = u.request, token = u.token, worker = u.worker,"
    " epoch = u.epoch, lease_until = u.lease_until, runs = u.runs, priority = u.priority, visible_at = u.visible_at,"
    " held = u.held, once = u.once, life = u.life, plain_key = u.plain_key, wake_at = u.wake_at, input = u.input"
    " FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bigint[]) AS seq, unnest($3::text[]) AS topic,"
    " unnest($4::bytea[]) AS request, unnest($5::bigint[]) AS token, unnest($6::text[]) AS worker,"
    " unnest($7::bigint[]) AS epoch, unnest($8::bigint[]) AS lease_until, unnest($9::bigint[]) AS runs,"
    " unnest($10::bigint[]) AS priority, unnest($11::bigint[]) AS visible_at, unnest($12::boolean[]) AS held,"
    " unnest($13::boolean[]) AS once, unnest($14::bytea[]) AS life, unnest($15::boolean[]) AS plain_key,"
    " unnest($16::bigint[]) AS wake_at, unnest($17::bytea[]) AS input, unnest($18::bigint[]) AS before) AS u"
    " WHERE w.run = ANY(ARRAY[u.run]) AND w.seq = u.seq AND w.token = u.before RETURNING 1)"
    " SELECT " PAWL_EXPECT("count(*) = $19::bigint") " FROM replaced"};

}  // namespace

const Statement move_work{
    "move_work",
    "WITH moved AS (UPDATE work w SET token = u.token, worker = u.worker, epoch = u.epoch, lease_until = u.lease_until,"
    " runs = u.runs, visible_at = u.visible_at, held = u.held, once = u.once, wake_at = u.wake_at, life = u.life"
    " FROM (SELECT unnest($1::bigint[]) AS run, unnest($2::bigint[]) AS seq, unnest($3::bigint[]) AS token,"
    " unnest($4::text[]) AS worker, unnest($5::bigint[]) AS epoch, unnest($6::bigint[]) AS lease_until,"
    " unnest($7::bigint[]) AS runs, unnest($8::bigint[]) AS visible_at, unnest($9::boolean[]) AS held,"
    " unnest($10::boolean[]) AS once, unnest($11::bigint[]) AS wake_at, unnest($12::bytea[]) AS life,"
    " unnest($13::bigint[]) AS before) AS u"
    " WHERE w.run = ANY(ARRAY[u.run]) AND w.seq = u.seq AND w.token = u.before RETURNING 1)"
    " SELECT " PAWL_EXPECT("count(*) = $14::bigint") " FROM moved"};

namespace {

std::optional<Blob> blob_of(const std::optional<std::string>& bytes) {
  return bytes ? std::optional(Blob{*bytes}) : std::nullopt;
}

}  // namespace

void add_move(Batch& batch, const core::WorkItem& item, core::WorkToken before) {
  const auto life = stored_life(item);
  batch.row(item.run, item.activity, item.token, stored_text(item.worker), item.epoch, item.lease_until, item.runs,
            item.visible_at, item.held, item.life.at_most_once, core::wake_of(item), blob_of(life), before);
}

void WorkRows::ask(Script& script) {
  at_.reset();
  whole_at_.reset();
  runs_at_.reset();
  topics_at_.reset();
  Batch items;
  for (const auto& [run, seq] : wanted_) items.row(run, seq);
  if (!items.empty()) at_ = script.add(read_items, Params::of_rows(items));
  Batch whole;
  for (const auto& [run, seq] : wanted_whole_) whole.row(run, seq);
  if (!whole.empty()) whole_at_ = script.add(read_whole_items, Params::of_rows(whole));
  if (!wanted_runs_.empty())
    runs_at_ = script.add(read_items_of_runs, Params::of(std::vector(wanted_runs_.begin(), wanted_runs_.end())));
  if (wants_all_pauses_)
    topics_at_ = script.add(find_all_pauses);
  else if (!wanted_topics_.empty())
    topics_at_ = script.add(find_pauses, Params::of(std::vector(wanted_topics_.begin(), wanted_topics_.end())));
}

Status WorkRows::take(Done& answers) {
  const auto take_items = [&](std::optional<std::size_t> at, bool whole) {
    if (!at) return;
    Rows& rows = answers[*at];
    while (rows.next()) {
      rows.forget_damage();
      core::WorkItem item = work_item(rows);
      if (whole) item.input = rows.payload(work_columns);
      const Key key{item.run, item.activity};
      if (rows.malformed()) damaged_.insert(key);
      Slot& slot = slots_[key];
      slot.token = item.token;
      slot.now = std::move(item);
    }
  };
  take_items(at_, false);
  take_items(runs_at_, false);
  take_items(whole_at_, true);  // last: these rows include the input
  if (!topics_at_) return {};
  Rows& rows = answers[*topics_at_];
  while (rows.next()) paused_.emplace(Topic(std::string(rows.text(0))), core::LaneId(rows.small(1)));
  return {};
}

void WorkRows::assume(RunId run, core::ActivitySeq seq, core::WorkToken token) {
  Slot& slot = slots_[{run, seq}];
  slot.token = token;
  slot.is_assumed = true;
  slot.now.emplace();
  slot.now->run = run;
  slot.now->activity = seq;
  slot.now->token = token;
}

const core::WorkItem* WorkRows::find(RunId run, core::ActivitySeq seq) const {
  const auto found = slots_.find({run, seq});
  return found == slots_.end() || !found->second.now ? nullptr : &*found->second.now;
}

bool WorkRows::is_paused(const Topic& topic, core::LaneId lane) const {
  return paused_.contains({topic, core::LaneId(0)}) || paused_.contains({topic, lane});
}

void WorkRows::put(core::WorkItem item) {
  const Key key{item.run, item.activity};
  Slot& slot = slots_[key];
  if (slot.changed && !slot.now) {
    dropped_.emplace_back(key, slot.token);
    slot.token.reset();
  }
  if (!slot.now) slot.place = next_place_++;
  slot.now = std::move(item);
  slot.replaced = slot.changed = true;
}

void WorkRows::move(core::WorkItem item) {
  Slot& slot = slots_[{item.run, item.activity}];
  slot.now = std::move(item);
  slot.changed = true;
}

void WorkRows::drop(RunId run, core::ActivitySeq seq) {
  Slot& slot = slots_[{run, seq}];
  slot.now.reset();
  slot.changed = true;
}

void WorkRows::sweep(RunId run) {
  for (auto slot = slots_.lower_bound({run, core::ActivitySeq(0)}); slot != slots_.end() && slot->first.first == run;) {
    // An assumed token must still be compared before the sweep deletes its item.
    if (slot->second.is_assumed) dropped_.emplace_back(slot->first, slot->second.token);
    slot = slots_.erase(slot);
  }
  swept_.push_back(run);
}

std::vector<core::ActivitySeq> WorkRows::all_of(RunId run) const {
  std::vector<core::ActivitySeq> all;
  for (auto slot = slots_.lower_bound({run, core::ActivitySeq(0)}); slot != slots_.end() && slot->first.first == run;
       ++slot)
    if (slot->second.now) all.push_back(slot->first.second);
  return all;
}

void WorkRows::write(Script& script) const {
  Batch dropped;
  Batch added;
  Batch replaced;
  Batch moved;
  std::map<std::uint64_t, const core::WorkItem*> in_order;
  std::size_t held = 0;  // dropped items whose token must match
  std::set<Key> gone;
  for (const auto& [key, token] : dropped_) {
    dropped.row(key.first, key.second, token);
    held += token ? 1 : 0;
    gone.insert(key);
  }
  for (const auto& [key, slot] : slots_) {
    if (!slot.changed) continue;
    if (!slot.now) {
      if (gone.contains(key)) continue;
      dropped.row(key.first, key.second, slot.token);
      held += slot.token ? 1 : 0;
      continue;
    }
    const core::WorkItem& item = *slot.now;
    if (!slot.replaced) {
      add_move(moved, item, slot.token.value_or(core::WorkToken(0)));
      continue;
    }
    if (!slot.token) {
      in_order.emplace(slot.place, &item);
      continue;
    }
    const auto life = stored_life(item);
    replaced.row(item.run, item.activity, item.topic, item.request, item.token, stored_text(item.worker), item.epoch,
                 item.lease_until, item.runs, item.priority, item.visible_at, item.held, item.life.at_most_once,
                 blob_of(life), item.plain_key, core::wake_of(item), item.input, *slot.token);
  }
  for (const auto& [place, item] : in_order) {
    const auto life = stored_life(*item);
    added.row(item->run, item->activity, item->topic, item->request, unless_none(item->token.raw()),
              unless_none(stored_text(item->worker)), unless_none(item->epoch.raw()), unless_none(item->lease_until),
              unless_none(item->runs), unless_none(item->priority), unless_none(item->visible_at),
              unless_none(item->held), unless_none(item->life.at_most_once), blob_of(life),
              unless_none(item->plain_key), unless_none(core::wake_of(*item)), item->input);
  }
  if (!assumed_topics_.empty())
    script.add(expect_no_pauses, Params::of(std::vector(assumed_topics_.begin(), assumed_topics_.end())));
  if (!dropped.empty()) script.add(drop_work, Params::of_rows(dropped, held));
  if (!swept_.empty()) script.add(sweep_work, Params::of(swept_));
  if (!added.empty()) script.add(new_work, Params::of_rows(added));
  if (!replaced.empty()) script.add(replace_work, Params::of_rows(replaced, replaced.rows()));
  if (!moved.empty()) script.add(move_work, Params::of_rows(moved, moved.rows()));
}

}  // namespace pawl::store::postgres
