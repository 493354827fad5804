// SignalIdWriter: owns the guids of the signals that a lane took from outside, as long as they are remembered.
#pragma once

#include "base/clock.h"
#include "core/guid.h"
#include "core/ids.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/connection.h"

namespace pawl::store::sqlite {

class SignalIdWriter {
 public:
  explicit SignalIdWriter(const Clock& clock) : clock_(clock) {}  // it must outlive this
  Status prepare(Connection& connection);

  Checked has(core::LaneId lane, const core::Guid& guid);
  // REQUIRES: the lane does not have it. Deletes a few that are too old or too many.
  Applied add(core::LaneId lane, const core::Guid& guid);

 private:
  const Clock& clock_;
  Statement find_, put_, drop_same_, drop_oldest_;
};

}  // namespace pawl::store::sqlite
