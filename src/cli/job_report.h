// A job for people: first what it is, what it waits for or why it stopped; then its activities as a tree.
#pragma once

#include <string>

#include "cli/terminal.h"
#include "pawl/pawl.h"

namespace pawl::cli {

struct ReportOptions {
  bool ledger = false;  // the digits of every activity and message as well
  bool full = false;    // payloads whole, rounds and items all
  Instant now{};
  std::string version{};  // the name of the version that the job runs on
};
std::string job_report(const JobDetail& detail, const ReportOptions& options, const Paint& paint);

Ink ink_of(JobStatus status);
std::string age_text(Duration time);  // "350 ms", "12.5 s", "3 min 20 s", "5 h 10 min", "3 d 4 h"

}  // namespace pawl::cli
