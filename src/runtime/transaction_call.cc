// One call of a worker with a transaction of the store, on the thread of the caller.
#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/limits.h"
#include "runtime/run_clocks.h"
#include "runtime/user_call.h"
#include "runtime/worker_call.h"

namespace pawl::runtime {

namespace {

using Opened = Result<std::shared_ptr<store::OpenTransaction>>;

constexpr Duration begin_again_first = std::chrono::milliseconds(10);
constexpr Duration begin_again_most = std::chrono::seconds(1);

// For a store with one writer: the committing thread hands it out.
Opened ask_for_one(const core::WorkItem& item, const CallSite& site) {
  auto opened = std::make_shared<std::promise<Opened>>();
  auto answer = opened->get_future();
  site.tell(TransactionWanted{run_of(item), std::move(opened)});
  try {
    return answer.get();
  } catch (const std::future_error&) {  // the engine ended and dropped the request
    return Error{ErrorCode::fenced, "this process stops"};
  }
}

// If the store does not reply now, that is not a failed attempt. `retry_later` is retried for a while.
Opened begin(const core::WorkItem& item, const CallSite& site) {
  const SystemClock clock;
  const Duration until = clock.monotonic() + limits::transaction_begin_wait;
  for (Duration wait = begin_again_first;; wait = std::min(wait * 2, begin_again_most)) {
    Opened opened = site.transactions != nullptr ? site.transactions->begin() : ask_for_one(item, site);
    if (opened || opened.error().code != ErrorCode::retry_later) return opened;
    const bool unwanted = site.cancelled.load(std::memory_order_relaxed);
    if (unwanted || clock.monotonic() + wait > until) return opened;
    std::this_thread::sleep_for(wait);
  }
}

Reply refuse_later() {
  return Failure{.code = 500,
                 .message = "the worker returned Reply::later; one with a transaction answers when it returns",
                 .data = {},
                 .retryable = false};
}

}  // namespace

void call_transaction(const core::WorkItem& item, const TransactionWorker& worker, const CallSite& site) {
  if (site.cancelled.load(std::memory_order_relaxed)) return site.tell(GivenBack{item, core::Began::no});
  Opened opened = begin(item, site);
  if (!opened) {
    if (opened.error().code != ErrorCode::fenced)
      site.tell(WorkerProblem{"no transaction for the worker of topic " + item.topic.raw() + ": " +
                              to_string(opened.error())});
    return site.tell(GivenBack{item, core::Began::no});
  }
  std::shared_ptr<store::OpenTransaction> transaction = std::move(*opened);
  if (RunClocks::watches(item.life)) site.tell(Begun{run_of(item)});
  RunLine line(item, site, RunLine::Answers::one);
  Work work(facts_of(item, site.store), line);
  Reply reply = call_user([&] { return worker(work, *transaction); });
  if (auto refusal = line.refusal()) reply = std::move(*refusal);
  if (reply.status() == Reply::Status::later) reply = refuse_later();
  const Status sound = transaction->sound();
  // The store became unreachable, or preferred another transaction: this is not a failed attempt.
  const bool lost = !sound && sound.error().code == ErrorCode::retry_later;
  if (!sound && reply.status() == Reply::Status::success) reply = failed_call(sound.error().detail);
  const bool succeeds = reply.status() == Reply::Status::success;
  if (!succeeds) transaction->roll_back();
  if (lost) return site.tell(Undone{run_of(item)});
  // It was told to stop, and its error reports that.
  if (!succeeds && site.stopping.load(std::memory_order_relaxed)) return site.tell(GivenBack{item, core::Began::yes});
  WorkReply answer = answer_to(item, reply);
  if (succeeds) answer.transaction = std::move(transaction);
  site.tell(std::move(answer));
}

}  // namespace pawl::runtime
