#include "store/memory/inbox.h"

#include <algorithm>
#include <tuple>

namespace pawl::store::memory {

const core::InboxMessage* Inbox::find(const core::Guid& guid) const {
  const auto place = places_.find(guid);
  if (place != places_.end()) return &messages_.at(place->second);
  const auto timer = timers_.find(guid);
  return timer == timers_.end() ? nullptr : &timer->second;
}

std::vector<core::InboxMessage> Inbox::in_order() const {
  std::vector<core::InboxMessage> all;
  all.reserve(messages_.size());
  for (const auto& [place, message] : messages_) all.push_back(message);
  return all;
}

void Inbox::see_in_order(std::size_t rows_max, const std::function<bool(core::InboxMessage)>& see) const {
  std::size_t rows = 0;
  for (auto row = messages_.begin(); row != messages_.end() && rows < rows_max; ++row, ++rows)
    if (!see(row->second)) break;
}

std::vector<core::InboxMessage> Inbox::timers() const {
  std::vector<core::InboxMessage> all;
  all.reserve(timers_.size());
  for (const auto& [guid, timer] : timers_) all.push_back(timer);
  std::sort(all.begin(), all.end(), [](const core::InboxMessage& a, const core::InboxMessage& b) {
    return std::tie(a.due, a.message.guid) < std::tie(b.due, b.message.guid);
  });
  return all;
}

bool Inbox::put(core::Message message, Instant due) {
  if (has(message.guid)) return false;
  const core::Guid guid = message.guid;
  if (due != Instant()) {
    timers_.emplace(guid, core::InboxMessage{std::move(message), 0, due});
    return true;
  }
  places_.emplace(guid, next_place_);
  messages_.emplace_hint(messages_.end(), next_place_, core::InboxMessage{std::move(message), 0, Instant()});
  ++next_place_;
  return true;
}

void Inbox::count_redelivery(const core::Guid& guid) {
  const auto place = places_.find(guid);
  if (place != places_.end()) {
    ++messages_.at(place->second).redeliveries;
    return;
  }
  const auto timer = timers_.find(guid);
  if (timer != timers_.end()) ++timer->second.redeliveries;
}

void Inbox::drop(const core::Guid& guid) {
  timers_.erase(guid);
  const auto place = places_.find(guid);
  if (place == places_.end()) return;
  messages_.erase(place->second);
  places_.erase(place);
}

void Inbox::drop_all_but(const std::optional<core::Guid>& keep) {
  std::erase_if(messages_, [&](const auto& row) { return row.second.message.guid != keep; });
  std::erase_if(places_, [&](const auto& row) { return row.first != keep; });
  std::erase_if(timers_, [&](const auto& row) { return row.first != keep; });
}

}  // namespace pawl::store::memory
