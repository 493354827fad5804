#include "runtime/bulk.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "runtime/bytes.h"
#include "runtime/job_search.h"

namespace pawl {

std::string_view name_of(BulkVerb verb) {
  switch (verb) {
    case BulkVerb::redrive:
      return "redrive";
    case BulkVerb::interrupt:
      return "interrupt";
    case BulkVerb::remove:
      return "remove";
    case BulkVerb::pause:
      return "pause";
    case BulkVerb::resume:
      return "resume";
    case BulkVerb::signal:
      return "signal";
    case BulkVerb::cancel:
      return "cancel";
  }
  return "";
}

namespace runtime {

namespace {

constexpr std::uint32_t page_jobs = 500;
constexpr std::size_t first_max = 10;
// What is committed together, and therefore in memory at once: carried answers may be as large as any payload.
constexpr std::size_t batch_bytes_max = 16u << 20;

JobStatuses statuses_for(BulkVerb verb) {
  switch (verb) {
    case BulkVerb::redrive:
      return {JobStatus::failed, JobStatus::parked};
    case BulkVerb::interrupt:
    case BulkVerb::cancel:
      return {JobStatus::running, JobStatus::parked, JobStatus::paused};
    case BulkVerb::remove:
      return {JobStatus::completed, JobStatus::failed, JobStatus::interrupted};
    case BulkVerb::pause:
    case BulkVerb::signal:
      return JobStatus::running;
    case BulkVerb::resume:
      return JobStatus::paused;
  }
  return {};
}

// Reasons that differ by the job's name are one reason.
class Refusals {
 public:
  void add(const JobView& job, const Error& error) {
    std::string why = error.detail;
    const std::string& id = job.id.raw();
    for (std::size_t at = why.find(id); !id.empty() && at != std::string::npos; at = why.find(id, at + 3))
      why.replace(at, id.size(), "...");
    BulkRefusal& refusal = by_reason_[why];
    if (refusal.jobs++ == 0) refusal.example = job.id;
    refusal.why = std::move(why);
  }
  std::vector<BulkRefusal> all() && {
    std::vector<BulkRefusal> found;
    for (auto& [why, refusal] : by_reason_) found.push_back(std::move(refusal));
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.jobs > b.jobs; });
    return found;
  }

 private:
  std::map<std::string, BulkRefusal> by_reason_;
};

// What some jobs are asked, committed together.
class Batch {
 public:
  Batch(const CommitAll& commit, BulkSummary& summary, Refusals& refusals, std::string advice)
      : commit_(commit), summary_(summary), refusals_(refusals), advice_(std::move(advice)) {}

  void add(const JobView& job, RequestPlan plan) {
    planned_.push_back({&job, operations_.size(), plan.first.size(), std::move(plan.behind)});
    for (store::Operation& operation : plan.first) {
      bytes_ += bytes_of(operation);
      operations_.push_back(std::move(operation));
    }
    if (bytes_ >= batch_bytes_max) commit();
  }

  void commit() {
    if (operations_.empty()) return;
    const CommitResults results = commit_(std::exchange(operations_, {}));
    std::vector<store::Operation> behind;
    for (Planned& one : planned_) {
      Status done;
      for (std::size_t i = one.first; i < one.first + one.count && done; ++i) done = Requests::taken(results[i]);
      if (done) {
        ++summary_.done;
        if (one.behind) behind.push_back(std::move(*one.behind));
      } else {
        refusals_.add(*one.job, {done.error().code, done.error().detail + advice_});
      }
    }
    // What is not committed of these stays to be asked again: the next request to such a job finds it.
    if (!behind.empty()) (void)commit_(std::move(behind));
    planned_.clear();
    bytes_ = 0;
  }

 private:
  struct Planned {  // whose operations are where
    const JobView* job;
    std::size_t first;
    std::size_t count;
    std::optional<store::Operation> behind;
  };
  const CommitAll& commit_;
  BulkSummary& summary_;
  Refusals& refusals_;
  const std::string advice_;  // after an operation that failed
  std::vector<Planned> planned_;
  std::vector<store::Operation> operations_;
  std::size_t bytes_ = 0;
};

}  // namespace

Result<BulkSummary> ask_many(store::Store& store, const GraphCatalog& graphs, Requests& requests,
                             const CommitAll& commit, JobFilter filter, const BulkRequest& request,
                             const BulkOptions& options) {
  if (filter.status.empty()) filter.status = statuses_for(request.verb);
  // What is there now, and each once: a job that was asked may be in a state that is meant again a moment later.
  filter.order = JobOrder::newest_first;
  filter.after.clear();
  filter.rows_max = page_jobs;
  filter.without_data = true;
  BulkRequest named = request;
  const bool signals = request.verb == BulkVerb::signal;
  if (signals && request.signal.id.empty()) named.signal.id = requests.fresh_signal_id();
  const auto all = options.progress ? count_jobs(store, graphs, filter) : Result<std::uint64_t>(0);
  if (!all) return all.error();
  BulkSummary summary;
  Refusals refusals;
  Batch batch(commit, summary, refusals,
              signals ? format("; signal again with the id {}: each job gets it once", named.signal.id) : "");
  for (;;) {
    const auto page = list_jobs(store, graphs, filter);
    if (!page) return page.error();
    for (const JobView& job : *page) {
      auto asked = requests.plan(job.run, named);
      // A signal means the jobs that have a hook for it.
      if (signals && !asked && asked.error().code == ErrorCode::not_found) continue;
      ++summary.matched;
      if (summary.first.size() < first_max) summary.first.push_back(job);
      if (!asked)
        refusals.add(job, asked.error());
      else if (options.dry_run)
        ++summary.done;
      else
        batch.add(job, std::move(*asked));
    }
    batch.commit();
    if (options.progress) options.progress(summary.matched, std::max(*all, summary.matched));
    if (page->size() < page_jobs) break;
    filter.after = page->back().cursor;
  }
  summary.refused = std::move(refusals).all();
  return summary;
}

}  // namespace runtime
}  // namespace pawl
