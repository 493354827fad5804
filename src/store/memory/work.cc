// The work queue: conditional writes on one work item, never on its job's row.
#include "base/format.h"
#include "base/seeded_bug.h"
#include "core/work_token.h"
#include "store/memory/answers.h"
#include "store/memory/store.h"

namespace pawl::store::memory {

namespace {

Outcome stale(core::ActivitySeq activity) {
  return conflict(format("work item {} is no longer held by this token", activity.raw()));
}

bool held_by(const core::WorkItem* item, core::WorkToken token) {
  if (item != nullptr && seeded(SeededBug::stale_worker_accepted)) return true;
  return item != nullptr && token != core::WorkToken(0) && item->token == token;
}

}  // namespace

Outcome Store::run(const ClaimWork& claim) {
  const Instant now = clock_.now();
  Outcome outcome = committed();
  for (const WorkKey& key : queue_.claimable(claim.topics, claim.items_max, now)) {
    core::JobState& state = find_job(key.run)->state;
    core::WorkItem item = *state.find_work(key.activity);
    item.runs += 1;
    item.token = core::token_of(item.request, item.runs);
    item.worker = claim.worker;
    item.epoch = core::Epoch(0);
    item.lease_until = now + claim.lease;
    outcome.items.push_back(item);
    queue_.put(item);
    state.put(std::move(item));
  }
  return outcome;
}

Outcome Store::run(const ClaimItem& claim) {
  if (!owns(core::lane_of(claim.run), claim.epoch)) return fenced();
  Job* job = find_job(claim.run);
  const core::WorkItem* known = job == nullptr ? nullptr : job->state.find_work(claim.activity);
  if (known == nullptr || known->token != claim.before) return stale(claim.activity);
  core::WorkItem item = *known;
  item.runs += 1;
  item.token = core::token_of(item.request, item.runs);
  item.worker = claim.worker;
  item.epoch = claim.epoch;
  item.lease_until = Instant();
  Outcome outcome = committed();
  outcome.items.push_back(item);
  queue_.put(item);
  job->state.put(std::move(item));
  return outcome;
}

Outcome Store::run(const ExtendWork& extend) {
  Job* job = find_job(extend.run);
  const core::WorkItem* known = job == nullptr ? nullptr : job->state.find_work(extend.activity);
  if (!held_by(known, extend.token)) return stale(extend.activity);
  core::WorkItem item = *known;
  item.lease_until = clock_.now() + extend.lease;
  queue_.put(item);
  job->state.put(std::move(item));
  return committed();
}

Outcome Store::run(const ReleaseWork& release) {
  Job* job = find_job(release.run);
  const core::WorkItem* known = job == nullptr ? nullptr : job->state.find_work(release.activity);
  if (!held_by(known, release.token)) return stale(release.activity);
  core::WorkItem item = *known;
  item.token = core::WorkToken(0);
  item.worker.clear();
  item.epoch = core::Epoch(0);
  item.lease_until = Instant();
  queue_.put(item);
  job->state.put(std::move(item));
  return committed();
}

Outcome Store::run(const Respond& respond) {
  const auto* response = std::get_if<core::Response>(&respond.message.body);
  if (response == nullptr || response->activity != respond.activity)
    return rejected("the message is no answer to this work item");
  Job* job = find_job(respond.run);
  if (job == nullptr) return stale(respond.activity);
  const core::WorkItem* item = job->state.find_work(respond.activity);
  // A repeated answer whose first reply was lost: its item went with it.
  if (item == nullptr && job->inbox.has(respond.message.guid)) return already_done();
  if (!held_by(item, respond.token)) return stale(respond.activity);
  if (response->status != core::ReplyStatus::pending) {
    queue_.drop({respond.run, respond.activity});
    job->state.drop_work(respond.activity);
  }
  return insert(*job, respond.message);
}

}  // namespace pawl::store::memory
