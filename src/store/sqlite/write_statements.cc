#include "store/sqlite/write_statements.h"

#include "store/sqlite/work_rows.h"

namespace pawl::store::sqlite {

namespace {

// What a row without a work item has in its place.
#define PAWL_NO_WORK \
  "position = NULL, topic = NULL, request = NULL, token = NULL, worker = NULL, epoch = NULL," \
  " lease_until = NULL, runs = NULL, input = NULL, priority = 0, visible_at = 0, held = 0, once = 0," \
  " plain_key = 0, wake_at = 0, life = NULL"

// The compound step of a job that runs on: it leaves the status, so no index entry moves.
#define PAWL_STEP_JOB \
  "UPDATE jobs SET rev = rev + 1, bundle = ?3, semaphore = semaphore + ?6, completions = ?8," \
  " next_activity = ?9, closed_at = 0"
#define PAWL_IF_IT_RUNS_ON \
  " WHERE run = ?1 AND rev = ?2 AND status = 0 AND completions = ?4 AND next_activity = ?11" \
  " AND redrives = ?12 AND code = ?13 AND remove_at = 0 AND (?5 IS NULL OR (semaphore = ?5 AND threshold = ?10" \
  " AND (semaphore + ?6 = threshold) = ?7 AND semaphore + ?6 BETWEEN 0 AND 999999999))"

struct Entry {
  Statement* statement;
  const char* sql;
};

template <std::size_t N>
Status prepare_all(Connection& connection, const Entry (&entries)[N]) {
  for (const Entry& entry : entries) {
    const int rc = entry.statement->prepare(connection.handle(), entry.sql);
    if (rc != SQLITE_OK) return connection.error(rc, "find the expected tables in");
  }
  return {};
}

}  // namespace

Status WriteStatements::prepare(Connection& connection) {
  const Entry frame[] = {
      {&begin, "BEGIN IMMEDIATE"},
      {&commit, "COMMIT"},
      {&rollback, "ROLLBACK"},
      {&savepoint, "SAVEPOINT operation"},
      {&release, "RELEASE operation"},
      {&undo, "ROLLBACK TO operation"},
      {&count_commit, "UPDATE store_state SET commits = ?1, writer = ?2 WHERE id = 1"},
      {&read_commits, "SELECT commits, writer FROM store_state WHERE id = 1"},
      {&read_version, "PRAGMA user_version"},
      {&read_lane, "SELECT epoch, owner, next_run FROM lanes WHERE lane = ?1"},
      {&put_next_run, "UPDATE lanes SET next_run = ?2 WHERE lane = ?1"},
      {&take_lane, "UPDATE lanes SET epoch = ?2, owner = ?3 WHERE lane = ?1"},
      {&free_lane, "UPDATE lanes SET owner = '' WHERE lane = ?1"},
      {&read_pool, "SELECT first_lane, lanes FROM pools WHERE pool = ?1"},
      {&last_lane, "SELECT max(lane) FROM lanes"},
      {&put_pool, "INSERT INTO pools (pool, first_lane, lanes) VALUES (?1, ?2, ?3)"},
      {&put_lane,
       "INSERT INTO lanes (lane, pool, epoch, owner, next_run) VALUES (?1, ?2, 0, '', 1)"},
  };
  // step_job is put_job for a job that runs on; share_data is step_job with new data. All are the compound
  // step: the stored semaphore, the delta and the stored threshold must give the same hit.
  const Entry jobs[] = {
      {&step_job, PAWL_STEP_JOB PAWL_IF_IT_RUNS_ON},
      {&share_data, PAWL_STEP_JOB ", data = ?14" PAWL_IF_IT_RUNS_ON},
      {&put_job,
       "UPDATE jobs SET rev = rev + 1, bundle = ?3,"
       " semaphore = CASE WHEN ?12 BETWEEN 1 AND 3 THEN 0 ELSE semaphore + ?6 END,"
       " completions = ?8, next_activity = ?9, status = ?12, closed_at = ?13,"
       " result = CASE WHEN ?14 THEN ?15 ELSE result END, reason = coalesce(?16, reason),"
       " remove_at = ?17, redrives = ?18, code = ?19, data = CASE WHEN ?20 THEN ?21 ELSE data END"
       " WHERE run = ?1 AND rev = ?2 AND (status NOT BETWEEN 1 AND 3 OR status = ?12)"
       " AND completions = ?4 AND next_activity = ?11"
       " AND (?5 IS NULL OR (semaphore = ?5 AND threshold = ?10"
       " AND (semaphore + ?6 = threshold) = ?7 AND semaphore + ?6 BETWEEN 0 AND 999999999))"},
      {&read_guard,
       "SELECT rev, bundle, semaphore, threshold, completions, status, next_activity"
       " FROM jobs WHERE run = ?1"},
      {&put_start_key,
       "INSERT INTO start_keys (namespace, job_id, run) VALUES (?1, ?2, ?3)"
       " ON CONFLICT DO UPDATE SET run = excluded.run, expires_at = 0"},
      {&find_start_key, "SELECT run, expires_at FROM start_keys WHERE namespace = ?1 AND job_id = ?2"},
      {&put_new_job,
       "INSERT INTO jobs (run, namespace, job_id, graph, version, fingerprint, created_at, rev, "
       "bundle,"
       " status, semaphore, threshold, completions, next_activity, closed_at, result, reason, priority, keep, deadline,"
       " parent_run, parent_activity, parent_request, parent_awaits, secret)"
       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, 0, 1, 0, 0, 0, 0, NULL, '', ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"},
      {&read_status, "SELECT status FROM jobs WHERE run = ?1"},
      {&read_parent, "SELECT parent_request FROM jobs WHERE run = ?1 AND parent_request IS NOT NULL"},
      // put_activity leaves the work item alone, end_activity takes it away; both leave a closing message
      // that is not theirs.
      {&put_activity,
       "UPDATE activities SET node = ?4, place = ?5, parent = ?6, ledger = ?7, status = ?8, code = ?9,"
       " opened_at = ?10, closed_at = ?11, output = ?12, state = ?16,"
       " closing_guid = coalesce(?14, closing_guid), closing_ledger = coalesce(?15, closing_ledger)"
       " WHERE run = ?1 AND seq = ?2 AND ledger = ?3 AND (?14 IS NULL OR closing_ledger IS ?13)"},
      {&end_activity,
       "UPDATE activities SET node = ?4, place = ?5, parent = ?6, ledger = ?7, status = ?8, code = ?9,"
       " opened_at = ?10, closed_at = ?11, output = ?12, state = ?16,"
       " closing_guid = coalesce(?14, closing_guid), closing_ledger = coalesce(?15, closing_ledger),"
       " " PAWL_NO_WORK " WHERE run = ?1 AND seq = ?2 AND ledger = ?3 AND (?14 IS NULL OR closing_ledger IS ?13)"
       " AND (?17 IS NULL OR token = ?17)"},
      {&new_activity,
       "INSERT INTO activities (run, seq, node, place, parent, ledger, status, code, opened_at,"
       " closed_at, output, state, closing_guid, closing_ledger, position, topic, request, token, worker, epoch,"
       " lease_until, runs, input, priority, visible_at, held, once, wake_at, life, plain_key)"
       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,"
       " ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30) ON CONFLICT DO NOTHING"},
      {&read_activity_ledger, "SELECT ledger FROM activities WHERE run = ?1 AND seq = ?2"},
      {&put_record,
       "UPDATE message_ledgers SET activity = ?4, ledger = ?5, output = ?6"
       " WHERE run = ?1 AND guid = ?2 AND ledger = ?3"},
      {&new_record,
       "INSERT INTO message_ledgers (run, guid, activity, ledger, output) VALUES (?1, ?2, ?3, ?4, ?5)"
       " ON CONFLICT DO NOTHING"},
      {&read_record_ledger, "SELECT ledger FROM message_ledgers WHERE run = ?1 AND guid = ?2"},
      {&put_closing,
       "UPDATE activities SET closing_ledger = ?5"
       " WHERE run = ?1 AND seq = ?4 AND closing_guid = ?2 AND closing_ledger = ?3"},
      {&drop_closing,
       "UPDATE activities SET closing_guid = NULL, closing_ledger = NULL"
       " WHERE run = ?1 AND seq = ?4 AND closing_guid = ?2 AND closing_ledger = ?3"},
      {&read_closing,
       "SELECT closing_guid, closing_ledger FROM activities WHERE run = ?1 AND seq = ?2"},
  };
  const Entry messages[] = {
      {&put_message,
       "INSERT INTO inbox (run, guid, redeliveries, body) SELECT ?1, ?2, 0, ?3"
       " WHERE NOT EXISTS (SELECT 1 FROM timers WHERE run = ?1 AND guid = ?2) ON CONFLICT DO NOTHING"},
      {&put_timer,
       "INSERT INTO timers (run, guid, due, redeliveries, body) SELECT ?1, ?2, ?4, 0, ?3"
       " WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE run = ?1 AND guid = ?2) ON CONFLICT DO NOTHING"},
      {&count_redelivery,
       "UPDATE inbox SET redeliveries = redeliveries + 1"
       " WHERE run = ?1 AND guid = ?2 AND redeliveries = ?3"},
      {&count_timer,
       "UPDATE timers SET redeliveries = redeliveries + 1"
       " WHERE run = ?1 AND guid = ?2 AND redeliveries = ?3"},
      {&consume, "DELETE FROM inbox WHERE run = ?1 AND guid = ?2"},
      {&consume_timer, "DELETE FROM timers WHERE run = ?1 AND guid = ?2"},
      {&read_redeliveries,
       "SELECT redeliveries FROM inbox WHERE run = ?1 AND guid = ?2"
       " UNION ALL SELECT redeliveries FROM timers WHERE run = ?1 AND guid = ?2"},
      {&sweep_inbox, "DELETE FROM inbox WHERE run = ?1 AND guid IS NOT ?2"},
      {&sweep_timers, "DELETE FROM timers WHERE run = ?1 AND guid IS NOT ?2"},
      {&read_source, "SELECT last_seq FROM source_lanes WHERE lane = ?1"},
      {&put_source,
       "INSERT INTO source_lanes (lane, last_seq) VALUES (?1, ?2)"
       " ON CONFLICT DO UPDATE SET last_seq = excluded.last_seq"},
      {&step_mailbox,
       "UPDATE mailboxes SET rev = rev + 1, bundle = ?3, next_entry = ?4 WHERE run = ?1 AND rev = "
       "?2"},
      {&read_mailbox_guard, "SELECT rev, bundle, next_entry FROM mailboxes WHERE run = ?1"},
      {&find_mailbox,
       "SELECT run, signals, signal_bytes FROM mailboxes WHERE namespace = ?1 AND topic = ?2 AND key = ?3"},
      {&new_mailbox,
       "INSERT INTO mailboxes (run, namespace, topic, key, rev, bundle, next_entry)"
       " VALUES (?1, ?2, ?3, ?4, 0, 0, 0)"},
      {&put_entry,
       "INSERT INTO mailbox_entries (run, seq, guid, kind, expires_at, taker, meeting, body)"
       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"},
      {&offer_entry,
       "UPDATE mailbox_entries SET taker = ?4, meeting = ?5 WHERE run = ?1 AND seq = ?2 AND guid = ?3 AND kind = 1"},
      {&add_signal,
       "UPDATE mailboxes SET signals = signals + 1, signal_bytes = signal_bytes + i.bytes"
       " FROM (SELECT length(body) AS bytes FROM inbox WHERE run = ?1 AND guid = ?2) i WHERE run = ?1"},
      {&drop_signal,
       "UPDATE mailboxes SET signals = max(signals - 1, 0), signal_bytes = max(signal_bytes - e.bytes, 0)"
       " FROM (SELECT length(body) AS bytes FROM mailbox_entries WHERE run = ?1 AND seq = ?2 AND kind = 1) e"
       " WHERE run = ?1"},
      {&drop_entry, "DELETE FROM mailbox_entries WHERE run = ?1 AND seq = ?2"},
  };
  const Entry work[] = {
      // A second request for the same activity keeps the place of the first in the queue.
      {&put_work,
       "UPDATE activities SET position = coalesce(position, ?3), topic = ?4, request = ?5, token = ?6,"
       " worker = ?7, epoch = ?8, lease_until = ?9, runs = ?10, input = ?11, priority = ?12, visible_at = ?13,"
       " held = ?14, once = ?15, wake_at = ?16, life = ?17, plain_key = ?18 WHERE run = ?1 AND seq = ?2"},
      // ?4: the token was checked before the bundle's first write.
      {&drop_work,
       "UPDATE activities SET " PAWL_NO_WORK
       " WHERE run = ?1 AND seq = ?2 AND request IS NOT NULL AND (?4 OR token = ?3)"},
      {&sweep_work,
       "UPDATE activities INDEXED BY work_by_run SET " PAWL_NO_WORK " WHERE run = ?1 AND request IS NOT NULL"},
      {&read_work_item,
       "SELECT " PAWL_WORK_COLUMNS " FROM activities WHERE run = ?1 AND seq = ?2 AND request IS NOT NULL"},
      {&list_work,
       "SELECT seq FROM activities INDEXED BY work_by_run WHERE run = ?1 AND request IS NOT NULL"},
      {&move_work,
       "UPDATE activities SET token = ?3, worker = ?4, epoch = ?5, lease_until = ?6, runs = ?7, visible_at = ?8,"
       " held = ?9, once = ?10, wake_at = ?11, life = ?12 WHERE run = ?1 AND seq = ?2 AND request IS NOT NULL"},
      {&hold_work,
       "UPDATE activities INDEXED BY work_by_run SET held = 1, wake_at = 0 WHERE run = ?1 AND request IS NOT NULL"},
      // The conditions that an index is partial by stand in each query as they stand in the index.
      {&find_free_work,
       "SELECT priority, position, run, seq FROM activities INDEXED BY work_free"
       " WHERE topic = ?1 AND token = 0 AND held = 0 AND visible_at = 0"
       " ORDER BY priority DESC, position LIMIT ?2"},
      {&find_visible_work,
       "SELECT priority, position, run, seq FROM activities INDEXED BY work_later"
       " WHERE topic = ?1 AND token = 0 AND held = 0 AND visible_at <> 0 AND visible_at <= ?3"
       " ORDER BY priority DESC, position LIMIT ?2"},
      {&find_expired_work,
       "SELECT priority, position, run, seq FROM activities INDEXED BY work_leased"
       " WHERE topic = ?1 AND token <> 0 AND epoch = 0 AND held = 0 AND once = 0"
       " AND lease_until <= ?3 AND visible_at <= ?3 ORDER BY priority DESC, position LIMIT ?2"},
      {&find_pause, "SELECT 1 FROM paused_topics WHERE topic = ?1"},
      {&count_pauses, "SELECT count(*) FROM paused_topics"},
      {&put_pause, "INSERT INTO paused_topics (topic) VALUES (?1) ON CONFLICT DO NOTHING"},
      {&drop_pause, "DELETE FROM paused_topics WHERE topic = ?1"},
  };
  const Entry removal[] = {
      {&read_ended, "SELECT namespace, job_id, status, completions FROM jobs WHERE run = ?1"},
      {&drop_job, "DELETE FROM jobs WHERE run = ?1"},
      {&drop_activities, "DELETE FROM activities WHERE run = ?1"},
      {&drop_records, "DELETE FROM message_ledgers WHERE run = ?1"},
      {&end_start_key, "UPDATE start_keys SET expires_at = ?4 WHERE namespace = ?1 AND job_id = ?2 AND run = ?3"},
      {&drop_start_key, "DELETE FROM start_keys WHERE namespace = ?1 AND job_id = ?2 AND run = ?3"},
      {&drop_old_keys,
       "DELETE FROM start_keys WHERE (namespace, job_id) IN (SELECT namespace, job_id FROM start_keys"
       " INDEXED BY start_keys_over WHERE expires_at <> 0 AND expires_at <= ?1 ORDER BY expires_at, run LIMIT ?2)"},
  };
  const Entry labels[] = {
      {&put_label,
       "INSERT INTO labels (namespace, graph, name, value, key, run)"
       " SELECT namespace, graph, ?2, ?3, ?4, run FROM jobs WHERE run = ?1 ON CONFLICT DO NOTHING"},
      {&drop_label,
       "DELETE FROM labels WHERE (namespace, graph) = (SELECT namespace, graph FROM jobs WHERE run = ?1)"
       " AND name = ?2 AND value = ?3 AND key = ?4 AND run = ?1"},
      {&drop_labels, "DELETE FROM labels WHERE run = ?1"},
      {&add_measure,
       "INSERT INTO measures (namespace, graph, key, slice, target, counted, value, count, sum, least, most)"
       " SELECT namespace, graph, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?7, ?7 FROM jobs WHERE run = ?1"
       " ON CONFLICT DO UPDATE SET count = count + 1, sum = sum + excluded.sum,"
       " least = min(least, excluded.least), most = max(most, excluded.most)"},
      {&announce,
       "INSERT INTO announcements (run, topic, what, status, code, at, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
      {&drop_announcements, "DELETE FROM announcements WHERE run = ?1"},
      {&drop_empty_mailbox,
       "DELETE FROM mailboxes WHERE run = ?1 AND NOT EXISTS (SELECT 1 FROM mailbox_entries e WHERE e.run = ?1)"
       " AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.run = ?1)"
       " AND NOT EXISTS (SELECT 1 FROM timers t WHERE t.run = ?1)"},
  };
  const Entry apps[] = {
      {&put_app,
       "INSERT INTO apps (namespace, app, version, deployed_at, body) VALUES (?1, ?2, ?3, ?4, ?5)"
       " ON CONFLICT DO NOTHING"},
      {&same_app, "SELECT body = ?4 FROM apps WHERE namespace = ?1 AND app = ?2 AND version = ?3"},
      {&find_app, "SELECT 1 FROM apps WHERE namespace = ?1 AND app = ?2 AND version = ?3"},
      {&activate_app,
       "INSERT INTO active_apps (namespace, app, version) VALUES (?1, ?2, ?3)"
       " ON CONFLICT DO UPDATE SET version = excluded.version WHERE version <> excluded.version"},
  };
  auto prepared = prepare_all(connection, frame);
  if (prepared) prepared = prepare_all(connection, jobs);
  if (prepared) prepared = prepare_all(connection, messages);
  if (prepared) prepared = prepare_all(connection, work);
  if (prepared) prepared = prepare_all(connection, removal);
  if (prepared) prepared = prepare_all(connection, labels);
  if (prepared) prepared = prepare_all(connection, apps);
  return prepared;
}

#undef PAWL_NO_WORK
#undef PAWL_STEP_JOB
#undef PAWL_IF_IT_RUNS_ON

}  // namespace pawl::store::sqlite
