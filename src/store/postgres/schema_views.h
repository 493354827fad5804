// Step 3 of the layout: views for people who use psql; the program does not read them. Published: never edited.
#pragma once

namespace pawl::store::postgres {

inline constexpr const char* views_schema = R"sql(
CREATE FUNCTION shown_time(micros bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
  $$ SELECT CASE WHEN micros IS NULL OR micros = 0 OR micros = 9223372036854775807 THEN NULL
       ELSE to_timestamp(micros / 1e6) END $$;
CREATE FUNCTION shown_message(body bytea) RETURNS text LANGUAGE sql IMMUTABLE AS
  $$ SELECT (ARRAY['start', 'transition', 'response', 'register', 'signal', 'resume', 'no answer', 'interrupt', 'pause',
       'proceed', 'redrive', 'verdict', 'time up', 'reenter', 'arrive', 'item', 'start child', 'child done', 'end job',
       'withdraw', 'expire', 'expand', 'unlabel', 'taken', 'refused'])[get_byte(body, 0) + 1] $$;
CREATE VIEW job_view AS
  SELECT j.namespace, j.job_id, j.run, l.pool, j.run >> 47 AS lane, j.graph, j.version,
    (ARRAY['running', 'completed', 'failed', 'interrupted', 'parked', 'paused'])[j.status + 1] AS status,
    j.semaphore, j.completions, j.rev, j.priority, j.redrives, shown_time(j.created_at) AS created,
    shown_time(j.closed_at) AS closed, shown_time(j.deadline) AS deadline, shown_time(j.remove_at) AS removed_at,
    j.parent_run AS parent, j.code, encode(j.data, 'escape') AS data, encode(j.result, 'escape') AS result, j.reason
  FROM jobs j LEFT JOIN lanes l ON l.lane = j.run >> 47;
CREATE VIEW activity_view AS
  SELECT j.namespace, j.job_id, a.run, a.seq, a.node, a.place, a.parent, lpad(a.ledger::text, 15, '0') AS ledger,
    a.ledger / 1000000000000 AS leg1_attempts, a.ledger / 100000000000 % 10 AS leg1_complete,
    a.ledger / 10000000000 % 10 AS work_done, a.ledger / 1000000000 % 10 AS children_spawned,
    a.ledger / 100000000 % 10 AS completion_done, a.ledger % 100000000 AS leg2_entries,
    (ARRAY['open', 'completed', 'errored', 'skipped'])[a.status + 1] AS status, a.code,
    encode(a.output, 'escape') AS output, octet_length(a.state) AS state_bytes
  FROM activities a LEFT JOIN jobs j ON j.run = a.run;
CREATE VIEW message_view AS
  SELECT j.namespace, j.job_id, m.run, encode(m.guid, 'hex') AS guid, m.activity, lpad(m.ledger::text, 15, '0') AS ledger,
    m.ledger / 100000000000 % 10 AS closed_the_job, m.ledger / 10000000000 % 10 AS work_done,
    m.ledger / 1000000000 % 10 AS children_spawned, m.ledger / 100000000 % 10 AS completion_done,
    m.ledger % 100000000 AS ordinal, encode(m.output, 'escape') AS output
  FROM (SELECT run, guid, activity, ledger, output FROM message_ledgers
    UNION ALL SELECT run, closing_guid, seq, closing_ledger, NULL FROM activities WHERE closing_guid IS NOT NULL) m
  LEFT JOIN jobs j ON j.run = m.run;
CREATE VIEW inbox_view AS
  SELECT coalesce(j.namespace, b.namespace) AS namespace, j.job_id, b.topic, encode(b.key, 'escape') AS key, i.run, i.position,
    encode(i.guid, 'hex') AS guid, shown_message(i.body) AS kind, shown_time(i.due) AS due, i.redeliveries,
    octet_length(i.body) AS bytes
  FROM (SELECT run, guid, position, 0::bigint AS due, redeliveries, body FROM inbox
    UNION ALL SELECT run, guid, NULL, due, redeliveries, body FROM timers) i
  LEFT JOIN jobs j ON j.run = i.run LEFT JOIN mailboxes b ON b.run = i.run;
CREATE VIEW work_view AS
  SELECT j.namespace, j.job_id, w.run, w.seq AS activity, w.topic, w.worker, w.token <> 0 AS claimed, w.runs, w.priority,
    w.held, w.once AS at_most_once, shown_time(w.lease_until) AS lease_until, shown_time(w.visible_at) AS next_try,
    encode(w.input, 'escape') AS input
  FROM work w LEFT JOIN jobs j ON j.run = w.run;
CREATE VIEW mailbox_view AS
  SELECT b.namespace, b.topic, encode(b.key, 'escape') AS key, e.run, e.seq, (ARRAY['registration', 'signal'])[e.kind + 1] AS kind,
    encode(e.guid, 'hex') AS guid, encode(e.taker, 'hex') AS offered_to, shown_time(e.expires_at) AS expires,
    octet_length(e.body) AS bytes
  FROM mailbox_entries e LEFT JOIN mailboxes b ON b.run = e.run;
CREATE VIEW announcement_view AS
  SELECT a.id >> 47 AS lane, a.id & ((1::bigint << 47) - 1) AS number, j.namespace, j.job_id, a.run, a.topic,
    (ARRAY['progress', 'end'])[a.what + 1] AS what, a.status, a.code, shown_time(a.at) AS at,
    encode(a.data, 'escape') AS data
  FROM announcements a LEFT JOIN jobs j ON j.run = a.run;
CREATE VIEW lane_view AS
  SELECT l.lane, l.pool, l.epoch, l.owner, shown_time(l.lease_until) AS lease_until, n.next_run
  FROM lanes l JOIN lane_numbers n ON n.lane = l.lane;
CREATE VIEW app_view AS
  SELECT a.namespace, a.app, a.version, n.version IS NOT NULL AS active, shown_time(a.deployed_at) AS deployed,
    octet_length(a.body) AS bytes
  FROM apps a LEFT JOIN active_apps n ON n.namespace = a.namespace AND n.app = a.app AND n.version = a.version;
)sql";

}  // namespace pawl::store::postgres
