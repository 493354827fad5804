// Engine: input and deciding. engine_settle.cc has what follows a commit, engine_load.cc what is read,
// engine_due.cc what the clock sets going, engine_request.cc what is asked beyond answers.
#include "runtime/engine.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/invariant.h"
#include "base/random.h"
#include "base/seeded_bug.h"
#include "core/secret.h"
#include "runtime/bytes.h"

namespace pawl::runtime {

Engine::Engine(EngineOptions options, store::PoolInfo pool, store::Store& store, const Clock& clock,
               const GraphCatalog& graphs, EngineEvents& events)
    : options_(std::move(options)),
      store_(store),
      clock_(clock),
      graphs_(graphs),
      events_(events),
      lanes_(pool, options_.lease),
      desk_(options_.bytes_max.worker_queue),
      jobs_(options_.hot_jobs_max, options_.bytes_max.hot_jobs) {}

void Group::add(store::Operation operation, Ticket ticket) {
  bytes += bytes_of(operation);
  operations.push_back(std::move(operation));
  tickets.push_back(ticket);
}

std::string no_room(std::size_t bytes_max) {
  return format("what this process has to commit takes more than {} bytes already (RuntimeOptions::memory.waiting): try "
                "again in a moment",
                bytes_max);
}

void Engine::serve(const Topic& topic) {
  if (desk_.serves(topic)) return;
  desk_.serve(topic);
  scan_work();  // items of this topic may have waited for a worker
}

void Engine::submit(SubmitRequest request, Ticket ticket) {
  const auto graph = request.version ? graphs_.find(*request.version) : graphs_.newest(request.graph);
  if (stopping_) {
    events_.submitted(ticket, Error{ErrorCode::retry_later, "this engine is stopping"});
  } else if (retry_) {
    events_.submitted(ticket, Error{ErrorCode::retry_later, format("the store takes no writes at the moment, try again: {}", retry_reason_)});
  } else if (pending_.operations.size() >= limits::submits_waiting_max) {
    events_.submitted(ticket, Error{ErrorCode::retry_later,
                                    format("{} submits wait already (submits_waiting_max)", limits::submits_waiting_max)});
  } else if (!has_room()) {
    events_.submitted(ticket, Error{ErrorCode::retry_later, no_room(options_.bytes_max.waiting)});
  } else if (graph == nullptr) {
    events_.submitted(ticket, Error{ErrorCode::not_found, format("no graph named {} is deployed", request.graph.raw())});
  } else {
    const core::LaneId lane = lanes_.lane_for(request.name_space, request.id.raw());
    if (seeded(SeededBug::ack_before_commit)) events_.submitted(ticket, Submitted{core::make_run(lane, 1), true});
    const Instant now = clock_.now();
    store::Submit submit{std::move(request.name_space), std::move(request.id), lane, ref_of(*graph),
                         std::move(request.input), now, request.reuse};
    if (request.delay.count() != 0) submit.start_at = now + request.delay;
    if (request.end_within.count() != 0) submit.deadline = now + request.delay + request.end_within;
    submit.keep = request.keep;
    submit.priority = request.priority;
    submit.secret = request.secret;
    push(std::move(submit), ticket);
  }
}

void Engine::answer(WorkAnswer answer) {
  const WorkRef ref{answer.run, answer.activity};
  const bool final = answer.status != core::ReplyStatus::pending;
  if (final) {
    const WorkDesk::Ended ended = desk_.end(ref, answer.token);
    clocks_.end(WorkRun{ref, answer.token});
    if (ended == WorkDesk::Ended::unknown) return;
    if (ended == WorkDesk::Ended::abandoned) return;
  } else if (!desk_.is_running(ref, answer.token)) {
    return;
  }
  // Not ours any more: the lane's new owner hands the work out again.
  if (!lanes_.owns(core::lane_of(answer.run), clock_.monotonic())) return desk_.abandon(ref, answer.token);
  const bool again = seeded(SeededBug::response_under_new_id) && answer.token != core::token_of(answer.request, 1, lanes_.epoch(core::lane_of(answer.run)));
  const std::uint64_t repeated = again ? 1000 : 0;
  const core::Guid guid = final ? answer.request.derive(core::Guid::Purpose::response_final, 0)
                                : answer.request.derive(core::Guid::Purpose::response_pending,
                                                        answer.pending_index + repeated);
  core::Response response{answer.activity, answer.status, answer.code, answer.token, std::move(answer.data)};
  deliver(answer.run, core::Delivery{core::Message{guid, std::move(response)}, core::Origin::unstored});
}

void Engine::give_back(const core::WorkItem& item, core::Began began) {
  const WorkRun run = run_of(item);
  const WorkDesk::Ended ended = desk_.end(run.ref, run.token);
  clocks_.end(run);
  const core::LaneId lane = core::lane_of(item.run);
  // Not ours any more, or a reply of it was lost: the item is run again under another token.
  if (ended != WorkDesk::Ended::valid || !lanes_.owns(lane, clock_.monotonic())) return;
  // It may have acted. Left as it is, it is a lost run to whoever owns the job next.
  if (began == core::Began::yes && item.life.at_most_once) return;
  if (seeded(SeededBug::stop_counts_as_crash)) return;
  push(store::ReleaseWork{item.run, item.activity, item.token, lanes_.epoch(lane), began});
}

void Engine::write_off(const WorkRun& run) {
  desk_.write_off(run.ref, run.token);
  clocks_.end(run);
  // It was told to stop since its lane was lost, and the lane came back: then its claim is still there, and it is lost.
  if (!stopping_ && lanes_.owns(core::lane_of(run.ref.run), clock_.monotonic()))
    fire_work(store::Due{clock_.now(), run.ref.run, store::Due::Kind::work, core::Guid{}, run.ref.activity});
}

void Engine::changed(const store::Change& change) {
  if (change.graphs) graphs_changed();
  if (change.topics) topics_changed();
  if (change.times)
    for (auto& [lane, table] : due_) table.forget_horizon();
  if (change.inboxes || change.work)
    for (const core::LaneId lane : lanes_.owned(clock_.monotonic())) scan(lane, change.work);
  looks_.insert(looks_.end(), change.runs.begin(), change.runs.end());
}

void Engine::topics_changed() {
  if (read_paused_topics()) scan_work();
}

// Only those whose graph came: there may be many that wait for another one.
void Engine::graphs_changed() {
  std::vector<std::pair<core::GraphRef, bool>> asked;
  const auto is_here = [&](const core::GraphRef& ref) {
    for (const auto& [known, here] : asked)
      if (known == ref) return here;
    asked.emplace_back(ref, graphs_.find(ref) != nullptr);
    return asked.back().second;
  };
  std::vector<RunId> free;
  for (const auto& [run, ref] : blocked_)
    if (is_here(ref)) free.push_back(run);
  std::sort(free.begin(), free.end());  // the same order on every machine: the simulator repeats runs
  for (const RunId run : free) blocked_.erase(run);
  looks_.insert(looks_.end(), free.begin(), free.end());
}

void Engine::ownership_changed() {
  for (const core::LaneId lane : lanes_.all())
    if (!lanes_.owns(lane, clock_.monotonic())) lanes_.ask_again(lane);
}

void Engine::tick() {
  const Duration now = clock_.monotonic();
  // A stopping engine keeps what it has until its workers are done, and takes nothing new.
  const auto wants = stopping_ ? LaneTable::Wants::renewals : LaneTable::Wants::everything;
  for (store::Operation& operation : lanes_.due(options_.name, now, wants)) {
    if (const auto* acquire = std::get_if<store::AcquireLane>(&operation)) lane_lost(acquire->lane);
    push(std::move(operation));
  }
  if (topics_unread_) topics_changed();
  for (const core::LaneId lane : rescans_) scan(lane, false);
  rescans_.clear();
  auto unread = std::move(unread_);
  unread_.clear();
  for (const store::Due& due : std::exchange(due_unread_, {}))
    if (lanes_.owns(core::lane_of(due.run), now)) fire(due);
  if (due_unread_.empty()) timers_held_.clear();  // whoever is put off waits in that list
  for (auto& [run, deliveries] : unread) {
    if (lanes_.owns(core::lane_of(run), now)) load(run, std::move(deliveries));
    else abandon(run, deliveries);
  }
  end_clocks();
}

void Engine::stop() {
  stopping_ = true;
  turns_.never_rest();
}

void Engine::release_lanes() {
  for (const core::LaneId lane : lanes_.owned(clock_.monotonic())) push(store::ReleaseLane{lane, lanes_.epoch(lane)});
}

std::optional<Duration> Engine::next_wake() const {
  std::optional<Duration> wake = lanes_.next_due();
  const auto sooner = [&](Duration at) {
    if (!wake || at < *wake) wake = at;
  };
  if (retry_) sooner(retry_at_);
  if (const auto rested = turns_.next_wake()) sooner(*rested);
  if (const auto clock = clocks_.next()) sooner(*clock);  // also while stopping: a run must not outlive its time
  if (const auto suspect = desk_.next_suspect_at(); suspect && !stopping_) sooner(*suspect);
  const bool may_scan = !stopping_ && !scan_failed_ && has_room() && turns_.waiting() < limits::recovery_page_rows;
  if (may_scan && (!scans_.empty() || !looks_.empty())) sooner(clock_.monotonic());
  // Reads that failed, and scans that could not go on, are tried again.
  bool failed = !unread_.empty() || !rescans_.empty() || scan_failed_ || !overrun_.empty() || !due_unread_.empty() ||
                topics_unread_ || !runs_in_doubt_.empty() || !outboxes_.empty() || !mailboxes_.empty();
  // Without room nothing is looked at: the commit that makes some wakes us.
  if (!stopping_ && has_room()) {
    const Instant now = clock_.now();
    for (const auto& [lane, table] : due_) {
      // Without the lane nothing can be done about what is due: whatever gives it back wakes us.
      if (!lanes_.owns(lane, clock_.monotonic())) continue;
      if (table.wants_page()) failed = true;
      if (const auto next = table.next()) sooner(clock_.monotonic() + std::max(*next - now, Duration{0}));
    }
  }
  if (failed) sooner(clock_.monotonic() + std::chrono::milliseconds(20));
  return wake;
}

bool Engine::drained() const {
  return !group_out_ && !retry_ && pending_.operations.empty() && turns_.waiting() == 0 && unread_.empty() &&
         desk_.running() == 0;
}

void Engine::push(store::Operation operation, Ticket ticket) {
  pending_.add(std::move(operation), ticket);
}

namespace {

// A stopping engine finishes what it alone has, answers of local workers, and a few turns of what follows from them.
// The rest is stored and waits for the next start: a job that never pauses would keep it from ending.
bool may_decide_last(HotJob& job) {
  const bool unstored = std::any_of(job.queue.begin(), job.queue.end(), [](const core::Delivery& delivery) {
    return delivery.origin == core::Origin::unstored;
  });
  return unstored || job.last_turns++ < limits::last_turns_max;
}

}  // namespace

void Engine::pump() {
  if (desk_.take_overflow()) scan_work();
  scan_failed_ = false;
  look_around();
  look_at_runs();
  fire_due();
  if (!scan_failed_) {
    failing_since_.reset();
    failing_said_ = false;
  }
  deliver_outboxes();
  decide_mailboxes();
  park_overrun();
  // Only bundles count: a flood of submits must not keep the jobs it makes from moving.
  while (bundles_pending_ < options_.bundles_per_group_max && bundle_bytes_pending_ < options_.bytes_max.group) {
    HotJob* job = turns_.next(clock_.monotonic());
    if (job == nullptr) break;
    if (!stopping_ || may_decide_last(*job)) decide_job(*job);
  }
  if (!stopping_) claim_waiting();
}

std::optional<Group> Engine::take_group() {
  invariant(!group_out_, "one group at a time");
  Group group;
  if (retry_) {
    if (clock_.monotonic() < retry_at_) return std::nullopt;
    group = std::move(*retry_);
    retry_.reset();
  } else {
    if (pending_.operations.empty()) return std::nullopt;
    group = std::move(pending_);
    pending_ = Group{};
    bundles_pending_ = 0;
    bundle_bytes_pending_ = 0;
  }
  bytes_out_ = group.bytes;
  group.asked_at = clock_.monotonic();
  stamp_ends(group);
  group_out_ = true;
  return group;
}

// A bundle waits for the group before it, and again when the store takes no writes. A job ends when its end is
// committed, not when it was decided; what is kept of it is kept from then on.
void Engine::stamp_ends(Group& group) {
  const Instant now = clock_.now();
  for (store::Operation& operation : group.operations) {
    auto* bundle = std::get_if<core::Bundle>(&operation);
    auto* head = bundle == nullptr ? nullptr : std::get_if<core::JobHead>(&bundle->head);
    if (head == nullptr || !core::is_closed(head->status) || head->closed_at >= now) continue;
    const HotJob* job = jobs_.find(bundle->entity);
    if (job == nullptr || job->bundle != bundle->id || core::is_closed(job->state.job.status)) continue;
    if (head->remove_at != job->state.job.remove_at) head->remove_at = head->remove_at + (now - head->closed_at);
    head->closed_at = now;
  }
}

void Engine::decide_job(HotJob& job) {
  const RunId run = job.state.job.run;
  if (!lanes_.owns(core::lane_of(run), clock_.monotonic())) return forget(run);
  if (!read_pages(job)) return set_aside(job);
  core::DecideOptions options = decide_options(run);
  options.steps_max = turns_.steps_for(job, clock_.monotonic());
  job.decision = core::decide(job.state, *job.graph, job.queue, options);
  job.goes_on = job.decision.goes_on;
  if (!job.decision.bundle) {
    // Nothing to write: what is done is done (late answers), a parked job keeps its messages in the store.
    job.drop_done();
    if (core::is_stopped(job.state.job.status)) job.queue.clear();
    return rest(job);
  }
  core::Bundle bundle = std::move(*job.decision.bundle);
  job.decision.bundle.reset();
  claim_for_local_workers(bundle);
  launch(job, std::move(bundle));
}

// A signal to all jobs with a label is decided over a page of them. False: it cannot be read now.
bool Engine::read_pages(HotJob& job) {
  for (core::Delivery& delivery : job.queue) {
    const auto* expand = std::get_if<core::Expand>(&delivery.message.body);
    if (expand == nullptr || delivery.page) continue;
    store::ListQuery query;
    query.name_space = job.state.job.name_space;
    query.label = store::ListQuery::Labelled{expand->graph, expand->label.name, expand->label.value, expand->label.key, true, true};
    query.after = expand->after;
    query.rows_max = std::clamp<std::size_t>(limits::signal_page_bytes / std::max<std::size_t>(expand->data.size(), 1), 1,
                                             options_.signal_page_jobs);
    const auto rows = store_.list_jobs(query);
    if (!rows && rows.error().code == ErrorCode::corrupt)
      events_.problem(format("job {}: a page of jobs cannot be read: {}", job.state.job.id.raw(), rows.error().detail));
    if (!rows) return false;
    core::Page page;
    for (const core::JobRow& row : *rows) page.jobs.emplace_back(row.run, row.id);
    page.last = rows->size() < query.rows_max;
    delivery.page = std::move(page);
  }
  return true;
}

void Engine::launch(HotJob& job, core::Bundle bundle) {
  job.in_flight = true;
  job.bundle = bundle.id;
  ++bundles_pending_;
  address(bundle);
  const std::size_t before = pending_.bytes;
  push(std::move(bundle));
  bundle_bytes_pending_ += pending_.bytes - before;
}

void Engine::claim_for_local_workers(core::Bundle& bundle) {
  // A bundle that opens work and closes or stops the job takes it back again: nobody may begin it.
  if (stopping_ || std::get<core::JobHead>(bundle.head).status != core::JobStatus::running) return;
  for (core::Write& write : bundle.writes) {
    auto* put = std::get_if<core::PutWork>(&write);
    if (put == nullptr || !desk_.serves(put->item.topic) || paused_topics_.contains(put->item.topic.raw())) continue;
    if (!desk_.take_slot(need_of(put->item))) continue;
    core::begin_run(put->item, options_.name, bundle.epoch, Instant(), clock_.now());
    if (seeded(SeededBug::dispatch_before_commit)) events_.dispatch(put->item);
  }
}

void Engine::claim_waiting() {
  while (const auto work = desk_.next_waiting(clock_.monotonic())) {
    const core::LaneId lane = core::lane_of(work->ref.run);
    if (!lanes_.owns(lane, clock_.monotonic())) {
      desk_.claim_failed(work->ref);
      continue;
    }
    push(store::ClaimItem{work->ref.run, work->ref.activity, work->before, options_.name, lanes_.epoch(lane)});
  }
}

core::DecideOptions Engine::decide_options(RunId run) {
  return {clock_.now(), options_.fusion, lanes_.epoch(core::lane_of(run)), next_bundle_id(), options_.reentries_max};
}

core::BundleId Engine::next_bundle_id() {
  return core::BundleId(Random::mix(Random::mix(options_.seed) + ++bundle_counter_) >> 1);
}

}  // namespace pawl::runtime
