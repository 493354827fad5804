// AppWriter: owns the deployed apps and the active version of each.
#pragma once

#include "base/clock.h"
#include "store/operation.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/connection.h"

namespace pawl::store::sqlite {

class AppWriter {
 public:
  // `clock` must outlive it.
  explicit AppWriter(const Clock& clock) : clock_(clock) {}
  Status prepare(Connection& connection);

  Applied apply(const PutApp& put);
  Applied apply(const ActivateApp& activate);

 private:
  const Clock& clock_;
  Statement put_app_, same_app_, find_app_, activate_app_;
};

}  // namespace pawl::store::sqlite
