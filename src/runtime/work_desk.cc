#include "runtime/work_desk.h"

#include "base/invariant.h"
#include "base/limits.h"

namespace pawl::runtime {

bool WorkDesk::take_slot() {
  if (free_ == 0) return false;
  --free_;
  return true;
}

void WorkDesk::begin(const WorkRef& ref, core::WorkToken token) {
  claiming_.erase(ref);
  const bool is_new = running_.insert(WorkRun{ref, token}).second;
  invariant(is_new, "a run of an item begins once: its slot comes back once");
}

bool WorkDesk::end(const WorkRef& ref, core::WorkToken token) {
  if (running_.erase(WorkRun{ref, token}) == 0) return false;
  if (suspect_out_ == ref) suspect_out_.reset();
  return true;
}

void WorkDesk::claim_failed(const WorkRef& ref) {
  claiming_.erase(ref);
  if (suspect_out_ == ref) suspect_out_.reset();
  give_slot();
}

void WorkDesk::wait(const WaitingWork& work) {
  if (waiting_.size() + suspects_.size() >= waiting_max) {
    overflow_ = true;
    return;
  }
  if (!waiting_refs_.insert(work.ref).second) return;
  const bool suspect = work.runs >= limits::reentries_in_groups_max;
  (suspect ? suspects_ : waiting_).push_back(work);
}

std::optional<WaitingWork> WorkDesk::next_waiting() {
  std::deque<WaitingWork>* queue = nullptr;
  if (!waiting_.empty()) queue = &waiting_;
  else if (!suspects_.empty() && !suspect_out_) queue = &suspects_;
  if (queue == nullptr || !take_slot()) return std::nullopt;
  const WaitingWork work = queue->front();
  queue->pop_front();
  waiting_refs_.erase(work.ref);
  claiming_.insert(work.ref);
  if (queue == &suspects_) suspect_out_ = work.ref;
  return work;
}

bool WorkDesk::take_overflow() {
  const bool was = overflow_;
  overflow_ = false;
  return was;
}

void WorkDesk::forget_waiting() {
  waiting_.clear();
  suspects_.clear();
  waiting_refs_.clear();
  overflow_ = false;
}

}  // namespace pawl::runtime
