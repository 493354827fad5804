// Workshop: the messages of workers about their attempts, and the messages to them.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/seeded_bug.h"
#include "runtime/parts.h"
#include "runtime/workshop.h"

namespace pawl::runtime {

void Workshop::serve(const Topic& topic) {
  if (desk_.serves(topic)) return;
  desk_.serve(topic);
  unserved_.served(topic);
  parts_.loader.scan_all(true);  // items of this topic may have waited for a worker
}

void Workshop::offer_probe(const Topic& topic) {
  // attempts of this topic may have an unknown effect
  if (probes_.insert(topic.raw()).second) parts_.loader.scan_all(true);
}

bool Workshop::cares_for(const Topic& topic) const { return desk_.serves(topic) || probes_.contains(topic.raw()); }

void Workshop::answer(WorkReply answer) {
  const WorkRef ref{answer.run, answer.activity};
  const bool final = answer.status != core::ReplyStatus::pending;
  if (final) {
    const WorkDesk::Ended ended = desk_.end(ref, answer.token);
    clocks_.end(WorkRun{ref, answer.token});
    if (ended != WorkDesk::Ended::valid) return;
  } else if (!desk_.is_running(ref, answer.token)) {
    return;
  }
  OwnedLane* lane = parts_.lanes.mine(answer.run);
  // Another engine owns the lane: it hands the work out again.
  if (lane == nullptr) return desk_.abandon(ref, answer.token);
  const bool again =
      seeded(SeededBug::response_under_new_id) && answer.token != core::token_of(answer.request, 1, lane->epoch);
  const std::uint64_t repeated = again ? 1000 : 0;
  const core::Guid guid =
      final ? answer.request.derive(core::Guid::Purpose::response_final, 0)
            : answer.request.derive(core::Guid::Purpose::response_pending, answer.pending_index + repeated);
  core::Reply reply{answer.activity, answer.status, answer.code, answer.token, std::move(answer.data)};
  if (answer.transaction != nullptr)
    parts_.transactions.keep(WorkRun{ref, answer.token}, std::move(answer.transaction));
  parts_.jobs.deliver(*lane, answer.run, core::Delivery{core::Message{guid, std::move(reply)}, core::Origin::unstored});
}

void Workshop::begun(const WorkRun& run) { clocks_.begin(run, parts_.clock.monotonic()); }

void Workshop::heartbeat(const WorkRun& run, Payload progress) {
  if (!desk_.is_running(run.ref, run.token)) return parts_.events.cancel(run);
  clocks_.beat(run, parts_.clock.monotonic());
  if (parts_.lanes.mine(run.ref.run) == nullptr) return;
  // One at a time: of those that come meanwhile only the last one counts. One without progress keeps the last progress.
  const auto [out, is_new] = beats_.try_emplace(run, std::nullopt);
  if (!is_new) {
    if (!out->second || !progress.empty()) out->second = std::move(progress);
    return;
  }
  store::ExtendWork extend{run.ref.run, run.ref.activity, run.token};
  if (!progress.empty()) extend.progress = std::move(progress);
  parts_.outgoing.push(std::move(extend));
}

void Workshop::detach(const WorkRun& run, Duration lease) {
  const std::optional<Duration> left = clocks_.attempt_left(run, parts_.clock.monotonic());
  const WorkDesk::Ended ended = desk_.end(run.ref, run.token);
  clocks_.end(run);
  if (ended != WorkDesk::Ended::valid || parts_.lanes.mine(run.ref.run) == nullptr) return;
  detaching_.insert(run.ref);
  store::ExtendWork extend{run.ref.run, run.ref.activity, run.token, lease};
  extend.detach = true;
  extend.attempt_left = left;
  parts_.outgoing.push(std::move(extend));
}

void Workshop::settle_extend(const store::ExtendWork& extend, const store::Outcome& outcome) {
  const WorkRun run{WorkRef{extend.run, extend.activity}, extend.token};
  if (extend.detach && outcome.kind == store::OutcomeKind::outcome_unknown)
    return parts_.outgoing.push(extend);  // it may be sent twice
  if (extend.detach) detaching_.erase(run.ref);
  std::optional<Payload> next;
  if (const auto beat = beats_.find(run); beat != beats_.end()) {
    next = std::move(beat->second);
    beats_.erase(beat);
  }
  if (outcome.done() && !outcome.items().empty()) {
    const core::WorkItem& item = outcome.items().front();
    HotJob* job = parts_.jobs.find(extend.run);
    const core::WorkItem* own = job == nullptr ? nullptr : job->state.find_work(extend.activity);
    if (own != nullptr && own->token == extend.token) job->state.put(item);  // not if it has ended meanwhile
    if (OwnedLane* lane = parts_.lanes.mine(extend.run)) parts_.alarms.arm_changed(*lane, item);
  }
  if (outcome.kind == store::OutcomeKind::conflict) return parts_.events.cancel(run);
  if (next) heartbeat(run, std::move(*next));
}

void Workshop::probed(ProbeAnswer answer) {
  if (answer.kind == ProbeAnswer::Kind::cannot_tell) return;  // it stays unknown until a person settles it
  using Kind = core::Verdict::Kind;
  core::Verdict verdict{answer.activity, Kind::done, answer.code, std::move(answer.data)};
  if (answer.kind == ProbeAnswer::Kind::failed) verdict.kind = Kind::failed;
  if (answer.kind == ProbeAnswer::Kind::not_done) verdict.kind = Kind::retry;
  OwnedLane* lane = parts_.lanes.mine(answer.run);
  if (lane == nullptr) return;
  const core::Guid guid = answer.request.derive(core::Guid::Purpose::verdict, answer.runs);
  parts_.jobs.deliver(*lane, answer.run,
                      core::Delivery{core::Message{guid, std::move(verdict)}, core::Origin::unstored});
}

void Workshop::give_back(const core::WorkItem& item, core::Began began) {
  const WorkRun run = run_of(item);
  const WorkDesk::Ended ended = desk_.end(run.ref, run.token);
  clocks_.end(run);
  const OwnedLane* lane = parts_.lanes.mine(item.run);
  // Another engine owns the lane, or a reply of the attempt was lost: the item is attempted again under another token.
  if (ended != WorkDesk::Ended::valid || lane == nullptr) return;
  // It may have acted. It stays claimed, so the job's next owner treats it as a lost attempt.
  if (began == core::Began::yes && item.life.at_most_once) return;
  if (seeded(SeededBug::stop_counts_as_crash)) return;
  release(*lane, item, began);
}

void Workshop::write_off(const WorkRun& run) {
  desk_.write_off(run.ref, run.token);
  clocks_.end(run);
  // It was told to stop because its lane was lost, and the lane came back: its claim is still there, and it counts as
  // lost.
  OwnedLane* lane = parts_.lanes.mine(run.ref.run);
  if (!parts_.stopping && lane != nullptr) parts_.alarms.fire_work(*lane, run.ref);
}

// As after a crash: the item is handed out again, under another token.
void Workshop::undone(const WorkRun& run) {
  const WorkDesk::Ended ended = desk_.end(run.ref, run.token);
  clocks_.end(run);
  OwnedLane* lane = parts_.lanes.mine(run.ref.run);
  if (ended == WorkDesk::Ended::valid && lane != nullptr && !parts_.stopping) parts_.alarms.fire_work(*lane, run.ref);
}

void Workshop::cancel_run(const WorkRun& run) {
  // Its time was over, or another reply was taken.
  if (desk_.is_running(run.ref, run.token)) parts_.events.cancel(run);
}

void Workshop::cancel_runs(core::LaneId lane) {
  for (const WorkRun& run : desk_.runs_in(lane)) parts_.events.cancel(run);
}

void Workshop::doubt(const std::vector<WorkRun>& runs) {
  runs_in_doubt_.insert(runs_in_doubt_.end(), runs.begin(), runs.end());
}

// Cancels local workers' attempts that were ended elsewhere while this engine could not see it.
void Workshop::look_at_runs() {
  for (const WorkRun& run : std::exchange(runs_in_doubt_, {})) {
    if (!desk_.is_running(run.ref, run.token)) continue;
    parts_.reads.ask(store::ReadItem{run.ref.run, run.ref.activity},
                     [this, run](const store::AnswerTo<store::ReadItem>& item) {
                       if (!item && item.error().code != ErrorCode::corrupt)
                         runs_in_doubt_.push_back(run);
                       else if (!item)
                         parts_.loader.damaged(run.ref.run, item.error().detail);
                       else if (!*item || (*item)->token != run.token || (*item)->life.unknown)
                         parts_.events.cancel(run);
                     });
  }
}

void Workshop::abandon(RunId run, const std::vector<core::Delivery>& deliveries) {
  parts_.far_replies.lost(run);
  for (const core::Delivery& delivery : deliveries)
    if (const auto* reply = std::get_if<core::Reply>(&delivery.message.body))
      if (delivery.origin == core::Origin::unstored) {
        desk_.abandon(WorkRef{run, reply->activity}, reply->token);
        parts_.transactions.drop(WorkRun{WorkRef{run, reply->activity}, reply->token});
      }
}

// Attempts of local workers whose time is over. The stored item decides what follows.
void Workshop::end_clocks() {
  for (const auto& [run, why] : clocks_.take_over(parts_.clock.monotonic())) {
    if (why == core::NoReply::Why::queue) {
      parts_.events.withdraw(run);
    } else if (OwnedLane* lane = parts_.lanes.mine(run.ref.run)) {
      // Without the lane nothing can be decided; its next owner looks at all work, and the clock stays over.
      parts_.alarms.fire_work(*lane, run.ref);
    }
  }
}

void Workshop::look_for_overflow() {
  if (desk_.take_overflow()) parts_.loader.scan_all(true);
}

void Workshop::topics_changed() {
  topics_again_ = topics_asked_;
  if (topics_asked_) return;
  topics_asked_ = true;
  parts_.reads.ask(store::ReadPausedTopics{}, [this](const store::AnswerTo<store::ReadPausedTopics>& topics) {
    topics_asked_ = false;
    topics_read(topics);
    if (std::exchange(topics_again_, false)) topics_changed();
  });
}

void Workshop::topics_read(const store::AnswerTo<store::ReadPausedTopics>& topics) {
  topics_unread_ = !topics;
  if (!topics) return;
  std::unordered_set<std::string> before;
  for (const Topic& topic : *topics) before.insert(topic.raw());
  std::swap(before, paused_topics_);
  const bool resumed = std::any_of(before.begin(), before.end(),
                                   [this](const std::string& topic) { return !paused_topics_.contains(topic); });
  if (resumed) parts_.loader.scan_all(true);  // work of every lane may have waited for it
}

void Workshop::seen(const store::WorkPlace& place) {
  unserved_.waits(place.topic, WorkRef{place.run, place.activity}, parts_.clock.monotonic());
}

void Workshop::look_at_unserved() {
  if (parts_.stopping) return;
  for (const auto& [topic, ref] : unserved_.take_due(parts_.clock.monotonic()))
    parts_.reads.ask(store::ReadItem{ref.run, ref.activity},
                     [this, topic = topic, ref = ref](const store::AnswerTo<store::ReadItem>& item) {
                       say_if_unserved(topic, ref, item);
                     });
}

void Workshop::say_if_unserved(const Topic& topic, const WorkRef& ref, const store::AnswerTo<store::ReadItem>& item) {
  const bool waits = item && *item && (*item)->token == core::WorkToken(0) && !(*item)->held &&
                     (*item)->visible_at <= parts_.clock.now() && !paused_topics_.contains(topic.raw());
  if (!waits) return unserved_.is_gone(topic);
  if (!unserved_.still_waits(topic)) return;
  const HotJob* job = parts_.jobs.find(ref.run);
  parts_.events.problem(
      format("nobody serves topic {} in this process: work of {} has waited for {} s (unserved_after). Serve the topic "
             "here; what waits for it goes on by itself",
             topic.raw(), job != nullptr ? format("job {}", job->state.job.id.raw()) : format("run {}", ref.run.raw()),
             limits::unserved_after.count()));
}

void Workshop::tick() {
  look_at_unserved();
  if (topics_unread_) topics_changed();
}

std::optional<Duration> Workshop::next_wake() const {
  std::optional<Duration> wake = clocks_.next();  // also while stopping: an attempt must not exceed its time
  const auto suspect = parts_.stopping ? std::nullopt : desk_.next_suspect_at();
  const auto unserved = parts_.stopping ? std::nullopt : unserved_.next();
  for (const auto& at : {suspect, unserved})
    if (at && (!wake || *at < *wake)) wake = at;
  return wake;
}

}  // namespace pawl::runtime
