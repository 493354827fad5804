// LocalRuntime: what people and programs read of jobs and of the store.
#include "runtime/local_runtime.h"

#include <algorithm>

#include "base/format.h"
#include "runtime/backup.h"
#include "runtime/doctor.h"
#include "runtime/family.h"
#include "runtime/job_search.h"
#include "runtime/obstacles.h"
#include "runtime/request_checks.h"
#include "runtime/survey.h"
#include "runtime/views.h"

namespace pawl::runtime {

namespace {

constexpr Duration wait_max = std::chrono::hours(24 * 365);
// An owner is notified of an end; a read from time to time finds what was not reported, such as a duplex job that
// another process ended.
constexpr Duration wait_look_owner = std::chrono::seconds(10);
// Another process's engine does not notify this one. So the row is read: soon at first, then after an eighth of the
// time waited so far.
constexpr Duration wait_look_guest_min = std::chrono::milliseconds(1);
constexpr Duration wait_look_guest_max = std::chrono::milliseconds(50);
constexpr int wait_look_guest_share = 8;

}  // namespace

// Closed with its completion tasks done, or stopped until a person acts, and none did.
Result<bool> LocalRuntime::has_ended(const core::JobRow& job) {
  if (job.status != core::JobStatus::parked) return core::is_closed(job.status) && job.completions > 0;
  const auto stored = store_.store->read_job(job.run);  // a redrive may be on its way
  if (!stored) return stored.error();
  return *stored && status_to_come(**stored) == core::JobStatus::parked;
}

Result<JobView> LocalRuntime::wait(RunId run, Duration at_most) {
  EndWaiters::Place place(waiters_, run);
  const Duration begin = clock_.monotonic();
  const Duration until = begin + std::min(at_most, wait_max);
  if (place.has_just_begun())
    if (auto end = place.wait(std::min(until - begin, wait_look_owner))) return std::move(*end);
  for (;;) {
    const bool notified = lanes_here_.has(run);  // before the read: an end after the read is reported
    const auto job = store_.store->read_job_row(run);
    if (!job) return job.error();
    if (!*job) return no_job(run);
    const auto ended = has_ended(**job);
    if (!ended) return ended.error();
    if (*ended) return view_of(**job);
    const Duration now = clock_.monotonic();
    if (now >= until)
      return Error{ErrorCode::retry_later,
                   format("job {} has not ended yet{}", (*job)->id.raw(),
                          life_ == Life::made ? "; this runtime runs nothing before launch()" : "")};
    const Duration look =
        notified ? wait_look_owner
                 : std::clamp((now - begin) / wait_look_guest_share, wait_look_guest_min, wait_look_guest_max);
    if (auto end = place.wait(std::min(until - now, look))) return std::move(*end);
  }
}

Result<std::optional<JobView>> LocalRuntime::look_for_end(RunId run) {
  const auto job = store_.store->read_job_row(run);
  if (!job) return job.error();
  if (!*job) return no_job(run);
  const auto ended = has_ended(**job);
  if (!ended) return ended.error();
  return *ended ? std::optional(view_of(**job)) : std::nullopt;
}

Result<std::optional<RunId>> LocalRuntime::find(const std::string& id, const FindOptions& options) {
  return store_.store->find_run(Namespace(options.name_space), JobId(id));
}

Result<JobView> LocalRuntime::read(RunId run) {
  const auto job = store_.store->read_job_row(run);
  if (!job) return job.error();
  if (!*job) return no_job(run);
  return view_of(**job);
}

Result<JobDetail> LocalRuntime::inspect(RunId run) {
  if (store_.duplex != nullptr) {
    const auto duplex = store_.duplex->read(run);
    if (!duplex) return duplex.error();
    if (*duplex) {
      const auto graph = graphs_.find((*duplex)->job.graph);
      JobDetail detail = duplex_detail_of(**duplex, graph.get());
      if (life_ == Life::running) detail.obstacles = obstacles_of((*duplex)->job, graph.get(), 0);
      return detail;
    }
  }
  const auto stored = store_.store->read_job(run);
  if (!stored) return stored.error();
  if (!*stored) return no_job(run);
  const core::JobState& state = (*stored)->state;
  const auto graph = graphs_.find(state.job.graph);
  JobDetail detail = detail_of(state, graph.get(), store_.store->id());
  add_waiting(detail, **stored, graph.get());
  detail.obstacles = obstacles_of(**stored, {graph.get(), life_ == Life::running, clock_.now(),
                                             [this](const Topic& topic) { return topics_.serves(topic.raw()); },
                                             [this] { return paused_topics(); }});
  if (graph != nullptr) Family(*store_.store, graphs_).complete(detail, state, *graph);
  return detail;
}

Result<std::vector<JobView>> LocalRuntime::list(const JobFilter& filter) {
  if (const auto here = apps_.fetch_for(filter); !here) return here.error();
  return list_jobs(*store_.store, graphs_, filter);
}

Result<std::uint64_t> LocalRuntime::count(const JobFilter& filter) {
  if (const auto here = apps_.fetch_for(filter); !here) return here.error();
  return count_jobs(*store_.store, graphs_, filter);
}

Result<bool> LocalRuntime::has_owner() {
  if (owns()) return true;
  const auto engines = engines_of(store_, lanes_, store_.store->now());
  if (!engines) return engines.error();
  return !engines->empty();
}

Result<Survey> LocalRuntime::survey(const SurveyOptions& options) {
  return survey_of({store_, lanes_, graphs_, owns(), options_.store}, options);
}

Result<std::vector<Diagnosis>> LocalRuntime::diagnose() {
  const auto found = survey({});
  if (!found) return found.error();
  return diagnose_store(store_, lanes_, *found, clock_.now(), options_.store);
}

Result<Verified> LocalRuntime::verify(const std::function<void(std::uint64_t)>& progress) {
  return verify_store(store_, progress);
}

Result<Verified> LocalRuntime::backup(const std::string& path) { return back_up(store_, path, clock_); }

Result<std::vector<MeasureView>> LocalRuntime::measures(const MeasureFilter& filter) {
  const auto graph = apps_.graph_of(filter.topic);
  if (!graph) return graph.error();
  return read_measures(*store_.store, *graph, filter);
}

Result<std::vector<std::string>> LocalRuntime::paused_topics() {
  const auto topics = store_.store->read_paused_topics();
  if (!topics) return topics.error();
  std::vector<std::string> names;
  for (const Topic& topic : *topics) names.push_back(topic.raw());
  return names;
}

}  // namespace pawl::runtime
