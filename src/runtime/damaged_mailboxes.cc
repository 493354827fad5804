#include "runtime/damaged_mailboxes.h"

#include "base/format.h"
#include "base/limits.h"

namespace pawl::runtime {

void DamagedMailboxes::add(RunId mailbox) {
  if (known_.size() < limits::damaged_named_max) known_.insert(mailbox);
}

std::optional<Error> DamagedMailboxes::refusal_of(const store::Operation& operation, store::Store& store,
                                                  const store::MailboxPageSize& page) {
  if (known_.empty()) return std::nullopt;
  const auto* deliver = std::get_if<store::Deliver>(&operation);
  const auto* key = deliver == nullptr ? nullptr : std::get_if<core::MailboxKey>(&deliver->envelope.to);
  if (key == nullptr) return std::nullopt;
  const auto found = store.find_mailbox(*key);
  if (!found || !*found || !known_.contains(**found)) return std::nullopt;
  const auto read = store.read_mailbox_page(**found, page, store.now());
  if (!read && read.error().code == ErrorCode::corrupt)
    return Error{ErrorCode::corrupt, format("nobody would read this signal: {}; mend that row, or remove it", read.error().detail)};
  if (read) known_.erase(**found);
  return std::nullopt;
}

}  // namespace pawl::runtime
