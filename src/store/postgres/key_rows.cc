#include "store/postgres/key_rows.h"

#include "store/postgres/expected.h"

namespace pawl::store::postgres {

namespace {

const Statement find_keys{
    "find_keys",
    "SELECT k.namespace, k.job_id, k.run, k.expires_at FROM (SELECT unnest($1::text[]) AS namespace,"
    " unnest($2::text[]) AS job_id) AS u"
    " JOIN start_keys k ON k.namespace = ANY(ARRAY[u.namespace]) AND k.job_id = u.job_id"};
const Statement new_keys{
    "new_keys",
    "WITH put AS (INSERT INTO start_keys (namespace, job_id, run)"
    " SELECT namespace, job_id, run FROM (SELECT unnest($1::text[]) AS namespace, unnest($2::text[]) AS job_id,"
    " unnest($3::bigint[]) AS run) AS u"
    " ON CONFLICT DO NOTHING RETURNING 1) SELECT " PAWL_EXPECT("count(*) = $4::bigint") " FROM put"};
const Statement move_keys{
    "move_keys",
    "WITH moved AS (UPDATE start_keys k SET run = u.run, expires_at = 0"
    " FROM (SELECT unnest($1::text[]) AS namespace, unnest($2::text[]) AS job_id, unnest($3::bigint[]) AS run,"
    " unnest($4::bigint[]) AS before) AS u"
    " WHERE k.namespace = ANY(ARRAY[u.namespace]) AND k.job_id = u.job_id AND k.run = u.before RETURNING 1)"
    " SELECT " PAWL_EXPECT("count(*) = $5::bigint") " FROM moved"};
const Statement end_keys{
    "end_keys",
    "UPDATE start_keys k SET expires_at = u.until"
    " FROM (SELECT unnest($1::text[]) AS namespace, unnest($2::text[]) AS job_id, unnest($3::bigint[]) AS run,"
    " unnest($4::bigint[]) AS until) AS u"
    " WHERE u.until <> 0 AND k.namespace = ANY(ARRAY[u.namespace]) AND k.job_id = u.job_id AND k.run = u.run"};
const Statement drop_keys_at_once{
    "drop_keys_at_once",
    "DELETE FROM start_keys k"
    " USING (SELECT unnest($1::text[]) AS namespace, unnest($2::text[]) AS job_id, unnest($3::bigint[]) AS run,"
    " unnest($4::bigint[]) AS until) AS u"
    " WHERE u.until = 0 AND k.namespace = ANY(ARRAY[u.namespace]) AND k.job_id = u.job_id AND k.run = u.run"};

}  // namespace

void KeyRows::ask(Script& script) {
  at_.reset();
  Batch keys;
  for (const auto& [name_space, id] : wanted_)
    if (!slots_.contains({name_space, id})) keys.row(name_space, id);
  if (!keys.empty()) at_ = script.add(find_keys, Params::of_rows(keys));
}

Status KeyRows::take(Done& answers) {
  for (const Key& key : wanted_) slots_.try_emplace(key);
  if (!at_) return {};
  Rows& rows = answers[*at_];
  while (rows.next()) {
    Slot& slot = slots_[{Namespace(std::string(rows.text(0))), JobId(std::string(rows.text(1)))}];
    slot.stored = slot.now = KeyRow{RunId(rows.word(2)), rows.instant(3)};
  }
  return rows.malformed() ? Status{Error{ErrorCode::corrupt, "a start key is malformed"}} : Status{};
}

void KeyRows::write(Script& script) const {
  Batch added;
  Batch moved;
  for (const auto& [key, slot] : slots_) {
    if (!slot.changed) continue;
    if (slot.stored)
      moved.row(key.first, key.second, slot.now->run, slot.stored->run);
    else
      added.row(key.first, key.second, slot.now->run);
  }
  if (!added.empty()) script.add(new_keys, Params::of_rows(added, added.rows()));
  if (!moved.empty()) script.add(move_keys, Params::of_rows(moved, moved.rows()));
  Batch ended;
  for (const auto& [key, runs] : ended_)
    for (const auto& [run, until] : runs) ended.row(key.first, key.second, run, until);
  if (ended.empty()) return;
  script.add(end_keys, Params::of_rows(ended));
  script.add(drop_keys_at_once, Params::of_rows(ended));
}

const KeyRow* KeyRows::find(const Namespace& name_space, const JobId& id) const {
  const auto found = slots_.find({name_space, id});
  return found == slots_.end() || !found->second.now ? nullptr : &*found->second.now;
}

void KeyRows::put(const Namespace& name_space, const JobId& id, RunId run) {
  Slot& slot = slots_[{name_space, id}];
  slot.now = KeyRow{run, Instant()};
  slot.changed = true;
}

void KeyRows::end(const Namespace& name_space, const JobId& id, RunId run, Instant until) {
  ended_[{name_space, id}][run] = until;
}

}  // namespace pawl::store::postgres
