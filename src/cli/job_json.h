// A job as JSON, for scripts. Payloads that are JSON stay JSON; others become strings.
//
// Run ids are texts: they have up to 63 bits, and a reader that stores numbers as doubles, as most do, loses digits
// beyond 2^53.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pawl/runtime.h"
#include "pawl/view.h"

namespace pawl::cli {

std::string job_json(const JobView& job);
std::string jobs_json(const std::vector<JobView>& jobs);
std::string job_json(const JobDetail& detail);

// A job by its id; none: it does not exist any more.
using ReadChild = std::function<std::optional<JobDetail>(const std::string& name_space, const std::string& id)>;
// The whole job; with `read_child` also the jobs that it started, and theirs.
std::string export_json(const JobDetail& detail, const ReadChild& read_child);

// On one line; null for none.
std::string payload_json(const Payload& payload);

std::string announcement_json(const Announcement& said);
// The result of a request to this run: {"ok":true,"run":"140737488355329"}
std::string done_json(RunId run);
std::string run_text(RunId run);

// 2026-11-16T00:31:12.250Z, or empty for no time.
std::string time_text(Instant at);

}  // namespace pawl::cli
