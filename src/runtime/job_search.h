// Which jobs a filter means: by what their rows say, and by how their activities stand.
#pragma once

#include <functional>
#include <vector>

#include "pawl/query.h"
#include "runtime/graph_catalog.h"
#include "store/store.h"

namespace pawl::runtime {

// One page.
Result<std::vector<JobView>> list_jobs(store::Store& store, const GraphCatalog& graphs, const JobFilter& filter);

// All of them, whatever their number; memory does not grow with it. `order`, `after` and `rows_max` say nothing.
Result<std::uint64_t> count_jobs(store::Store& store, const GraphCatalog& graphs, const JobFilter& filter);

}  // namespace pawl::runtime
