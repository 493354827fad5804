// The tests of an activity's whole life, on every store of the program.
#pragma once

#include <memory>

#include "life.h"
#include "places.h"

namespace pawl::testing {

// Once for each store of this program, fused and step by step.
class LifeTest : public ::testing::TestWithParam<Setting> {
 protected:
  RuntimeOptions options() const {
    RuntimeOptions result;
    result.store = place->address();
    result.fusion = GetParam().fusion;
    return result;
  }
  TempDir dir;
  std::unique_ptr<Place> place = GetParam().place.make();
  std::unique_ptr<Runtime> runtime;
};

}  // namespace pawl::testing
