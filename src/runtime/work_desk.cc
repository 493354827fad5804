#include "runtime/work_desk.h"

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
  // A suspect has its turn whenever none is out: a busy queue must not keep it waiting for ever.
  if (!suspects_.empty() && !suspect_out_) queue = &suspects_;
  else if (!waiting_.empty()) queue = &waiting_;
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

}  // namespace pawl::runtime
