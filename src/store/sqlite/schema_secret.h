// Step 6 of the layout: every job has a secret from which the names of its work are made. Published: never edited. Why:
// docs/decisions/018-secrets-of-jobs.md.
#pragma once

namespace pawl::store::sqlite {

// Open jobs get a secret for their future work. Work that was already handed out keeps its key, because its workers may
// have passed the key on. Duplex jobs keep their old names: a leg that runs again must ask under the name that it used
// before.
inline constexpr const char* secret_schema = R"sql(
ALTER TABLE jobs ADD COLUMN secret BLOB;                                      -- NULL: from before there were any
UPDATE jobs SET secret = randomblob(16)
  WHERE status NOT BETWEEN 1 AND 3 AND run NOT IN (SELECT run FROM duplex_jobs);
ALTER TABLE activities ADD COLUMN plain_key INTEGER NOT NULL DEFAULT 0;       -- 1: work from before that
UPDATE activities SET plain_key = 1 WHERE request IS NOT NULL;
)sql";

}  // namespace pawl::store::sqlite
