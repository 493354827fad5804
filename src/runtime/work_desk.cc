#include "runtime/work_desk.h"

#include <algorithm>
#include <tuple>

#include "base/invariant.h"
#include "base/limits.h"
#include "base/seeded_bug.h"

namespace pawl::runtime {

bool WorkDesk::take_slot() {
  if (free_ == 0) return false;
  --free_;
  return true;
}

void WorkDesk::begin(const WorkRef& ref, core::WorkToken token) {
  claiming_.erase(ref);
  const bool is_new = running_.emplace(WorkRun{ref, token}, true).second;
  invariant(is_new, "a run of an item begins once: its slot comes back once");
}

WorkDesk::Ended WorkDesk::end(const WorkRef& ref, core::WorkToken token) {
  const auto found = running_.find(WorkRun{ref, token});
  if (found == running_.end()) return Ended::unknown;
  const bool valid = found->second;
  running_.erase(found);
  if (suspect_out_ == ref) suspect_out_.reset();
  return valid ? Ended::valid : Ended::abandoned;
}

void WorkDesk::abandon(const WorkRef& ref, core::WorkToken token) {
  const auto found = running_.find(WorkRun{ref, token});
  if (found != running_.end() && !seeded(SeededBug::pending_reply_lost)) found->second = false;
}

bool WorkDesk::is_running(const WorkRef& ref, core::WorkToken token) const {
  const auto found = running_.find(WorkRun{ref, token});
  return found != running_.end() && found->second;
}

std::vector<WorkRun> WorkDesk::runs_in(core::LaneId lane) const {
  std::vector<WorkRun> runs;
  for (const auto& [run, counts] : running_)
    if (counts && core::lane_of(run.ref.run) == lane) runs.push_back(run);
  // The same order on every machine: the simulator repeats runs.
  std::sort(runs.begin(), runs.end(), [](const WorkRun& a, const WorkRun& b) {
    return std::tie(a.ref.run, a.ref.activity, a.token) < std::tie(b.ref.run, b.ref.activity, b.token);
  });
  return runs;
}

void WorkDesk::claim_failed(const WorkRef& ref) {
  claiming_.erase(ref);
  if (suspect_out_ == ref) suspect_out_.reset();
  give_slot();
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
  if (suspects_.empty() || !suspect_out_ || free_ == 0) return std::nullopt;
  return suspect_until_;
}

std::optional<WaitingWork> WorkDesk::next_waiting(Duration now) {
  // A suspect has its turn whenever none is out: a busy queue must not keep it waiting for ever.
  const bool suspect = !suspects_.empty() && (!suspect_out_ || now >= suspect_until_);
  if ((!suspect && waiting_count_ == 0) || !take_slot()) return std::nullopt;
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
  claiming_.insert(work.ref);
  return work;
}

bool WorkDesk::take_overflow() {
  const bool was = overflow_;
  overflow_ = false;
  return was;
}

}  // namespace pawl::runtime
