// A step of the layout: jobs are found by the time of their end, and by an activity that errored, without reading the
// others. Published: never edited. Why: docs/decisions/106-flat.md.
#pragma once

namespace pawl::store::sqlite {

// Jobs end in the order of time, so the first index grows at its end. Few activities are errors: the rest are not in
// the second one.
inline constexpr const char* finding_schema = R"sql(
CREATE INDEX jobs_by_end ON jobs (closed_at) WHERE closed_at <> 0;
CREATE INDEX activities_errored ON activities (run) WHERE status = 2;
)sql";

}  // namespace pawl::store::sqlite
