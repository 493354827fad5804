#include "core/draft.h"

#include "base/invariant.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "core/apply.h"

namespace pawl::core {

Draft::Draft(const JobState& base) : base_(base), semaphore_(base.job.semaphore) {
  head_.status = base.job.status;
  head_.completions_before = base.job.completions;
  head_.completions = base.job.completions;
  head_.next_activity = base.job.next_activity;
  head_.closed_at = base.job.closed_at;
  head_.remove_at = base.job.remove_at;
  head_.redrives = base.job.redrives;
  head_.code = base.job.code;
  keep_ = base.job.keep;
}

const Activity* Draft::find(ActivitySeq seq) const {
  const auto written = activity_writes_.find(seq);
  if (written != activity_writes_.end()) return &std::get<PutActivity>(writes_[written->second]).after;
  return base_.find(seq);
}

const Activity* Draft::find(std::uint32_t node, const ledger::Dimensions& at) const {
  const Activity* known = base_.find(node, at);
  if (known != nullptr) return find(known->seq);
  for (std::uint32_t seq = base_.job.next_activity; seq < head_.next_activity; ++seq) {
    const Activity* opened = find(ActivitySeq(seq));
    if (opened->node == node && opened->at == at) return opened;
  }
  return nullptr;
}

const Activity* Draft::find(std::uint32_t node, const ledger::Dimensions& at, ActivitySeq parent) const {
  const Activity* first = find(node, at);
  if (first == nullptr || first->parent == parent) return first;
  for (std::uint32_t seq = first->seq.raw() + 1; seq < head_.next_activity; ++seq) {
    const Activity* other = find(ActivitySeq(seq));
    if (other->node == node && other->parent == parent && other->at == at) return other;
  }
  return nullptr;
}

const MessageRecord* Draft::find_message(const Guid& guid) const {
  const auto written = record_writes_.find(guid);
  if (written != record_writes_.end()) return &std::get<PutRecord>(writes_[written->second]).after;
  return base_.find_message(guid);
}

const MessageRecord* Draft::find_message(ActivitySeq activity, std::uint32_t plane) const {
  const auto written = plane_writes_.find(std::uint64_t{activity.raw()} << 32 | plane);
  return written != plane_writes_.end() ? find_message(written->second) : base_.find_message(activity, plane);
}

const WorkItem* Draft::find_work(ActivitySeq seq) const {
  const auto written = work_writes_.find(seq);
  if (written == work_writes_.end()) return base_.find_work(seq);
  if (const auto* put = std::get_if<PutWork>(&writes_[written->second])) return &put->item;
  const auto changed = changed_work_.find(seq);
  return changed == changed_work_.end() ? nullptr : &changed->second;
}

const Draft::Brought* Draft::brought() const {
  if (brought_) return &*brought_;
  const Activity* trigger = find(ActivitySeq(0));
  if (trigger == nullptr || trigger->state.empty()) return nullptr;
  brought_.emplace();
  if (auto start = unpack_start(trigger->state)) {
    for (Carried& one : start->carried) {
      std::pair place(one.node, std::string(one.at.text()));
      brought_->carried.emplace(std::move(place), std::move(one));
    }
    brought_->trace = std::move(start->trace);
  }
  return &*brought_;
}

const Carried* Draft::carried(std::uint32_t node, const ledger::Dimensions& at) const {
  const Brought* all = brought();
  if (all == nullptr || all->carried.empty()) return nullptr;
  const auto found = all->carried.find({node, std::string(at.text())});
  return found == all->carried.end() ? nullptr : &found->second;
}

const std::optional<std::string>& Draft::trace() const {
  static const std::optional<std::string> none;
  const Brought* all = brought();
  return all == nullptr ? none : all->trace;
}

void Draft::put(Activity activity) {
  touched_ = true;
  const ActivitySeq seq = activity.seq;
  const auto written = activity_writes_.find(seq);
  if (written != activity_writes_.end()) {
    std::get<PutActivity>(writes_[written->second]).after = std::move(activity);
    return;
  }
  const Activity* stored = base_.find(seq);
  std::optional<ledger::ActivityLedger> before;
  if (stored != nullptr) {
    before = stored->ledger;
  } else {
    invariant(seq == next_activity(), "a new instance takes the next number");
    ++head_.next_activity;
  }
  activity_writes_.emplace(seq, writes_.size());
  writes_.emplace_back(PutActivity{before, std::move(activity)});
}

void Draft::share(Payload data) {
  touched_ = true;
  head_.data = std::move(data);
}

void Draft::put(MessageRecord record) {
  touched_ = true;
  if (!record.output.empty())
    plane_writes_.insert_or_assign(std::uint64_t{record.activity.raw()} << 32 | record.ledger.plane(), record.guid);
  const auto written = record_writes_.find(record.guid);
  if (written != record_writes_.end()) {
    std::get<PutRecord>(writes_[written->second]).after = std::move(record);
    return;
  }
  const MessageRecord* stored = base_.find_message(record.guid);
  std::optional<ledger::MessageLedger> before;
  if (stored != nullptr) before = stored->ledger;
  record_writes_.emplace(record.guid, writes_.size());
  writes_.emplace_back(PutRecord{before, std::move(record)});
}

void Draft::put_work(WorkItem item) {
  touched_ = true;
  work_writes_.insert_or_assign(item.activity, writes_.size());
  writes_.emplace_back(PutWork{std::move(item)});
}

void Draft::change_work(const WorkItem& before, ChangeWork change) {
  touched_ = true;
  const auto written = work_writes_.find(before.activity);
  invariant(written == work_writes_.end(), "an item is changed once in a bundle");
  change.activity = before.activity;
  change.token = before.token;
  WorkItem after = before;
  apply_change(after, change);
  changed_work_.insert_or_assign(before.activity, std::move(after));
  work_writes_.emplace(change.activity, writes_.size());
  writes_.emplace_back(std::move(change));
}

void Draft::hold_work(bool held) {
  touched_ = true;
  writes_.emplace_back(HoldWork{held});
}

void Draft::drop_work(const WorkItem& item) {
  touched_ = true;
  changed_work_.erase(item.activity);
  const auto written = work_writes_.find(item.activity);
  if (written != work_writes_.end() && std::holds_alternative<PutWork>(writes_[written->second])) {
    // Requested and cancelled in one bundle: no reader ever sees it. Its place is kept, because others are known by
    // index.
    taken_back_.insert(written->second);
    writes_[written->second] = DropWork{item.activity, item.token};
    return;
  }
  work_writes_.insert_or_assign(item.activity, writes_.size());
  writes_.emplace_back(DropWork{item.activity, item.token});
}

void Draft::put_message(Message message, Instant due) {
  touched_ = true;
  writes_.emplace_back(PutMessage{std::move(message), due});
}

void Draft::count_redelivery(const Guid& guid, std::uint32_t before) {
  touched_ = true;
  writes_.emplace_back(CountRedelivery{guid, before});
}

void Draft::consume(const Guid& guid) {
  if (!consumed_.insert(guid).second) return;  // both messages of a race consume the losing timer
  touched_ = true;
  writes_.emplace_back(Consume{guid});
}

void Draft::send(Envelope envelope) {
  touched_ = true;
  writes_.emplace_back(Send{std::move(envelope)});
}

void Draft::put_label(Label label) {
  touched_ = true;
  writes_.emplace_back(PutLabel{std::move(label)});
}

void Draft::drop_label(Label label) {
  touched_ = true;
  writes_.emplace_back(DropLabel{std::move(label)});
}

void Draft::add_measure(Measure measure) {
  touched_ = true;
  writes_.emplace_back(AddMeasure{std::move(measure)});
}

void Draft::announce(Announce announcement) {
  touched_ = true;
  writes_.emplace_back(std::move(announcement));
}

void Draft::announce_end(Payload result, Instant now) {
  touched_ = true;
  head_.result = std::move(result);
  if (keep_) head_.remove_at = now + *keep_;
}

void Draft::step_semaphore(std::int64_t delta, const ledger::Semaphore::Step& step) {
  touched_ = true;
  if (!head_.semaphore) head_.semaphore = SemaphoreStep{base_.job.semaphore, 0, base_.job.threshold, false};
  head_.semaphore->delta += delta;
  head_.semaphore->hit = step.threshold_hit;
  semaphore_ = step.after.value();
}

void Draft::close(JobStatus status, Instant now, std::optional<Guid> keep) {
  touched_ = true;
  head_.status = status;
  head_.code = code();
  head_.closed_at = now;
  // When the last obligation closes the job, nothing is left over; every other closing sweeps.
  const bool something_left = semaphore_ != 0;
  semaphore_ = 0;
  if (something_left)
    writes_.emplace_back(Sweep{keep});
  else if (base_.job.deadline != Instant())
    consume(deadline_guid(base_.job.run));
  if (keep_ && head_.remove_at == Instant()) head_.remove_at = now + *keep_;
}

void Draft::finish(std::optional<Payload> result) {
  touched_ = true;
  head_.completions += 1;
  head_.result = std::move(result);
}

void Draft::fail_reason(std::string reason) { head_.reason = kept_text(reason, limits::reason_bytes_max); }

void Draft::park(std::string reason) {
  touched_ = true;
  head_.status = JobStatus::parked;
  fail_reason(std::move(reason));
  hold_work(true);
}

void Draft::pause(std::string reason) {
  touched_ = true;
  head_.status = JobStatus::paused;
  fail_reason(std::move(reason));
  hold_work(true);
}

void Draft::proceed() {
  touched_ = true;
  head_.status = JobStatus::running;
  head_.reason = "";
  hold_work(false);
}

Bundle Draft::build(Epoch epoch, BundleId id) && {
  if (!taken_back_.empty()) {
    std::vector<Write> kept;
    for (std::size_t i = 0; i < writes_.size(); ++i)
      if (!taken_back_.contains(i)) kept.push_back(std::move(writes_[i]));
    writes_ = std::move(kept);
  }
  return Bundle{base_.job.run, epoch, base_.job.rev, id, std::move(head_), std::move(writes_), std::move(telemetry_)};
}

}  // namespace pawl::core
