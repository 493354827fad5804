// A step of the layout: entries of a mailbox are found without reading the others, offered signals stay, and the
// content of a mailbox is counted. Published: never edited. Why: docs/decisions/019-offered-signals.md.
#pragma once

namespace pawl::store::sqlite {

// The body comes last, so that the columns before it are read without it, whatever its size.
inline constexpr const char* mailboxes_schema = R"sql(
CREATE TABLE new_entries (
  run INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  guid BLOB NOT NULL,
  kind INTEGER NOT NULL,                                          -- 0 registration, 1 signal
  expires_at INTEGER NOT NULL,                                    -- of a signal
  taker BLOB,                                                     -- the registration that a signal is out to; NULL: it waits
  meeting BLOB,                                                   -- then: the name of the message that tells it
  body BLOB NOT NULL,
  PRIMARY KEY (run, seq)) WITHOUT ROWID;
INSERT INTO new_entries SELECT e.run, e.seq, e.guid, substr(e.body, 1, 1) = x'04',
  CASE substr(e.body, 1, 1) WHEN x'04' THEN coalesce((SELECT max(t.due) FROM timers t WHERE t.run = e.run),
    (strftime('%s', 'now') + 86400) * 1000000) ELSE 0 END, NULL, NULL, e.body FROM mailbox_entries e;
DROP TABLE mailbox_entries;
ALTER TABLE new_entries RENAME TO mailbox_entries;
CREATE INDEX mailbox_waiting ON mailbox_entries (run, kind, seq) WHERE taker IS NULL;
CREATE INDEX mailbox_registrations ON mailbox_entries (run, guid) WHERE kind = 0;
CREATE INDEX mailbox_offers ON mailbox_entries (run, taker, meeting) WHERE taker IS NOT NULL;

ALTER TABLE mailboxes ADD COLUMN signals INTEGER NOT NULL DEFAULT 0;       -- that no hook has taken: in the inbox, and entries
ALTER TABLE mailboxes ADD COLUMN signal_bytes INTEGER NOT NULL DEFAULT 0;  -- of these
UPDATE mailboxes SET
  signals = (SELECT count(*) FROM mailbox_entries e WHERE e.run = mailboxes.run AND e.kind = 1)
    + (SELECT count(*) FROM inbox i WHERE i.run = mailboxes.run AND substr(i.body, 1, 1) = x'04'),
  signal_bytes = (SELECT coalesce(sum(length(e.body)), 0) FROM mailbox_entries e WHERE e.run = mailboxes.run AND e.kind = 1)
    + (SELECT coalesce(sum(length(i.body)), 0) FROM inbox i WHERE i.run = mailboxes.run AND substr(i.body, 1, 1) = x'04');

DROP VIEW message_kinds;
CREATE VIEW message_kinds AS
  WITH kinds (first_byte, kind) AS (VALUES (x'00', 'start'), (x'01', 'transition'), (x'02', 'response'),
    (x'03', 'register'), (x'04', 'signal'), (x'05', 'resume'), (x'06', 'no answer'), (x'07', 'interrupt'),
    (x'08', 'pause'), (x'09', 'proceed'), (x'0a', 'redrive'), (x'0b', 'verdict'), (x'0c', 'time up'),
    (x'0d', 'reenter'), (x'0e', 'arrive'), (x'0f', 'item'), (x'10', 'start child'), (x'11', 'child done'),
    (x'12', 'end job'), (x'13', 'withdraw'), (x'14', 'expire'), (x'15', 'expand'), (x'16', 'unlabel'),
    (x'17', 'taken'), (x'18', 'refused'))
  SELECT first_byte, kind FROM kinds;
CREATE VIEW mailbox_view AS
  SELECT b.namespace, b.topic, b.key, e.run, e.seq, CASE e.kind WHEN 0 THEN 'registration' ELSE 'signal' END AS kind,
    lower(hex(e.guid)) AS guid, lower(hex(e.taker)) AS offered_to,
    CASE e.kind WHEN 0 THEN NULL ELSE strftime('%Y-%m-%d %H:%M:%f', e.expires_at / 1e6, 'unixepoch') END AS expires,
    length(e.body) AS bytes
  FROM mailbox_entries e LEFT JOIN mailboxes b ON b.run = e.run;
)sql";

}  // namespace pawl::store::sqlite
