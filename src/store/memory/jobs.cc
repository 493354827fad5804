// Jobs as a whole: how they start and how they are removed.
#include "base/format.h"
#include "store/memory/answers.h"
#include "store/memory/store.h"
#include "store/rules.h"

namespace pawl::store::memory {

Store::JobName Store::key_of(const Namespace& name_space, const JobId& id) { return {name_space, id}; }

Outcome Store::run(const Submit& submit) {
  Outcome outcome = begin_job(submit);
  if (outcome.kind != OutcomeKind::committed) return outcome;
  Job& job = *find_job(outcome.run());
  put_timer(outcome.run(), job.inbox, core::start_message(outcome.run(), submit.input), submit.start_at);
  if (submit.deadline != Instant())
    put_timer(outcome.run(), job.inbox, core::deadline_message(outcome.run()), submit.deadline);
  note_waiting(outcome.run(), job.inbox);
  return outcome;
}

// The start key and the row of a new job; `exists` when the id is taken.
Outcome Store::begin_job(const Submit& submit) {
  const auto taken = start_keys_.find(key_of(submit.name_space, submit.id));
  if (is_outrun(submit, taken == start_keys_.end() ? RunId(0) : taken->second.run))
    return outcome_of(OutcomeKind::conflict, outrun());
  Job* open = nullptr;
  if (taken != start_keys_.end()) {
    const StartKey& key = taken->second;
    Job* job = find_job(key.run);
    if (job != nullptr && !core::is_closed(job->state.job.status)) open = job;
    const bool over = key.expires_at != Instant() && key.expires_at <= now_in(submit.lane);
    if (is_taken(submit.reuse, {open != nullptr, over})) {
      Outcome outcome = outcome_of(OutcomeKind::exists);
      outcome.answer = answer::Run{key.run};
      return outcome;
    }
  }
  if (!has_lane(submit.lane)) return rejected(format("there is no lane {}", submit.lane.raw()));
  Outcome outcome = committed();
  const RunId run = make_job(submit);
  outcome.answer = answer::Run{run, open == nullptr ? RunId(0) : open->state.job.run};
  if (open != nullptr) insert(*open, replaced_message(run));
  StartKey& key = start_keys_[key_of(submit.name_space, submit.id)];
  due_.drop(due_key(key.expires_at, key.run));
  expiring_.erase({key.expires_at, key.run});
  key = StartKey{run, Instant()};
  return outcome;
}

RunId Store::make_job(const Submit& submit) {
  const RunId run = next_run(submit.lane);
  core::JobRow& row = jobs_[run].state.job;
  row.run = run;
  row.name_space = submit.name_space;
  row.id = submit.id;
  row.graph = submit.graph;
  row.created_at = submit.at;
  row.priority = submit.priority;
  row.keep = submit.keep;
  row.deadline = submit.deadline;
  row.secret = submit.secret;
  return run;
}

Outcome Store::begin_duplex(const StartDuplex& start) {
  Submit submit{start.name_space, start.id, start.lane, start.graph, {}, start.at};
  submit.secret = start.secret;
  const Outcome outcome = begin_job(submit);
  if (outcome.kind == OutcomeKind::committed)
    find_job(outcome.run())->state.job.semaphore = 0;  // counts open addresses
  return outcome;
}

core::JobRow* Store::find_row(RunId run) {
  Job* job = find_job(run);
  return job == nullptr ? nullptr : &job->state.job;
}

Outcome Store::run(const RemoveJob& remove) {
  const Job* job = find_job(remove.run);
  if (job == nullptr) return already_done();
  const core::JobRow& row = job->state.job;
  if (!core::is_closed(row.status) || row.completions == 0) return conflict("the job is not over yet");
  const auto key = start_keys_.find(key_of(row.name_space, row.id));
  if (key != start_keys_.end() && key->second.run == remove.run) {
    if (remove.key_until == Instant()) {
      start_keys_.erase(key);
    } else {
      key->second.expires_at = remove.key_until;
      due_.put(due_key(remove.key_until, remove.run));
      expiring_.emplace(std::pair(remove.key_until, remove.run), key->first);
    }
  }
  due_.drop(due_removal(row));
  drop_timers(remove.run, job->inbox, std::nullopt);
  queue_.drop_all_of(remove.run);
  waiting_.erase(remove.run);
  drop_labels(*job);
  jobs_.erase(remove.run);
  return committed();
}

Outcome Store::run(const DropKeys& drop) {
  std::size_t dropped = 0;
  for (auto oldest = expiring_.begin(); oldest != expiring_.end() && dropped < drop.rows_max;) {
    const auto [expires_at, run] = oldest->first;
    if (expires_at > drop.up_to) break;
    if (drop.lane != core::LaneId(0) && core::lane_of(run) != drop.lane) {
      ++oldest;
      continue;
    }
    due_.drop(due_key(expires_at, run));
    start_keys_.erase(oldest->second);
    oldest = expiring_.erase(oldest);
    ++dropped;
  }
  return committed();
}

}  // namespace pawl::store::memory
