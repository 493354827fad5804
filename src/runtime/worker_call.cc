#include "runtime/worker_call.h"

#include <exception>
#include <string>
#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "runtime/user_call.h"

namespace pawl::runtime {

namespace {

ProbeAnswer::Kind kind_of(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::done:
      return ProbeAnswer::Kind::done;
    case Finding::Kind::failed:
      return ProbeAnswer::Kind::failed;
    case Finding::Kind::not_done:
      return ProbeAnswer::Kind::not_done;
    case Finding::Kind::cannot_tell:
      return ProbeAnswer::Kind::cannot_tell;
  }
  return ProbeAnswer::Kind::cannot_tell;
}

// The probe's finding, or why there is none: then a person must decide.
Result<Finding> ask(const Probe& probe, const Work& work) {
  try {
    Finding result = probe(work);
    if (fits(result.data())) return result;
    return Error{ErrorCode::over_limit, format("its output has {} bytes; at most {} are allowed (payload_bytes_max)",
                                               result.data().size(), limits::payload_bytes_max)};
  } catch (const std::exception& error) {
    return Error{ErrorCode::invalid, words_of(error)};
  } catch (const Failure& failure) {
    return Error{ErrorCode::invalid, to_string(failure)};
  } catch (...) {
    return Error{ErrorCode::invalid, "it threw something that is not a std::exception"};
  }
}

}  // namespace

void call_worker(const core::WorkItem& item, const Worker& worker, const CallSite& site) {
  // Is it still needed? This is the last moment to check: from here on the effect may happen.
  if (site.cancelled.load(std::memory_order_relaxed)) return site.tell(GivenBack{item, core::Began::no});
  RunLine line(item, site);
  Work work(facts_of(item, site.store), line);
  Reply reply = call_user([&] { return worker(work); });
  if (auto refusal = line.refusal()) reply = std::move(*refusal);
  if (reply.status() == Reply::Status::later) return site.tell(Detached{run_of(item), reply.within()});
  // It was told to stop, and its error reports that: this is not a failed attempt. Especially if it may have acted:
  // whether it did is for the probe or a person to decide.
  const bool told_to_leave = site.stopping.load(std::memory_order_relaxed) ||
                             (item.life.at_most_once && site.cancelled.load(std::memory_order_relaxed));
  if (reply.status() != Reply::Status::success && told_to_leave) return site.tell(GivenBack{item, core::Began::yes});
  site.tell(answer_to(item, reply));
}

void call_probe(const core::WorkItem& item, const Probe& probe, const CallSite& site) {
  RunLine line(item, site);  // a probe only reads: it cannot send anything except its finding
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
