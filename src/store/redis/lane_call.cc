#include "store/redis/lane_call.h"

#include <algorithm>

#include "core/secret.h"
#include "store/redis/limits.h"

namespace pawl::store::redis {

LaneCall::LaneCall(const Keys& keys, core::LaneId lane, std::vector<Encoded> operations, Words outboxes, RunId last_run)
    : key_names_(keys),
      lane_(lane),
      operations_(std::move(operations)),
      outboxes_(std::move(outboxes)),
      last_run_(std::max(last_run, core::make_run(lane, 0))),
      spare_(limits::fresh_runs_min) {}

std::vector<RunId> LaneCall::fresh_runs() const {
  std::size_t needed = 0;
  for (std::size_t i = next_; i < operations_.size(); ++i) needed += operations_[i].makes;
  std::vector<RunId> runs;
  if (needed == 0) return runs;
  for (std::size_t i = 1; i <= needed + spare_; ++i) runs.emplace_back(last_run_.raw() + i);
  return runs;
}

LaneCall::Sent LaneCall::sent(const LaneCallHeader& header) const {
  Sent sent;
  Words& keys = sent.keys;
  Words& words = sent.header;
  for (const std::string_view name : lane_key_names) keys.push_back(key_names_.of_lane(lane_, name));
  keys.insert(keys.end(), outboxes_.begin(), outboxes_.end());
  const auto put_run = [&](RunId run, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) keys.push_back(key_names_.of_run(run, run_key_names[i]));
  };
  words = {header.now,
           header.store,
           decimal(header.seen_commits),
           decimal(lane_.raw()),
           header.sender,
           header.bell,
           decimal(core::make_run(lane_, 0).raw()),
           decimal(outboxes_.size())};
  std::set<RunId> known = extra_runs_;
  for (std::size_t i = next_; i < operations_.size(); ++i)
    known.insert(operations_[i].runs.begin(), operations_[i].runs.end());
  words.push_back(decimal(known.size()));
  for (const RunId run : known) {
    words.push_back(decimal(run.raw()));
    put_run(run, run_key_names.size());
  }
  const std::vector<RunId> fresh = fresh_runs();
  words.push_back(decimal(fresh.size()));
  if (!fresh.empty()) words.push_back(decimal(last_run_.raw()));
  for (const RunId run : fresh) {
    words.push_back(decimal(run.raw()));
    words.push_back(core::start_message(run, {}).guid.text());
    words.push_back(core::deadline_guid(run).text());
    words.push_back(replaced_message(run).guid.text());
    put_run(run, run_key_names.size());
  }
  words.push_back(decimal(tokens_.size()));
  for (const auto& [of, token] : tokens_) words.insert(words.end(), {of, token});
  std::size_t arguments = 0;
  for (std::size_t i = next_; i < operations_.size(); ++i) arguments += operations_[i].arguments.size();
  words.push_back(decimal(operations_.size() - next_));
  std::vector<std::string_view>& all = sent.arguments;
  all.reserve(words.size() + arguments);
  all.assign(words.begin(), words.end());
  for (std::size_t i = next_; i < operations_.size(); ++i) {
    const Encoded& one = operations_[i];
    all.insert(all.end(), one.arguments.begin(), one.arguments.end());
    if (one.step) put_run(*one.step, step_keys);
  }
  return sent;
}

bool LaneCall::advance(std::size_t answered, const Reply& wanted) {
  next_ = std::min(next_ + answered, operations_.size());
  if (is_done()) return true;
  const std::string& what = wanted[0].text;
  if (what == "run" || what == "fresh") {
    const auto run = number_in<std::uint64_t>(wanted[1].text);
    if (!run) return false;
    if (what == "run") {
      extra_runs_.insert(RunId(*run));
      return true;
    }
    // Others create runs here too: each wrong guess makes the next one wider.
    last_run_ = RunId(*run);
    spare_ = std::min(spare_ * 4, limits::fresh_runs_max);
    return true;
  }
  if (what != "tokens") return false;
  for (std::size_t i = 1; i + 3 < wanted.list.size(); i += 4) {
    const auto request = core::Guid::parse(wanted[i + 1].text);
    const auto run = number_in<std::uint32_t>(wanted[i + 2].text);
    const auto epoch = number_in<std::uint64_t>(wanted[i + 3].text);
    if (!request || !run || !epoch) return false;
    tokens_[format("{} {} {}", wanted[i].text, *run, *epoch)] =
        decimal(core::token_of(*request, *run, core::Epoch(*epoch)).raw());
  }
  return true;
}

}  // namespace pawl::store::redis
