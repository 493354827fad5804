#include "runtime/transactions.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/quote.h"
#include "base/seeded_bug.h"
#include "runtime/parts.h"

namespace pawl::runtime {

using store::OutcomeKind;

namespace {

constexpr std::int32_t code_not_committed = 500;

// The attempt that a reply belongs to.
std::optional<WorkRun> run_behind(RunId run, const core::Delivery& delivery) {
  const auto* reply = std::get_if<core::Reply>(&delivery.message.body);
  if (reply == nullptr || delivery.origin != core::Origin::unstored) return std::nullopt;
  return WorkRun{WorkRef{run, reply->activity}, reply->token};
}

// What a bundle does with a reply.
enum class Taking : std::uint8_t {
  counts,  // its work is done: the worker's writes belong to it
  stored,  // it would count later, and might be refused then
  other,   // it does not count: the bundle has the reason
};
Taking taking_of(const core::Bundle& bundle, const core::Guid& answer) {
  using Step = ledger::MessageLedger::Step;
  for (const core::Write& write : bundle.writes) {
    const auto* record = std::get_if<core::PutRecord>(&write);
    if (record != nullptr && record->after.guid == answer && record->after.ledger.done(Step::work))
      return Taking::counts;
    const auto* message = std::get_if<core::PutMessage>(&write);
    if (message != nullptr && message->message.guid == answer) return Taking::stored;
  }
  return Taking::other;
}

}  // namespace

void Transactions::keep(const WorkRun& run, std::shared_ptr<store::OpenTransaction> transaction) {
  kept_.insert_or_assign(run, std::move(transaction));
}

bool Transactions::hold(RunId run) {
  const HotJob* job = parts_.jobs.find(run);
  if (job != nullptr && (job->in_flight || job->state.half_done())) return false;
  held_.insert(run);
  return true;
}

void Transactions::release(RunId run) {
  if (held_.erase(run) == 0) return;
  HotJob* job = parts_.jobs.find(run);
  if (job != nullptr && !job->in_flight && !job->queue.empty()) parts_.jobs.make_ready(*job);
}

bool Transactions::is_kept(RunId run, const core::Delivery& delivery) const {
  const auto of = run_behind(run, delivery);
  return of && kept_.contains(*of);
}

std::shared_ptr<store::OpenTransaction> Transactions::take(const WorkRun& run) {
  auto node = kept_.extract(run);
  return node.empty() ? nullptr : std::move(node.mapped());
}

std::optional<std::size_t> Transactions::left_to_decide(OwnedLane& lane, HotJob& job) {
  if (kept_.empty() && held_.empty()) return job.queue.size();
  const RunId run = job.state.job.run;
  const auto with_transaction = [&](const core::Delivery& delivery) { return is_kept(run, delivery); };
  // Before all others: it is taken from there when its outcome is known.
  const auto others = std::stable_partition(job.queue.begin(), job.queue.end(), with_transaction);
  if (others == job.queue.begin()) return held_.contains(run) ? 0 : job.queue.size();
  // Without fusion a message may be between two of its steps: it must be finished first.
  const auto half = job.state.half_done();
  const bool has_half = half && std::any_of(others, job.queue.end(), [&](const core::Delivery& delivery) {
                          return delivery.message.guid == *half;
                        });
  if (has_half) {
    const auto answers = std::rotate(job.queue.begin(), others, job.queue.end());
    return static_cast<std::size_t>(answers - job.queue.begin());
  }
  decide(lane, job);
  return std::nullopt;
}

// All of its steps in one bundle, with fusion or without: a reply that is stored before it is decided could be refused
// later, when the worker's writes cannot be rolled back any more.
void Transactions::decide(OwnedLane& lane, HotJob& job) {
  const core::Delivery& answer = job.queue.front();
  const auto& reply = std::get<core::Reply>(answer.message.body);
  core::DecideOptions options = parts_.decide_options(lane);
  options.fusion = core::Fusion::on;
  core::Decision decision = core::decide(job.state, *job.graph, std::span(job.queue).first(1), options);
  auto transaction = take(WorkRun{WorkRef{job.state.job.run, reply.activity}, reply.token});
  const Taking taking = decision.bundle ? taking_of(*decision.bundle, answer.message.guid) : Taking::other;
  if (taking == Taking::counts) {
    core::Bundle bundle = std::move(*decision.bundle);
    decision.bundle.reset();
    job.goes_on = decision.goes_on;
    job.decision = std::move(decision);
    if (!lane.giving) parts_.workshop.claim_for_workers(bundle);
    return parts_.jobs.launch(job, std::move(bundle), std::move(transaction));
  }
  transaction.reset();  // rolled back, before anything else is committed
  if (taking == Taking::stored) return do_not_take(lane, job, *decision.bundle);
  if (decision.bundle) {  // the reply is refused, and the job stops because of it
    core::Bundle bundle = std::move(*decision.bundle);
    decision.bundle.reset();
    job.decision = std::move(decision);
    return parts_.jobs.launch(job, std::move(bundle), nullptr);
  }
  job.queue.erase(job.queue.begin());  // late: it is not needed
  parts_.jobs.rest(job);
}

// The bundle would store the reply for later, because the job is stopped, or must stop. The transaction was rolled
// back: when the job continues, its work is found claimed by an attempt that is gone, and is handed out again.
void Transactions::do_not_take(OwnedLane& lane, HotJob& job, const core::Bundle& bundle) {
  job.queue.erase(job.queue.begin());
  if (!core::is_stopped(job.state.job.status))
    return parts_.jobs.park(lane, job,
                            std::get<core::JobHead>(bundle.head).reason.value_or("its answer cannot be taken"));
  parts_.jobs.rest(job);
}

std::optional<store::Outcome> Transactions::came_back(Group& group, const Result<std::vector<store::Outcome>>& result) {
  group.transaction.reset();
  const auto& bundle = std::get<core::Bundle>(group.operations.front());
  if (result && result->front().done()) return result->front();
  HotJob* job = parts_.jobs.find(bundle.entity);
  const bool waits = job != nullptr && job->in_flight && job->bundle == bundle.id;
  std::optional<core::Delivery> answer;
  if (waits && !seeded(SeededBug::answer_outlives_its_transaction)) {
    answer = std::move(job->queue.front());
    job->queue.erase(job->queue.begin());
    job->decision = core::Decision{};
  }
  if (result) return result->front();
  const Error& error = result.error();
  if (error.code == ErrorCode::outcome_unknown) return store::Outcome{OutcomeKind::outcome_unknown, error.detail, {}};
  if (error.code == ErrorCode::invalid && answer) return fail(bundle, *answer, error.detail), std::nullopt;
  parts_.events.problem(format("a worker's transaction was not committed, so its work is run again: {}", error.detail));
  return store::Outcome{OutcomeKind::conflict, error.detail, {}};
}

// The worker's SQL cannot be committed: a failed attempt, in a separate bundle.
void Transactions::fail(const core::Bundle& bundle, const core::Delivery& answer, const std::string& why) {
  const auto& reply = std::get<core::Reply>(answer.message.body);
  parts_.jobs.came_back(bundle);
  parts_.jobs.withdraw(bundle);
  HotJob& job = *parts_.jobs.find(bundle.entity);
  job.queue.push_back(core::Delivery{
      core::Message{answer.message.guid, core::Reply{reply.activity, core::ReplyStatus::error, code_not_committed,
                                                     reply.token, Payload(json_quoted(why))}},
      core::Origin::unstored});
  parts_.jobs.make_ready(job);
}

}  // namespace pawl::runtime
