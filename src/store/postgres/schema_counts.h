// Step 5 of the layout: a page of a graph's jobs is found without reading the others, and jobs are counted in an index.
// Published: never edited. Why: docs/decisions/080-counting-jobs.md.
#pragma once

namespace pawl::store::postgres {

inline constexpr const char* counts_schema = R"sql(
CREATE INDEX jobs_by_graph ON jobs (graph, status, (run * 1));
)sql";

}  // namespace pawl::store::postgres
