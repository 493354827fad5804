// A dequeue. Its cost depends on what it takes and what became free since the last one, not on how much waits: each
// statement reads one range of one index (schema_streams.h).
#include <algorithm>

#include "store/sqlite/duplex_writer.h"
#include "store/sqlite/limits.h"

namespace pawl::store::sqlite {

namespace {

DuplexApplied refused_dequeue(const char* why) { return {SQLITE_OK, false, {OutcomeKind::rejected, why, {}}}; }

}  // namespace

DuplexApplied DuplexWriter::run(const Dequeue& dequeue) {
  if (dequeue.claim == ClaimId(0)) return refused_dequeue("a claim needs a name");
  if (dequeue.epoch == core::Epoch(0)) return refused_dequeue("a claim needs the epoch of its lane");
  DuplexApplied applied;
  Handed handed;
  const Instant now = clock_.now();
  const auto failed = [&](int code) {
    applied.code = code;
    return code != SQLITE_OK;
  };
  if (failed(free_what_is_due(dequeue, now, applied.wrote))) return applied;
  if (failed(read_claimed(dequeue, handed))) return applied;
  if (!handed.messages.empty()) {
    applied.outcome.kind = OutcomeKind::already_done;
  } else {
    bool claimed = false;
    if (failed(claim_free(dequeue, now, claimed))) return applied;
    if (claimed && failed(read_claimed(dequeue, handed))) return applied;
    applied.wrote = applied.wrote || claimed;
  }
  if (failed(find_next(dequeue, now, handed))) return applied;
  applied.outcome.answer = std::move(handed);
  return applied;
}

// Frees what was claimed under an earlier epoch or longer than its lease, and what was delayed until now. Each message
// passes here once, and is in line with the others from then on.
int DuplexWriter::free_what_is_due(const Dequeue& dequeue, Instant now, bool& changed) {
  const auto note = [&](Statement& statement, int rows) {
    changed = changed || rows > 0;
    return rows == Statement::failed ? statement.code() : SQLITE_OK;
  };
  int code = note(sql_.free_orphans, sql_.free_orphans.run(dequeue.lane, dequeue.topic, dequeue.epoch));
  for (const core::Epoch epoch : {core::Epoch(0), dequeue.epoch})
    if (code == SQLITE_OK)
      code = note(sql_.free_due,
                  sql_.free_due.run(dequeue.lane, dequeue.topic, epoch, now, limits::freed_per_dequeue_max));
  if (code == SQLITE_OK)
    code = note(sql_.free_later_epochs, sql_.free_later_epochs.run(dequeue.lane, dequeue.topic, dequeue.epoch, now));
  return code;
}

// A message that no store can have written parks its job and stops no other.
int DuplexWriter::read_claimed(const Dequeue& dequeue, Handed& handed) {
  std::vector<RunId> damaged;
  {
    Rows rows = sql_.claimed_by.query(dequeue.lane, dequeue.topic, dequeue.claim);
    while (rows.next()) {
      auto message = claimed_message(rows);
      if (message)
        handed.messages.push_back(std::move(*message));
      else
        damaged.emplace_back(rows.word(0));
    }
    if (rows.failed()) return rows.rc();
  }
  int code = SQLITE_OK;
  for (const RunId run : damaged)
    if (code == SQLITE_OK) code = park_job(run, "corrupt: a message of its stream is malformed");
  return code;
}

int DuplexWriter::claim_free(const Dequeue& dequeue, Instant now, bool& changed) {
  std::vector<std::int64_t> free;
  {
    Rows rows = sql_.find_free.query(dequeue.lane, dequeue.topic, dequeue.items_max);
    std::size_t bytes = 0;
    while (rows.next()) {
      bytes += static_cast<std::size_t>(rows.number(1));
      if (bytes > dequeue.bytes_max && !free.empty()) break;
      free.push_back(rows.number(0));
    }
    if (rows.failed()) return rows.rc();
  }
  for (const std::int64_t id : free)
    if (sql_.claim.run(id, dequeue.claim, dequeue.epoch, now + dequeue.lease) == Statement::failed)
      return sql_.claim.code();
  changed = !free.empty();
  return SQLITE_OK;
}

int DuplexWriter::find_next(const Dequeue& dequeue, Instant now, Handed& handed) {
  {
    Rows rows = sql_.find_free.query(dequeue.lane, dequeue.topic, 1);
    if (rows.next()) handed.next_free = now;
    if (rows.failed()) return rows.rc();
  }
  if (handed.next_free) return SQLITE_OK;
  const auto look = [&](Rows rows) {
    if (rows.next() && !rows.is_null(0)) {
      const Instant at = std::max(now, Instant::from_micros(rows.number(0)));
      if (!handed.next_free || at < *handed.next_free) handed.next_free = at;
    }
    return rows.failed() ? rows.rc() : SQLITE_OK;
  };
  int code = SQLITE_OK;
  for (const core::Epoch epoch : {core::Epoch(0), dequeue.epoch})
    if (code == SQLITE_OK) code = look(sql_.next_held.query(dequeue.lane, dequeue.topic, epoch, dequeue.claim));
  if (code == SQLITE_OK)
    code = look(sql_.next_of_later_epochs.query(dequeue.lane, dequeue.topic, dequeue.epoch, dequeue.claim));
  return code;
}

}  // namespace pawl::store::sqlite
