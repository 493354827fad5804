#include "runtime/work_desk.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/invariant.h"
#include "base/limits.h"
#include "base/seeded_bug.h"

namespace pawl::runtime {

bool WorkDesk::has_room(bool once) const {
  const bool bytes = bytes_ == 0 || bytes_ < bytes_max_;
  return free_ > 0 && bytes && (!once || once_ < threads_ || seeded(SeededBug::once_claimed_ahead));
}

bool WorkDesk::take_slot(const WorkNeed& need) {
  if (!has_room(need.once)) return false;
  --free_;
  bytes_ += need.bytes;
  if (need.once) ++once_;
  return true;
}

void WorkDesk::give_slot(const WorkNeed& need) {
  ++free_;
  bytes_ -= need.bytes;
  if (need.once) --once_;
}

// It may be larger than expected when its slot was taken: an earlier attempt may have stored progress.
void WorkDesk::begin(const WorkRef& ref, core::WorkToken token, const WorkNeed& need) {
  if (const auto claimed = claiming_.find(ref); claimed != claiming_.end()) {
    bytes_ = bytes_ - claimed->second.bytes + need.bytes;
    claiming_.erase(claimed);
  }
  const bool is_new = running_.emplace(WorkRun{ref, token}, Running{true, true, need}).second;
  invariant(is_new, "a run of an item begins once: its slot comes back once");
  ++in_hand_;
}

WorkDesk::Ended WorkDesk::end(const WorkRef& ref, core::WorkToken token) {
  const auto found = running_.find(WorkRun{ref, token});
  if (found == running_.end()) return Ended::unknown;
  write_off(ref, token);
  const bool valid = found->second.counts;
  running_.erase(found);
  return valid ? Ended::valid : Ended::abandoned;
}

void WorkDesk::write_off(const WorkRef& ref, core::WorkToken token) {
  const auto found = running_.find(WorkRun{ref, token});
  if (found == running_.end() || !std::exchange(found->second.has_slot, false)) return;
  --in_hand_;
  give_slot(found->second.need);
  if (suspect_out_ == ref) suspect_out_.reset();
}

void WorkDesk::forget_all() {
  running_.clear();
  in_hand_ = 0;
}

void WorkDesk::abandon(const WorkRef& ref, core::WorkToken token) {
  const auto found = running_.find(WorkRun{ref, token});
  if (found != running_.end() && !seeded(SeededBug::pending_reply_lost)) found->second.counts = false;
}

bool WorkDesk::is_running(const WorkRef& ref, core::WorkToken token) const {
  const auto found = running_.find(WorkRun{ref, token});
  return found != running_.end() && found->second.counts;
}

bool WorkDesk::is_in_hand(const WorkRef& ref, core::WorkToken token) const {
  const auto found = running_.find(WorkRun{ref, token});
  return found != running_.end() && found->second.counts && found->second.has_slot;
}

std::vector<WorkRun> WorkDesk::runs_in(core::LaneId lane) const {
  std::vector<WorkRun> runs;
  for (const auto& [run, state] : running_)
    if (state.counts && core::lane_of(run.ref.run) == lane) runs.push_back(run);
  // The same order on every machine: the simulator repeats its runs.
  std::sort(runs.begin(), runs.end(), [](const WorkRun& a, const WorkRun& b) {
    return std::tie(a.ref.run, a.ref.activity, a.token) < std::tie(b.ref.run, b.ref.activity, b.token);
  });
  return runs;
}

bool WorkDesk::is_busy(core::LaneId lane) const {
  const auto is_there = [&](const WorkRef& ref) { return core::lane_of(ref.run) == lane; };
  return std::any_of(claiming_.begin(), claiming_.end(), [&](const auto& one) { return is_there(one.first); }) ||
         std::any_of(running_.begin(), running_.end(), [&](const auto& one) {
           return one.second.counts && one.second.has_slot && is_there(one.first.ref);
         });
}

std::vector<Topic> WorkDesk::topics(std::size_t count_max) const {
  std::vector<std::string> names(topics_.begin(), topics_.end());
  std::sort(names.begin(), names.end());
  names.resize(std::min(names.size(), count_max));
  return {names.begin(), names.end()};
}

WorkNeed WorkDesk::claim_failed(const WorkRef& ref) {
  if (suspect_out_ == ref) suspect_out_.reset();
  const auto claimed = claiming_.find(ref);
  const WorkNeed need = claimed == claiming_.end() ? WorkNeed{} : claimed->second;
  if (claimed != claiming_.end()) claiming_.erase(claimed);
  give_slot(need);
  return need;
}

void WorkDesk::wait(const WaitingWork& work) {
  if (waiting_count_ + suspects_.size() >= waiting_max) {
    overflow_ = true;
    return;
  }
  if (!waiting_refs_.insert(work.ref).second) return;
  WaitingWork placed = work;
  placed.place = ++next_place_;
  if (work.unanswered >= limits::reentries_in_groups_max) {
    suspects_.push_back(placed);
  } else {
    (work.need.once ? waiting_once_ : waiting_)[work.priority].push_back(placed);
    ++waiting_count_;
  }
}

std::optional<Duration> WorkDesk::next_suspect_at() const {
  if (suspects_.empty() || !suspect_out_ || !has_room(suspects_.front().need.once)) return std::nullopt;
  return suspect_until_;
}

WaitingWork WorkDesk::take_first(Queues& queues) {
  const auto first = queues.begin();
  WaitingWork work = first->second.front();
  first->second.pop_front();
  if (first->second.empty()) queues.erase(first);
  return work;
}

WorkDesk::Queues* WorkDesk::first_queues() {
  const bool any = !waiting_.empty() && has_room(false);
  const bool once = !waiting_once_.empty() && has_room(true);
  if (!any || !once) return any ? &waiting_ : once ? &waiting_once_ : nullptr;
  const WaitingWork& a = waiting_.begin()->second.front();
  const WaitingWork& b = waiting_once_.begin()->second.front();
  const bool once_first = a.priority != b.priority ? a.priority < b.priority : b.place < a.place;
  return once_first ? &waiting_once_ : &waiting_;
}

std::optional<WaitingWork> WorkDesk::next_waiting(Duration now) {
  // A suspect has its turn whenever no other one is running: a busy queue must not delay it for ever.
  const bool suspect =
      !suspects_.empty() && has_room(suspects_.front().need.once) && (!suspect_out_ || now >= suspect_until_);
  Queues* queues = suspect ? nullptr : first_queues();
  if (!suspect && queues == nullptr) return std::nullopt;
  WaitingWork work;
  if (suspect) {
    work = suspects_.front();
    suspects_.pop_front();
    suspect_out_ = work.ref;
    suspect_until_ = now + limits::suspect_alone_max;
  } else {
    work = take_first(*queues);
    --waiting_count_;
  }
  const bool taken = take_slot(work.need);
  invariant(taken, "there is room for what was chosen");
  waiting_refs_.erase(work.ref);
  const bool is_only = claiming_.emplace(work.ref, work.need).second;
  invariant(is_only, "an item is claimed once at a time: its slot comes back once");
  return work;
}

bool WorkDesk::take_overflow() {
  const bool was = overflow_;
  overflow_ = false;
  return was;
}

}  // namespace pawl::runtime
