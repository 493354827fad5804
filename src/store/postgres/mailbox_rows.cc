#include "store/postgres/mailbox_rows.h"

#include <algorithm>

#include "core/codec.h"
#include "store/postgres/expected.h"

namespace pawl::store::postgres {

namespace {

const Statement find_mailboxes{
    "find_mailboxes",
    "SELECT m.namespace, m.topic, m.key, m.run FROM unnest($1::text[], $2::text[], $3::bytea[]) AS u(namespace, topic, "
    "key)"
    " JOIN mailboxes m ON m.namespace = ANY(ARRAY[u.namespace]) AND m.topic = u.topic AND m.key = u.key"};
const Statement lock_mailboxes{
    "lock_mailboxes",
    "SELECT run, namespace, topic, key, rev, bundle, next_entry, signals, signal_bytes FROM mailboxes"
    " WHERE run = ANY($1::bigint[]) ORDER BY run FOR NO KEY UPDATE"};
const Statement read_entries{
    "read_entry_guards",
    "SELECT e.run, e.seq, e.kind, e.guid, octet_length(e.body) FROM unnest($1::bigint[], $2::bigint[]) AS u(run, seq)"
    " JOIN mailbox_entries e ON e.run = ANY(ARRAY[u.run]) AND e.seq = u.seq"};
const Statement new_mailboxes{
    "new_mailboxes",
    "WITH put AS (INSERT INTO mailboxes (run, namespace, topic, key, rev, bundle, next_entry, signals, signal_bytes)"
    " SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[],"
    " $8::bigint[], $9::bigint[]) ON CONFLICT DO NOTHING RETURNING 1)"
    " SELECT " PAWL_EXPECT("count(*) = $10::bigint") " FROM put"};
const Statement put_mailboxes{
    "put_mailboxes",
    "UPDATE mailboxes m SET rev = u.rev, bundle = u.bundle, next_entry = u.next_entry, signals = u.signals,"
    " signal_bytes = u.signal_bytes FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[], $5::bigint[], "
    "$6::bigint[],"
    " $7::bigint[], $8::bigint[], $9::bigint[]) AS u(run, namespace, topic, key, rev, bundle, next_entry, signals,"
    " signal_bytes) WHERE m.run = ANY(ARRAY[u.run])"};
const Statement drop_entries{"drop_entries",
                             "DELETE FROM mailbox_entries e USING unnest($1::bigint[], $2::bigint[]) AS u(run, seq)"
                             " WHERE e.run = ANY(ARRAY[u.run]) AND e.seq = u.seq"};
const Statement new_entries{
    "new_entries",
    "INSERT INTO mailbox_entries (run, seq, guid, kind, expires_at, taker, meeting, body) SELECT * FROM "
    "unnest($1::bigint[],"
    " $2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bytea[], $8::bytea[])"};
const Statement offer_entries{
    "offer_entries",
    "UPDATE mailbox_entries e SET taker = u.taker, meeting = u.meeting FROM unnest($1::bigint[], $2::bigint[], "
    "$3::bytea[],"
    " $4::bytea[]) AS u(run, seq, taker, meeting) WHERE e.run = ANY(ARRAY[u.run]) AND e.seq = u.seq"};
const Statement drop_empty_mailboxes{"drop_empty_mailboxes",
                                     "DELETE FROM mailboxes m WHERE m.run = ANY($1::bigint[])"
                                     " AND NOT EXISTS (SELECT 1 FROM mailbox_entries e WHERE e.run = ANY(ARRAY[m.run]))"
                                     " AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.run = ANY(ARRAY[m.run]))"
                                     " AND NOT EXISTS (SELECT 1 FROM timers t WHERE t.run = ANY(ARRAY[m.run]))"};

std::optional<core::Guid> meeting(const core::Guid& signal, const std::optional<core::Guid>& taker) {
  return taker ? std::optional(core::meeting_of(signal, *taker)) : std::nullopt;
}

}  // namespace

void MailboxRows::ask_keys(Script& script) {
  keys_at_.reset();
  Batch keys;
  for (const core::MailboxKey& key : wanted_keys_) keys.row(key.name_space, key.topic, Blob{key.key});
  if (!keys.empty()) keys_at_ = script.add(find_mailboxes, Params::of_rows(keys));
}

Status MailboxRows::take_keys(Done& answers) {
  if (!keys_at_) return {};
  Rows& rows = answers[*keys_at_];
  while (rows.next()) {
    const RunId run(rows.word(3));
    runs_.emplace(core::MailboxKey{Namespace(std::string(rows.text(0))), Topic(std::string(rows.text(1))),
                                   std::string(rows.text(2))},
                  run);
    wanted_.insert(run);
  }
  return rows.malformed() ? Status{Error{ErrorCode::corrupt, "the key of a mailbox is malformed"}} : Status{};
}

void MailboxRows::ask(Script& script) {
  at_.reset();
  entries_at_.reset();
  if (!wanted_.empty()) at_ = script.add(lock_mailboxes, Params::of(std::vector(wanted_.begin(), wanted_.end())));
  Batch entries;
  for (const auto& [run, seq] : wanted_entries_) entries.row(run, seq);
  if (!entries.empty()) entries_at_ = script.add(read_entries, Params::of_rows(entries));
}

Status MailboxRows::take(Done& answers) {
  runs_.clear();  // a mailbox that was deleted since is not there
  if (at_) {
    Rows& rows = answers[*at_];
    while (rows.next()) {
      const RunId run(rows.word(0));
      Slot& slot = slots_[run];
      slot.stored = true;
      slot.row.key = core::MailboxKey{Namespace(std::string(rows.text(1))), Topic(std::string(rows.text(2))),
                                      std::string(rows.text(3))};
      slot.row.rev = core::Rev(rows.word(4));
      slot.row.bundle = core::BundleId(rows.word(5));
      slot.row.next_entry = rows.word(6);
      slot.row.signals = rows.word(7);
      slot.row.signal_bytes = rows.word(8);
      runs_.insert_or_assign(slot.row.key, run);
    }
    if (rows.malformed()) return Error{ErrorCode::corrupt, "the row of a mailbox is malformed"};
  }
  if (!entries_at_) return {};
  Rows& rows = answers[*entries_at_];
  while (rows.next())
    entries_[{RunId(rows.word(0)), rows.word(1)}] = Entry{rows.number(2) == 1, rows.guid(3), rows.word(4)};
  return rows.malformed() ? Status{Error{ErrorCode::corrupt, "an entry of a mailbox is malformed"}} : Status{};
}

const MailboxGuard* MailboxRows::find(RunId run) const {
  const auto found = slots_.find(run);
  return found == slots_.end() ? nullptr : &found->second.row;
}

std::optional<RunId> MailboxRows::find(const core::MailboxKey& key) const {
  const auto found = runs_.find(key);
  return found == runs_.end() ? std::nullopt : std::optional(found->second);
}

const MailboxRows::Entry* MailboxRows::find_entry(RunId run, std::uint64_t seq) const {
  const auto found = entries_.find({run, seq});
  return found == entries_.end() ? nullptr : &found->second;
}

void MailboxRows::make(RunId run, const core::MailboxKey& key) {
  Slot& slot = slots_[run];
  slot.row.key = key;
  slot.changed = true;
  runs_.insert_or_assign(key, run);
}

void MailboxRows::add_signal(RunId run, std::size_t bytes) {
  Slot& slot = slots_.at(run);
  ++slot.row.signals;
  slot.row.signal_bytes += bytes;
  slot.changed = true;
}

void MailboxRows::step(const core::Bundle& bundle, const core::MailboxHead& head) {
  Slot& slot = slots_.at(bundle.entity);
  slot.row.rev = core::next(bundle.rev_before);
  slot.row.bundle = bundle.id;
  slot.row.next_entry = head.next_entry;
  slot.changed = true;
  stepped_.insert(bundle.entity);
  for (const core::Write& write : bundle.writes) {
    if (const auto* put = std::get_if<core::PutEntry>(&write)) put_.emplace_back(bundle.entity, &put->entry);
    if (const auto* offer = std::get_if<core::OfferEntry>(&write)) offered_.emplace_back(bundle.entity, offer);
    const auto* drop = std::get_if<core::DropEntry>(&write);
    if (drop == nullptr) continue;
    const Entry& entry = entries_.at({bundle.entity, drop->seq});
    if (entry.is_signal) {
      slot.row.signals -= std::min<std::uint64_t>(slot.row.signals, 1);
      slot.row.signal_bytes -= std::min(slot.row.signal_bytes, entry.bytes);
    }
    dropped_.emplace_back(bundle.entity, drop->seq);
  }
}

void MailboxRows::write(Script& script) const {
  Batch added;
  Batch put;
  for (const auto& [run, slot] : slots_) {
    if (!slot.changed) continue;
    const MailboxGuard& row = slot.row;
    (slot.stored ? put : added)
        .row(run, row.key.name_space, row.key.topic, Blob{row.key.key}, row.rev, row.bundle, row.next_entry,
             row.signals, row.signal_bytes);
  }
  if (!added.empty()) script.add(new_mailboxes, Params::of_rows(added, added.rows()));
  if (!put.empty()) script.add(put_mailboxes, Params::of_rows(put));
  Batch offered;
  for (const auto& [run, offer] : offered_) offered.row(run, offer->seq, offer->to, meeting(offer->signal, offer->to));
  if (!offered.empty()) script.add(offer_entries, Params::of_rows(offered));
  Batch dropped;
  for (const auto& [run, seq] : dropped_) dropped.row(run, seq);
  if (!dropped.empty()) script.add(drop_entries, Params::of_rows(dropped));
  Batch entries;
  for (const auto& [run, entry] : put_) {
    const core::Body what = std::visit([](const auto& one) { return core::Body(one); }, entry->what);
    const std::string body = core::encode(what);
    entries.row(run, entry->seq, entry->guid, std::holds_alternative<core::Signal>(entry->what) ? 1 : 0,
                entry->expires_at, entry->offered_to, meeting(entry->guid, entry->offered_to), Blob{body});
  }
  if (!entries.empty()) script.add(new_entries, Params::of_rows(entries));
}

void MailboxRows::write_empty(Script& script) const {
  if (!stepped_.empty()) script.add(drop_empty_mailboxes, Params::of(std::vector(stepped_.begin(), stepped_.end())));
}

}  // namespace pawl::store::postgres
