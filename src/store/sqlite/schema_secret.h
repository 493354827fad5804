// Step 6 of the layout: every job has a secret that its work is named by; answers that were refused. Published: never edited. Why it is so:
// docs/decisions/018-secrets-of-jobs.md.
#pragma once

namespace pawl::store::sqlite {

// What is open gets a secret for the work that it will ask for. Work that is out already keeps the key that its workers
// may have given away. Duplex jobs keep their old names: a leg that is run again must ask under the name it used before.
inline constexpr const char* secret_schema = R"sql(
ALTER TABLE jobs ADD COLUMN secret BLOB;                                      -- NULL: from before there were any
UPDATE jobs SET secret = randomblob(16)
  WHERE status NOT BETWEEN 1 AND 3 AND run NOT IN (SELECT run FROM duplex_jobs);
ALTER TABLE activities ADD COLUMN plain_key INTEGER NOT NULL DEFAULT 0;       -- 1: work from before that
UPDATE activities SET plain_key = 1 WHERE request IS NOT NULL;

DROP VIEW message_kinds;
CREATE VIEW message_kinds AS
  WITH kinds (first_byte, kind) AS (VALUES (x'00', 'start'), (x'01', 'transition'), (x'02', 'response'),
    (x'03', 'register'), (x'04', 'signal'), (x'05', 'resume'), (x'06', 'no answer'), (x'07', 'interrupt'),
    (x'08', 'pause'), (x'09', 'proceed'), (x'0a', 'redrive'), (x'0b', 'verdict'), (x'0c', 'time up'),
    (x'0d', 'reenter'), (x'0e', 'arrive'), (x'0f', 'item'), (x'10', 'start child'), (x'11', 'child done'),
    (x'12', 'end job'), (x'13', 'withdraw'), (x'14', 'expire'), (x'15', 'expand'), (x'16', 'unlabel'),
    (x'17', 'refused'))
  SELECT first_byte, kind FROM kinds;
)sql";

}  // namespace pawl::store::sqlite
