// DamagedMailboxes: mailboxes of which a row cannot be read. Nobody would ever read what comes after it, so whoever signals
// to one is told, until somebody has mended the row.
//
// What another process puts in is accepted there: only the owner knows, and says so. It waits until the row is mended.
#pragma once

#include <optional>
#include <unordered_set>

#include "pawl/result.h"
#include "store/store.h"

namespace pawl::runtime {

class DamagedMailboxes {
 public:
  void add(RunId mailbox);
  // Why this cannot be taken; none: it can. One that was mended is looked at again, and forgotten.
  std::optional<Error> refusal_of(const store::Operation& operation, store::Store& store, const store::MailboxPageSize& page);

 private:
  std::unordered_set<RunId> known_;  // at most limits::damaged_named_max
};

}  // namespace pawl::runtime
