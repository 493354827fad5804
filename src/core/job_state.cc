#include "core/job_state.h"

#include "base/invariant.h"

namespace pawl::core {

std::string_view name_of(JobStatus status) {
  switch (status) {
    case JobStatus::running:
      return "running";
    case JobStatus::completed:
      return "completed";
    case JobStatus::failed:
      return "failed";
    case JobStatus::interrupted:
      return "interrupted";
    case JobStatus::parked:
      return "parked";
    case JobStatus::paused:
      return "paused";
  }
  return "?";
}

std::string_view name_of(NoReply::Why why) {
  switch (why) {
    case NoReply::Why::queue:
      return "queue";
    case NoReply::Why::attempt:
      return "attempt";
    case NoReply::Why::heartbeat:
      return "heartbeat";
    case NoReply::Why::total:
      return "total";
    case NoReply::Why::lost:
      return "lost";
  }
  return "?";
}

std::string_view name_of(TimeUp::What what) {
  switch (what) {
    case TimeUp::What::sleep:
      return "sleep";
    case TimeUp::What::timeout:
      return "timeout";
    case TimeUp::What::retry:
      return "retry";
  }
  return "?";
}

std::string_view name_of(ActivityStatus status) {
  switch (status) {
    case ActivityStatus::open:
      return "open";
    case ActivityStatus::completed:
      return "completed";
    case ActivityStatus::errored:
      return "errored";
    case ActivityStatus::skipped:
      return "skipped";
  }
  return "?";
}

const Activity* JobState::find(ActivitySeq seq) const {
  return seq.raw() < activities_.size() ? &activities_[seq.raw()] : nullptr;
}

const Activity* JobState::find(std::uint32_t node, const ledger::Dimensions& at) const {
  const auto found = by_place_.find(Place{node, at});
  return found == by_place_.end() ? nullptr : find(found->second);
}

const MessageRecord* JobState::find_message(const Guid& guid) const {
  const auto found = messages_.find(guid);
  return found == messages_.end() ? nullptr : &found->second;
}

namespace {
std::uint64_t plane_key(ActivitySeq activity, std::uint32_t plane) {
  return std::uint64_t{activity.raw()} << 32 | plane;
}
}  // namespace

const MessageRecord* JobState::find_message(ActivitySeq activity, std::uint32_t plane) const {
  const auto found = by_plane_.find(plane_key(activity, plane));
  return found == by_plane_.end() ? nullptr : find_message(found->second);
}

const WorkItem* JobState::find_work(ActivitySeq seq) const {
  const auto found = work_.find(seq);
  return found == work_.end() ? nullptr : &found->second;
}

std::optional<Guid> JobState::half_done() const { return half_done_; }

namespace {

// Added to an entry's payloads: the entry itself and an estimate of its index entries.
constexpr std::size_t index_bytes = 96;

std::size_t weight_of(const Activity& activity) {
  return sizeof(Activity) + index_bytes + activity.output.size() + activity.state.size();
}
std::size_t weight_of(const MessageRecord& record) {
  return sizeof(MessageRecord) + index_bytes + record.output.size();
}
std::size_t weight_of(const WorkItem& item) {
  return sizeof(WorkItem) + index_bytes + item.input.size() + item.life.progress.size();
}

}  // namespace

void JobState::put(Activity activity) {
  const std::size_t index = activity.seq.raw();
  invariant(index <= activities_.size(), "activity instances are numbered without gaps");
  bytes_ += weight_of(activity);
  if (index < activities_.size()) {
    bytes_ -= weight_of(activities_[index]);
    activities_[index] = std::move(activity);
    return;
  }
  by_place_.emplace(Place{activity.node, activity.at}, activity.seq);
  activities_.push_back(std::move(activity));
}

void JobState::put(MessageRecord record) {
  using Step = ledger::MessageLedger::Step;
  const bool half = record.ledger.done(Step::work) && !record.ledger.done(Step::spawn);
  if (half)
    half_done_ = record.guid;
  else if (half_done_ == record.guid)
    half_done_.reset();
  if (!record.output.empty())
    by_plane_.insert_or_assign(plane_key(record.activity, record.ledger.plane()), record.guid);
  bytes_ += weight_of(record);
  if (const auto known = messages_.find(record.guid); known != messages_.end()) {
    bytes_ -= weight_of(known->second);
    known->second = std::move(record);
  } else {
    messages_.emplace(record.guid, std::move(record));
  }
}

void JobState::put(WorkItem item) {
  drop_work(item.activity);
  bytes_ += weight_of(item);
  work_.emplace(item.activity, std::move(item));
}

void JobState::drop_work(ActivitySeq seq) {
  const auto found = work_.find(seq);
  if (found == work_.end()) return;
  bytes_ -= weight_of(found->second);
  work_.erase(found);
}

void JobState::drop_all_work() {
  for (const auto& [seq, item] : work_) bytes_ -= weight_of(item);
  work_.clear();
}

bool operator==(const JobState& a, const JobState& b) {
  return a.job == b.job && a.activities_ == b.activities_ && a.messages_ == b.messages_ && a.work_ == b.work_;
}

}  // namespace pawl::core
