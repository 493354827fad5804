#include "runtime/owned_lane.h"

namespace pawl::runtime {

RunId NextRun::expect() {
  ++submits_out;
  if (!run) return RunId(0);
  const RunId expected = *run;
  run = RunId(expected.raw() + 1);
  return expected;
}

void NextRun::got(RunId expected, RunId its_run) {
  if (submits_out > 0) --submits_out;
  // Those that are on their way come after it.
  if (its_run != expected) run = RunId(its_run.raw() + 1 + submits_out);
}

void NextRun::not_used(RunId expected) {
  if (submits_out > 0) --submits_out;
  if (run && expected != RunId(0)) run = RunId(run->raw() - 1);
}

}  // namespace pawl::runtime
