// What requests to jobs have in common: the status of an outcome, a plan of one operation, and why a request does not
// fit the job's state.
#pragma once

#include <string_view>
#include <utility>

#include "base/format.h"
#include "runtime/requests.h"

namespace pawl::runtime {

inline constexpr std::string_view parked_duplex =
    "it stays so and nothing of it runs: submit its input again under a new id";

inline Error wrong_state(const store::StoredJob& job, core::JobStatus status, std::string_view advice) {
  const core::JobRow& row = job.state.job;
  const bool says_why = row.status == status && !row.reason.empty();
  return {ErrorCode::invalid, format("job {} is {}{}{}; {}", row.id.raw(), core::name_of(status), says_why ? ": " : "",
                                     says_why ? row.reason : "", advice)};
}

// What to do in this state instead of the request.
inline std::string_view advice_in(core::JobStatus status) {
  using core::JobStatus;
  switch (status) {
    case JobStatus::running:
      return "it goes on by itself";
    case JobStatus::paused:
      return "resume it";
    case JobStatus::parked:
      return "redrive it";
    case JobStatus::completed:
    case JobStatus::failed:
    case JobStatus::interrupted:
      return "it has ended: pawl rerun starts a new one from its input";
  }
  return "";
}

template <class Outcome>
Status status_of(const Result<Outcome>& outcome) {
  if (!outcome) return outcome.error();
  switch (outcome->kind) {
    case store::OutcomeKind::committed:
    case store::OutcomeKind::already_done:
      return {};
    case store::OutcomeKind::exists:
    case store::OutcomeKind::conflict:
      return Error{ErrorCode::conflict, outcome->reason};
    case store::OutcomeKind::fenced:
      return Error{ErrorCode::fenced, outcome->reason};
    case store::OutcomeKind::over_limit:
      return Error{ErrorCode::over_limit, outcome->reason};
    case store::OutcomeKind::rejected:
      return Error{ErrorCode::invalid, outcome->reason};
    case store::OutcomeKind::outcome_unknown:
      return Error{ErrorCode::outcome_unknown, outcome->reason};
  }
  return Error{ErrorCode::invalid, outcome->reason};
}

inline Result<RequestPlan> plan_of(Result<store::Operation> operation) {
  if (!operation) return operation.error();
  RequestPlan plan;
  plan.first.push_back(std::move(*operation));
  return plan;
}

}  // namespace pawl::runtime
