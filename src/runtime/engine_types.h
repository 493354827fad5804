// The input of an engine, and what it reports to its driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/limits.h"
#include "core/decide.h"
#include "core/job_state.h"
#include "core/secret.h"
#include "runtime/work_desk.h"
#include "store/change.h"
#include "store/store.h"
#include "store/transaction.h"

namespace pawl::runtime {

using Ticket = std::uint64_t;  // names a caller that waits for a result; 0: none

struct SubmitRequest {
  Namespace name_space;
  JobId id;
  GraphName graph;
  Payload input;
  core::JobSecret secret;  // random, drawn for this submit
  store::Reuse reuse = store::Reuse::never;
  Duration delay{0};
  Duration end_within{0};
  std::optional<Duration> keep;
  std::int32_t priority = 0;
  std::optional<core::GraphRef> version;  // none: the newest of its name
  RunId follows{0};                       // store::Submit
};
// A submit that somebody else composed.
inline SubmitRequest request_of(store::Submit submit) {
  SubmitRequest request{std::move(submit.name_space), std::move(submit.id), submit.graph.name,
                        std::move(submit.input),      submit.secret,        submit.reuse};
  request.keep = submit.keep;
  request.priority = submit.priority;
  request.version = std::move(submit.graph);
  request.follows = submit.follows;
  return request;
}

struct Submitted {
  RunId run{0};
  bool created = false;  // false: the id was taken, `run` is the job that has it
};
// As the store answered. An error says that it was not asked, or not in time.
inline Result<store::Outcome> outcome_of(const Result<Submitted>& made) {
  store::Outcome outcome;
  if (made) {
    outcome.kind = made->created ? store::OutcomeKind::committed : store::OutcomeKind::exists;
    outcome.answer = store::answer::Run{made->run};
    return outcome;
  }
  const Error& error = made.error();
  if (error.code != ErrorCode::conflict && error.code != ErrorCode::invalid) return error;
  outcome.kind = error.code == ErrorCode::conflict ? store::OutcomeKind::conflict : store::OutcomeKind::rejected;
  outcome.reason = error.detail;
  return outcome;
}

// A local worker's reply. Pending replies are numbered from 0 within one attempt.
struct WorkReply {
  RunId run{0};
  core::ActivitySeq activity{0};
  core::WorkToken token{0};
  core::Guid request;
  core::ReplyStatus status = core::ReplyStatus::success;
  std::int32_t code = 200;
  Payload data;
  std::uint64_t pending_index = 0;
  // The worker's open transaction, which the bundle that takes this reply commits; none: a reply without one.
  std::shared_ptr<store::OpenTransaction> transaction{};
};

// What a probe found out about an attempt whose effect is unknown. `cannot_tell` leaves it to a person.
struct ProbeAnswer {
  enum class Kind : std::uint8_t { done, failed, not_done, cannot_tell };
  RunId run{0};
  core::ActivitySeq activity{0};
  core::WorkToken token{0};
  core::Guid request;
  std::uint32_t runs = 0;
  Kind kind = Kind::cannot_tell;
  std::int32_t code = 200;
  Payload data;
};

// Somebody outside of this process who waits for work (FarDesk).
struct FarTaker {
  std::uint64_t number = 0;
  std::string worker;  // its name, for people
  Duration lease{0};
};

// What the engine reports to its driver, always after the commit that made it true.
class EngineEvents {
 public:
  virtual ~EngineEvents() = default;
  virtual void dispatch(const core::WorkItem& item) = 0;
  // The result of this attempt is not needed any more: tell the worker, or do not begin it. Its reply still frees the
  // slot.
  virtual void cancel(const WorkRun& run) = 0;
  // The queue time is over: if no thread has begun it, give it back.
  virtual void withdraw(const WorkRun&) {}
  virtual void probe(const core::WorkItem& item) = 0;
  // Asked before the commit: room for an item that is about to be put, with somebody outside of this process. It is
  // taken until one of the next two comes.
  virtual std::optional<FarTaker> find_far_taker(const core::WorkItem&) { return std::nullopt; }
  // The item was put with a claim for it. No job: it is not in memory any more.
  virtual void give_far(std::uint64_t /*taker*/, const core::WorkItem&, const core::JobRow*) {}
  virtual void free_far_room(std::uint64_t /*taker*/) {}
  // An item that no worker has may begin: others may take it from the store.
  virtual void work_waits(const Topic&) {}
  // The outcome of a request().
  virtual void answered(Ticket ticket, Result<store::Outcome> outcome) = 0;
  virtual void submitted(Ticket ticket, Result<Submitted> result) = 0;
  virtual void committed(const core::JobState& after, const core::Bundle& bundle) = 0;
  virtual void closed(const core::JobRow& job) = 0;
  virtual void problem(const std::string& text) = 0;
  // A problem that many jobs may have at once: `about` is the same for all of them, and only one is reported.
  virtual void problem_of_many(const std::string& about, const std::string& text) {
    (void)about;
    problem(text);
  }
  // It committed something in a lane that it does not own: notify the owner.
  virtual void ring(core::LaneId lane, const store::Change& change) = 0;
};

// What an engine may hold in memory (bytes.h). Each limit admits one more, of any size.
struct EngineBytes {
  std::size_t waiting = limits::bytes_waiting_max;            // requests, and jobs that are being served
  std::size_t hot_jobs = limits::hot_job_bytes_max;           // idle jobs
  std::size_t worker_queue = limits::worker_queue_bytes_max;  // inputs with local workers
  std::size_t group = limits::group_bytes_max;                // bundles decided for one group
};

struct EngineOptions {
  std::string name;
  Duration lease{0};  // 0: lanes are held until the process ends
  core::Fusion fusion = core::Fusion::on;
  std::uint64_t seed = 1;
  std::size_t hot_jobs_max = limits::hot_jobs_max;
  EngineBytes bytes_max;
  std::size_t bundles_per_group_max = limits::bundles_per_group_max;
  std::uint32_t reentries_max = limits::reentries_max;
  std::size_t signal_page_jobs = limits::signal_page_jobs;
  store::MailboxPageSize mailbox_page{};
  Duration keep_keys = limits::start_key_keep;
  // A process that commits for a lane of this engine may crash before it sends a notification: each renewal scans
  // everything. Not needed where the notification is part of the commit.
  bool looks_with_renewals = true;
  bool reads_later = false;  // the store is remote: reads are sent in batches (Engine::take_reads)
  bool looks_ahead = true;   // reads jobs before their timers are due (Alarms::look_ahead)
};

}  // namespace pawl::runtime
