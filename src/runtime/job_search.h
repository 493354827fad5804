// Listing jobs, by their rows and by the states of their activities.
#pragma once

#include <vector>

#include "pawl/query.h"
#include "runtime/graph_catalog.h"
#include "store/store.h"

namespace pawl::runtime {

Result<std::vector<JobView>> list_jobs(store::Store& store, const GraphCatalog& graphs, const JobFilter& filter);

}  // namespace pawl::runtime
