// InputWriter: owns where the inputs of work items are stored, so that a payload is written once. Most inputs are the
// output of the activity before: then the work item's row names that activity. Any other input is in the row if it is
// small; a large one has a row of its own, which claims and leases do not write again.
//
// Only the output of a concluded activity is referred to: it does not change any more. If it does all the same, what
// refers to it gets the old bytes as its own before (keep()).
#pragma once

#include <cstdint>
#include <optional>

#include "core/bundle.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/at_hand.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/payload_limits.h"

namespace pawl::store::sqlite {

class InputWriter {
 public:
  Status prepare(Connection& connection);

  // What the row of a work item says of its input.
  struct Place {
    const Payload* in_row = nullptr;
    std::optional<std::int64_t> at{};  // input_at
    std::optional<Applied> failed{};
  };
  // Stores an input that does not go into the item's row. `parent`: of the activity; none: as its row says.
  Place put(const AtHand& at, const core::WorkItem& item, const std::optional<core::ActivitySeq>& parent);
  // Whether there was one; then the item's row no longer names it.
  Checked drop(RunId run, core::ActivitySeq activity);
  Applied sweep(RunId run);
  // Before a concluded activity is written again.
  Applied keep(RunId run, const core::PutActivity& write);
  void limit(const PayloadLimits& limits) { limits_ = limits; }

 private:
  PayloadLimits limits_;
  Statement put_, drop_, forget_, sweep_, find_parent_, find_changed_, keep_inputs_, keep_result_;
};

}  // namespace pawl::store::sqlite
