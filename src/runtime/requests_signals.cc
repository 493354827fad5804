// Requests: signals to the hooks of jobs.
#include "base/random.h"
#include "core/signal_id.h"
#include "runtime/job_signal.h"
#include "runtime/lane_table.h"
#include "runtime/request_checks.h"
#include "runtime/request_results.h"

namespace pawl::runtime {

namespace {

// For a signal that may have been sent, perhaps to some of its mailboxes.
Status worth_repeating(Status failed, const std::string& id) {
  const ErrorCode code = failed.error().code;
  if (code != ErrorCode::outcome_unknown && code != ErrorCode::retry_later) return failed;
  return Error{code, format("{}; signal again with the id {}: it counts once", failed.error().detail, id)};
}

}  // namespace

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
  const auto to = mailboxes_for_job(run, topic, data, options);
  return to ? send_signal(*to, data, options) : Status(to.error());
}

Result<std::vector<core::MailboxKey>> Requests::mailboxes_for_job(RunId run, const std::string& topic,
                                                                  const Payload& data, const SignalOptions& options) {
  for (const Status& checked : {check_name("topic", topic), check_payload("the signal's data", data)})
    if (!checked) return checked.error();
  if (!options.id.empty())
    if (const auto named = check_name("signal id", options.id); !named) return named.error();
  const auto job = read(run, "which has no hooks");
  if (!job) return job.error();
  if (const core::JobStatus status = status_to_come(*job); core::is_closed(status))
    return wrong_state(*job, status, "there is nothing left to signal");
  const auto graph = graphs_.find(job->state.job.graph);
  if (graph == nullptr)
    return Error{ErrorCode::retry_later,
                 format("the graph {} of job {} is not deployed here; deploy it, and signal again",
                        job->state.job.graph.name.raw(), job->state.job.id.raw())};
  return mailboxes_of(job->state, *graph, Topic(topic), data, store_.now());
}

std::vector<store::Operation> Requests::signals_to(const std::vector<core::MailboxKey>& mailboxes, const Payload& data,
                                                   const SignalOptions& options, const std::string& id) {
  const auto status = options.pending ? core::ReplyStatus::pending : core::ReplyStatus::success;
  const std::int32_t code = options.code != 0 ? options.code : options.pending ? 202 : 200;
  std::vector<store::Operation> signals;
  for (const core::MailboxKey& to : mailboxes) {
    store::Deliver deliver;
    deliver.envelope = core::Envelope{to, core::Message{core::signal_guid(to, id), core::Signal{data, status, code}}};
    deliver.lane = lane_for(pool_, to);
    deliver.remembered = true;
    signals.emplace_back(std::move(deliver));
  }
  return signals;
}

Status Requests::send_signal(const std::vector<core::MailboxKey>& mailboxes, const Payload& data,
                             const SignalOptions& options) {
  const std::string id = options.id.empty() ? fresh_signal_id() : options.id;
  for (store::Operation& signal : signals_to(mailboxes, data, options, id))
    if (auto sent = status_of(commit_(std::move(signal))); !sent) return worth_repeating(std::move(sent), id);
  return {};
}

}  // namespace pawl::runtime
