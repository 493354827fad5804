// RowHints: where the rows of new activities are, as far as this process remembers, so that their end finds them
// without the index. A hint may be wrong (its transaction was undone, the row is gone): who uses it compares run and
// activity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "store/sqlite/limits.h"

namespace pawl::store::sqlite {

class RowHints {
 public:
  void remember(RunId run, core::ActivitySeq activity, std::int64_t row) { at(run, activity) = {run, activity, row}; }
  // 0: unknown.
  std::int64_t find(RunId run, core::ActivitySeq activity) {
    const Hint& hint = at(run, activity);
    return hint.run == run && hint.activity == activity ? hint.row : 0;
  }

 private:
  struct Hint {
    RunId run{0};
    core::ActivitySeq activity{0};
    std::int64_t row = 0;
  };
  // Runs of one time in one lane follow each other, and so do the activities of a run: they have places of their own.
  Hint& at(RunId run, core::ActivitySeq activity) {
    constexpr std::uint64_t between_lanes = 10'007;
    const std::uint64_t lane = core::lane_of(run).raw();
    return hints_[(run.raw() * 8 + activity.raw() + lane * between_lanes) % limits::row_hints];
  }

  std::vector<Hint> hints_{limits::row_hints};
};

}  // namespace pawl::store::sqlite
