// EngineWriter: owns the rows through which engines that share a pool know of each other.
#pragma once

#include "base/clock.h"
#include "store/operation.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/connection.h"

namespace pawl::store::sqlite {

class EngineWriter {
 public:
  // `clock` must outlive it.
  explicit EngineWriter(const Clock& clock) : clock_(clock) {}
  Status prepare(Connection& connection);

  Applied apply(const BeatEngine& beat);
  Applied apply(const LeaveEngine& leave);

 private:
  const Clock& clock_;
  Statement find_pool_, put_engine_, drop_dead_, read_engines_, drop_engine_;
};

}  // namespace pawl::store::sqlite
