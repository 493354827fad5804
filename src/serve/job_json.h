// A job as JSON, for scripts. Payloads that are JSON stay JSON; others become strings.
//
// Run ids are texts: they have up to 63 bits, and a reader that stores numbers as doubles, as most do, loses digits
// beyond 2^53.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pawl/event.h"
#include "pawl/runtime.h"
#include "pawl/view.h"

namespace pawl {

std::string job_json(const JobView& job);
std::string jobs_json(const std::vector<JobView>& jobs);
// `app_version`: the name of the version that it runs on.
std::string job_json(const JobDetail& detail, const std::string& app_version);

// A job by its id; none: it does not exist any more.
using ReadChild = std::function<std::optional<JobDetail>(const std::string& name_space, const std::string& id)>;
// The whole job; with `read_child` also the jobs that it started, and theirs.
std::string export_json(const JobDetail& detail, const ReadChild& read_child);

// On one line; null for none.
std::string payload_json(const Payload& payload);

// {"id", "kind", "job", ...} as docs/SERVER.md says. An output that is larger is left out.
std::string event_json(const Event& event, const std::string& id, bool output_left_out);
std::string_view name_of(Event::Kind kind);
std::string app_json(const AppVersion& version);
std::string apps_json(const std::vector<AppVersion>& versions);

std::string announcement_json(const Announcement& said);
// The result of a request to this run: {"ok":true,"run":"140737488355329"}
std::string done_json(RunId run);
std::string started_json(const std::string& name_space, const std::string& id, RunId run, bool created);
std::string run_text(RunId run);

// 2026-11-16T00:31:12.250Z, or empty for no time.
std::string time_text(Instant at);

}  // namespace pawl
