#include "store/memory/inbox.h"

namespace pawl::store::memory {

const core::InboxMessage* Inbox::find(const core::Guid& guid) const {
  const auto place = places_.find(guid);
  return place == places_.end() ? nullptr : &messages_.at(place->second);
}

std::vector<core::InboxMessage> Inbox::in_order() const {
  std::vector<core::InboxMessage> all;
  all.reserve(messages_.size());
  for (const auto& [place, message] : messages_) all.push_back(message);
  return all;
}

bool Inbox::put(core::Message message) {
  if (!places_.emplace(message.guid, next_place_).second) return false;
  messages_.emplace_hint(messages_.end(), next_place_, core::InboxMessage{std::move(message), 0});
  ++next_place_;
  return true;
}

void Inbox::count_redelivery(const core::Guid& guid) {
  const auto place = places_.find(guid);
  if (place != places_.end()) ++messages_.at(place->second).redeliveries;
}

void Inbox::drop(const core::Guid& guid) {
  const auto place = places_.find(guid);
  if (place == places_.end()) return;
  messages_.erase(place->second);
  places_.erase(place);
}

void Inbox::drop_all_but(const std::optional<core::Guid>& keep) {
  std::erase_if(messages_, [&](const auto& row) { return row.second.message.guid != keep; });
  std::erase_if(places_, [&](const auto& row) { return row.first != keep; });
}

}  // namespace pawl::store::memory
