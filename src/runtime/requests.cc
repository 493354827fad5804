#include "runtime/requests.h"

#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/utf8.h"
#include "runtime/request_checks.h"
#include "runtime/request_results.h"
#include "runtime/views.h"

namespace pawl::runtime {

namespace {

using core::JobStatus;

constexpr std::string_view no_pause =
    "where messages are served side by side and none is held back; interrupt it, or use collation ledger to pause jobs";
constexpr std::string_view no_settle = "where nothing acts at most once, so nothing is unknown";
constexpr std::string_view no_removal =
    "whose rows stay with the store; use collation ledger for jobs that must go (StartOptions::keep, remove)";

core::Verdict verdict_of(core::ActivitySeq activity, const Finding& finding) {
  const auto kind = finding.kind() == Finding::Kind::done     ? core::Verdict::Kind::done
                    : finding.kind() == Finding::Kind::failed ? core::Verdict::Kind::failed
                                                              : core::Verdict::Kind::retry;
  return {activity, kind, finding.code(), finding.data()};
}

// Of a parked job. An answer to a hook waits with the job.
bool lets_go_on(const core::JobState& state, const core::Body& body) {
  const auto* given = std::get_if<core::GiveAnswer>(&body);
  return std::holds_alternative<core::Redrive>(body) ||
         (given != nullptr && state.find_work(given->activity) != nullptr);
}

// "charge at ,0,0 and ship at ,0,1": what the person may mean.
std::string unknown_ones(const core::JobState& state, const Graph* graph) {
  std::string text;
  for (const core::Activity& activity : state.activities())
    if (effect_of(state, activity) == Effect::unknown)
      text +=
          format("{}{} at {}", text.empty() ? "" : " and ", name_in(graph, activity.node).raw(), activity.at.text());
  return text.empty() ? "nothing" : text;
}

}  // namespace

core::JobStatus status_to_come(const store::StoredJob& job) {
  JobStatus status = job.state.job.status;
  for (const core::InboxMessage& waiting : job.inbox) {
    const core::Body& body = waiting.message.body;
    if (core::is_closed(status)) break;
    if (std::holds_alternative<core::Interrupt>(body))
      status = JobStatus::interrupted;
    else if (std::holds_alternative<core::Cancel>(body))
      status = JobStatus::running;  // it undoes what it did, or ends at once
    else if (std::holds_alternative<core::Pause>(body) && status == JobStatus::running)
      status = JobStatus::paused;
    else if (std::holds_alternative<core::Proceed>(body) && status == JobStatus::paused)
      status = JobStatus::running;
    else if (status == JobStatus::parked && lets_go_on(job.state, body))
      status = JobStatus::running;
  }
  return status;
}

Requests::Requests(store::JobStore& store, store::PoolInfo pool, const GraphCatalog& graphs, std::uint64_t seed,
                   Commit commit, Duplex duplex)
    : store_(store),
      pool_(pool),
      graphs_(graphs),
      seed_(seed),
      commit_(std::move(commit)),
      duplex_(std::move(duplex)) {}

Result<std::optional<store::DuplexView>> Requests::view_duplex(RunId run) {
  if (duplex_.store == nullptr) return std::optional<store::DuplexView>();
  return duplex_.store->view(run, store::Place{});
}

Result<store::StoredJob> Requests::read(RunId run, std::string_view instead) {
  auto stored = store_.read_job(run);
  if (!stored) return stored.error();
  if (!*stored) return no_job(run);
  const auto duplex = view_duplex(run);
  if (!duplex) return duplex.error();
  if (*duplex)
    return Error{ErrorCode::unsupported,
                 format("job {} runs under collation duplex, {}", (*stored)->state.job.id.raw(), instead)};
  return std::move(**stored);
}

// Its end is one operation, which a person may request just as its clean-up message does.
Status Requests::interrupt_duplex(const core::JobRow& job, const std::string& reason) {
  if (core::is_closed(job.status))
    return Error{ErrorCode::invalid,
                 format("job {} is {}; there is nothing left to interrupt", job.id.raw(), core::name_of(job.status))};
  if (job.status == JobStatus::parked)
    return Error{ErrorCode::unsupported, format("job {} runs under collation duplex and is parked: {}; {}",
                                                job.id.raw(), job.reason, parked_duplex)};
  store::EndDuplex end{job.run, JobStatus::interrupted};
  end.reason = reason.empty() ? "interrupted" : kept_text(reason, limits::reason_bytes_max);
  end.code = core::Interrupt{}.code;
  end.at = store_.now();
  return status_of(duplex_.commit(std::move(end)));
}

store::Operation Requests::message_to(RunId run, core::Body body) {
  // Two requests are two messages, even if they are equal: a pause after a resume is not the first pause again.
  const std::uint64_t number = Random::mix(seed_ + count_.fetch_add(1));
  const core::Guid guid = core::Guid::of_run(run).derive(core::Guid::Purpose::asked, number);
  store::Deliver deliver;
  deliver.envelope = core::Envelope{run, core::Message{guid, std::move(body)}};
  return deliver;
}

Status Requests::deliver(RunId run, core::Body body) { return status_of(commit_(message_to(run, std::move(body)))); }

Status Requests::taken(const Result<store::Outcome>& outcome) { return status_of(outcome); }

Status Requests::interrupt(RunId run, const std::string& reason) {
  if (const auto checked = check_reason(reason); !checked) return checked;
  const auto duplex = view_duplex(run);
  if (!duplex) return duplex.error();
  if (*duplex) return interrupt_duplex((*duplex)->job, reason);
  auto planned = plan_interrupt(run, reason);
  return planned ? status_of(commit_(std::move(*planned))) : Status(planned.error());
}

Result<store::Operation> Requests::plan_interrupt(RunId run, const std::string& reason) {
  if (const auto checked = check_reason(reason); !checked) return checked.error();
  const auto job = read(run, "interrupt it alone");
  if (!job) return job.error();
  const JobStatus status = status_to_come(*job);
  if (core::is_closed(status)) return wrong_state(*job, status, "there is nothing left to interrupt");
  core::Interrupt message;
  message.reason = reason;
  return message_to(run, std::move(message));
}

Status Requests::cancel(RunId run, const std::string& reason) {
  auto planned = plan_cancel(run, reason);
  return planned ? status_of(commit_(std::move(*planned))) : Status(planned.error());
}

Result<store::Operation> Requests::plan_cancel(RunId run, const std::string& reason) {
  if (const auto checked = check_reason(reason); !checked) return checked.error();
  const auto job = read(run, "where nothing can be undone; interrupt it");
  if (!job) return job.error();
  const JobStatus status = status_to_come(*job);
  if (core::is_closed(status)) return wrong_state(*job, status, "there is nothing left to cancel");
  if (job->state.job.code < 0)
    return wrong_state(*job, status, "it is already undoing what it did (interrupt it to end it as it is)");
  core::Cancel message;
  message.reason = reason;
  return message_to(run, std::move(message));
}

Status Requests::pause(RunId run, const std::string& reason) {
  auto planned = plan_pause(run, reason);
  return planned ? status_of(commit_(std::move(*planned))) : Status(planned.error());
}

Result<store::Operation> Requests::plan_pause(RunId run, const std::string& reason) {
  if (const auto checked = check_reason(reason); !checked) return checked.error();
  const auto job = read(run, no_pause);
  if (!job) return job.error();
  const JobStatus status = status_to_come(*job);
  if (status == JobStatus::running) return message_to(run, core::Pause{reason});
  return wrong_state(*job, status, format("only a running job can be paused ({})", advice_in(status)));
}

Status Requests::resume(RunId run) {
  auto planned = plan_resume(run);
  return planned ? status_of(commit_(std::move(*planned))) : Status(planned.error());
}

Result<store::Operation> Requests::plan_resume(RunId run) {
  const auto job = read(run, no_pause);
  if (!job) return job.error();
  const JobStatus status = status_to_come(*job);
  if (status == JobStatus::paused) return message_to(run, core::Proceed{});
  return wrong_state(*job, status, format("only a paused job can be resumed ({})", advice_in(status)));
}

Result<RequestPlan> Requests::plan(RunId run, const BulkRequest& request) {
  switch (request.verb) {
    case BulkVerb::redrive:
      return plan_redrive(run, request.redrive);
    case BulkVerb::interrupt:
      return plan_of(plan_interrupt(run, request.reason));
    case BulkVerb::cancel:
      return plan_of(plan_cancel(run, request.reason));
    case BulkVerb::remove:
      return plan_of(plan_remove(run, request.remove.keep_id));
    case BulkVerb::pause:
      return plan_of(plan_pause(run, request.reason));
    case BulkVerb::resume:
      return plan_of(plan_resume(run));
    case BulkVerb::signal:
      break;
  }
  const auto to = mailboxes_for_job(run, request.topic, request.data, request.signal);
  if (!to) return to.error();
  // Jobs that wait in one mailbox get one each: so the signal's name has the run.
  const std::string id = format("{}#{}", request.signal.id, run.raw());
  return RequestPlan{signals_to(*to, request.data, request.signal, id), std::nullopt};
}

Status Requests::settle(RunId run, const ActivityPlace& place, const Finding& finding) {
  const auto& [activity, address] = place;
  if (finding.kind() == Finding::Kind::cannot_tell)
    return Error{ErrorCode::invalid, "Finding::cannot_tell settles nothing: say done, failed or not_done"};
  if (const auto checked = check_payload("the finding", finding.data()); !checked) return checked;
  const auto job = read(run, no_settle);
  if (!job) return job.error();
  const core::JobState& state = job->state;
  if (const JobStatus status = status_to_come(*job); core::is_closed(status))
    return wrong_state(*job, status, "there is nothing left to settle");
  const auto graph = graphs_.find(state.job.graph);
  for (const core::Activity& candidate : state.activities()) {
    if (name_in(graph.get(), candidate.node).raw() != activity) continue;
    // Without an address the first instance with an unknown effect is meant.
    const bool meant =
        address.empty() ? effect_of(state, candidate) == Effect::unknown : candidate.at.text() == address;
    if (!meant) continue;
    const Effect effect = effect_of(state, candidate);
    if (effect == Effect::unknown) return deliver(run, verdict_of(candidate.seq, finding));
    return Error{ErrorCode::invalid,
                 format("activity {} at {} of job {} is {}, not unknown: there is nothing to settle", activity, address,
                        state.job.id.raw(), name_of(effect))};
  }
  return Error{ErrorCode::not_found, format("job {} has no {} {}{}; what is unknown there: {}", state.job.id.raw(),
                                            address.empty() ? "unknown activity" : "activity", activity,
                                            address.empty() ? "" : " at " + address, unknown_ones(state, graph.get()))};
}

Status Requests::remove(RunId run, Duration keep_id) {
  auto planned = plan_remove(run, keep_id);
  if (!planned) return planned.error();
  const auto outcome = commit_(std::move(*planned));
  if (outcome && outcome->kind == store::OutcomeKind::already_done) return no_job(run);
  return status_of(outcome);
}

Result<store::Operation> Requests::plan_remove(RunId run, Duration keep_id) {
  if (const auto checked = check_duration("keep_id", keep_id, Zero::allowed); !checked) return checked.error();
  const auto job = read(run, no_removal);
  if (!job) return job.error();
  // Only an end that is stored counts: a job whose end is still in its inbox stays.
  const core::JobRow& row = job->state.job;
  if (!core::is_closed(row.status))
    return wrong_state(*job, row.status, "only a job that has ended can be removed (interrupt it first)");
  const Instant key_until = keep_id == Duration{0} ? Instant() : store_.now() + keep_id;
  return store::Operation(store::RemoveJob{run, key_until});
}

Status Requests::pause_topic(const std::string& topic, bool paused) {
  if (const auto checked = check_name("topic", topic); !checked) return checked;
  if (store_.spans_lanes()) return status_of(commit_(store::PauseTopic{Topic(topic), paused}));
  // One after the other. After an error the caller repeats all of them.
  for (std::uint32_t i = 0; i < pool_.lanes; ++i) {
    const core::LaneId lane(pool_.first.raw() + i);
    if (const auto done = status_of(commit_(store::PauseTopic{Topic(topic), paused, lane})); !done) return done;
  }
  return {};
}

std::string Requests::fresh_signal_id() {
  return core::Guid{seed_, Random::mix(seed_ + count_.fetch_add(1))}.derive(core::Guid::Purpose::asked, 0).text();
}

}  // namespace pawl::runtime
