// LabelWriter: owns the labels by which jobs are found, their measures and their announcements.
#pragma once

#include "core/bundle.h"
#include "store/sqlite/applied.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/lane_writer.h"

namespace pawl::store::sqlite {

class LabelWriter {
 public:
  explicit LabelWriter(LaneWriter& lanes) : lanes_(lanes) {}  // it must outlive this
  Status prepare(Connection& connection);

  Applied apply(RunId run, const core::PutLabel& write);
  Applied apply(RunId run, const core::DropLabel& write);
  Applied apply(RunId run, const core::AddMeasure& write);
  Applied apply(RunId run, const core::Announce& write);

 private:
  LaneWriter& lanes_;
  Statement put_label_, drop_label_, add_measure_, announce_;
};

}  // namespace pawl::store::sqlite
