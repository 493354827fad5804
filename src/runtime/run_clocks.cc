#include "runtime/run_clocks.h"

#include <algorithm>

#include "base/seeded_bug.h"

namespace pawl::runtime {

std::optional<std::pair<Duration, RunClocks::Why>> RunClocks::Clock::next() const {
  std::optional<std::pair<Duration, Why>> first;
  const auto look_at = [&](const std::optional<Duration>& until, Why why) {
    if (until && (!first || *until < first->first)) first = {*until, why};
  };
  if (over) return std::nullopt;
  look_at(queue_until, Why::queue);
  look_at(attempt_until, Why::attempt);
  look_at(heartbeat_until, Why::heartbeat);
  return first;
}

void RunClocks::place(const WorkRun& run, const Clock& clock) {
  if (const auto next = clock.next()) order_.emplace(next->first, run);
}

void RunClocks::unplace(const WorkRun& run, const Clock& clock) {
  if (const auto next = clock.next()) order_.erase({next->first, run});
}

void RunClocks::handed_out(const core::WorkItem& item, Duration now, Instant wall) {
  if (!watches(item.life)) return;
  const WorkRun run = run_of(item);
  end(run);
  Clock clock;
  clock.attempt_timeout = item.life.attempt_timeout;
  clock.heartbeat_timeout = item.life.heartbeat_timeout;
  if (item.life.queue_by != Instant()) clock.queue_until = now + std::max(item.life.queue_by - wall, Duration{0});
  if (seeded(SeededBug::attempt_clock_at_claim) && clock.attempt_timeout.count() != 0)
    clock.attempt_until = now + clock.attempt_timeout;
  place(run, clock);
  runs_.emplace(run, clock);
}

void RunClocks::begin(const WorkRun& run, Duration now) {
  const auto found = runs_.find(run);
  if (found == runs_.end() || found->second.begun || seeded(SeededBug::attempt_clock_not_begun)) return;
  Clock& clock = found->second;
  unplace(run, clock);
  clock.begun = true;
  clock.queue_until.reset();
  if (clock.attempt_timeout.count() != 0 && !seeded(SeededBug::attempt_clock_at_claim))
    clock.attempt_until = now + clock.attempt_timeout;
  if (clock.heartbeat_timeout.count() != 0) clock.heartbeat_until = now + clock.heartbeat_timeout;
  place(run, clock);
}

void RunClocks::beat(const WorkRun& run, Duration now) {
  const auto found = runs_.find(run);
  if (found == runs_.end() || !found->second.heartbeat_until) return;
  Clock& clock = found->second;
  unplace(run, clock);
  clock.heartbeat_until = now + clock.heartbeat_timeout;
  place(run, clock);
}

void RunClocks::end(const WorkRun& run) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  unplace(run, found->second);
  runs_.erase(found);
}

std::vector<RunClocks::Over> RunClocks::take_over(Duration now) {
  std::vector<Over> ended;
  while (!order_.empty() && order_.begin()->first <= now) {
    const WorkRun run = order_.begin()->second;
    order_.erase(order_.begin());
    Clock& clock = runs_.at(run);
    const Why why = clock.next()->second;
    if (why == Why::queue) {  // no thread has begun it, as far as is known: it may still begin
      clock.queue_until.reset();
      place(run, clock);
    } else {
      clock.over = why;
    }
    ended.push_back({run, why});
  }
  return ended;
}

std::optional<RunClocks::Why> RunClocks::over(const WorkRun& run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? std::nullopt : found->second.over;
}

std::optional<Duration> RunClocks::attempt_left(const WorkRun& run, Duration now) const {
  const auto found = runs_.find(run);
  if (found == runs_.end() || !found->second.attempt_until) return std::nullopt;
  return std::max(*found->second.attempt_until - now, Duration{0});
}

std::optional<Duration> RunClocks::next() const {
  if (order_.empty()) return std::nullopt;
  return order_.begin()->first;
}

}  // namespace pawl::runtime
