// Inbox: the unconsumed messages of one entity, in order of arrival, and its timers by time; each guid once over both.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/guid.h"
#include "core/message.h"

namespace pawl::store::memory {

class Inbox {
 public:
  bool empty() const { return messages_.empty(); }  // timers do not count: they wait for the clock
  bool has(const core::Guid& guid) const { return find(guid) != nullptr; }
  const core::InboxMessage* find(const core::Guid& guid) const;
  bool has_timers() const { return !timers_.empty(); }
  std::vector<core::InboxMessage> in_order() const;
  // The oldest ones, until `see` returns false (enough).
  void see_in_order(std::size_t rows_max, const std::function<bool(core::InboxMessage)>& see) const;
  std::vector<core::InboxMessage> timers() const;

  bool put(core::Message message, Instant due = {});  // false: it already waits here
  void count_redelivery(const core::Guid& guid);
  void drop(const core::Guid& guid);
  void drop_all_but(const std::optional<core::Guid>& keep);

 private:
  std::uint64_t next_place_ = 0;
  std::map<std::uint64_t, core::InboxMessage> messages_;
  std::unordered_map<core::Guid, std::uint64_t> places_;
  std::unordered_map<core::Guid, core::InboxMessage> timers_;
};

}  // namespace pawl::store::memory
