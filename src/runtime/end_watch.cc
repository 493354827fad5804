#include "runtime/end_watch.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/format.h"
#include "base/limits.h"
#include "runtime/thrown.h"

namespace pawl::runtime {

namespace {

// This process's engine reports ends in its lanes; a read from time to time finds jobs that were ended elsewhere.
constexpr Duration look_when_told = std::chrono::seconds(10);
constexpr Duration look_when_not_told = std::chrono::milliseconds(50);
constexpr Duration look_cost = std::chrono::microseconds(500);  // of each read: many jobs are read less often
constexpr std::size_t looks_at_once = 64;  // between two of them come the jobs whose ends were told

Duration cost_of(std::size_t looks) { return look_cost * static_cast<Duration::rep>(looks); }

}  // namespace

EndWatch::~EndWatch() { close(Error{ErrorCode::retry_later, "the runtime is gone"}); }

std::uint64_t EndWatch::watch(RunId run, Done done) {
  std::optional<Error> refused;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      refused = closed_;
    } else if (callbacks_ >= callbacks_max_) {
      refused = Error{ErrorCode::over_limit,
                      format("{} callbacks wait for the ends of jobs already (ends_watched_max)", callbacks_max_)};
    } else {
      try {
        if (!thread_.joinable()) thread_ = std::thread([this] { this->run(); });
        number = ++last_number_;
        watched_[run].push_back({number, std::move(done)});
        ++callbacks_;
        to_look_at_.insert(run);  // it may have ended already
        any_.store(true);         // before it is asked who tells: who loses the lane afterwards finds this callback
        if (!is_told_(run)) untold_.insert(run);
      } catch (const std::system_error& error) {
        refused = Error{ErrorCode::retry_later, format("a thread cannot be made: {}", error.code().message())};
      }
    }
  }
  if (refused)
    call(done, *refused);
  else
    changed_.notify_one();
  return number;
}

void EndWatch::unwatch(RunId run, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = watched_.find(run);
  if (found == watched_.end()) return;
  callbacks_ -= std::erase_if(found->second, [&](const Callback& one) { return one.number == number; });
  if (found->second.empty()) forget(run);
}

void EndWatch::forget(RunId run) {
  watched_.erase(run);
  untold_.erase(run);
  any_.store(!watched_.empty());
}

void EndWatch::tell(RunId run) {
  if (!any_.load()) return;
  {
    const std::lock_guard lock(mutex_);
    if (!watched_.contains(run)) return;
    to_look_at_.insert(run);
  }
  changed_.notify_one();
}

void EndWatch::look_again() {
  if (!any_.load()) return;
  {
    const std::lock_guard lock(mutex_);
    look_at_all_ = true;
  }
  changed_.notify_one();
}

void EndWatch::close(const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) closed_ = why;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

EndWatch::Time EndWatch::next_look_at_all() const {
  return looked_at_all_ + std::max(look_when_told, cost_of(watched_.size()));
}

EndWatch::Time EndWatch::next_look_at_untold() const {
  if (untold_.empty()) return Time::max();
  return looked_at_untold_ + std::max(look_when_not_told, cost_of(untold_.size()));
}

// Lanes come and go: who tells of an end is asked again each time.
std::set<RunId> EndWatch::due_for_a_look() {
  const Time now = std::chrono::steady_clock::now();
  std::set<RunId> due;
  if (std::exchange(look_at_all_, false) || now >= next_look_at_all()) {
    looked_at_all_ = looked_at_untold_ = now;
    untold_.clear();
    for (const auto& [run, callbacks] : watched_) {
      due.insert(run);
      if (!is_told_(run)) untold_.insert(run);
    }
  } else if (now >= next_look_at_untold()) {
    looked_at_untold_ = now;
    due = untold_;
    std::erase_if(untold_, [this](RunId run) { return is_told_(run); });
  }
  return due;
}

void EndWatch::run() {
  pthread_setname_np(pthread_self(), "pawl-ends");
  std::unique_lock lock(mutex_);
  looked_at_all_ = looked_at_untold_ = std::chrono::steady_clock::now();
  std::set<RunId> later;  // no end was told of them
  while (!closed_) {
    const auto something = [&] { return closed_ || look_at_all_ || !to_look_at_.empty(); };
    if (watched_.empty())
      changed_.wait(lock, something);
    else if (later.empty())
      changed_.wait_until(lock, std::min(next_look_at_all(), next_look_at_untold()), something);
    std::set<RunId> runs = std::exchange(to_look_at_, {});
    later.merge(due_for_a_look());
    for (std::size_t i = 0; i < looks_at_once && !later.empty(); ++i) runs.insert(later.extract(later.begin()));
    for (const RunId run : runs) {
      if (closed_) break;
      if (!watched_.contains(run)) continue;
      lock.unlock();
      look_at(run);
      lock.lock();
    }
  }
  auto left = std::exchange(watched_, {});
  callbacks_ = 0;
  const Error why = *closed_;
  lock.unlock();
  for (auto& [run, all] : left)
    for (const Callback& one : all) call(one.done, why);
}

void EndWatch::look_at(RunId run) {
  auto end = look_(run);
  if (end && !*end) return;
  if (!end && end.error().code == ErrorCode::retry_later) return;  // the store does not reply now
  std::vector<Callback> all;
  {
    const std::lock_guard lock(mutex_);
    const auto found = watched_.find(run);
    if (found == watched_.end()) return;
    all = std::move(found->second);
    callbacks_ -= all.size();
    forget(run);
  }
  for (const Callback& one : all) call(one.done, end ? Result<JobView>(**end) : Result<JobView>(end.error()));
}

void EndWatch::call(const Done& done, const Result<JobView>& end) const {
  try {
    done(end);
  } catch (...) {
    complain_("a callback of on_end threw: " + thrown_text());
  }
}

}  // namespace pawl::runtime
