// Everything but bundles: identity, leases, the work queue. watch_bundle.cc has the bundles.
#include "sim/watch_store.h"

#include "base/format.h"
#include "core/codec.h"

namespace pawl::sim {

using store::OutcomeKind;

Result<std::vector<store::Outcome>> WatchStore::commit(std::span<const store::Operation> group) {
  auto result = inner_.commit(group);
  if (!result) return result;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const store::Outcome& outcome = (*result)[i];
    ++figures_.operations;
    trace_.add(group[i].index() * 16 + static_cast<std::uint64_t>(outcome.kind));
    if (const auto* bundle = std::get_if<core::Bundle>(&group[i]))
      trace_.add(core::encode(*bundle));
    std::visit([&](const auto& operation) { note(operation, outcome); }, group[i]);
  }
  return result;
}

WatchStore::ShadowJob* WatchStore::find(RunId run) {
  const auto found = jobs_.find(run);
  return found == jobs_.end() ? nullptr : &found->second;
}

void WatchStore::fail(const ShadowJob& job, const char* oracle, const std::string& what) {
  verdict_.fail(oracle, format("job {}/{} at rev {}: {}", job.name_space, job.id, job.rev, what));
}

void WatchStore::count(ShadowJob& job) {
  const bool parked = job.status == core::JobStatus::parked;
  const bool open = !parked && job.completions == 0;
  if (open && !job.counted_open) ++open_;
  if (!open && job.counted_open) --open_;
  if (parked && !job.counted_parked) ++parked_;
  if (!parked && job.counted_parked) --parked_;
  job.counted_open = open;
  job.counted_parked = parked;
}

void WatchStore::check_owner(core::LaneId lane, core::Epoch epoch, const char* what) {
  const ShadowLane& shadow = lanes_[lane];
  if (shadow.owner.empty() || shadow.epoch != epoch.raw())
    verdict_.fail("lease", format("{} under epoch {} of lane {}, which is at {}", what, epoch.raw(),
                                  lane.raw(), shadow.epoch));
}

void WatchStore::note(const store::Submit& submit, const store::Outcome& outcome) {
  const auto key = std::make_pair(submit.name_space.raw(), submit.id.raw());
  const auto known = keys_.find(key);
  if (outcome.kind == OutcomeKind::exists) {
    if (known == keys_.end() || known->second != outcome.run)
      verdict_.fail("identity", format("{}/{} is said to be run {}, which is another job",
                                       key.first, key.second, outcome.run.raw()));
    return;
  }
  if (outcome.kind != OutcomeKind::committed) return;
  if (known != keys_.end() || jobs_.contains(outcome.run))
    return verdict_.fail("identity", format("{}/{} was accepted twice", key.first, key.second));
  keys_.emplace(key, outcome.run);
  ShadowJob& job = jobs_[outcome.run];
  job.run = outcome.run;
  job.name_space = key.first;
  job.id = key.second;
  job.input = submit.input.str();
  const core::Message start = core::start_message(outcome.run, submit.input);
  job.inbox.emplace(start.guid, start);
  count(job);
}

void WatchStore::note(const store::Respond& respond, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  ShadowJob* job = find(respond.run);
  if (job == nullptr) return verdict_.fail("invented", "an answer for a job that does not exist");
  const auto work = job->work.find(respond.activity.raw());
  if (work == job->work.end() || work->second.token != respond.token.raw())
    return fail(*job, "token", "an answer was taken from a worker that does not hold the item");
  if (std::get<core::Response>(respond.message.body).status != core::ReplyStatus::pending)
    job->work.erase(work);
  if (job->status == core::JobStatus::running || job->status == core::JobStatus::parked)
    job->inbox.emplace(respond.message.guid, respond.message);
}

void WatchStore::note(const store::ClaimWork& claim, const store::Outcome& outcome) {
  for (const core::WorkItem& item : outcome.items) {
    ShadowJob* job = find(item.run);
    if (job == nullptr || !job->work.contains(item.activity.raw()))
      return verdict_.fail("invented",
                           format("worker {} was given an item that does not exist", claim.worker));
    ShadowWork& work = job->work[item.activity.raw()];
    const bool leased = work.token != 0 && (work.local || work.lease_until > inner_.now());
    if (leased) fail(*job, "token", "an item was taken from a worker whose lease runs");
    if (work.token == item.token.raw()) fail(*job, "token", "two workers hold the same token");
    work = {item.token.raw(), false, item.lease_until};
    handed_out_.insert({item.request, item.token});
  }
}

void WatchStore::note(const store::ClaimItem& claim, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  check_owner(core::lane_of(claim.run), claim.epoch, "an item was claimed");
  ShadowJob* job = find(claim.run);
  if (job == nullptr || outcome.items.size() != 1 || !job->work.contains(claim.activity.raw()))
    return verdict_.fail("invented", "an item that does not exist was claimed");
  ShadowWork& work = job->work[claim.activity.raw()];
  const core::WorkItem& item = outcome.items.front();
  if (work.token != claim.before.raw())
    fail(*job, "token", "an item changed hands under another token");
  if (work.token == item.token.raw())
    fail(*job, "token", "two runs of an item have the same token");
  work = {item.token.raw(), true, Instant()};
  handed_out_.insert({item.request, item.token});
}

void WatchStore::note(const store::ExtendWork& extend, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  ShadowJob* job = find(extend.run);
  if (job == nullptr || job->work[extend.activity.raw()].token != extend.token.raw())
    return verdict_.fail("token", "an item's lease was extended by somebody else");
  job->work[extend.activity.raw()].lease_until = inner_.now() + extend.lease;
}

void WatchStore::note(const store::ReleaseWork& release, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  ShadowJob* job = find(release.run);
  if (job == nullptr || job->work[release.activity.raw()].token != release.token.raw())
    return verdict_.fail("token", "an item was given back by somebody else");
  job->work[release.activity.raw()] = ShadowWork{};
}

void WatchStore::note(const store::AcquireLane& acquire, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  ShadowLane& lane = lanes_[acquire.lane];
  const bool held = !lane.owner.empty() && lane.owner != acquire.owner;
  if (held && lane.lease_until > inner_.now())
    verdict_.fail("lease", format("lane {} was taken from {} before its lease ran out",
                                  acquire.lane.raw(), lane.owner));
  if (outcome.epoch.raw() != lane.epoch + 1)
    verdict_.fail("lease", format("lane {} went from epoch {} to {}", acquire.lane.raw(),
                                  lane.epoch, outcome.epoch.raw()));
  lane = {outcome.epoch.raw(), acquire.owner, inner_.now() + acquire.lease};
}

void WatchStore::note(const store::RenewLane& renew, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  check_owner(renew.lane, renew.epoch, "a lease was renewed");
  lanes_[renew.lane].lease_until = inner_.now() + renew.lease;
}

void WatchStore::note(const store::ReleaseLane& release, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  check_owner(release.lane, release.epoch, "a lane was given back");
  lanes_[release.lane].owner.clear();
  lanes_[release.lane].lease_until.reset();
}

}  // namespace pawl::sim
