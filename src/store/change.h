// Change: what a commit of another process touched, for the owner of the lanes. It is only a hint: the owner looks
// there, and what the store holds is the truth.
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
  std::vector<RunId> runs;  // jobs and mailboxes: something is new in their inboxes, their work or their times
  bool inboxes = false;     // also runs that are not named
  bool work = false;        // items were given back
  bool times = false;       // something due by the clock, of a run that is not named
  bool topics = false;      // paused or resumed
  bool graphs = false;      // deployed
  bool duplex = false;      // jobs under collation duplex
  bool outboxes = false;    // a row was added that no job of this lane sent
  bool lanes = false;       // given back: they can be acquired

  static Change everything();
  bool empty() const;
  void add(RunId run);  // beyond a limit, runs are no longer named
  void add(const Change& other);
  friend bool operator==(const Change&, const Change&) = default;
};

// What the operations did, by their outcomes. REQUIRES: one outcome for each operation.
Change changed_by(std::span<const Operation> group, std::span<const Outcome> outcomes);
// The same for collation duplex: the receiver then looks at its streams.
Change changed_by(std::span<const DuplexOutcome> outcomes);

// As bytes, for another process on the same machine. None: encode() did not make these bytes.
std::string encode(const Change& change);
std::optional<Change> decode_change(std::string_view bytes);

}  // namespace pawl::store
