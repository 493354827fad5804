// Conditional writes on one work item, never on its job's row.
#include "store/postgres/answers.h"
#include "store/postgres/operations.h"
#include "store/rules.h"

namespace pawl::store::postgres {

namespace {

bool held_by(const core::WorkItem* item, core::WorkToken token) {
  return item != nullptr && token != core::WorkToken(0) && item->token == token;
}

}  // namespace

Outcome apply(Desk& desk, const ClaimItem& claim) {
  if (!desk.lanes.owns(core::lane_of(claim.run), claim.epoch)) return fenced();
  if (desk.work.is_damaged(claim.run, claim.activity)) return damaged_item(claim.run, claim.activity);
  const core::WorkItem* known = desk.work.find(claim.run, claim.activity);
  if (known == nullptr || known->token != claim.before) return stale_item(claim.activity);
  if (known->held) return conflict("the job is paused or parked");
  if (desk.work.is_paused(known->topic, core::lane_of(claim.run)))
    return conflict(format("topic {} is paused", known->topic.raw()));
  core::WorkItem item = *known;
  core::begin_run(item, claim.worker, claim.epoch, Instant(), desk.now);
  Outcome outcome = committed();
  outcome.answer = answer::Items{{item}};
  desk.work.move(std::move(item));
  return outcome;
}

Outcome apply(Desk& desk, const ExtendWork& extend) {
  if (desk.work.is_damaged(extend.run, extend.activity)) return damaged_item(extend.run, extend.activity);
  const core::WorkItem* known = desk.work.find(extend.run, extend.activity);
  if (!held_by(known, extend.token) || awaits_decision(*known)) return stale_item(extend.activity);
  core::WorkItem item = *known;
  store::extend(item, extend, desk.now);
  Outcome outcome = committed();
  outcome.answer = answer::Items{{item}};
  desk.work.move(std::move(item));
  return outcome;
}

Outcome apply(Desk& desk, const ReleaseWork& release) {
  if (release.epoch != core::Epoch(0) && !desk.lanes.owns(core::lane_of(release.run), release.epoch)) return fenced();
  if (desk.work.is_damaged(release.run, release.activity)) return damaged_item(release.run, release.activity);
  const core::WorkItem* known = desk.work.find(release.run, release.activity);
  if (!held_by(known, release.token) || !may_release(*known, release)) return stale_item(release.activity);
  core::WorkItem item = *known;
  core::release(item, desk.now, release.began);
  desk.work.move(std::move(item));
  return committed();
}

Outcome apply(Desk& desk, const DeliverReply& delivery) {
  const auto* reply = std::get_if<core::Reply>(&delivery.message.body);
  if (reply == nullptr || reply->activity != delivery.activity)
    return rejected("the message is no answer to this work item");
  if (desk.jobs.find(delivery.run) == nullptr) return stale_item(delivery.activity);
  if (desk.work.is_damaged(delivery.run, delivery.activity)) return damaged_item(delivery.run, delivery.activity);
  const core::WorkItem* known = desk.work.find(delivery.run, delivery.activity);
  // A repeated reply whose first outcome was lost: its item was deleted, or waits for the job's decision.
  const bool answered = known == nullptr || awaits_decision(*known);
  if (answered && desk.inbox.has(delivery.run, delivery.message.guid)) return already_done();
  if (answered || !held_by(known, delivery.token)) return stale_item(delivery.activity);
  if (reply->status == core::ReplyStatus::success) {
    desk.work.drop(delivery.run, delivery.activity);
  } else if (core::is_error(reply->status)) {
    core::WorkItem item = *known;
    await_decision(item);
    desk.work.move(std::move(item));
  }
  Sent sent = send_to_job(desk, delivery.run, delivery.message);
  return outcome_of(sent.kind, std::move(sent.reason));
}

}  // namespace pawl::store::postgres
