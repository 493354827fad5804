// DamagedMailboxes: mailboxes of which a row cannot be read. Nobody would ever read what comes after it, so whoever
// signals to one is told, until somebody has mended the row (Post::push_if_readable).
//
// What another process puts in is accepted there: only the owner knows, and says so. It waits until the row is mended.
#pragma once

#include <unordered_set>

#include "base/limits.h"
#include "pawl/ids.h"

namespace pawl::runtime {

class DamagedMailboxes {
 public:
  void add(RunId mailbox) {
    if (known_.size() < limits::damaged_named_max) known_.insert(mailbox);
  }
  void mended(RunId mailbox) { known_.erase(mailbox); }
  bool contains(RunId mailbox) const { return known_.contains(mailbox); }
  bool empty() const { return known_.empty(); }

 private:
  std::unordered_set<RunId> known_;
};

}  // namespace pawl::runtime
