// Draft: a bundle that is being built. Reads see what was written to it, so several steps and several messages of one
// job can go into one bundle, each based on the one before. The state itself is not changed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/bundle.h"
#include "core/carried.h"
#include "core/job_state.h"

namespace pawl::core {

class Draft {
 public:
  // `base` must outlive the draft.
  explicit Draft(const JobState& base);

  const JobState& base() const { return base_; }
  JobStatus status() const { return head_.status; }
  bool active() const { return head_.status == JobStatus::running; }
  std::uint32_t redrives() const { return head_.redrives; }
  bool empty() const { return !touched_; }
  std::int64_t semaphore() const { return semaphore_; }
  std::size_t write_count() const { return writes_.size(); }

  const Activity* find(ActivitySeq seq) const;
  const Activity* find(std::uint32_t node, const ledger::Dimensions& at) const;
  // If several instances have one address (under compat a node may have two parents), the one that this parent opened.
  const Activity* find(std::uint32_t node, const ledger::Dimensions& at, ActivitySeq parent) const;
  const MessageRecord* find_message(const Guid& guid) const;
  const MessageRecord* find_message(ActivitySeq activity, std::uint32_t plane) const;
  const WorkItem* find_work(ActivitySeq seq) const;
  // What this run brought along for an instance; null: nothing.
  const Carried* carried(std::uint32_t node, const ledger::Dimensions& at) const;
  const std::optional<std::string>& trace() const;  // the trace context that the job was started with
  const Payload& data() const { return head_.data ? *head_.data : base_.job.data; }  // what all activities share
  std::int32_t code() const { return head_.code < 0 ? -head_.code & ~cancelled_bit : head_.code; }
  // The job failed and is being undone: only undo activities run. Stored as the sign of the code.
  bool undoing() const { return head_.code < 0; }
  void begin_undo() { head_.code = -code(); }
  // It is being undone because somebody cancelled it: it ends as interrupted, not as failed.
  bool cancelled() const { return undoing() && (-head_.code & cancelled_bit) != 0; }
  // Of a job whose last obligation is gone.
  JobStatus final_status() const {
    if (code() == 0) return JobStatus::completed;
    return cancelled() ? JobStatus::interrupted : JobStatus::failed;
  }
  void mark_cancelled() { head_.code = -(code() | cancelled_bit); }
  const std::string& reason() const { return head_.reason ? *head_.reason : base_.job.reason; }

  ActivitySeq next_activity() const { return ActivitySeq(head_.next_activity); }
  void put(Activity activity);  // seq == next_activity() opens a new instance
  void put(MessageRecord record);
  void put_work(WorkItem item);
  void drop_work(const WorkItem& item);
  // `change` holds the new values; item and token are filled in
  void change_work(const WorkItem& before, ChangeWork change);
  void hold_work(bool held);
  void put_message(Message message, Instant due = {});
  void count_redelivery(const Guid& guid, std::uint32_t before);
  void consume(const Guid& guid);
  void send(Envelope envelope);
  void put_label(Label label);
  void drop_label(Label label);
  void add_measure(Measure measure);
  void note_telemetry(ActivitySeq activity, Payload attributes) {
    telemetry_.emplace_back(activity, std::move(attributes));
  }
  void announce(Announce announcement);
  // The end was announced: the result is known. The job is removed its keep time after this moment.
  void announce_end(Payload result, Instant now);
  bool end_announced() const { return head_.result.has_value() || !base_.job.result.empty(); }

  void share(Payload data);  // replaces the job's data
  void fail_with(std::int32_t code) { head_.code = code; }
  void keep_for(Duration time) { keep_ = time; }  // after the job is closed
  void keep_instead(Duration time) {              // also when its end was announced and the time has already begun
    keep_ = time;
    head_.remove_at = Instant();
  }
  bool keeps() const { return keep_.has_value(); }

  void step_semaphore(std::int64_t delta, const ledger::Semaphore::Step& step);
  void close(JobStatus status, Instant now, std::optional<Guid> keep);
  void finish(std::optional<Payload> result);
  void fail_reason(std::string reason);
  void park(std::string reason);
  void pause(std::string reason);
  void proceed();  // after a pause or a redrive
  void count_redrive() { ++head_.redrives; }

  Bundle build(Epoch epoch, BundleId id) &&;

 private:
  static constexpr std::int32_t cancelled_bit = JobRow::cancelled_bit;
  struct Brought {                                                     // by the run from its start
    std::map<std::pair<std::uint32_t, std::string>, Carried> carried;  // by node and place
    std::optional<std::string> trace;
  };
  const Brought* brought() const;

  const JobState& base_;
  bool touched_ = false;
  std::int64_t semaphore_;
  JobHead head_;
  std::optional<Duration> keep_;
  std::vector<Write> writes_;
  std::vector<std::pair<ActivitySeq, Payload>> telemetry_;
  std::unordered_set<Guid> consumed_;
  // The index of a row's write in writes_, so that a second write of the row replaces the first.
  std::unordered_map<ActivitySeq, std::size_t> activity_writes_;
  std::unordered_map<Guid, std::size_t> record_writes_;
  std::unordered_map<std::uint64_t, Guid> plane_writes_;  // activity << 32 | plane
  std::unordered_map<ActivitySeq, std::size_t> work_writes_;
  std::unordered_map<ActivitySeq, WorkItem> changed_work_;  // as a ChangeWork leaves it
  std::unordered_set<std::size_t> taken_back_;              // writes that have no effect
  mutable std::optional<Brought> brought_;                  // from the trigger's state, read when it is first needed
};

}  // namespace pawl::core
