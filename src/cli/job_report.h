// A job for people: the timeline of its activities and every ledger, decoded.
#pragma once

#include <string>

#include "cli/terminal.h"
#include "pawl/view.h"

namespace pawl::cli {

Ink ink_of(JobStatus status);
std::string job_report(const JobDetail& detail, const Paint& paint);

}  // namespace pawl::cli
