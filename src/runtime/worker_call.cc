#include "runtime/worker_call.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include "base/format.h"
#include "base/limits.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "runtime/token.h"

namespace pawl::runtime {

namespace {

constexpr std::int32_t code_exception = 500;
constexpr std::int32_t code_too_large = 413;

bool fits(const Payload& data) { return data.size() <= limits::payload_bytes_max; }

Reply too_large(std::size_t bytes) {
  return Reply::error(json_quoted(format("the worker's output has {} bytes; at most {} are allowed (payload_bytes_max)",
                                    bytes, limits::payload_bytes_max)),
                      code_too_large);
}

Reply too_many() {
  return Reply::error(json_quoted(format("the worker gave more than {} pending answers, or more than {} bytes of them, in "
                                         "one run (pending_answers_max, pending_bytes_max)",
                                         limits::pending_answers_max, limits::pending_bytes_max)),
                      code_too_large);
}

// A reply that can be taken as it is.
Reply checked(Reply reply) {
  if (!fits(reply.data())) return too_large(reply.data().size());
  const bool can_wait = reply.within() > Duration{0} && reply.within() <= limits::duration_max;
  if (reply.status() == Reply::Status::later && !can_wait)
    return Reply::fatal(json_quoted(format("the worker returned Reply::later within {} microseconds; the time must be "
                                      "more than 0 and at most 100 years (duration_max)",
                                      reply.within().count())),
                        code_exception);
  return reply;
}

std::string words_of(const std::exception& error) {
  return kept_text(error.what(), limits::reason_bytes_max);
}

Reply call(const Worker& worker, Work& work) {
  try {
    return checked(worker(work));
  } catch (const std::exception& error) {
    return Reply::error(json_quoted(words_of(error)), code_exception);
  } catch (...) {
    return Reply::error(json_quoted("the worker threw something that is not a std::exception"), code_exception);
  }
}

WorkAnswer answer_to(const core::WorkItem& item) { return {item.run, item.activity, item.token, item.request}; }


// Any thread may use it, as long as the worker runs.
class RunLine final : public Work::Line {
 public:
  RunLine(const core::WorkItem& item, const CallSite& site) : item_(item), site_(site) {}

  void pending(Payload data, std::int32_t code) override {
    const std::lock_guard lock(mutex_);
    if (refusal_) return;
    if (!fits(data)) return refuse(too_large(data.size()));
    pending_bytes_ += data.size();
    if (pending_ >= limits::pending_answers_max || pending_bytes_ > limits::pending_bytes_max) return refuse(too_many());
    WorkAnswer interim = answer_to(item_);
    interim.status = core::ReplyStatus::pending;
    interim.code = code;
    interim.data = std::move(data);
    interim.pending_index = pending_++;
    site_.tell(std::move(interim));
  }
  void heartbeat(Payload progress) override {
    const std::lock_guard lock(mutex_);
    if (refusal_) return;
    if (!fits(progress)) return refuse(too_large(progress.size()));
    if (!heartbeat_) heartbeat_ = std::make_shared<Heartbeat>(run_of(item_));
    if (heartbeat_->say(std::move(progress))) site_.tell(heartbeat_);
  }
  bool cancelled() const override { return site_.cancelled.load(std::memory_order_relaxed); }

  // Something was said that no store takes: the work fails for it.
  std::optional<Reply> refusal() {
    const std::lock_guard lock(mutex_);
    return refusal_;
  }

 private:
  void refuse(Reply reply) { refusal_ = std::move(reply); }  // REQUIRES: mutex_ is held

  const core::WorkItem& item_;
  const CallSite& site_;
  std::mutex mutex_;
  std::uint64_t pending_ = 0;                 // guarded by mutex_
  std::size_t pending_bytes_ = 0;             // guarded by mutex_
  std::optional<Reply> refusal_;              // guarded by mutex_
  std::shared_ptr<Heartbeat> heartbeat_;      // guarded by mutex_
};

Work::Facts facts_of(const core::WorkItem& item, const core::Guid& store) {
  const core::Guid key = core::idempotency_key(item, store);
  return {item.topic, item.run, key.text(), token_text(run_of(item), store), item.runs, item.input, item.life.progress};
}

core::ReplyStatus core_status_of(Reply::Status status) {
  switch (status) {
    case Reply::Status::success:
    case Reply::Status::later: return core::ReplyStatus::success;
    case Reply::Status::error: return core::ReplyStatus::error;
    case Reply::Status::fatal: return core::ReplyStatus::fatal;
  }
  return core::ReplyStatus::fatal;
}

ProbeAnswer::Kind kind_of(ProbeResult::Kind kind) {
  switch (kind) {
    case ProbeResult::Kind::done: return ProbeAnswer::Kind::done;
    case ProbeResult::Kind::failed: return ProbeAnswer::Kind::failed;
    case ProbeResult::Kind::not_done: return ProbeAnswer::Kind::not_done;
    case ProbeResult::Kind::cannot_tell: return ProbeAnswer::Kind::cannot_tell;
  }
  return ProbeAnswer::Kind::cannot_tell;
}

// What the probe said, or why it could not: then a person has to look.
Result<ProbeResult> ask(const Probe& probe, const Work& work) {
  try {
    ProbeResult result = probe(work);
    if (fits(result.data())) return result;
    return Error{ErrorCode::over_limit, format("its output has {} bytes; at most {} are allowed (payload_bytes_max)",
                                               result.data().size(), limits::payload_bytes_max)};
  } catch (const std::exception& error) {
    return Error{ErrorCode::invalid, words_of(error)};
  } catch (...) {
    return Error{ErrorCode::invalid, "it threw something that is not a std::exception"};
  }
}

}  // namespace

void call_worker(const core::WorkItem& item, const Worker& worker, const CallSite& site) {
  // Is it still wanted? The last moment to ask: from here on the effect may happen.
  if (site.cancelled.load(std::memory_order_relaxed)) return site.tell(GivenBack{item, core::Began::no});
  RunLine line(item, site);
  Work work(facts_of(item, site.store), line);
  Reply reply = call(worker, work);
  if (auto refusal = line.refusal()) reply = std::move(*refusal);
  if (reply.status() == Reply::Status::later) return site.tell(Detached{run_of(item), reply.within()});
  // It was told to leave, and says that it did: not the word of a try that failed. Above all not of one that may have
  // acted: whether it did is for the probe to say, or for a person.
  const bool told_to_leave = site.stopping.load(std::memory_order_relaxed) ||
                             (item.life.at_most_once && site.cancelled.load(std::memory_order_relaxed));
  if (reply.status() != Reply::Status::success && told_to_leave) return site.tell(GivenBack{item, core::Began::yes});
  WorkAnswer answer = answer_to(item);
  answer.status = core_status_of(reply.status());
  answer.code = reply.code();
  answer.data = reply.data();
  site.tell(std::move(answer));
}

void call_probe(const core::WorkItem& item, const Probe& probe, const CallSite& site) {
  RunLine line(item, site);  // a probe only reads: it has no way to say anything but its answer
  const Work work(facts_of(item, site.store), line);
  ProbeAnswer answer{item.run, item.activity, item.token, item.request, item.runs};
  if (const auto result = ask(probe, work)) {
    answer.kind = kind_of(result->kind());
    answer.code = result->code();
    answer.data = result->data();
  } else {
    site.tell(WorkerProblem{format("the probe of topic {} could not answer for run {}, so a person has to: {}",
                                   item.topic.raw(), item.run.raw(), result.error().detail)});
  }
  site.tell(std::move(answer));
}

}  // namespace pawl::runtime
