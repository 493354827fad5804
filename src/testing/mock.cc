#include "testing/mock.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pawl::testing {

MockWorker::Script& MockWorker::last() { return state_->scripts.back(); }

MockWorker& MockWorker::replies(Reply reply) {
  last().reply = std::move(reply);
  return *this;
}

MockWorker& MockWorker::fails(std::uint32_t times, std::int32_t code, Payload error) {
  for (std::uint32_t i = 0; i < times; ++i) last().failures.push_back(Reply::error(error, code));
  return *this;
}

MockWorker& MockWorker::takes(Duration time) {
  last().takes = time;
  return *this;
}

MockWorker& MockWorker::never_answers() {
  last().never_answers = true;
  return *this;
}

MockWorker& MockWorker::then() {
  state_->scripts.emplace_back();
  return *this;
}

std::vector<Attempt> MockWorker::attempts() const {
  std::vector<Attempt> own;
  std::copy_if(state_->history->begin(), state_->history->end(), std::back_inserter(own),
               [&](const Attempt& attempt) { return attempt.topic == state_->topic; });
  return own;
}

std::size_t MockWorker::requests() const { return state_->requests.size(); }

void MockWorker::State::take_back(const std::string& key) {
  const auto found = requests.find(key);
  if (found != requests.end() && found->second.attempts > 0) --found->second.attempts;
}

MockWorker::State::Answer MockWorker::State::answer(const std::string& key) {
  const auto [found, is_new] = requests.try_emplace(key);
  Request& request = found->second;
  if (is_new) request.script = std::min(requests.size() - 1, scripts.size() - 1);
  const Script& script = scripts[request.script];
  const std::size_t number = request.attempts++;
  if (number < script.failures.size()) return {script.failures[number], script.takes, script.never_answers};
  return {script.reply.value_or(Reply::success("{}")), script.takes, script.never_answers};
}

}  // namespace pawl::testing
