#include "runtime/requests.h"

#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/utf8.h"
#include "core/signal_id.h"
#include "duplex/later.h"
#include "runtime/job_signal.h"
#include "runtime/lane_table.h"
#include "runtime/request_checks.h"
#include "runtime/token.h"
#include "runtime/views.h"

namespace pawl::runtime {

namespace {

using core::JobStatus;

Error wrong_state(const store::StoredJob& job, JobStatus status, std::string_view advice) {
  const core::JobRow& row = job.state.job;
  const bool says_why = row.status == status && !row.reason.empty();
  return {ErrorCode::invalid, format("job {} is {}{}{}; {}", row.id.raw(), core::name_of(status), says_why ? ": " : "",
                                     says_why ? row.reason : "", advice)};
}

// What to do in this state instead of the request.
std::string_view advice_in(JobStatus status) {
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
      return "it has ended, start a new one";
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

constexpr std::string_view parked_duplex = "it stays so and nothing of it runs: submit its input again under a new id";
constexpr std::string_view no_pause =
    "where messages are served side by side and none is held back; interrupt it, or use collation ledger to pause jobs";
constexpr std::string_view no_settle = "where nothing acts at most once, so nothing is unknown";
constexpr std::string_view no_removal =
    "whose rows stay with the store; use collation ledger for jobs that must go (StartOptions::keep, remove)";

Error stale(std::string_view why) { return {ErrorCode::conflict, format("the token is no longer good: {}", why)}; }

// For a signal that may have been sent, perhaps to some of its mailboxes.
Status worth_repeating(Status failed, const std::string& id) {
  const ErrorCode code = failed.error().code;
  if (code != ErrorCode::outcome_unknown && code != ErrorCode::retry_later) return failed;
  return Error{code, format("{}; signal again with the id {}: it counts once", failed.error().detail, id)};
}

core::Verdict verdict_of(core::ActivitySeq activity, const Finding& finding) {
  const auto kind = finding.kind() == Finding::Kind::done     ? core::Verdict::Kind::done
                    : finding.kind() == Finding::Kind::failed ? core::Verdict::Kind::failed
                                                              : core::Verdict::Kind::retry;
  return {activity, kind, finding.code(), finding.data()};
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
    else if (std::holds_alternative<core::Pause>(body) && status == JobStatus::running)
      status = JobStatus::paused;
    else if (std::holds_alternative<core::Proceed>(body) && status == JobStatus::paused)
      status = JobStatus::running;
    else if (std::holds_alternative<core::Redrive>(body) && status == JobStatus::parked)
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

Status Requests::deliver(RunId run, core::Body body) {
  // Two requests are two messages, even if they are equal: a pause after a resume is not the first pause again.
  const std::uint64_t number = Random::mix(seed_ + count_.fetch_add(1));
  const core::Guid guid = core::Guid::of_run(run).derive(core::Guid::Purpose::asked, number);
  store::Deliver deliver;
  deliver.envelope = core::Envelope{run, core::Message{guid, std::move(body)}};
  return status_of(commit_(std::move(deliver)));
}

Status Requests::interrupt(RunId run, const std::string& reason) {
  if (const auto checked = check_reason(reason); !checked) return checked;
  const auto duplex = view_duplex(run);
  if (!duplex) return duplex.error();
  if (*duplex) return interrupt_duplex((*duplex)->job, reason);
  const auto job = read(run, "");
  if (!job) return job.error();
  const JobStatus status = status_to_come(*job);
  if (core::is_closed(status)) return wrong_state(*job, status, "there is nothing left to interrupt");
  core::Interrupt message;
  message.reason = reason;
  return deliver(run, std::move(message));
}

Status Requests::pause(RunId run, const std::string& reason) {
  if (const auto checked = check_reason(reason); !checked) return checked;
  const auto job = read(run, no_pause);
  if (!job) return job.error();
  const JobStatus status = status_to_come(*job);
  if (status == JobStatus::running) return deliver(run, core::Pause{reason});
  return wrong_state(*job, status, format("only a running job can be paused ({})", advice_in(status)));
}

Status Requests::resume(RunId run) {
  const auto job = read(run, no_pause);
  if (!job) return job.error();
  const JobStatus status = status_to_come(*job);
  if (status == JobStatus::paused) return deliver(run, core::Proceed{});
  return wrong_state(*job, status, format("only a paused job can be resumed ({})", advice_in(status)));
}

Status Requests::redrive(RunId run) {
  const auto job = read(run, format("and a parked one: {}", parked_duplex));
  if (!job) return job.error();
  const JobStatus status = status_to_come(*job);
  if (status == JobStatus::parked) return deliver(run, core::Redrive{});
  return wrong_state(*job, status, format("only a parked job can be redriven ({})", advice_in(status)));
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
  if (const auto checked = check_duration("keep_id", keep_id, Zero::allowed); !checked) return checked;
  const auto job = read(run, no_removal);
  if (!job) return job.error();
  // Only an end that is stored counts: a job whose end is still in its inbox stays.
  const core::JobRow& row = job->state.job;
  if (!core::is_closed(row.status))
    return wrong_state(*job, row.status, "only a job that has ended can be removed (interrupt it first)");
  const Instant key_until = keep_id == Duration{0} ? Instant() : store_.now() + keep_id;
  const auto outcome = commit_(store::RemoveJob{run, key_until});
  if (outcome && outcome->kind == store::OutcomeKind::already_done) return no_job(run);
  return status_of(outcome);
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

Status Requests::signal(const Apps& apps, const std::string& topic, const Payload& data, const SignalOptions& options) {
  for (const Status& checked : {check_name("topic", topic), check_name("name space", options.name_space),
                                check_payload("the signal's data", data)})
    if (!checked) return checked;
  if (!options.id.empty())
    if (const auto named = check_name("signal id", options.id); !named) return named;
  const auto keys = apps.mailboxes_for(topic, data);
  if (!keys) return keys.error();
  std::vector<core::MailboxKey> to;
  for (const std::string& key : *keys) to.push_back({Namespace(options.name_space), Topic(topic), key});
  return send_signal(to, data, options);
}

Status Requests::signal_job(RunId run, const std::string& topic, const Payload& data, const SignalOptions& options) {
  for (const Status& checked : {check_name("topic", topic), check_payload("the signal's data", data)})
    if (!checked) return checked;
  if (!options.id.empty())
    if (const auto named = check_name("signal id", options.id); !named) return named;
  const auto job = read(run, "which has no hooks");
  if (!job) return job.error();
  if (const JobStatus status = status_to_come(*job); core::is_closed(status))
    return wrong_state(*job, status, "there is nothing left to signal");
  const auto graph = graphs_.find(job->state.job.graph);
  if (graph == nullptr)
    return Error{ErrorCode::not_found, format("the graph {} of job {} is not deployed here",
                                              job->state.job.graph.name.raw(), job->state.job.id.raw())};
  const auto to = mailboxes_of(job->state, *graph, Topic(topic), data, store_.now());
  if (!to) return to.error();
  return send_signal(*to, data, options);
}

Status Requests::send_signal(const std::vector<core::MailboxKey>& mailboxes, const Payload& data,
                             const SignalOptions& options) {
  const auto status = options.pending ? core::ReplyStatus::pending : core::ReplyStatus::success;
  const std::int32_t code = options.code != 0 ? options.code : options.pending ? 202 : 200;
  const std::string id = options.id.empty() ? fresh_signal_id() : options.id;
  for (const core::MailboxKey& to : mailboxes) {
    store::Deliver deliver;
    deliver.envelope = core::Envelope{to, core::Message{core::signal_guid(to, id), core::Signal{data, status, code}}};
    deliver.lane = lane_for(pool_, to);
    deliver.remembered = true;
    if (auto sent = status_of(commit_(std::move(deliver))); !sent) return worth_repeating(std::move(sent), id);
  }
  return {};
}

Status Requests::complete(const std::string& token, const Reply& reply) {
  const auto named = parse_token(token, store_.id());
  if (!named) return named.error();
  if (reply.status() == Reply::Status::later)
    return Error{ErrorCode::invalid, "Reply::later is no answer; to keep the work longer, use Runtime::heartbeat"};
  if (const auto checked = check_payload("the reply", reply.data()); !checked) return checked;
  // An item exists as long as its job is open and it has no reply; a duplex job has none.
  const auto item = answer_to(store_, store::ReadItem{named->ref.run, named->ref.activity});
  if (!item) return item.error();
  if (!*item) return complete_without_item(*named, reply);
  if ((*item)->token != named->token) return stale("the work was taken back, and perhaps given to another");
  const auto status = reply.status() == Reply::Status::success ? core::ReplyStatus::success
                      : reply.status() == Reply::Status::error ? core::ReplyStatus::error
                                                               : core::ReplyStatus::fatal;
  const core::Guid guid = (*item)->request.derive(core::Guid::Purpose::response_final, 0);
  const core::Reply response{named->ref.activity, status, reply.code(), named->token, reply.data()};
  const auto outcome = status_of(
      commit_(store::DeliverReply{named->ref.run, named->ref.activity, named->token, core::Message{guid, response}}));
  if (!outcome && outcome.error().code == ErrorCode::conflict) return stale(outcome.error().detail);
  return outcome;
}

Status Requests::complete_without_item(const WorkRun& named, const Reply& reply) {
  if (duplex_.store != nullptr) {
    const auto duplex = duplex_.store->read_under_way(named.ref.run);
    if (!duplex) return duplex.error();
    if (*duplex) return complete_duplex(**duplex, named.token, reply);
  }
  const auto job = store_.read_job_row(named.ref.run);
  if (!job) return job.error();
  if (!*job) return stale("its job is gone");
  return core::is_closed((*job)->status) ? stale(format("job {} has ended", (*job)->id.raw()))
                                         : stale("the work was answered already");
}

Status Requests::complete_duplex(const store::DuplexJob& job, core::WorkToken token, const Reply& reply) {
  if (core::is_closed(job.job.status)) return stale(format("job {} has ended", job.job.id.raw()));
  if (job.job.status == JobStatus::parked)
    return Error{ErrorCode::invalid, format("job {} is parked and takes no answer: {}; {}", job.job.id.raw(),
                                            job.job.reason, parked_duplex)};
  const auto request = duplex::find_request(job, token);
  if (!request) return stale("the work was answered already, or taken back and perhaps given to another");
  if (!duplex::is_settled(job, *request))
    return Error{ErrorCode::retry_later,
                 format("the worker of job {} has not left the work yet, or its pending replies "
                        "are still being served: ask again",
                        job.job.id.raw())};
  const bool failed = reply.status() != Reply::Status::success;
  const auto operations = duplex::completion_of(
      job, *request, failed ? core::ReplyStatus::error : core::ReplyStatus::success, reply.code(), reply.data());
  const auto answered = status_of(duplex_.commit(operations[0]));
  if (!answered && answered.error().code == ErrorCode::conflict) return stale(answered.error().detail);
  // The reply is durable; without the rest its request is handed out once more, and found to be answered.
  if (answered) (void)duplex_.commit(operations[1]).ok();
  return answered;
}

Status Requests::heartbeat(const std::string& token, Payload progress, Duration lease) {
  const auto named = parse_token(token, store_.id());
  if (!named) return named.error();
  for (const Status& checked : {check_payload("the progress", progress), check_duration("lease", lease, Zero::refused)})
    if (!checked) return checked;
  store::ExtendWork extend{named->ref.run, named->ref.activity, named->token, lease};
  if (!progress.empty()) extend.progress = std::move(progress);  // a heartbeat without progress keeps the last progress
  const auto outcome = status_of(commit_(std::move(extend)));
  if (!outcome && outcome.error().code == ErrorCode::conflict) {
    const auto duplex = view_duplex(named->ref.run);
    if (duplex && *duplex)
      return Error{ErrorCode::unsupported,
                   format("job {} runs under collation duplex, which keeps no progress; give Reply::later enough time",
                          (*duplex)->job.id.raw())};
    return stale("the work was answered, taken back, or ended with its job");
  }
  return outcome;
}

}  // namespace pawl::runtime
