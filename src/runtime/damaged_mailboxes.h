// DamagedMailboxes: mailboxes with a row that cannot be read. What comes after that row would never be read, so a
// caller that signals to one gets an error, until a person has repaired the row (Post::push_if_readable).
// Signals from other processes are accepted: only the owner knows of the damage, and reports it. They wait until the
// row is repaired.
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
