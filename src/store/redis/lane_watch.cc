#include "store/redis/lane_watch.h"

#include <algorithm>

#include "base/format.h"

namespace pawl::store::redis {

std::uint64_t LaneWatch::highest(core::LaneId lane) const {
  const std::lock_guard lock(mutex_);
  const auto known = memory_.find(lane);
  return known == memory_.end() ? 0 : known->second.highest;
}

void LaneWatch::saw(core::LaneId lane, std::uint64_t commits) {
  const std::lock_guard lock(mutex_);
  Memory& memory = memory_[lane];
  memory.highest = std::max(memory.highest, commits);
  memory.lost.clear();
}

Error LaneWatch::lose(core::LaneId lane, std::string why) {
  const std::string what = lane == core::LaneId(0) ? std::string("the catalogue") : format("lane {}", lane.raw());
  Error error{ErrorCode::corrupt,
              format("{}: {}. Nothing more is done there: bring the data back, or start with a new store", what, why)};
  const std::lock_guard lock(mutex_);
  memory_[lane].lost = error.detail;
  return error;
}

Error LaneWatch::another_store(core::LaneId lane, const std::string& has) {
  return lose(lane, format("the server has another store than before ({})", has.empty() ? "none" : has));
}

Error LaneWatch::older_state(core::LaneId lane, const std::string& has) {
  return lose(
      lane,
      format(
          "the server has an older state than it had: commit {} where {} was seen. It was emptied, an older copy was "
          "brought back, or a replica took over that was behind",
          has, highest(lane)));
}

std::uint64_t LaneWatch::ask(Commands& commands, core::LaneId lane) const {
  commands.add({"HMGET", keys_.of_lane(lane, "lane"), "store", "commits"});
  return highest(lane);
}

Status LaneWatch::check(core::LaneId lane, const Reply& answer, std::uint64_t known) {
  const std::string& store = answer[0].text;
  if (!store.empty() && store != store_.text()) return another_store(lane, store);
  const std::uint64_t commits = number_in<std::uint64_t>(answer[1].text).value_or(0);
  if (commits < known) return older_state(lane, format("{}", commits));
  saw(lane, commits);
  return {};
}

void LaneWatch::count(Commands& commands, core::LaneId lane) const {
  commands.add({"HINCRBY", keys_.of_lane(lane, "lane"), "commits", "1"});
}

Status LaneWatch::believe(core::LaneId lane, Found found) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = memory_.find(lane);
    if (known == memory_.end()) return {};  // no data was seen there that could be gone
    if (!known->second.lost.empty()) return Error{ErrorCode::retry_later, known->second.lost};
    if (found == Found::something || known->second.highest == 0) return {};
  }
  return look_at({lane});
}

Status LaneWatch::believe_that_nothing_is_there() {
  std::vector<core::LaneId> lanes;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [lane, memory] : memory_) {
      if (!memory.lost.empty()) return Error{ErrorCode::retry_later, memory.lost};
      if (memory.highest > 0) lanes.push_back(lane);
    }
  }
  return look_at(lanes);
}

Status LaneWatch::look_at(const std::vector<core::LaneId>& lanes) {
  std::vector<Servers::Question> questions;
  std::vector<std::uint64_t> known;
  for (const core::LaneId lane : lanes) {
    questions.push_back({tag_of(lane), {}});
    known.push_back(ask(questions.back().commands, lane));
  }
  const auto later = [](const std::string& why) { return Error{ErrorCode::retry_later, why}; };
  const auto answers = servers_.ask_each(questions);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (!answers[i]) return later(answers[i].error().detail);
    const Reply& reply = answers[i]->front();
    if (reply.is_error()) return later(reply.text);
    if (const Status checked = check(lanes[i], reply, known[i]); !checked) return later(checked.error().detail);
  }
  return {};
}

}  // namespace pawl::store::redis
