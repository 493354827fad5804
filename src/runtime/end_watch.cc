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
        if (!is_told_(run)) untold_.insert(run);
        any_.store(true);
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

Duration EndWatch::until_next_look() const {
  const auto cost = [](const auto& runs) { return look_cost * static_cast<Duration::rep>(runs.size()); };
  return untold_.empty() ? std::max(look_when_told, cost(watched_)) : std::max(look_when_not_told, cost(untold_));
}

// Lanes come and go: who tells of an end is asked again each time.
std::set<RunId> EndWatch::due_for_a_look() {
  const auto now = std::chrono::steady_clock::now();
  std::set<RunId> due;
  if (std::exchange(look_at_all_, false) || untold_.empty() || now - looked_at_all_ >= look_when_told) {
    looked_at_all_ = now;
    untold_.clear();
    for (const auto& [run, callbacks] : watched_) {
      due.insert(run);
      if (!is_told_(run)) untold_.insert(run);
    }
  } else {
    due = untold_;
    std::erase_if(untold_, [this](RunId run) { return is_told_(run); });
  }
  return due;
}

void EndWatch::run() {
  pthread_setname_np(pthread_self(), "pawl-ends");
  std::unique_lock lock(mutex_);
  looked_at_all_ = std::chrono::steady_clock::now();
  while (!closed_) {
    const auto something = [&] { return closed_ || look_at_all_ || !to_look_at_.empty(); };
    bool time_over = false;
    if (watched_.empty())
      changed_.wait(lock, something);
    else
      time_over = !changed_.wait_for(lock, until_next_look(), something);
    std::set<RunId> runs = std::exchange(to_look_at_, {});
    if (look_at_all_ || time_over) runs.merge(due_for_a_look());
    for (const RunId run : runs) {
      if (closed_) break;
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
