// One work item as the store has it.
#pragma once

#include <optional>

#include "core/job_state.h"
#include "pawl/result.h"
#include "runtime/work_desk.h"
#include "store/store.h"

namespace pawl::runtime {

// None: it was answered, or its job has ended. Reads that item alone, however large the job is.
Result<std::optional<core::WorkItem>> read_item(store::Store& store, const WorkRef& ref);

}  // namespace pawl::runtime
