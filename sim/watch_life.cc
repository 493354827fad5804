// The bundles of a job's life beyond replies: attempts, timeouts, unknown effects, and requests on it.
#include <algorithm>

#include "base/format.h"
#include "sim/watch_digits.h"
#include "sim/watch_store.h"

namespace pawl::sim {

namespace {

template <class Body>
bool consumes(const std::map<core::Guid, core::Body>& consumed) {
  return std::any_of(consumed.begin(), consumed.end(),
                     [](const auto& row) { return std::holds_alternative<Body>(row.second); });
}

}  // namespace

WhenUnknown WatchStore::when_unknown(const ShadowJob& job, std::uint32_t activity) const {
  const auto graph = graphs_ == nullptr ? nullptr : graphs_->find(job.graph);
  if (graph == nullptr) return WhenUnknown::hold;
  return graph->nodes()[job.activities.at(activity).node].policy.when_unknown;
}

// Before any write: a message that the engine makes itself must be true. Its text is then a known output.
void WatchStore::hear_timeouts(ShadowJob& job, const core::Bundle& bundle) {
  using Why = core::NoReply::Why;
  std::set<core::Guid> fresh;
  for (const core::Write& one : bundle.writes) {
    if (const auto* put = std::get_if<core::PutRecord>(&one)) fresh.insert(put->after.guid);
    if (const auto* put = std::get_if<core::PutMessage>(&one)) fresh.insert(put->message.guid);
  }
  for (const auto& [seq, item] : job.work)
    for (const Why why : {Why::queue, Why::attempt, Why::heartbeat, Why::total}) {
      const auto index = std::uint64_t{item.runs} * 8 + static_cast<std::uint64_t>(why);
      const core::Guid guid = item.request.derive(core::Guid::Purpose::no_reply, index);
      if (!fresh.contains(guid)) continue;
      const bool waits = item.token == core::WorkToken(0);
      const bool over = why == Why::total     ? is_over(item.life.deadline)
                        : why == Why::queue   ? waits && is_over(item.life.queue_by)
                        : why == Why::attempt ? !waits && attempt_is_over(item)
                                              : !waits && heartbeat_is_over(item);
      if (!over)
        fail(job, "timer", format("activity {} is said to have run out of its {} timeout", seq, core::name_of(why)));
      job.received.insert(guid);
      job.activities[seq].findings.insert(format("\"no answer: its {} timeout ran out\"", core::name_of(why)));
    }
}

// By the monotonic clock of an engine, which may run fast.
bool WatchStore::is_past(Instant since, Duration time) const {
  constexpr Duration rounding(4);
  return time.count() != 0 && since + time - time * drift_ppm_ / 1'000'000 <= inner_.now() + rounding;
}

// A leased attempt's clocks are in its row. A local one's start when its worker reports the begin; the row does not
// matter.
bool WatchStore::attempt_is_over(const core::WorkItem& item) const {
  if (item.epoch == core::Epoch(0)) return is_over(item.life.attempt_by);
  const Journal::Began* began = journal_.began(item);
  return began != nullptr && is_past(began->at, item.life.attempt_timeout);
}

bool WatchStore::heartbeat_is_over(const core::WorkItem& item) const {
  if (item.epoch == core::Epoch(0))
    return is_over(item.life.heartbeat_by) || late_beats_.contains({item.request, item.token});
  const Journal::Began* began = journal_.began(item);
  return began != nullptr && (began->late || is_past(began->last_sign, item.life.heartbeat_timeout));
}

void WatchStore::check_due(const ShadowJob& job, const ShadowMessage& message) {
  if (message.due != Instant() && !is_over(message.due)) fail(job, "timer", "a timer fired before its time");
}

namespace {

// The hook that a message concludes as a signal does.
std::optional<core::ActivitySeq> signalled_by(const core::Body& body) {
  if (const auto* given = std::get_if<core::GiveAnswer>(&body)) return given->activity;
  const auto* resume = std::get_if<core::Resume>(&body);
  if (resume == nullptr || resume->status == core::ReplyStatus::pending) return std::nullopt;
  return resume->activity;
}

}  // namespace

// When a stopped job continues, its engine reads what came meanwhile. A hook whose signal is among it does not end by
// its timer, even if that is over by now. Called before the shadow changes.
void WatchStore::check_not_overtaken(ShadowJob& job, const core::Bundle& bundle) {
  if (core::is_stopped(job.status) && !core::is_stopped(std::get<core::JobHead>(bundle.head).status)) {
    job.waited.clear();
    for (const auto& [guid, message] : job.inbox)
      if (const auto seq = signalled_by(message.message.body); seq && is_hook(job, *seq)) job.waited.insert(guid);
  }
  for (const core::Write& one : bundle.writes) {
    const auto* put = std::get_if<core::PutRecord>(&one);
    const auto timer = put == nullptr ? job.inbox.end() : job.inbox.find(put->after.guid);
    const auto* time = timer == job.inbox.end() ? nullptr : std::get_if<core::TimeUp>(&timer->second.message.body);
    if (time == nullptr || work_done(job.activities.at(time->activity.raw()).ledger)) continue;
    for (const core::Guid& guid : job.waited)
      if (const auto waits = job.inbox.find(guid); waits != job.inbox.end())
        if (signalled_by(waits->second.message.body) == time->activity)
          fail(job, "overtaken", format("the time of activity {} went before its signal", time->activity.raw()));
  }
}

// The job's new state, against the requests on it. Called before the shadow changes.
void WatchStore::check_control(ShadowJob& job, const core::Bundle& bundle) {
  using core::JobStatus;
  const auto& head = std::get<core::JobHead>(bundle.head);
  std::map<core::Guid, core::Body> consumed;
  for (const core::Write& one : bundle.writes)
    if (const auto* w = std::get_if<core::Consume>(&one))
      if (const auto message = job.inbox.find(w->guid); message != job.inbox.end())
        consumed.emplace(w->guid, message->second.message.body);
  const bool paused = consumes<core::Pause>(consumed);
  const bool resumed = consumes<core::Proceed>(consumed);
  // A person's answer is taken like a worker's, in steps: the first of them lets the job go on.
  const bool answered = std::any_of(bundle.writes.begin(), bundle.writes.end(), [&](const core::Write& one) {
    const auto* put = std::get_if<core::PutRecord>(&one);
    const auto message = put == nullptr ? job.inbox.end() : job.inbox.find(put->after.guid);
    return message != job.inbox.end() && std::holds_alternative<core::GiveAnswer>(message->second.message.body);
  });
  const bool redriven = consumes<core::Redrive>(consumed) || consumes<core::GiveAnswer>(consumed) || answered;
  const JobStatus before = job.status;
  const JobStatus after = head.status;
  // A job that is cancelled ends, or begins to undo what it did; then it ends as interrupted.
  const bool cancels = consumes<core::Cancel>(consumed) && !core::is_closed(before) && !job.undoes;
  if (cancels && !core::is_closed(after) && head.code >= 0)
    fail(job, "control", "a cancellation was consumed and the job goes on as before");
  if (cancels) job.cancelled = true;
  if (job.cancelled && core::is_closed(after) && !core::is_closed(before) && after != JobStatus::interrupted)
    fail(job, "control", format("it was cancelled and is {}", core::name_of(after)));
  const bool redrives_up = head.redrives == job.redrives + 1;
  if (head.redrives != job.redrives && !(redrives_up && redriven && before == JobStatus::parked))
    fail(job, "control", format("redrives went from {} to {}", job.redrives, head.redrives));
  if (before == JobStatus::parked && redriven && !redrives_up) fail(job, "control", "it was redriven without a trace");
  if (before == JobStatus::running && paused && !resumed && !cancels && after == JobStatus::running)
    fail(job, "control", "a pause was consumed and the job runs on");
  if (after == JobStatus::paused && before != JobStatus::paused && !paused)
    fail(job, "control", "it was paused and nobody asked for it");
  if (before == JobStatus::paused && after == JobStatus::running && !resumed && !cancels)
    fail(job, "control", "it was resumed and nobody asked for it");
  if (before == JobStatus::parked && after == JobStatus::running && !redriven && !cancels)
    fail(job, "control", "it was redriven and nobody asked for it");
  if (before == JobStatus::paused && resumed && !paused && after == JobStatus::paused)
    fail(job, "control", "a resume was consumed and the job stays paused");
  if (after == JobStatus::interrupted && before != JobStatus::interrupted) {
    const bool asked = std::any_of(job.inbox.begin(), job.inbox.end(), [&](const auto& row) {
      const bool due = row.second.due == Instant() || is_over(row.second.due);
      return due && (std::holds_alternative<core::Interrupt>(row.second.message.body) ||
                     std::holds_alternative<core::EndJob>(row.second.message.body));
    });
    // Or an activity of the job requests it.
    const bool itself =
        job.shape != nullptr && std::any_of(bundle.writes.begin(), bundle.writes.end(), [&](const auto& one) {
          const auto* put = std::get_if<core::PutActivity>(&one);
          return put != nullptr && job.shape->nodes()[put->after.node].kind == Graph::Kind::interrupt;
        });
    if (!asked && !itself && !job.cancelled)
      fail(job, "timer", "it was interrupted and nobody asked for it, or before its time");
  }
  const bool closes = core::is_closed(after) && !core::is_closed(before);
  if (closes && head.remove_at != (job.keep ? head.closed_at + *job.keep : Instant()))
    fail(job, "removal", "it is to be removed at another time than was asked for");
}

// A stopped job's work is held, all of it; a running one's is not.
void WatchStore::check_held(const ShadowJob& job) {
  for (const auto& [seq, item] : job.work)
    if (item.held != core::is_stopped(job.status))
      fail(job, "held",
           format("the job is {} and work of activity {} is {}", core::name_of(job.status), seq,
                  item.held ? "held" : "not held"));
}

void WatchStore::write(ShadowJob& job, const core::Bundle&, const core::HoldWork& hold) {
  for (auto& [seq, item] : job.work) item.held = hold.held;
}

void WatchStore::write(ShadowJob& job, const core::Bundle&, const core::CountRedelivery& count) {
  const auto message = job.inbox.find(count.guid);
  if (message != job.inbox.end()) check_due(job, message->second);
}

const core::Refused* WatchStore::refuses(const core::Bundle& bundle, std::uint32_t seq) {
  for (const core::Write& one : bundle.writes)
    if (const auto* put = std::get_if<core::PutMessage>(&one))
      if (const auto* refused = std::get_if<core::Refused>(&put->message.body))
        if (refused->activity.raw() == seq) return refused;
  return nullptr;
}

void WatchStore::write(ShadowJob& job, const core::Bundle& bundle, const core::ChangeWork& change) {
  const std::uint32_t seq = change.activity.raw();
  const auto found = job.work.find(seq);
  if (found == job.work.end() || found->second.token != change.token)
    return fail(job, "token", format("work of activity {} was taken from somebody who holds it", seq));
  core::WorkItem& item = found->second;
  const Payload progress = item.life.progress;  // only workers write it, not the job
  const std::uint32_t before = item.life.failures;
  const std::uint32_t after = change.life.failures;
  const bool once = item.life.at_most_once;
  if (!change.release) {
    if (!once || !change.life.unknown || after != before || change.token == core::WorkToken(0))
      fail(job, "tries", format("work of activity {} changed without a reason", seq));
  } else if (after == before + 1) {
    const bool said = journal_.has_failed(item);
    const bool silent = !once && run_is_over(item);
    if (!said && !silent) fail(job, "tries", format("a try of activity {} is counted that did not fail", seq));
    if (!counted_failures_.insert({item.request, item.token}).second)
      fail(job, "tries", format("a try of activity {} is counted twice", seq));
    if (once) ++allowed_again_[item.request];  // it reported its own failure
  } else {
    bool allowed = once && when_unknown(job, seq) == WhenUnknown::retry;
    allowed = allowed || (once && journal_.may_retry(item.request, item.token));
    // An answer that the job refuses: it is kept, as the worker gave it, and the worker may be asked again.
    if (const core::Refused* refused = refuses(bundle, seq)) {
      const Journal::Request* known = journal_.find(item.request);
      allowed = allowed || (!once && known != nullptr && known->outputs.contains(refused->data.str()));
    }
    for (const core::Write& one : bundle.writes)
      if (const auto* w = std::get_if<core::Consume>(&one))
        if (const auto message = job.inbox.find(w->guid); message != job.inbox.end())
          if (const auto* verdict = std::get_if<core::Verdict>(&message->second.message.body))
            allowed = allowed || (once && item.life.unknown && verdict->activity.raw() == seq &&
                                  verdict->kind == core::Verdict::Kind::retry);
    if (after != before || !allowed)
      fail(job, once ? "at most once" : "tries",
           format("work of activity {} is given back with {} failures, it had {}", seq, after, before));
    ++allowed_again_[item.request];
  }
  item.visible_at = change.visible_at;
  item.life = change.life;
  item.life.progress = progress;
  if (!change.release) return;
  item.token = core::WorkToken(0);
  item.worker.clear();
  item.epoch = core::Epoch(0);
  item.lease_until = Instant();
}

}  // namespace pawl::sim
