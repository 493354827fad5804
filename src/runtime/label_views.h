// Measures and announcements of jobs, as the public API shows them.
#pragma once

#include <vector>

#include "pawl/query.h"
#include "pawl/result.h"
#include "store/queries.h"

namespace pawl::runtime {

Result<std::vector<MeasureView>> read_measures(store::Queries& store, const GraphName& graph,
                                               const MeasureFilter& filter);
Result<std::vector<Announcement>> read_announcements(store::Queries& store, const AnnouncementFilter& filter);

}  // namespace pawl::runtime
