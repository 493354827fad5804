#include "store/sqlite/mailbox_writer.h"

#include "base/format.h"
#include "core/codec.h"
#include "store/rules.h"
#include "store/sqlite/prepared.h"

namespace pawl::store::sqlite {

namespace {

// The registration that a signal is offered to, and the guid of the message that offers it.
struct OfferBytes {
  OfferBytes(const core::Guid& signal, const std::optional<core::Guid>& to) {
    if (!to) return;
    taker.emplace(*to);
    meeting.emplace(core::meeting_of(signal, *to));
  }
  std::optional<GuidBytes> taker;
  std::optional<GuidBytes> meeting;
};

}  // namespace

Status MailboxWriter::prepare(Connection& connection) {
  return prepare_each(
      connection,
      {
          {&step_mailbox_,
           "UPDATE mailboxes SET rev = rev + 1, bundle = ?3, next_entry = ?4 WHERE run = ?1 AND rev = ?2"},
          {&read_mailbox_guard_, "SELECT rev, bundle, next_entry FROM mailboxes WHERE run = ?1"},
          {&find_mailbox_,
           "SELECT run, signals, signal_bytes FROM mailboxes WHERE namespace = ?1 AND topic = ?2 AND key = ?3"},
          {&new_mailbox_,
           "INSERT INTO mailboxes (run, namespace, topic, key, rev, bundle, next_entry)"
           " VALUES (?1, ?2, ?3, ?4, 0, 0, 0)"},
          {&put_entry_,
           "INSERT INTO mailbox_entries (run, seq, guid, kind, expires_at, taker, meeting, body)"
           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"},
          {&offer_entry_,
           "UPDATE mailbox_entries SET taker = ?4, meeting = ?5"
           " WHERE run = ?1 AND seq = ?2 AND guid = ?3 AND kind = 1"},
          {&add_signal_,
           "UPDATE mailboxes SET signals = signals + 1, signal_bytes = signal_bytes + i.bytes"
           " FROM (SELECT length(body) AS bytes FROM inbox WHERE run = ?1 AND guid = ?2) i WHERE run = ?1"},
          {&drop_signal_,
           "UPDATE mailboxes SET signals = max(signals - 1, 0), signal_bytes = max(signal_bytes - e.bytes, 0)"
           " FROM (SELECT length(body) AS bytes FROM mailbox_entries WHERE run = ?1 AND seq = ?2 AND kind = 1) e"
           " WHERE run = ?1"},
          {&drop_entry_, "DELETE FROM mailbox_entries WHERE run = ?1 AND seq = ?2"},
          {&drop_empty_mailbox_,
           "DELETE FROM mailboxes WHERE run = ?1 AND NOT EXISTS (SELECT 1 FROM mailbox_entries e WHERE e.run = ?1)"
           " AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.run = ?1)"
           " AND NOT EXISTS (SELECT 1 FROM timers t WHERE t.run = ?1)"},
      });
}

EntityRow MailboxWriter::read_row(RunId run) {
  Rows rows = read_mailbox_guard_.query(run);
  if (!rows.next()) {
    EntityRow none;
    if (rows.failed()) none.failed = failed(rows);
    return none;
  }
  return {true, core::Rev(rows.word(0)), core::BundleId(rows.word(1)), rows.word(2)};
}

Applied MailboxWriter::step(const core::Bundle& bundle, const core::MailboxHead& head, const EntityRow& row) {
  std::uint64_t next_entry = row.next_entry;
  if (head.next_entry < next_entry) return contradicts("the numbers of entries only grow");
  for (const core::Write& write : bundle.writes) {
    const auto* put = std::get_if<core::PutEntry>(&write);
    if (put == nullptr) continue;
    if (put->entry.seq < next_entry || put->entry.seq >= head.next_entry)
      return contradicts(format("entry {} is out of turn", put->entry.seq));
    next_entry = put->entry.seq + 1;
  }
  if (step_mailbox_.run(bundle.entity, bundle.rev_before, bundle.id, head.next_entry) == Statement::failed)
    return failed(step_mailbox_);
  return Applied{SQLITE_OK, true, {}};
}

Applied MailboxWriter::drop_if_empty(RunId run) {
  if (drop_empty_mailbox_.run(run) == Statement::failed) return failed(drop_empty_mailbox_);
  return {};
}

Applied MailboxWriter::deliver(const core::MailboxKey& key, const core::Message& message, core::LaneId lane) {
  Load load;
  Applied mailbox = find_or_make(key, lane, load);
  if (!is_done(mailbox)) return mailbox;
  const RunId run = mailbox.outcome.run();
  Applied applied;
  if (const auto* signal = std::get_if<core::Signal>(&message.body)) {
    const std::size_t bytes = signal->data.size();
    if (const auto full = mailbox_full(key, load.signals, load.bytes, bytes)) {
      const Checked waits = inbox_.waits(run, message.guid);
      if (waits.failed) return *waits.failed;
      applied = waits.yes ? refused(OutcomeKind::already_done, "") : refused(OutcomeKind::over_limit, *full);
      applied.outcome.answer = answer::Run{run};
      return applied;
    }
  }
  applied = inbox_.put(run, message);
  const bool counts = std::holds_alternative<core::Signal>(message.body) && applied.wrote;
  if (counts && add_signal_.run(run, GuidBytes(message.guid)) == Statement::failed) return failed(add_signal_);
  applied.outcome.answer = answer::Run{run};
  return applied;
}

Applied MailboxWriter::told_before(const core::MailboxKey& key) {
  Applied applied = refused(OutcomeKind::already_done, "");
  Rows rows = find_mailbox_.query(key.name_space, key.topic, key.key);
  if (rows.next()) applied.outcome.answer = answer::Run{RunId(rows.word(0))};
  if (rows.failed()) return failed(rows);
  return applied;
}

Applied MailboxWriter::find_or_make(const core::MailboxKey& key, core::LaneId lane, Load& load) {
  Applied applied;
  {
    Rows rows = find_mailbox_.query(key.name_space, key.topic, key.key);
    if (rows.next()) {
      applied.outcome.answer = answer::Run{RunId(rows.word(0))};
      load = Load{rows.word(1), rows.word(2)};
      return applied;
    }
    if (rows.failed()) return failed(rows);
  }
  const Checked found = lanes_.exists(lane);
  if (found.failed) return *found.failed;
  if (!found.yes) return no_lane(lane);
  const RunId run = lanes_.next_run(lane);
  applied.outcome.answer = answer::Run{run};
  if (new_mailbox_.run(run, key.name_space, key.topic, key.key) == Statement::failed) return failed(new_mailbox_);
  return applied;
}

Applied MailboxWriter::apply(RunId run, const core::PutEntry& write) {
  const core::MailboxEntry& entry = write.entry;
  const core::Body what = std::visit([](const auto& one) { return core::Body(one); }, entry.what);
  const std::string body = core::encode(what);
  const OfferBytes offer(entry.guid, entry.offered_to);
  if (put_entry_.run(run, entry.seq, GuidBytes(entry.guid), std::holds_alternative<core::Signal>(entry.what),
                     entry.expires_at, offer.taker, offer.meeting, Blob{body}) == Statement::failed)
    return failed(put_entry_);
  return {};
}

Applied MailboxWriter::apply(RunId run, const core::DropEntry& write) {
  if (drop_signal_.run(run, write.seq) == Statement::failed) return failed(drop_signal_);
  const int dropped = drop_entry_.run(run, write.seq);
  if (dropped == Statement::failed) return failed(drop_entry_);
  if (dropped == 0) return contradicts(format("entry {} is missing", write.seq));
  return {};
}

Applied MailboxWriter::apply(RunId run, const core::OfferEntry& write) {
  const OfferBytes offer(write.signal, write.to);
  const int offered = offer_entry_.run(run, write.seq, GuidBytes(write.signal), offer.taker, offer.meeting);
  if (offered == Statement::failed) return failed(offer_entry_);
  if (offered == 0) return contradicts(format("entry {} is not the signal that is offered", write.seq));
  return {};
}

}  // namespace pawl::store::sqlite
