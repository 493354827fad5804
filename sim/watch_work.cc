// The work queue: which worker gets which item, and which worker replies.
#include <algorithm>
#include <limits>

#include "base/format.h"
#include "sim/watch_store.h"

namespace pawl::sim {

using store::OutcomeKind;

void WatchStore::check_hand_out(const ShadowJob& job, const core::WorkItem& before, const core::WorkItem& after) {
  const std::uint32_t seq = after.activity.raw();
  if (before.token == after.token) fail(job, "token", "two runs of an item have the same token");
  if (before.held || core::is_stopped(job.status))
    fail(job, "held", format("work of activity {} was handed out while the job is {}", seq, core::name_of(job.status)));
  if (is_paused(after.topic, core::lane_of(after.run)))
    fail(job, "topic", format("work of the paused topic {} was handed out", after.topic.raw()));
  if (before.visible_at != Instant() && !is_over(before.visible_at))
    fail(job, "timer", format("activity {} was tried again before its time", seq));
  if (before.life.at_most_once && (before.life.unknown || before.token != core::WorkToken(0)))
    fail(job, "at most once", format("activity {} was handed out again and nobody allowed it", seq));
  if (after.runs != before.runs + 1 || after.life.failures != before.life.failures)
    fail(job, "tries",
         format("run {} of activity {} became run {}, failures {} became {}", before.runs, seq, after.runs,
                before.life.failures, after.life.failures));
  if (after.life.progress != before.life.progress)
    fail(job, "progress",
         format("run {} of activity {} reads {} where {} was said", after.runs, seq, after.life.progress.view(),
                before.life.progress.view()));
}

void WatchStore::note(const store::DeliverReply& delivery, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  ShadowJob* job = find(delivery.run);
  if (job == nullptr) return verdict_.fail("invented", "an answer for a job that does not exist");
  const auto work = job->work.find(delivery.activity.raw());
  if (work == job->work.end() || work->second.token != delivery.token)
    return fail(*job, "token", "an answer was taken from a worker that does not hold the item");
  const core::ReplyStatus status = std::get<core::Reply>(delivery.message.body).status;
  if (status == core::ReplyStatus::success) {
    ended_by_.insert_or_assign(work->second.request, delivery.token);
    job->work.erase(work);
  } else if (status != core::ReplyStatus::pending) {
    work->second.epoch = core::Epoch(0);
    work->second.lease_until = Instant::from_micros(std::numeric_limits<std::int64_t>::max());
  }
  if (!core::is_closed(job->status)) put_message(*job, delivery.message);
}

// What a worker is told counts: its success concluded the item, its failure is stored or decided.
void WatchStore::check_acknowledged(const core::WorkItem& item, core::ReplyStatus status) {
  const ShadowJob* job = find(item.run);
  if (job == nullptr) return;
  const auto work = job->work.find(item.activity.raw());
  const bool still_held = work != job->work.end() && work->second.token == item.token &&
                          work->second.lease_until != store::DeliverReply::until_decided;
  if (still_held)
    return fail(*job, "acknowledged", format("run {} of activity {} was told that its answer counts, and it is not "
                                             "stored", item.runs, item.activity.raw()));
  const auto ended = ended_by_.find(item.request);
  if (status == core::ReplyStatus::success && (ended == ended_by_.end() || ended->second != item.token))
    fail(*job, "acknowledged", format("run {} of activity {} was told that its answer counts, and it was another one's",
                                      item.runs, item.activity.raw()));
}

void WatchStore::note(const store::ClaimWork& claim, const store::Outcome& outcome) {
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
  for (const core::WorkItem& item : outcome.items()) {
    ShadowJob* job = find(item.run);
    if (job == nullptr || !job->work.contains(item.activity.raw()))
      return verdict_.fail("invented", format("worker {} was given an item that does not exist", claim.worker));
    core::WorkItem& work = job->work[item.activity.raw()];
    const bool leased = work.token != core::WorkToken(0) &&
                        (work.epoch != core::Epoch(0) || work.lease_until > now_in(core::lane_of(item.run)));
    if (leased) fail(*job, "token", "an item was taken from a worker whose lease runs");
    check_hand_out(*job, work, item);
    work = item;
    handed_out_.insert({item.request, item.token});
    lowest = std::min(lowest, item.priority);
  }
  if (outcome.items().size() < claim.items_max) return;
  for (const auto& [run, job] : jobs_)
    for (const auto& [seq, item] : job.work)
      if (item.token == core::WorkToken(0) && !item.held && item.visible_at == Instant() &&
          (claim.lane == core::LaneId(0) || claim.lane == core::lane_of(run)) && item.priority > lowest &&
          !is_paused(item.topic, core::lane_of(run)) &&
          std::count(claim.topics.begin(), claim.topics.end(), item.topic) > 0)
        fail(job, "priority", format("work of priority {} waits while {} is given away", item.priority, lowest));
}

void WatchStore::note(const store::ClaimItem& claim, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  check_owner(core::lane_of(claim.run), claim.epoch, "an item was claimed");
  ShadowJob* job = find(claim.run);
  if (job == nullptr || outcome.items().size() != 1 || !job->work.contains(claim.activity.raw()))
    return verdict_.fail("invented", "an item that does not exist was claimed");
  core::WorkItem& work = job->work[claim.activity.raw()];
  const core::WorkItem& item = outcome.items().front();
  if (work.token != claim.before) fail(*job, "token", "an item changed hands under another token");
  check_hand_out(*job, work, item);
  work = item;
  handed_out_.insert({item.request, item.token});
}

void WatchStore::note(const store::ExtendWork& extend, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  ShadowJob* job = find(extend.run);
  if (job == nullptr || !job->work.contains(extend.activity.raw()) ||
      job->work[extend.activity.raw()].token != extend.token || outcome.items().size() != 1)
    return verdict_.fail("token", "an item's lease was extended by somebody else");
  core::WorkItem& work = job->work[extend.activity.raw()];
  const Instant now = now_in(core::lane_of(extend.run));
  if (is_over(work.life.heartbeat_by)) late_beats_.insert({work.request, work.token});
  if (extend.progress) work.life.progress = *extend.progress;
  const Duration attempt = work.life.attempt_timeout;
  if (extend.detach && work.epoch != core::Epoch(0) && attempt.count() != 0) {
    work.life.attempt_by = now + extend.attempt_left.value_or(attempt);
    const Journal::Began* began = journal_.began(work);
    if (began == nullptr || work.life.attempt_by + Duration(4) < began->at + attempt - attempt * drift_ppm_ / 1'000'000)
      fail(*job, "timer", format("activity {} has less than its attempt's time left", work.activity.raw()));
  }
  if (extend.detach) work.epoch = core::Epoch(0);
  if (work.epoch != core::Epoch(0)) return;
  work.lease_until = now + extend.lease;
  if (work.life.heartbeat_timeout.count() != 0) work.life.heartbeat_by = now + work.life.heartbeat_timeout;
}

void WatchStore::note(const store::ReleaseWork& release, const store::Outcome& outcome) {
  if (outcome.kind != OutcomeKind::committed) return;
  ShadowJob* job = find(release.run);
  if (job == nullptr || !job->work.contains(release.activity.raw()) ||
      job->work[release.activity.raw()].token != release.token)
    return verdict_.fail("token", "an item was given back by somebody else");
  core::WorkItem& work = job->work[release.activity.raw()];
  const bool began = journal_.began(work) != nullptr;
  if (work.epoch != core::Epoch(0)) {
    check_owner(core::lane_of(release.run), release.epoch, "an item was given back");
    if (began != (release.began == core::Began::yes))
      fail(*job, "tries",
           format("run {} of activity {} {}begun, and given back as if it were otherwise", work.runs,
                  work.activity.raw(), began ? "was " : "was not "));
    if (began && work.life.at_most_once)
      fail(*job, "at most once",
           format("run {} of activity {} began and is given back", work.runs, work.activity.raw()));
    --work.runs;
    if (began) ++given_back_[work.request];
  }
  if (work.epoch == core::Epoch(0) || began)
    work.life.queue_by =
        work.life.queue_timeout.count() == 0 ? Instant() : now_in(core::lane_of(release.run)) + work.life.queue_timeout;
  work.token = core::WorkToken(0);
  work.worker.clear();
  work.epoch = core::Epoch(0);
  work.lease_until = Instant();
  work.life.attempt_by = work.life.heartbeat_by = Instant();
}

}  // namespace pawl::sim
