// The work queue: conditional writes on one work item, never on its job's row.
#include "base/limits.h"
#include "store/memory/answers.h"
#include "store/memory/store.h"
#include "store/rules.h"

namespace pawl::store::memory {

namespace {

bool held_by(const core::WorkItem* item, core::WorkToken token) {
  return item != nullptr && token != core::WorkToken(0) && item->token == token;
}

}  // namespace

void Store::put_work(core::WorkItem item) {
  queue_.put(item);
  core::JobState& state = find_job(item.run)->state;
  state.put(std::move(item));
}

Outcome Store::run(const ClaimWork& claim) {
  const Instant now = now_in(claim.lane);
  const auto may_claim = [&](const Topic& topic, RunId run) {
    const core::LaneId lane = core::lane_of(run);
    return (claim.lane == core::LaneId(0) || lane == claim.lane) && !is_paused(topic, lane);
  };
  answer::Items claimed;
  for (const WorkKey& key : queue_.claimable(claim.topics, claim.items_max, now, may_claim)) {
    core::WorkItem item = *find_job(key.run)->state.find_work(key.activity);
    core::begin_run(item, claim.worker, core::Epoch(0), now + claim.lease, now);
    claimed.items.push_back(item);
    put_work(std::move(item));
  }
  Outcome outcome = committed();
  outcome.answer = std::move(claimed);
  return outcome;
}

Outcome Store::run(const ClaimItem& claim) {
  if (!owns(core::lane_of(claim.run), claim.epoch)) return fenced();
  Job* job = find_job(claim.run);
  const core::WorkItem* known = job == nullptr ? nullptr : job->state.find_work(claim.activity);
  if (known == nullptr || known->token != claim.before) return stale_item(claim.activity);
  if (known->held) return conflict("the job is paused or parked");
  if (is_paused(known->topic, core::lane_of(claim.run)))
    return conflict(format("topic {} is paused", known->topic.raw()));
  core::WorkItem item = *known;
  core::begin_run(item, claim.worker, claim.epoch, Instant(), now_in(core::lane_of(claim.run)));
  Outcome outcome = committed();
  outcome.answer = answer::Items{{item}};
  put_work(std::move(item));
  return outcome;
}

Outcome Store::run(const ExtendWork& extend) {
  Job* job = find_job(extend.run);
  const core::WorkItem* known = job == nullptr ? nullptr : job->state.find_work(extend.activity);
  if (!held_by(known, extend.token) || awaits_decision(*known)) return stale_item(extend.activity);
  core::WorkItem item = *known;
  store::extend(item, extend, now_in(core::lane_of(extend.run)));
  Outcome outcome = committed();
  outcome.answer = answer::Items{{item}};
  put_work(std::move(item));
  return outcome;
}

Outcome Store::run(const ReleaseWork& release) {
  if (release.epoch != core::Epoch(0) && !owns(core::lane_of(release.run), release.epoch)) return fenced();
  Job* job = find_job(release.run);
  const core::WorkItem* known = job == nullptr ? nullptr : job->state.find_work(release.activity);
  if (!held_by(known, release.token) || !may_release(*known, release)) return stale_item(release.activity);
  core::WorkItem item = *known;
  core::release(item, now_in(core::lane_of(release.run)), release.began);
  put_work(std::move(item));
  return committed();
}

Outcome Store::run(const DeliverReply& delivery) {
  const auto* reply = std::get_if<core::Reply>(&delivery.message.body);
  if (reply == nullptr || reply->activity != delivery.activity)
    return rejected("the message is no answer to this work item");
  Job* job = find_job(delivery.run);
  if (job == nullptr) return stale_item(delivery.activity);
  const core::WorkItem* known = job->state.find_work(delivery.activity);
  // A repeated reply whose first answer was lost: its item is deleted, or waits for the job's decision.
  const bool answered = known == nullptr || awaits_decision(*known);
  if (answered && job->inbox.has(delivery.message.guid)) return already_done();
  if (answered || !held_by(known, delivery.token)) return stale_item(delivery.activity);
  if (reply->status == core::ReplyStatus::success) {
    queue_.drop({delivery.run, delivery.activity});
    job->state.drop_work(delivery.activity);
  } else if (core::is_error(reply->status)) {
    core::WorkItem item = *known;
    await_decision(item);
    put_work(std::move(item));
  }
  return insert(*job, delivery.message);
}

Outcome Store::run(const PauseTopic& pause) {
  if (pause.lane != core::LaneId(0) && !has_lane(pause.lane))
    return rejected(format("there is no lane {}", pause.lane.raw()));
  std::set<Topic>& paused = pause.lane == core::LaneId(0) ? paused_ : find_lane(pause.lane)->paused;
  if (paused.contains(pause.topic) == pause.paused) return already_done();
  if (!pause.paused) {
    paused.erase(pause.topic);
    return committed();
  }
  if (paused.size() >= limits::paused_topics_max)
    return rejected(format("at most {} topics can be paused", limits::paused_topics_max));
  paused.insert(pause.topic);
  return committed();
}

bool Store::is_paused(const Topic& topic, core::LaneId lane) {
  return paused_.contains(topic) || find_lane(lane)->paused.contains(topic);
}

}  // namespace pawl::store::memory
