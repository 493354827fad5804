#include "runtime/work_desk.h"

#include <algorithm>
#include <tuple>

#include "base/invariant.h"
#include "base/limits.h"
#include "base/seeded_bug.h"

namespace pawl::runtime {

bool WorkDesk::take_slot(std::size_t bytes) {
  if (!has_room()) return false;
  --free_;
  bytes_ += bytes;
  return true;
}

void WorkDesk::give_up_slot(std::size_t bytes) {
  ++free_;
  bytes_ -= bytes;
}

// It may be larger than was thought when its slot was taken: a run before it may have left word how far it came.
void WorkDesk::begin(const WorkRef& ref, core::WorkToken token, std::size_t bytes) {
  if (const auto claimed = claiming_.find(ref); claimed != claiming_.end()) {
    bytes_ = bytes_ - claimed->second + bytes;
    claiming_.erase(claimed);
  }
  const bool is_new = running_.emplace(WorkRun{ref, token}, Running{true, bytes}).second;
  invariant(is_new, "a run of an item begins once: its slot comes back once");
}

WorkDesk::Ended WorkDesk::end(const WorkRef& ref, core::WorkToken token) {
  const auto found = running_.find(WorkRun{ref, token});
  if (found == running_.end()) return Ended::unknown;
  const bool valid = found->second.counts;
  bytes_ -= found->second.bytes;
  running_.erase(found);
  if (suspect_out_ == ref) suspect_out_.reset();
  return valid ? Ended::valid : Ended::abandoned;
}

void WorkDesk::abandon(const WorkRef& ref, core::WorkToken token) {
  const auto found = running_.find(WorkRun{ref, token});
  if (found != running_.end() && !seeded(SeededBug::pending_reply_lost)) found->second.counts = false;
}

bool WorkDesk::is_running(const WorkRef& ref, core::WorkToken token) const {
  const auto found = running_.find(WorkRun{ref, token});
  return found != running_.end() && found->second.counts;
}

std::vector<WorkRun> WorkDesk::runs_in(core::LaneId lane) const {
  std::vector<WorkRun> runs;
  for (const auto& [run, running] : running_)
    if (running.counts && core::lane_of(run.ref.run) == lane) runs.push_back(run);
  // The same order on every machine: the simulator repeats runs.
  std::sort(runs.begin(), runs.end(), [](const WorkRun& a, const WorkRun& b) {
    return std::tie(a.ref.run, a.ref.activity, a.token) < std::tie(b.ref.run, b.ref.activity, b.token);
  });
  return runs;
}

void WorkDesk::claim_failed(const WorkRef& ref) {
  if (suspect_out_ == ref) suspect_out_.reset();
  const auto claimed = claiming_.find(ref);
  if (claimed == claiming_.end()) return give_slot();
  give_up_slot(claimed->second);
  claiming_.erase(claimed);
}

void WorkDesk::wait(const WaitingWork& work) {
  if (waiting_count_ + suspects_.size() >= waiting_max) {
    overflow_ = true;
    return;
  }
  if (!waiting_refs_.insert(work.ref).second) return;
  if (work.unanswered >= limits::reentries_in_groups_max) {
    suspects_.push_back(work);
  } else {
    waiting_[work.priority].push_back(work);
    ++waiting_count_;
  }
}

std::optional<Duration> WorkDesk::next_suspect_at() const {
  if (suspects_.empty() || !suspect_out_ || !has_room()) return std::nullopt;
  return suspect_until_;
}

std::optional<WaitingWork> WorkDesk::next_waiting(Duration now) {
  // A suspect has its turn whenever none is out: a busy queue must not keep it waiting for ever.
  const bool suspect = !suspects_.empty() && (!suspect_out_ || now >= suspect_until_);
  if ((!suspect && waiting_count_ == 0) || !has_room()) return std::nullopt;
  WaitingWork work;
  if (suspect) {
    work = suspects_.front();
    suspects_.pop_front();
    suspect_out_ = work.ref;
    suspect_until_ = now + limits::suspect_alone_max;
  } else {
    const auto first = waiting_.begin();
    work = first->second.front();
    first->second.pop_front();
    if (first->second.empty()) waiting_.erase(first);
    --waiting_count_;
  }
  waiting_refs_.erase(work.ref);
  take_slot(work.bytes);
  claiming_.emplace(work.ref, work.bytes);
  return work;
}

bool WorkDesk::take_overflow() {
  const bool was = overflow_;
  overflow_ = false;
  return was;
}

}  // namespace pawl::runtime
