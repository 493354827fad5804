#include "sim/seeded_store.h"

#include <algorithm>

#include "base/invariant.h"
#include "base/seeded_bug.h"
#include "sim/effects.h"
#include "store/domain.h"
#include "store/rules.h"

namespace pawl::sim {

namespace {

using store::Operation;
using store::Outcome;
using store::OutcomeKind;

constexpr core::Epoch only_epoch{1};
constexpr std::uint64_t bundles_per_refusal = 5;
constexpr std::uint64_t unused_sequence = 1'000'000'000;

// Where an operation names the epoch that its lane must have; null: nowhere.
core::Epoch* epoch_of(Operation& operation) {
  return std::visit(
      Overloaded{
          [](core::Bundle& o) -> core::Epoch* { return &o.epoch; },
          [](store::ClaimItem& o) -> core::Epoch* { return &o.epoch; },
          [](store::DropOutbox& o) -> core::Epoch* { return &o.epoch; },
          [](store::RenewLane& o) -> core::Epoch* { return &o.epoch; },
          [](store::ReleaseLane& o) -> core::Epoch* { return &o.epoch; },
          [](store::ReleaseWork& o) { return o.epoch == core::Epoch(0) ? nullptr : &o.epoch; },
          each_of<store::Submit, store::Deliver, store::DeliverReply, store::ClaimWork, store::ExtendWork,
                  store::OpenPool, store::AcquireLane, store::BeatEngine, store::LeaveEngine, store::RemoveJob,
                  store::DropKeys, store::PauseTopic, store::PutApp, store::ActivateApp>(
              []() -> core::Epoch* { return nullptr; }),
      },
      operation);
}

}  // namespace

Outcome SeededStore::put(const Operation& operation) { return std::move(inner_.commit({&operation, 1})->front()); }

Result<std::vector<Outcome>> SeededStore::commit(std::span<const Operation> group) {
  if (seeded(SeededBug::none)) return inner_.commit(group);
  std::vector<Outcome> outcomes;
  store::FirstSteps first_steps;  // the operations go on one by one
  for (const Operation& given : group) {
    Operation operation = given;
    forge_guards(operation);
    const auto refusal = first_steps.refusal_of(given);
    auto* bundle = std::get_if<core::Bundle>(&operation);
    if (bundle != nullptr) bundle->with_submit = refusal && !seeded(SeededBug::first_step_for_another);
    if (bundle != nullptr && seeded(SeededBug::effect_before_guards))
      dynamic_cast<EffectStore&>(inner_).write(bundle->id);
    outcomes.push_back(commit_one(operation));
    first_steps.applied(given, outcomes.back());
  }
  return outcomes;
}

Outcome SeededStore::commit_one(const Operation& operation) {
  return std::visit(
      Overloaded{
          [&](const core::Bundle& o) { return run(o); },
          [&](const store::Submit& o) { return run(o); },
          [&](const store::Deliver& o) { return run(o); },
          [&](const store::DropOutbox& o) { return run(o); },
          [&](const store::AcquireLane& o) { return run(o); },
          [&](const store::ClaimWork& o) { return run(o); },
          [&](const store::RemoveJob& o) { return run(o); },
          [&](const store::BeatEngine& o) { return run(o); },
          each_of<store::DeliverReply, store::ClaimItem, store::ExtendWork, store::ReleaseWork, store::OpenPool,
                  store::RenewLane, store::ReleaseLane, store::LeaveEngine, store::DropKeys, store::PauseTopic,
                  store::PutApp, store::ActivateApp>([&] { return put(operation); }),
      },
      operation);
}

// Corrects every value that an operation must name.
void SeededStore::forge_guards(Operation& operation) {
  core::Epoch* epoch = epoch_of(operation);
  const bool unchecked = seeded(SeededBug::epoch_unchecked) && !std::holds_alternative<store::ReleaseLane>(operation);
  const bool shared = seeded(SeededBug::epoch_not_raised) && epoch != nullptr && *epoch == only_epoch;
  if (epoch != nullptr && (unchecked || shared)) *epoch = inner_.read_lane(store::domain_of(operation).lane)->epoch;
  if (!seeded(SeededBug::stale_worker_accepted)) return;
  if (auto* extend = std::get_if<store::ExtendWork>(&operation))
    extend->token = token_of(extend->run, extend->activity, extend->token);
  if (auto* release = std::get_if<store::ReleaseWork>(&operation))
    release->token = token_of(release->run, release->activity, release->token);
  if (auto* delivery = std::get_if<store::DeliverReply>(&operation))
    delivery->token = token_of(delivery->run, delivery->activity, delivery->token);
}

core::WorkToken SeededStore::token_of(RunId run, core::ActivitySeq activity, core::WorkToken otherwise) {
  const auto job = inner_.read_job(run);
  const core::WorkItem* item = job && *job ? (*job)->state.find_work(activity) : nullptr;
  return item == nullptr ? otherwise : item->token;
}

Outcome SeededStore::run(core::Bundle bundle) {
  if (seeded(SeededBug::marker_without_guard)) {
    if (const auto row = inner_.read_job_row(bundle.entity); *row) bundle.rev_before = (*row)->rev;
    if (const auto mailbox = inner_.read_mailbox(bundle.entity); *mailbox) bundle.rev_before = (*mailbox)->state.rev;
  }
  if (seeded(SeededBug::progress_overwritten)) overwrite_progress(bundle);
  // Some bundles are refused, as if another one had come first, but what they consumed is gone.
  const bool refused = seeded(SeededBug::marker_outside_commit) && ++bundles_ % bundles_per_refusal == 0;
  Outcome outcome = refused ? Outcome{OutcomeKind::conflict, "seeded: another bundle was first"} : put(bundle);
  if (seeded(SeededBug::marker_outside_commit) && !outcome.done())
    for (const core::Write& write : bundle.writes)
      if (const auto* consume = std::get_if<core::Consume>(&write)) acknowledged_.insert(consume->guid);
  return outcome;
}

// The job's copy of the workers' progress overwrites the workers' own.
void SeededStore::overwrite_progress(const core::Bundle& bundle) {
  const auto job = inner_.read_job(bundle.entity);
  for (const core::Write& write : bundle.writes) {
    const auto* change = std::get_if<core::ChangeWork>(&write);
    const core::WorkItem* item = change != nullptr && *job ? (*job)->state.find_work(change->activity) : nullptr;
    if (item == nullptr) continue;
    store::ExtendWork older{bundle.entity, change->activity, change->token, item->lease_until - inner_.now()};
    older.progress = change->life.progress;
    put(older);
  }
}

Outcome SeededStore::run(const store::Submit& submit) {
  if (seeded(SeededBug::two_successors)) {
    store::Submit free = submit;
    free.follows = RunId(0);
    return put(free);
  }
  if (!seeded(SeededBug::tenant_filter_missing)) return put(submit);
  const auto own = inner_.find_run(submit.name_space, submit.id);
  const auto anyones = ids_.find(submit.id);
  if (!*own && anyones != ids_.end()) {
    Outcome taken{OutcomeKind::exists};
    taken.answer = store::answer::Run{anyones->second};
    return taken;
  }
  Outcome outcome = put(submit);
  if (outcome.kind == OutcomeKind::committed) ids_.insert_or_assign(submit.id, outcome.run());
  return outcome;
}

Outcome SeededStore::run(const store::Deliver& told) {
  store::Deliver deliver = told;
  if (seeded(SeededBug::signal_id_forgotten)) deliver.remembered = false;
  const core::LaneId lane = core::lane_of(deliver.envelope.to, deliver.lane);
  const core::Body& body = deliver.envelope.message.body;
  if (seeded(SeededBug::outbox_row_lost) && std::holds_alternative<core::ChildDone>(body))
    return deliver_to_nobody(deliver);
  const auto* key = std::get_if<core::JobKey>(&deliver.envelope.to);
  const auto* start = std::get_if<core::StartChild>(&body);
  if (key != nullptr && start != nullptr) return mistake_child(deliver, *key, *start);
  if (!deliver.source) return put(deliver);

  const store::Deliver without_source{deliver.envelope, deliver.lane, {}};
  std::uint64_t& jumped = jumped_[{deliver.source->lane, lane}];
  if (deliver.source->seq <= jumped) return Outcome{OutcomeKind::already_done};
  Outcome outcome = put(deliver);
  if (seeded(SeededBug::outbox_row_taken_twice) && outcome.kind == OutcomeKind::already_done)
    return put(without_source);
  if (seeded(SeededBug::outbox_gap_taken) && outcome.kind == OutcomeKind::conflict) {
    jumped = deliver.source->seq;
    return put(without_source);
  }
  return outcome;
}

// It counts as delivered, and the run that it was for does not exist.
Outcome SeededStore::deliver_to_nobody(const store::Deliver& deliver) {
  const core::LaneId lane = core::lane_of(deliver.envelope.to, deliver.lane);
  store::Deliver lost = deliver;
  lost.envelope.to = core::make_run(lane, unused_sequence);
  return put(lost);
}

// A child whose id is taken.
Outcome SeededStore::mistake_child(const store::Deliver& deliver, const core::JobKey& key,
                                   const core::StartChild& start) {
  const auto holder = inner_.find_run(key.name_space, key.id);
  const auto row = *holder ? inner_.read_job_row(**holder) : Result<std::optional<core::JobRow>>(std::nullopt);
  const bool taken = *holder && !(*row && store::made_by(start, (*row)->parent));
  const bool mistaken =
      seeded(SeededBug::child_takes_id) || seeded(SeededBug::refusal_lost) || seeded(SeededBug::lane_crossed);
  if (!taken || !mistaken) return put(deliver);
  Outcome outcome = deliver_to_nobody(deliver);
  if (seeded(SeededBug::child_takes_id)) {
    store::Submit submit = store::submit_of(start, key, deliver.lane, inner_.now());
    submit.reuse = store::Reuse::replace;
    return put(submit);
  }
  const auto parent = inner_.read_job_row(start.parent.run);
  if (seeded(SeededBug::lane_crossed) && *parent)  // by its name, as if it were in this lane
    put(store::Deliver{{core::JobKey{(*parent)->name_space, (*parent)->id}, core::refused_child(start, key.id).message},
                       deliver.lane,
                       {}});
  outcome.answer = store::answer::Run{start.parent.run};
  return outcome;
}

Outcome SeededStore::run(store::DropOutbox drop) {
  if (!seeded(SeededBug::outbox_numbers_shared)) return put(drop);
  std::uint64_t up_to = 0;
  for (const auto& [row, number] : numbers_[drop.lane])
    if (row.first == drop.target && number <= drop.up_to) up_to = std::max(up_to, row.second);
  if (up_to == 0) return Outcome{OutcomeKind::committed};
  drop.up_to = up_to;
  return put(drop);
}

Result<store::Page<store::OutboxRow>> SeededStore::read_outbox(core::LaneId lane, std::size_t rows_max) {
  auto rows = inner_.read_outbox(lane, rows_max);
  if (!rows || !seeded(SeededBug::outbox_numbers_shared)) return rows;
  auto& numbers = numbers_[lane];
  for (store::OutboxRow& row : *rows)
    row.seq = numbers.emplace(Row{row.lane, row.seq}, numbers.size() + 1).first->second;
  return rows;
}

Outcome SeededStore::run(const store::AcquireLane& acquire) {
  Outcome outcome = put(acquire);
  if (seeded(SeededBug::lease_by_own_clock) && outcome.kind == OutcomeKind::conflict) {
    const store::LaneInfo lane = *inner_.read_lane(acquire.lane);
    const bool over = lane.lease_until && *lane.lease_until <= inner_.now() + acquire.lease / 2;  // a clock ahead
    if (over) put(store::ReleaseLane{acquire.lane, lane.epoch});
    if (over) outcome = put(acquire);
  }
  if (seeded(SeededBug::epoch_not_raised) && outcome.done())
    outcome.answer = store::answer::Lane{only_epoch, outcome.lease_until()};
  return outcome;
}

Outcome SeededStore::run(const store::BeatEngine& beat) {
  Outcome outcome = put(beat);
  std::vector<store::EngineInfo> alive = outcome.engines();
  if (seeded(SeededBug::share_not_given_back))
    std::erase_if(alive, [&](const auto& one) { return one.name != beat.name; });
  if (seeded(SeededBug::dead_share_left)) {
    for (const store::EngineInfo& engine : alive) ever_alive_.insert_or_assign(engine.name, engine);
    alive.clear();
    for (auto& [name, engine] : ever_alive_) {
      engine.until = std::max(engine.until, inner_.now() + beat.lease);
      alive.push_back(engine);
    }
  }
  if (outcome.done()) outcome.answer = store::answer::Engines{std::move(alive)};
  return outcome;
}

Result<store::LaneInfo> SeededStore::read_lane(core::LaneId lane) {
  auto info = inner_.read_lane(lane);
  if (info && seeded(SeededBug::epoch_not_raised) && info->epoch != core::Epoch(0)) info->epoch = only_epoch;
  return info;
}

Result<std::optional<RunId>> SeededStore::find_run(const Namespace& name_space, const JobId& id) {
  auto run = inner_.find_run(name_space, id);
  const auto anyones = ids_.find(id);
  if (run && !*run && anyones != ids_.end()) return std::optional(anyones->second);
  return run;
}

Result<std::optional<store::StoredJob>> SeededStore::read_job(RunId run) {
  auto job = inner_.read_job(run);
  if (!job || !*job) return job;
  const auto is_gone = [&](const core::InboxMessage& one) { return acknowledged_.contains(one.message.guid); };
  std::erase_if((*job)->inbox, is_gone);
  std::erase_if((*job)->timers, is_gone);
  return job;
}

Outcome SeededStore::run(const store::ClaimWork& claim) {
  if (!seeded(SeededBug::paused_topic_handed_out)) return put(claim);
  const std::vector<Topic> paused = *inner_.read_paused_topics();
  for (const Topic& topic : paused) put(store::PauseTopic{topic, false});
  Outcome outcome = put(claim);
  for (const Topic& topic : paused) put(store::PauseTopic{topic, true});
  return outcome;
}

Outcome SeededStore::run(const store::RemoveJob& remove) {
  return seeded(SeededBug::removal_leaves_rows) ? Outcome{OutcomeKind::committed} : put(remove);
}

}  // namespace pawl::sim
