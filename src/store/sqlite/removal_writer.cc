#include "store/sqlite/removal_writer.h"

#include "store/sqlite/prepared.h"
#include "store/sqlite/run_range.h"

namespace pawl::store::sqlite {

Status RemovalWriter::prepare(Connection& connection) {
  return prepare_each(
      connection,
      {
          {&read_ended_, "SELECT namespace, job_id, status, completions FROM jobs WHERE run = ?1"},
          {&drop_job_, "DELETE FROM jobs WHERE run = ?1"},
          {&drop_activities_, "DELETE FROM activities WHERE run = ?1"},
          {&drop_inputs_, "DELETE FROM large_inputs WHERE run = ?1"},
          {&drop_packed_, "DELETE FROM packed_payloads WHERE run = ?1"},
          {&drop_records_, "DELETE FROM message_ledgers WHERE run = ?1"},
          {&drop_labels_, "DELETE FROM labels WHERE run = ?1"},
          {&drop_announcements_, "DELETE FROM announcements WHERE run = ?1"},
          // Its part follows from its run (start_keys.h).
          {&end_start_key_,
           "UPDATE start_keys SET expires_at = ?4"
           " WHERE part = ?3 >> 17 AND namespace = ?1 AND job_id = ?2 AND run = ?3"},
          {&drop_start_key_,
           "DELETE FROM start_keys WHERE part = ?3 >> 17 AND namespace = ?1 AND job_id = ?2 AND run = ?3"},
          {&drop_old_keys_,
           "DELETE FROM start_keys WHERE (part, namespace, job_id) IN (SELECT part, namespace, job_id FROM start_keys"
           " INDEXED BY start_keys_over WHERE expires_at <> 0 AND expires_at <= ?1 AND run BETWEEN ?3 AND ?4"
           " ORDER BY expires_at, run LIMIT ?2)"},
          {&drop_filters_,
           "DELETE FROM key_filters WHERE part >= ?1 >> 17"
           " AND part < (SELECT min(part) FROM start_keys WHERE part >= ?1 >> 17)"},
      });
}

Applied RemovalWriter::apply(const RemoveJob& remove) {
  std::string name_space;
  std::string id;
  {
    Rows rows = read_ended_.query(remove.run);
    if (!rows.next()) {
      if (rows.failed()) return failed(rows);
      return refused(OutcomeKind::already_done, "");
    }
    if (!core::is_closed(static_cast<core::JobStatus>(rows.number(2))) || rows.number(3) == 0)
      return refused(OutcomeKind::conflict, "the job is not over yet");
    name_space = rows.text(0);
    id = rows.text(1);
  }
  if (const int code = jobs_.before_removal(); code != SQLITE_OK) return Applied{code, false, {}};
  // The key stays when a later run of the same id has it.
  Statement& key = remove.key_until == Instant() ? drop_start_key_ : end_start_key_;
  const int ended = remove.key_until == Instant() ? key.run(name_space, id, remove.run)
                                                  : key.run(name_space, id, remove.run, remove.key_until);
  if (ended == Statement::failed) return failed(key);
  Applied swept = inbox_.sweep(remove.run, std::nullopt);
  if (!is_done(swept)) return swept;
  for (Statement* drop : {&drop_activities_, &drop_inputs_, &drop_packed_, &drop_records_, &drop_labels_,
                          &drop_announcements_, &drop_job_})
    if (drop->run(remove.run) == Statement::failed) return failed(*drop);
  Applied removed = list_.sweep(remove.run);
  if (is_done(removed)) removed = list_.rows_removed();
  return is_done(removed) ? Applied{SQLITE_OK, true, {}} : removed;
}

Applied RemovalWriter::apply(const DropKeys& drop) {
  if (const int code = jobs_.before_removal(); code != SQLITE_OK) return Applied{code, false, {}};
  const RunRange runs = runs_of(drop.lane);
  const int dropped = drop_old_keys_.run(drop.up_to, drop.rows_max, runs.first, runs.last);
  if (dropped == Statement::failed) return failed(drop_old_keys_);
  if (dropped > 0 && drop_filters_.run(runs.first) == Statement::failed) return failed(drop_filters_);
  return Applied{SQLITE_OK, dropped > 0, {}};
}

}  // namespace pawl::store::sqlite
