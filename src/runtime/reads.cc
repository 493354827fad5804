#include "runtime/reads.h"

#include <algorithm>

#include "base/invariant.h"
#include "runtime/lanes.h"

namespace pawl::runtime {

namespace {

// The run whose work items are part of the reply.
RunId run_asked(const store::Read& read) {
  if (const auto* job = std::get_if<store::ReadJob>(&read)) return job->run;
  if (const auto* item = std::get_if<store::ReadItem>(&read)) return item->run;
  return RunId(0);
}

}  // namespace

void Reads::ask_later(store::Read read, std::function<void(store::ReadAnswer)> then) {
  const std::uint64_t number = ++last_number_;
  const RunId run = run_asked(read);
  asked_.emplace(number, Asked{std::move(read), run, false, std::move(then)});
  if (run != RunId(0)) by_run_.emplace(run, number);
  waiting_.push_back(number);
}

void Reads::touched(RunId run) {
  const auto [first, last] = by_run_.equal_range(run);
  for (auto place = first; place != last; ++place) asked_.at(place->second).stale = true;
}

std::optional<ReadBatch> Reads::take() {
  if (waiting_.empty()) return std::nullopt;
  ReadBatch batch;
  const std::size_t count = std::min(waiting_.size(), limits::reads_per_batch_max);
  for (std::size_t i = 0; i < count; ++i) {
    Asked& asked = asked_.at(waiting_[i]);
    asked.stale = false;  // the read will be newer than all that is known now
    batch.reads.push_back(asked.read);
    batch.numbers.push_back(waiting_[i]);
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  return batch;
}

void Reads::answered(ReadBatch batch, std::vector<store::ReadAnswer> answers) {
  invariant(!answers.empty() && answers.size() <= batch.reads.size(), "a batch has at least one answer");
  for (std::size_t i = answers.size(); i < batch.numbers.size(); ++i) waiting_.push_back(batch.numbers[i]);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::uint64_t number = batch.numbers[i];
    if (asked_.at(number).stale) {
      waiting_.push_back(number);
      continue;
    }
    Asked asked = std::move(asked_.extract(number).mapped());
    const auto [first, last] = by_run_.equal_range(asked.run);
    for (auto place = first; place != last; ++place)
      if (place->second == number) {
        by_run_.erase(place);
        break;
      }
    asked.then(std::move(answers[i]));
  }
}

OwnedLane* Reads::same(core::LaneId lane, std::uint64_t number) const {
  OwnedLane* owned = lanes_.mine(lane);
  return owned != nullptr && owned->number == number ? owned : nullptr;
}

}  // namespace pawl::runtime
