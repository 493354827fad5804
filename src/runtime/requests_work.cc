// Requests: what a worker outside reports by its token.
#include "duplex/later.h"
#include "runtime/request_checks.h"
#include "runtime/request_results.h"
#include "runtime/token.h"

namespace pawl::runtime {

namespace {

Error stale(std::string_view why) { return {ErrorCode::conflict, format("the token is no longer good: {}", why)}; }

}  // namespace

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
  if (job.job.status == core::JobStatus::parked)
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
