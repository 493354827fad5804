#include "runtime/request_checks.h"

#include <string>
#include <utility>

#include "base/format.h"
#include "base/job_id.h"
#include "base/limits.h"
#include "base/quote.h"
#include "base/trace_context.h"
#include "core/carried.h"

namespace pawl::runtime {

Status check_duration(std::string_view what, Duration value, Zero zero) {
  if (value < Duration{0} || (value == Duration{0} && zero == Zero::refused))
    return Error{ErrorCode::invalid, format("{} is {} microseconds; it must {}", what, value.count(),
                                            zero == Zero::refused ? "be more than 0" : "not be negative")};
  if (value > limits::duration_max)
    return Error{ErrorCode::over_limit,
                 format("{} is {} hours; at most {} are allowed (duration_max)", what,
                        std::chrono::duration_cast<std::chrono::hours>(value).count(), limits::duration_max.count())};
  return {};
}

Error no_job(RunId run) { return {ErrorCode::not_found, format("no job has run id {}", run.raw())}; }

Status check_payload(std::string_view what, const Payload& payload) {
  if (payload.size() <= limits::payload_bytes_max) return {};
  return Error{ErrorCode::over_limit, format("{} has {} bytes; at most {} are allowed (payload_bytes_max)", what,
                                             payload.size(), limits::payload_bytes_max)};
}

Status check_input(std::string_view what, const Payload& input) {
  if (const auto checked = check_payload(what, input); !checked) return checked;
  if (!core::is_packed(input.view())) return {};
  return Error{ErrorCode::invalid, format("{} begins with bytes that no input may begin with", what)};
}

Status check_reason(std::string_view reason) {
  if (reason.size() <= limits::reason_bytes_max) return {};
  return Error{ErrorCode::over_limit, format("the reason has {} bytes; at most {} are allowed (reason_bytes_max)",
                                             reason.size(), limits::reason_bytes_max)};
}

store::Reuse store_reuse(IdReuse reuse) {
  switch (reuse) {
    case IdReuse::attach:
    case IdReuse::reject:
      return store::Reuse::never;
    case IdReuse::after_close:
      return store::Reuse::after_close;
    case IdReuse::replace:
      return store::Reuse::replace;
  }
  return store::Reuse::never;
}

Payload input_to_submit(JobRequest& request, const core::Graph* graph) {
  const bool has_place = graph != nullptr && graph->collation() == Collation::ledger;
  if (request.options.trace.empty() || !has_place) return std::move(request.input);
  return core::with_trace(std::move(request.input), request.options.trace);
}

Status check_request(const JobRequest& request) {
  for (const Status& checked : {check_job_id("job id", request.options.id), check_name("graph name", request.graph),
                                check_name("namespace", request.options.name_space)})
    if (!checked) return checked;
  for (const Status& checked : {check_input(format("the input of job {}", request.options.id), request.input),
                                check_duration("delay", request.options.delay, Zero::allowed),
                                check_duration("end_within", request.options.end_within, Zero::allowed),
                                check_duration("keep", request.options.keep.value_or(Duration{0}), Zero::allowed)})
    if (!checked) return checked;
  if (!request.options.trace.empty() && !read_trace(request.options.trace))
    return Error{
        ErrorCode::invalid,
        format("trace is no W3C traceparent such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01: {}",
               json_quoted(request.options.trace))};
  if (request.options.priority < -limits::priority_max || request.options.priority > limits::priority_max)
    return Error{ErrorCode::invalid, format("priority is {}; it must be between {} and {} (priority_max)",
                                            request.options.priority, -limits::priority_max, limits::priority_max)};
  return {};
}

}  // namespace pawl::runtime
