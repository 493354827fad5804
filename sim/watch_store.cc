// Jobs as a whole and lanes. watch_work.cc has the work queue, watch_bundle.cc, watch_life.cc and watch_graphs.cc
// the bundles, watch_sends.cc what is sent.
#include "sim/watch_store.h"

#include <cstdio>

#include "base/format.h"
#include "core/codec.h"
#include "sim/describe.h"

namespace pawl::sim {

using store::OutcomeKind;

Result<std::vector<store::Outcome>> WatchStore::commit(std::span<const store::Operation> group) {
  auto result = inner_.commit(group);
  if (!result) return result;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const store::Outcome& outcome = (*result)[i];
    ++figures_.operations;
    trace_.add(group[i].index() * 16 + static_cast<std::uint64_t>(outcome.kind));
    if (const auto* bundle = std::get_if<core::Bundle>(&group[i]); bundle != nullptr && traces_bundles_)
      trace_.add(core::encode(*bundle));
    if (prints_)
      std::printf("%12lld  %s\n", static_cast<long long>(inner_.now().micros() % 10'000'000'000),
                  describe(group[i], outcome).c_str());
    check_first_step(group.first(i + 1), *result);
    std::visit([&](const auto& operation) { note(operation, outcome); }, group[i]);
  }
  return result;
}

// The last one, if it is a first step with its submit, changes only the job of the submit before it.
void WatchStore::check_first_step(std::span<const store::Operation> group,
                                  const std::vector<store::Outcome>& outcomes) {
  const auto* bundle = std::get_if<core::Bundle>(&group.back());
  const std::size_t at = group.size() - 1;
  if (bundle == nullptr || !bundle->with_submit || !outcomes[at].done()) return;
  ++figures_.first_steps;
  const auto* submit = at == 0 ? nullptr : std::get_if<store::Submit>(&group[at - 1]);
  if (submit == nullptr || outcomes[at - 1].kind != OutcomeKind::committed || outcomes[at - 1].run() != bundle->entity)
    verdict_.fail("identity", format("the first step of run {} was decided for another job", bundle->entity.raw()));
}

WatchStore::ShadowJob* WatchStore::find(RunId run) {
  const auto found = jobs_.find(run);
  return found == jobs_.end() ? nullptr : &found->second;
}
const WatchStore::ShadowJob* WatchStore::find(RunId run) const {
  const auto found = jobs_.find(run);
  return found == jobs_.end() ? nullptr : &found->second;
}

std::optional<RunId> WatchStore::run_of(const std::string& name_space, const std::string& id) const {
  const auto found = keys_.find({name_space, id});
  return found == keys_.end() ? std::nullopt : std::optional(found->second.run);
}

std::optional<core::JobStatus> WatchStore::status_of(RunId run) const {
  const ShadowJob* job = find(run);
  return job == nullptr ? std::nullopt : std::optional(job->status);
}

std::vector<core::WorkItem> WatchStore::unknown_work(RunId run) const {
  std::vector<core::WorkItem> items;
  if (const ShadowJob* job = find(run))
    for (const auto& [seq, item] : job->work)
      if (item.life.unknown) items.push_back(item);
  return items;
}

std::shared_ptr<const Graph> WatchStore::shape_of(const core::GraphRef& ref) const {
  auto graph = graphs_ == nullptr ? nullptr : graphs_->find(ref);
  return graph != nullptr && graph->program() != nullptr ? graph : nullptr;
}

std::string WatchStore::input_of(RunId run) const {
  if (const ShadowJob* job = find(run)) return job->input;
  const auto removed = removed_.find(run);
  return removed == removed_.end() ? "" : removed->second;
}

void WatchStore::fail(const ShadowJob& job, const char* oracle, const std::string& what) {
  verdict_.fail(oracle, format("job {}/{} at rev {}: {}", job.name_space, job.id, job.rev, what));
}

void WatchStore::count(ShadowJob& job) {
  const auto track = [](bool is, bool& was, std::size_t& total) {
    if (is && !was) ++total;
    if (!is && was) --total;
    was = is;
  };
  const bool parked = job.status == core::JobStatus::parked;
  track(!parked && job.completions == 0, job.counted_open, open_);
  track(parked, job.counted_parked, parked_);
  track(job.completions != 0 && job.remove_at != Instant(), job.counted_removal, to_remove_);
}

void WatchStore::put_message(ShadowJob& job, const core::Message& message, Instant due) {
  job.inbox.emplace(message.guid, ShadowMessage{message, due});
}

void WatchStore::check_owner(core::LaneId lane, core::Epoch epoch, const char* what) {
  const ShadowLane& shadow = lanes_[lane];
  if (shadow.owner.empty() || shadow.epoch != epoch.raw())
    verdict_.fail("lease",
                  format("{} under epoch {} of lane {}, which is at {}", what, epoch.raw(), lane.raw(), shadow.epoch));
}

void WatchStore::note(const store::Submit& submit, const store::Outcome& outcome) {
  using store::Reuse;
  const auto key = std::make_pair(submit.name_space.raw(), submit.id.raw());
  const auto known = keys_.find(key);
  ShadowJob* old = known == keys_.end() ? nullptr : find(known->second.run);
  const bool open = old != nullptr && !core::is_closed(old->status);
  const bool expired =
      known != keys_.end() && known->second.expires_at != Instant() && known->second.expires_at <= now_in(submit.lane);
  const bool taken = known != keys_.end() &&
                     ((submit.reuse == Reuse::never && !expired) || (submit.reuse == Reuse::after_close && open));
  if (outcome.kind == OutcomeKind::exists) {
    if (!taken || known->second.run != outcome.run())
      verdict_.fail("identity", format("{}/{} is said to be run {}, which is another job", key.first, key.second,
                                       outcome.run().raw()));
    return;
  }
  if (outcome.kind != OutcomeKind::committed) return;
  if (submit.follows != RunId(0) && (known == keys_.end() || known->second.run != submit.follows))
    return verdict_.fail("identity",
                         format("{}/{} has two successors of run {}", key.first, key.second, submit.follows.raw()));
  if (taken || jobs_.contains(outcome.run()) || removed_.contains(outcome.run()))
    return verdict_.fail("identity", format("{}/{} was accepted twice", key.first, key.second));
  if (outcome.replaced() != (open ? old->run : RunId(0)))
    return verdict_.fail("identity", format("{}/{} replaced run {}", key.first, key.second, outcome.replaced().raw()));
  if (open) {
    const core::Message replaced = store::replaced_message(outcome.run());
    old->received.insert(replaced.guid);
    put_message(*old, replaced);
    const auto stored = inner_.read_message(old->run, replaced.guid);
    if (!stored || !*stored) fail(*old, "identity", "its id was taken, and nobody told it");
  }
  if (submit.follows != RunId(0)) followers_.insert(outcome.run());
  if (known != keys_.end() && known->second.expires_at != Instant()) --keys_expiring_;
  keys_[key] = {outcome.run(), Instant()};
  ShadowJob& job = jobs_[outcome.run()];
  job.run = outcome.run();
  job.name_space = key.first;
  job.id = key.second;
  job.input = submit.input.str();
  job.graph = submit.graph;
  job.shape = shape_of(submit.graph);
  note_carried(job, submit);
  job.keep = submit.keep;
  if (submit.start_at == Instant()) job.submitted_after = figures_.bundles;
  put_message(job, core::start_message(outcome.run(), submit.input), submit.start_at);
  if (submit.deadline != Instant()) {
    put_message(job, core::deadline_message(outcome.run()), submit.deadline);
    job.received.insert(core::deadline_guid(outcome.run()));
  }
  count(job);
}

void WatchStore::note(const store::RemoveJob& remove, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  ShadowJob* job = find(remove.run);
  if (job == nullptr) return verdict_.fail("removal", "a job that is not there was removed");
  if (!core::is_closed(job->status) || job->completions != 1) fail(*job, "removal", "it was removed before its end");
  if (job->remove_at != Instant() && !is_over(job->remove_at)) fail(*job, "timer", "it was removed before its time");
  const auto left = inner_.read_job(remove.run);
  if (!left || *left) fail(*job, "removal", "it was removed and can still be read");
  const auto due = inner_.read_due(core::lane_of(remove.run), std::nullopt, 1'000'000);
  for (const store::Due& one : *due)
    if (one.run == remove.run && one.kind != store::Due::Kind::key)
      fail(*job, "removal", "it was removed, and the clock still has something to do for it");
  const auto key = keys_.find({job->name_space, job->id});
  if (key != keys_.end() && key->second.run == remove.run) {
    if (remove.key_until == Instant()) {
      keys_.erase(key);
    } else {
      key->second.expires_at = remove.key_until;
      ++keys_expiring_;
    }
  }
  if (job->counted_removal) --to_remove_;
  removed_.emplace(remove.run, job->input);
  jobs_.erase(remove.run);
}

void WatchStore::note(const store::DropKeys& drop, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  if (!is_over(drop.up_to)) verdict_.fail("timer", "start keys were dropped before their time");
  for (auto key = keys_.begin(); key != keys_.end();) {
    const bool of_lane = drop.lane == core::LaneId(0) || drop.lane == core::lane_of(key->second.run);
    const bool dropped = of_lane && key->second.expires_at != Instant() && key->second.expires_at <= drop.up_to;
    if (!dropped) {
      ++key;
      continue;
    }
    const auto left = inner_.find_run(Namespace(key->first.first), JobId(key->first.second));
    if (!left || *left)
      verdict_.fail("removal", format("the key of {}/{} outlives its time", key->first.first, key->first.second));
    --keys_expiring_;
    key = keys_.erase(key);
  }
}

void WatchStore::note(const store::PauseTopic& pause, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  if (pause.paused)
    paused_.insert({pause.lane, pause.topic.raw()});
  else
    paused_.erase({pause.lane, pause.topic.raw()});
}

void WatchStore::note(const store::AcquireLane& acquire, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  ShadowLane& lane = lanes_[acquire.lane];
  const bool held = !lane.owner.empty() && lane.owner != acquire.owner;
  if (held && lane.lease_until > now_in(acquire.lane))
    verdict_.fail("lease",
                  format("lane {} was taken from {} before its lease ran out", acquire.lane.raw(), lane.owner));
  if (outcome.epoch().raw() != lane.epoch + 1)
    verdict_.fail("lease",
                  format("lane {} went from epoch {} to {}", acquire.lane.raw(), lane.epoch, outcome.epoch().raw()));
  lane = {outcome.epoch().raw(), acquire.owner, now_in(acquire.lane) + acquire.lease};
  if (on_owner_) on_owner_(acquire.lane, acquire.owner);
}

void WatchStore::note(const store::RenewLane& renew, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  check_owner(renew.lane, renew.epoch, "a lease was renewed");
  lanes_[renew.lane].lease_until = now_in(renew.lane) + renew.lease;
}

void WatchStore::note(const store::ReleaseLane& release, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  check_owner(release.lane, release.epoch, "a lane was given back");
  lanes_[release.lane].owner.clear();
  lanes_[release.lane].lease_until.reset();
  if (on_owner_) on_owner_(release.lane, "");
}

}  // namespace pawl::sim
