// Step 6 of the layout: every job has a secret that its work is named by. Published: never edited. Why it is so:
// docs/decisions/018-secrets-of-jobs.md.
#pragma once

namespace pawl::store::sqlite {

// What is open gets a secret for the work that it will ask for. Work that is out already keeps the key that its workers
// may have given away. Duplex jobs keep their old names: a leg that is run again must ask under the name it used
// before.
inline constexpr const char* secret_schema = R"sql(
ALTER TABLE jobs ADD COLUMN secret BLOB;                                      -- NULL: from before there were any
UPDATE jobs SET secret = randomblob(16)
  WHERE status NOT BETWEEN 1 AND 3 AND run NOT IN (SELECT run FROM duplex_jobs);
ALTER TABLE activities ADD COLUMN plain_key INTEGER NOT NULL DEFAULT 0;       -- 1: work from before that
UPDATE activities SET plain_key = 1 WHERE request IS NOT NULL;
)sql";

}  // namespace pawl::store::sqlite
