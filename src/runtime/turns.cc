#include "runtime/turns.h"

#include <algorithm>

#include "base/limits.h"

namespace pawl::runtime {

void Turns::stand(HotJob& job, Duration now) {
  jobs_.weigh(job);
  if (job.in_flight || job.ready || job.queue.empty()) return;
  const RunId run = job.state.job.run;
  jobs_.use(job);
  if (job.suspect && suspect_out_ != run) {
    if (suspect_out_) {
      suspects_.push_back(run);
      return;
    }
    suspect_out_ = run;
  }
  job.ready = true;
  if (rests_ && rest_.count() != 0 && job.goes_on && beside_others(run, now))
    resting_.emplace(now + rest_, run);
  else
    ready_.push_back(run);
}

HotJob* Turns::next(Duration now) {
  while (!resting_.empty() && (!rests_ || resting_.begin()->first <= now)) {
    ready_.push_back(resting_.begin()->second);
    resting_.erase(resting_.begin());
  }
  while (!ready_.empty()) {
    HotJob* job = jobs_.find(ready_.front());
    ready_.pop_front();
    if (job == nullptr || !job->ready) continue;
    job->ready = false;
    return job;
  }
  return nullptr;
}

void Turns::leave(RunId run, Duration now) {
  if (suspect_out_ != run) return;
  suspect_out_.reset();
  while (!suspects_.empty() && !suspect_out_) {
    HotJob* next = jobs_.find(suspects_.front());
    suspects_.pop_front();
    if (next != nullptr) stand(*next, now);
  }
}

bool Turns::beside_others(RunId run, Duration now) const {
  return std::any_of(served_.begin(), served_.end(), [&](const std::optional<Served>& other) {
    return other && other->run != run && now < other->at + limits::beside_others_for;
  });
}

std::size_t Turns::steps_for(const HotJob& job, Duration now) {
  const RunId run = job.state.job.run;
  if (!job.goes_on) {
    if (served_[0] && served_[0]->run != run) served_[1] = served_[0];
    served_[0] = Served{run, now};
  }
  return beside_others(run, now) ? limits::steps_beside_others_max : limits::steps_per_bundle_max;
}

void Turns::committed_in(Duration took) {
  rest_ = std::min<Duration>(took * limits::rests_per_commit, limits::rest_max);
}

std::optional<Duration> Turns::next_wake() const {
  if (resting_.empty()) return std::nullopt;
  return resting_.begin()->first;
}

}  // namespace pawl::runtime
