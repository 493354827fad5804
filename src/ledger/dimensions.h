// Dimensions: the place of an activity instance in its job, as the path of planes from the trigger down: ",0,1,0". Each
// part is the plane that was taken at that depth, so that two rounds of a cycle, or two pending replies, never write to
// the same place.
//
// 1. Canonical: no empty part, no leading zero; two equal addresses have equal text.
// 2. At most depth_max parts, each at most plane_max.
// 3. Eight or more zeros in a row are written ",0*8": so the last of a chain of 10,000 activities has a short address
//    too, and the cost of a step does not grow with the steps before it.
// 4. Ordered by number, part by part: ",0,2" comes before ",0,10", a parent before its children. A store that sorts by
//    text orders differently.
// One string: short paths (up to 7 parts) allocate nothing.
#pragma once

#include "ledger/activity_ledger.h"
#include "pawl/result.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::ledger {

class Dimensions {
 public:
  // No graph may be deeper: checked when it is deployed, because child() cannot refuse.
  static constexpr std::size_t depth_max = 100'000;
  // A plane is an ordinal minus 1, and ordinals end where the ledger's entry counter ends.
  static constexpr std::uint32_t plane_max = ActivityLedger::entries_max - 1;

  Dimensions() : text_(",0") {}  // the trigger's place
  static Result<Dimensions> parse(std::string_view text);
  static Dimensions trigger() { return Dimensions(",0"); }
  std::string_view text() const { return text_; }

  // The same depth with the last index replaced. REQUIRES: plane <= plane_max.
  Dimensions in_plane(std::uint32_t plane) const;
  // The place of a child of this instance before it takes a plane. REQUIRES: depth() < depth_max.
  Dimensions child() const;
  // The first `depth` parts: the ancestor on this path. REQUIRES: 1 <= depth <= this->depth().
  // A cycle goes back with prefix(depth of its pivot).in_plane(0).
  Dimensions prefix(std::size_t depth) const;

  std::size_t depth() const;
  std::uint32_t plane() const;  // the last index

  friend bool operator==(const Dimensions&, const Dimensions&) = default;
  friend std::strong_ordering operator<=>(const Dimensions& a, const Dimensions& b);

 private:
  explicit Dimensions(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace pawl::ledger

template <>
struct std::hash<pawl::ledger::Dimensions> {
  std::size_t operator()(const pawl::ledger::Dimensions& dimensions) const noexcept {
    return std::hash<std::string_view>{}(dimensions.text());
  }
};
