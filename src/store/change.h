// Change: what a commit of another process touched, as the owner of the lanes has to hear it. A hint: the owner looks
// there, and what is true stands in the store.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/ids.h"
#include "store/duplex_operation.h"
#include "store/operation.h"

namespace pawl::store {

struct Change {
  std::vector<RunId> runs;  // of jobs and mailboxes: something is new in their inboxes, their work or their times
  bool inboxes = false;     // of more runs than are named
  bool work = false;        // items were given back
  bool times = false;       // something that the clock sets going, of no run that is named
  bool topics = false;      // paused or resumed
  bool graphs = false;      // deployed
  bool duplex = false;      // jobs under collation duplex
  bool outboxes = false;    // something was put there that no job of theirs sent
  bool lanes = false;       // given back: they can be asked for

  static Change everything();
  bool empty() const;
  void add(RunId run);  // too many of them are no longer named
  void add(const Change& other);
  friend bool operator==(const Change&, const Change&) = default;
};

// What the operations did, by their outcomes. REQUIRES: one outcome for each operation.
Change changed_by(std::span<const Operation> group, std::span<const Outcome> outcomes);
// Likewise under collation duplex: whoever hears of it looks at its streams.
Change changed_by(std::span<const DuplexOutcome> outcomes);

// As bytes, for another process of the same machine. None: they were not made by encode().
std::string encode(const Change& change);
std::optional<Change> decode_change(std::string_view bytes);

}  // namespace pawl::store
