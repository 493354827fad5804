// What happened to a job, in order of time, as far as its rows tell: `pawl history` and GET /v1/jobs/{id}/history.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "pawl/runtime.h"
#include "pawl/view.h"

namespace pawl {

struct HistoryEvent {
  Instant at;
  std::string what;  // job_started, activity_opened, attempt_failed, activity_closed, run_failed, announced, job_closed
  std::string activity;  // empty: the job
  std::string address;
  std::int32_t code = 0;
  std::string detail;
  Payload data;  // the input of what began, the output of what ended
};

// `version`: the name of the version that the job runs on.
std::vector<HistoryEvent> history_of(const JobDetail& detail, const std::vector<Announcement>& announced,
                                     const std::string& version);
enum class HistoryData { leave_out, show };
boost::json::array history_array(const std::vector<HistoryEvent>& events, HistoryData data);

}  // namespace pawl
