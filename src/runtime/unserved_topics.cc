#include "runtime/unserved_topics.h"

#include <algorithm>

namespace pawl::runtime {

namespace {

// For one topic: enough that the end of some of these jobs does not hide that others wait.
constexpr std::size_t refs_max = 16;

}  // namespace

void UnservedTopics::waits(const Topic& topic, const WorkRef& ref, Duration now) {
  auto found = topics_.find(topic.raw());
  if (found == topics_.end()) {
    if (topics_.size() >= limits::unserved_topics_max) return;
    found = topics_.try_emplace(topic.raw()).first;
  }
  Waiting& waiting = found->second;
  if (waiting.said || waiting.refs.size() >= refs_max) return;
  const auto same = [&](const auto& known) { return known.first == ref; };
  if (std::any_of(waiting.refs.begin(), waiting.refs.end(), same)) return;
  waiting.refs.emplace_back(ref, now + limits::unserved_after);
}

std::vector<UnservedTopics::Question> UnservedTopics::take_due(Duration now) {
  std::vector<Question> due;
  for (auto& [topic, waiting] : topics_) {
    if (waiting.asked || waiting.said || waiting.refs.empty() || waiting.refs.front().second > now) continue;
    due.push_back({Topic(topic), waiting.refs.front().first});
    waiting.refs.pop_front();
    waiting.asked = true;
  }
  return due;
}

bool UnservedTopics::still_waits(const Topic& topic) {
  const auto found = topics_.find(topic.raw());
  if (found == topics_.end() || found->second.said) return false;  // it is served now
  found->second = Waiting{{}, false, true};
  return true;
}

void UnservedTopics::is_gone(const Topic& topic) {
  const auto found = topics_.find(topic.raw());
  if (found == topics_.end()) return;
  found->second.asked = false;
  if (found->second.refs.empty() && !found->second.said) topics_.erase(found);
}

std::optional<Duration> UnservedTopics::next() const {
  std::optional<Duration> next;
  for (const auto& [topic, waiting] : topics_)
    if (!waiting.asked && !waiting.said && !waiting.refs.empty() && (!next || waiting.refs.front().second < *next))
      next = waiting.refs.front().second;
  return next;
}

}  // namespace pawl::runtime
