// LaneMerge: the rows of several lanes as one list. Each lane's rows come in the lane's own order; the next row of the
// list is the smallest among the first rows of all lanes. It reads a few rows at a time, so that a page costs no more
// than a page.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "core/ids.h"
#include "pawl/result.h"

namespace pawl::store {

template <class Row>
class LaneMerge {
 public:
  struct Hooks {
    // At most `rows_max` rows of one lane, behind this place.
    std::function<Result<std::vector<Row>>(core::LaneId lane, std::uint64_t after, std::size_t rows_max)> read;
    std::function<std::uint64_t(const Row&)> place;
    std::function<bool(const Row&, const Row&)> goes_before;
  };

  // `rows_wanted`: how many rows the reader will probably ask for.
  LaneMerge(Hooks hooks, std::size_t rows_wanted) : hooks_(std::move(hooks)), rows_wanted_(rows_wanted) {}

  void add(core::LaneId lane, std::uint64_t after) { lanes_.push_back(Lane{lane, after}); }

  // None: no lane has more rows.
  Result<std::optional<std::pair<core::LaneId, Row>>> next() {
    Lane* first = nullptr;
    for (Lane& lane : lanes_) {
      if (lane.rows.empty() && !lane.is_over)
        if (const auto read = refill(lane); !read) return read.error();
      if (lane.rows.empty()) continue;
      if (first == nullptr || hooks_.goes_before(lane.rows.front(), first->rows.front())) first = &lane;
    }
    if (first == nullptr) return std::optional<std::pair<core::LaneId, Row>>();
    Row row = std::move(first->rows.front());
    first->rows.pop_front();
    return std::optional(std::pair(first->id, std::move(row)));
  }

 private:
  struct Lane {
    core::LaneId id;
    std::uint64_t after;
    std::size_t rows_max = 0;  // of the next read, at least
    std::deque<Row> rows{};
    bool is_over = false;
  };

  Status refill(Lane& lane) {
    // First a share of the wanted rows, as if all lanes had equally many; then more and more.
    const std::size_t share = rows_wanted_ / lanes_.size() + 1;
    const std::size_t rows_max = std::clamp<std::size_t>(std::max(share, lane.rows_max), 1, limits::recovery_page_rows);
    auto rows = hooks_.read(lane.id, lane.after, rows_max);
    if (!rows) return rows.error();
    lane.is_over = rows->size() < rows_max;
    lane.rows_max = rows_max * 2;
    if (!rows->empty()) lane.after = hooks_.place(rows->back());
    lane.rows.assign(std::make_move_iterator(rows->begin()), std::make_move_iterator(rows->end()));
    return {};
  }

  Hooks hooks_;
  std::size_t rows_wanted_;
  std::vector<Lane> lanes_;
};

}  // namespace pawl::store
