// One request to many jobs: each is checked as if it were asked alone, and what is asked is committed a page at a time.
#pragma once

#include "pawl/bulk.h"
#include "pawl/query.h"
#include "runtime/commit_all.h"
#include "runtime/graph_catalog.h"
#include "runtime/requests.h"
#include "store/store.h"

namespace pawl::runtime {

// An operation that fails counts as refused, with the reason; the others go on.
Result<BulkSummary> ask_many(store::Store& store, const GraphCatalog& graphs, Requests& requests,
                             const CommitAll& commit, JobFilter filter, const BulkRequest& request,
                             const BulkOptions& options);

}  // namespace pawl::runtime
