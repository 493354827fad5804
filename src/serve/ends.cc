#include "serve/ends.h"

#include <algorithm>
#include <utility>

#include "serve/limits.h"

namespace pawl::serve {

std::list<std::shared_ptr<Ends::Waiter>> Ends::Shared::take(RunId run) {
  const std::lock_guard lock(mutex);
  const auto found = runs.find(run);
  if (found == runs.end()) return {};
  std::list<std::shared_ptr<Waiter>> taken = std::move(found->second.waiters);
  count -= taken.size();
  runs.erase(found);
  return taken;
}

bool Ends::Shared::remove(RunId run, const Waiter* waiter, runtime::EndWatch& watch) {
  std::uint64_t unwanted = 0;
  {
    const std::lock_guard lock(mutex);
    const auto found = runs.find(run);
    if (found == runs.end()) return false;
    auto& waiters = found->second.waiters;
    const auto place =
        std::find_if(waiters.begin(), waiters.end(), [&](const auto& one) { return one.get() == waiter; });
    if (place == waiters.end()) return false;
    waiters.erase(place);
    --count;
    // One that is being set is taken back by whoever sets it.
    if (waiters.empty() && found->second.number != 0) {
      unwanted = found->second.number;
      runs.erase(found);
    }
  }
  if (unwanted != 0) watch.unwatch(run, unwanted);
  return true;
}

void Ends::Shared::set_number(RunId run, std::uint64_t number, runtime::EndWatch& watch) {
  {
    const std::lock_guard lock(mutex);
    const auto found = runs.find(run);
    if (found == runs.end() || number == 0) return;  // it was called already
    found->second.number = number;
    if (!found->second.waiters.empty()) return;
    runs.erase(found);
  }
  watch.unwatch(run, number);
}

bool Ends::wait(RunId run, Duration at_most, const ExchangePointer& exchange, Done done) {
  auto waiter = std::make_shared<Waiter>();
  waiter->done = std::move(done);
  bool first = false;
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->closed || shared_->count >= limits::waiting_max) return false;
    const auto [place, is_new] = shared_->runs.try_emplace(run);
    first = is_new;
    place->second.waiters.push_back(waiter);
    ++shared_->count;
    waiter->timer = timers_.after(at_most, [shared = shared_, run, waiter, &watch = watch_] {
      if (shared->remove(run, waiter.get(), watch)) waiter->done(std::nullopt);
    });
  }
  if (first)
    shared_->set_number(run,
                        watch_.watch(run,
                                     [shared = shared_, run, &timers = timers_](const Result<JobView>& end) {
                                       for (const auto& one : shared->take(run)) {
                                         timers.cancel(one->timer);
                                         one->done(end);
                                       }
                                     }),
                        watch_);
  exchange->on_gone([shared = shared_, run, waiter, &watch = watch_, &timers = timers_] {
    if (shared->remove(run, waiter.get(), watch)) timers.cancel(waiter->timer);
  });
  return true;
}

void Ends::close() {
  std::list<std::shared_ptr<Waiter>> all;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
    for (auto& [number, run] : shared_->runs) all.splice(all.end(), run.waiters);
    shared_->count = 0;
  }
  for (const auto& one : all) {
    timers_.cancel(one->timer);
    one->done(std::nullopt);
  }
}

}  // namespace pawl::serve
