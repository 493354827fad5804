// Requests: a job that stopped goes on, or its work is begun again by a new run.
#include <algorithm>

#include "base/entropy.h"
#include "base/job_id.h"
#include "base/limits.h"
#include "core/carried.h"
#include "execute/program.h"
#include "runtime/carry.h"
#include "runtime/lane_table.h"
#include "runtime/request_checks.h"
#include "runtime/request_results.h"

namespace pawl::runtime {

namespace {

constexpr std::size_t earlier_runs_max = 100;  // that a run remembers

// As if a job were started with it.
Result<Payload> checked_input(const Graph& graph, const Payload& input) {
  if (const auto checked = check_input("the input", input); !checked) return checked.error();
  const auto* program = execute::GraphProgram::of(graph);
  return program == nullptr ? Result<Payload>(input) : program->check_start(input);
}

}  // namespace

Result<RunId> Requests::redrive(RunId run, const RedriveOptions& options) {
  auto planned = plan_redrive(run, options);
  if (!planned) return planned.error();
  RunId going = planned->goes_on.value_or(run);
  for (store::Operation& operation : planned->first) {
    const bool is_new = std::holds_alternative<store::Submit>(operation);
    const auto outcome = commit_(std::move(operation));
    if (const auto done = status_of(outcome); !done) return done.error();
    if (is_new) going = outcome->run();
  }
  if (planned->behind) (void)commit_(std::move(*planned->behind));
  return going;
}

Result<RequestPlan> Requests::plan_redrive(RunId run, const RedriveOptions& options) {
  if (options.answer)
    if (const auto checked = check_payload("the answer", *options.answer); !checked) return checked.error();
  const auto job = read(run, format("and a parked one: {}", parked_duplex));
  if (!job) return job.error();
  const core::JobStatus status = status_to_come(*job);
  if (status == core::JobStatus::parked && options.answer) return plan_of(plan_answer(*job, options));
  if (status == core::JobStatus::parked) return plan_of(message_to(run, core::Redrive{}));
  if (status == core::JobStatus::failed && options.answer)
    return wrong_state(*job, status, "an answer can be given to a parked job that refused one");
  if (status == core::JobStatus::failed) return plan_new_run(*job);
  return wrong_state(*job, status, format("only a failed or parked job can be redriven ({})", advice_in(status)));
}

// The activity whose answer was refused, or the only one that waits for a worker.
Result<store::Operation> Requests::plan_answer(const store::StoredJob& job, const RedriveOptions& options) {
  std::optional<core::ActivitySeq> meant;
  for (const core::InboxMessage& waiting : job.inbox)
    if (const auto* refused = std::get_if<core::Refused>(&waiting.message.body)) meant = refused->activity;
  if (!meant && job.state.work().size() == 1) meant = job.state.work().begin()->first;
  if (!meant || job.state.find_work(*meant) == nullptr)
    return Error{ErrorCode::invalid, format("job {} is parked, and not by an answer of a worker: {}; redrive it as it "
                                            "is",
                                            job.state.job.id.raw(), job.state.job.reason)};
  return message_to(job.state.job.run, core::GiveAnswer{*meant, options.code, *options.answer});
}

// Whether `newest` goes on for this run: then the run is only still there because its removal got lost.
Result<bool> Requests::has_followed(RunId newest, RunId run) {
  const auto job = store_.read_job(newest);
  if (!job) return job.error();
  const core::Activity* trigger = *job ? (*job)->state.find(core::ActivitySeq(0)) : nullptr;
  std::optional<Payload> packed;
  if (trigger != nullptr) packed = trigger->state;
  if (*job && trigger == nullptr)  // it has not begun yet
    for (const core::InboxMessage& waiting : (*job)->inbox)
      if (const auto* start = std::get_if<core::Start>(&waiting.message.body)) packed = start->input;
  if (!packed || !core::is_packed(packed->view())) return false;
  const auto start = core::unpack_start(*packed);
  if (!start) return start.error();
  return std::any_of(start->earlier.begin(), start->earlier.end(), [&](const auto& one) { return one.run == run; });
}

// The run that failed is removed only once the new one is committed: a crash in between leaves both, and loses no
// answer.
Result<RequestPlan> Requests::plan_new_run(const store::StoredJob& job) {
  const core::JobRow& row = job.state.job;
  const auto newest = store_.find_run(row.name_space, row.id);
  if (!newest) return newest.error();
  if (*newest && **newest != row.run) {
    const auto goes_on = has_followed(**newest, row.run);
    if (!goes_on) return goes_on.error();
    if (*goes_on && row.completions > 0)
      return RequestPlan{{store::RemoveJob{row.run, Instant()}}, std::nullopt, **newest};
    return Error{ErrorCode::invalid,
                 format("job {} has a newer run, {}; this one stays as it ended", row.id.raw(), (*newest)->raw())};
  }
  RerunOptions same;
  same.id = row.id.raw();
  auto again = submit_again(job, same, true);
  if (!again) return again.error();
  again->follows = row.run;
  RequestPlan plan;
  plan.first.emplace_back(std::move(*again));
  if (row.completions > 0) plan.behind = store::RemoveJob{row.run, Instant()};
  return plan;
}

Result<store::Submit> Requests::submit_again(const store::StoredJob& job, const RerunOptions& options, bool carries) {
  const core::JobRow& row = job.state.job;
  const auto graph = graphs_.find(row.graph);
  if (graph == nullptr)
    return Error{ErrorCode::not_found,
                 format("the graph {} of job {} is not deployed here", row.graph.name.raw(), row.id.raw())};
  const core::Activity* trigger = job.state.find(core::ActivitySeq(0));
  if (trigger == nullptr) return Error{ErrorCode::invalid, format("job {} has not started yet", row.id.raw())};
  core::StartInput start{options.input ? *options.input : trigger->output};
  if (options.input) {
    auto checked = checked_input(*graph, *options.input);
    if (!checked) return checked.error();
    start.input = std::move(*checked);
  }
  if (carries) {
    const bool is_same_job = options.id == row.id.raw();
    auto carried = carried_from(job.state, *graph, is_same_job ? WorkNames::kept : WorkNames::fresh, options.from);
    if (!carried) return carried.error();
    start.carried = std::move(*carried);
  }
  auto before = core::unpack_start(trigger->state);
  if (before) start.trace = std::move(before->trace);
  if (options.id == row.id.raw()) {
    if (before) start.earlier = std::move(before->earlier);
    if (start.earlier.size() >= earlier_runs_max) start.earlier.erase(start.earlier.begin());
    start.earlier.push_back({row.run, row.closed_at, row.error_code(), row.reason});
  }
  const auto secret = draw_entropy();
  if (!secret) return secret.error();
  store::Submit submit{row.name_space,
                       JobId(options.id),
                       lane_for(pool_, row.name_space, options.id),
                       row.graph,
                       core::pack(start),
                       store_.now(),
                       store::Reuse::after_close};
  if (submit.input.size() > limits::payload_bytes_max)
    return Error{ErrorCode::over_limit,
                 format("what job {} takes over is {} bytes, and at most {} can be stored with a start "
                        "(payload_bytes_max): start it again from its input (pawl rerun {})",
                        row.id.raw(), submit.input.size(), limits::payload_bytes_max, row.id.raw())};
  submit.keep = row.keep;
  submit.priority = row.priority;
  submit.secret = core::JobSecret(core::Guid{secret->high, secret->low});
  return submit;
}

Result<Requests::Again> Requests::rerun(RunId run, const RerunOptions& options) {
  const auto job = read(run, "whose answers are not kept by address; start it again with its input");
  if (!job) return job.error();
  RerunOptions named = options;
  if (!options.id.empty())
    if (const auto checked = check_job_id("job id", options.id); !checked) return checked.error();
  const core::JobRow& row = job->state.job;
  for (std::uint32_t number = 1; named.id.empty(); ++number) {
    const std::string id = format("{}.again{}", row.id.raw(), number);
    const auto known = store_.find_run(row.name_space, JobId(id));
    if (!known) return known.error();
    if (!*known) named.id = id;
  }
  auto submit = submit_again(*job, named, !options.from.empty());
  if (!submit) return submit.error();
  submit->reuse = store::Reuse::never;
  const auto outcome = commit_(std::move(*submit));
  if (outcome && outcome->kind == store::OutcomeKind::exists)
    return Error{ErrorCode::already_exists, format("the job id {} is taken", named.id)};
  if (const auto done = status_of(outcome); !done) {
    if (done.error().code != ErrorCode::outcome_unknown || !options.id.empty()) return done.error();
    return Error{ErrorCode::outcome_unknown,
                 format("{}; rerun again with the id {}: then there is one job of it, whether this one was made or not",
                        done.error().detail, named.id)};
  }
  return Again{outcome->run(), named.id};
}

}  // namespace pawl::runtime
