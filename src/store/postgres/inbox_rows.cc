#include "store/postgres/inbox_rows.h"

#include "core/codec.h"

namespace pawl::store::postgres {

namespace {

const Statement read_waiting_messages{
    "read_waiting_messages",
    "SELECT i.run, i.guid, i.redeliveries, 0::bigint FROM (SELECT unnest($1::bigint[]) AS run,"
    " unnest($2::bytea[]) AS guid) AS u"
    " JOIN inbox i ON i.run = ANY(ARRAY[u.run]) AND i.guid = u.guid"
    " UNION ALL SELECT t.run, t.guid, t.redeliveries, t.due FROM (SELECT unnest($1::bigint[]) AS run,"
    " unnest($2::bytea[]) AS guid) AS u"
    " JOIN timers t ON t.run = ANY(ARRAY[u.run]) AND t.guid = u.guid"};
const Statement sweep_inbox{
    "sweep_inbox",
    "DELETE FROM inbox i USING (SELECT unnest($1::bigint[]) AS run, unnest($2::bytea[]) AS keep) AS u"
    " WHERE i.run = ANY(ARRAY[u.run]) AND i.guid IS DISTINCT FROM u.keep"};
const Statement sweep_timers{
    "sweep_timers",
    "DELETE FROM timers t USING (SELECT unnest($1::bigint[]) AS run, unnest($2::bytea[]) AS keep) AS u"
    " WHERE t.run = ANY(ARRAY[u.run]) AND t.guid IS DISTINCT FROM u.keep"};
const Statement drop_messages{
    "drop_messages",
    "DELETE FROM inbox i USING (SELECT unnest($1::bigint[]) AS run, unnest($2::bytea[]) AS guid) AS u"
    " WHERE i.run = ANY(ARRAY[u.run]) AND i.guid = u.guid"};
const Statement drop_timers{
    "drop_timers",
    "DELETE FROM timers t USING (SELECT unnest($1::bigint[]) AS run, unnest($2::bytea[]) AS guid) AS u"
    " WHERE t.run = ANY(ARRAY[u.run]) AND t.guid = u.guid"};
const Statement new_messages{
    "new_messages",
    "INSERT INTO inbox (run, guid, body) SELECT run, guid, body FROM (SELECT unnest($1::bigint[]) AS run,"
    " unnest($2::bytea[]) AS guid, unnest($3::bytea[]) AS body,"
    " generate_series(1, cardinality($1::bigint[])) AS place) AS u ORDER BY place"};
const Statement new_timers{
    "new_timers",
    "INSERT INTO timers (run, guid, body, due) SELECT unnest($1::bigint[]), unnest($2::bytea[]), unnest($3::bytea[]),"
    " unnest($4::bigint[])"};
const Statement count_messages{
    "count_messages",
    "UPDATE inbox i SET redeliveries = u.redeliveries FROM (SELECT unnest($1::bigint[]) AS run,"
    " unnest($2::bytea[]) AS guid, unnest($3::bigint[]) AS redeliveries) AS u WHERE i.run = ANY(ARRAY[u.run]) AND "
    "i.guid = u.guid"};
const Statement count_timers{
    "count_timers",
    "UPDATE timers t SET redeliveries = u.redeliveries FROM (SELECT unnest($1::bigint[]) AS run,"
    " unnest($2::bytea[]) AS guid, unnest($3::bigint[]) AS redeliveries) AS u WHERE t.run = ANY(ARRAY[u.run]) AND "
    "t.guid = u.guid"};

}  // namespace

void InboxRows::ask(Script& script) {
  at_.reset();
  Batch wanted;
  for (const auto& [run, guid] : wanted_) wanted.row(run, guid);
  if (!wanted.empty()) at_ = script.add(read_waiting_messages, Params::of_rows(wanted));
}

Status InboxRows::take(Done& answers) {
  if (!at_) return {};
  Rows& rows = answers[*at_];
  while (rows.next()) {
    Slot& slot = slots_[{RunId(rows.word(0)), rows.guid(1)}];
    slot.stored = true;
    slot.now = Row{rows.small(2), rows.instant(3), {}, 0};
  }
  return rows.malformed() ? Status{Error{ErrorCode::corrupt, "a message of an inbox is malformed"}} : Status{};
}

std::optional<std::uint32_t> InboxRows::redeliveries_of(RunId run, const core::Guid& guid) const {
  const auto found = slots_.find({run, guid});
  if (found == slots_.end() || !found->second.now) return std::nullopt;
  return found->second.now->redeliveries;
}

std::size_t InboxRows::put(RunId run, const core::Message& message, Instant due) {
  Slot& slot = slots_[{run, message.guid}];
  slot.now = Row{0, due, core::encode(message.body), next_place_++};
  slot.is_new = true;
  return slot.now->body.size();
}

void InboxRows::count_redelivery(RunId run, const core::Guid& guid) {
  Slot& slot = slots_.at({run, guid});
  ++slot.now->redeliveries;
  slot.changed = true;
}

void InboxRows::drop(RunId run, const core::Guid& guid) {
  const bool was_new = slots_.contains({run, guid}) && slots_.at({run, guid}).is_new;
  Slot& slot = slots_[{run, guid}];
  if (!was_new) slot.stored = true;
  slot.now.reset();
  slot.is_new = false;
  slot.changed = true;
}

void InboxRows::sweep(RunId run, const std::optional<core::Guid>& keep) {
  for (auto slot = slots_.lower_bound({run, core::Guid{}}); slot != slots_.end() && slot->first.first == run;) {
    if (keep && slot->first.second == *keep)
      ++slot;
    else
      slot = slots_.erase(slot);
  }
  swept_.insert_or_assign(run, keep);
}

void InboxRows::write(Script& script) const {
  Batch swept;
  for (const auto& [run, keep] : swept_) swept.row(run, keep);
  if (!swept.empty()) {
    script.add(sweep_inbox, Params::of_rows(swept));
    script.add(sweep_timers, Params::of_rows(swept));
  }
  Batch dropped;
  Batch counted;
  std::map<std::uint64_t, const std::pair<const Key, Slot>*> in_order;
  for (const auto& one : slots_) {
    const auto& [key, slot] = one;
    if (slot.stored && (!slot.now || slot.is_new)) dropped.row(key.first, key.second);
    if (slot.now && slot.is_new) in_order.emplace(slot.now->place, &one);
    if (slot.now && slot.changed && slot.now->redeliveries != 0)
      counted.row(key.first, key.second, slot.now->redeliveries);
  }
  if (!dropped.empty()) {
    script.add(drop_messages, Params::of_rows(dropped));
    script.add(drop_timers, Params::of_rows(dropped));
  }
  Batch messages;
  Batch timers;
  for (const auto& [place, one] : in_order) {
    const auto& [key, slot] = *one;
    if (slot.now->due == Instant())
      messages.row(key.first, key.second, Blob{slot.now->body});
    else
      timers.row(key.first, key.second, Blob{slot.now->body}, slot.now->due);
  }
  if (!messages.empty()) script.add(new_messages, Params::of_rows(messages));
  if (!timers.empty()) script.add(new_timers, Params::of_rows(timers));
  if (counted.empty()) return;
  script.add(count_messages, Params::of_rows(counted));
  script.add(count_timers, Params::of_rows(counted));
}

}  // namespace pawl::store::postgres
