// Views from the JSON of the API: the other direction of job_json.h. What is missing keeps its default, so that a
// client reads an older or a newer server.
#pragma once

#include <boost/json.hpp>
#include <string_view>
#include <vector>

#include "pawl/event.h"
#include "pawl/query.h"
#include "pawl/view.h"
#include "pawl/worker.h"

namespace pawl::serve {

Instant read_time(std::string_view text);  // none: 0
JobView read_job(const boost::json::object& object);
JobDetail read_detail(const boost::json::object& object);
AppVersion read_app(const boost::json::object& object);
Announcement read_announcement(const boost::json::object& object);
MeasureView read_measure(const boost::json::object& object);
Event read_event(const boost::json::object& object);
detail::WorkFacts read_work(const boost::json::object& object);

}  // namespace pawl::serve
