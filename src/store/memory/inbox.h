// Inbox: the messages of one entity that are not consumed yet, in order of arrival, each guid once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/guid.h"
#include "core/message.h"

namespace pawl::store::memory {

class Inbox {
 public:
  bool empty() const { return messages_.empty(); }
  bool has(const core::Guid& guid) const { return places_.contains(guid); }
  const core::InboxMessage* find(const core::Guid& guid) const;
  std::vector<core::InboxMessage> in_order() const;

  bool put(core::Message message);  // false: it waits here already
  void count_redelivery(const core::Guid& guid);
  void drop(const core::Guid& guid);
  void drop_all_but(const std::optional<core::Guid>& keep);

 private:
  std::uint64_t next_place_ = 0;
  std::map<std::uint64_t, core::InboxMessage> messages_;
  std::unordered_map<core::Guid, std::uint64_t> places_;
};

}  // namespace pawl::store::memory
