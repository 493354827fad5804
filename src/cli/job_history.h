// The history of a job for people (serve/history.h has what is in it).
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "pawl/pawl.h"
#include "serve/history.h"

namespace pawl::cli {

// Behind the events: why the job stopped, if it did, and the times that it waits for.
std::string history_text(const std::vector<HistoryEvent>& events, const JobDetail& detail, const Paint& paint);

}  // namespace pawl::cli
